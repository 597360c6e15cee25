"""Programs whose results must have the same bits however they are compiled.

Run as a script, it prints a digest of all their results: what another process finds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from compiler.running import bits


def network(x: Any, w: Any, b: Any, v: Any, targets: Any) -> Any:
    """Value and gradients of two layers with normalisation and cross-entropy."""

    def loss(w: Any, b: Any, v: Any) -> Any:
        hidden = wg.layer_norm(np.tanh(x @ w + b), b, b)
        return wg.cross_entropy(hidden @ v, targets)

    return wg.value_and_grad(loss, argnums=(0, 1, 2))(w, b, v)


def rows(x: Any, w: Any, b: Any) -> Any:
    y = np.tanh(x @ w + b)
    return wg.softmax(y), wg.layer_norm(y), wg.log_softmax(y, axis=0), wg.rms_norm(y)


def folds(x: Any) -> Any:
    """Sums of many lengths and axes, alone and after other work."""
    y = x.reshape(37, -1)
    found = [wg.sum(x), wg.mean(x * x), wg.max(x), wg.prod(1 + x * 1e-3), wg.sum(x[:1025])]
    for axis in (0, 1):
        found += [wg.sum(y, axis=axis), wg.sum(wg.exp(y) * y, axis=axis), wg.var(y, axis=axis)]
        found += [wg.sum(wg.sum(y, axis=axis) ** 2), wg.logsumexp(y, axis=axis)]
        found += [wg.sum(y - wg.mean(y, axis=axis, keepdims=True), axis=1 - axis)]
    cube = y[:, :96].reshape(37, 12, 8)
    return [*found, *(wg.sum(cube, axis=each) for each in ((0, 2), (1, 2), (0, 1), 1))]


def elementary(x: Any) -> Any:
    positive = wg.abs(x) + 0.1
    return [
        wg.exp(x) * wg.log(positive) - wg.sqrt(positive),
        wg.sigmoid(x) / (1 + wg.expm1(x) ** 2),
        wg.tanh(x) * wg.log1p(positive) + wg.where(x > 0, x, wg.log(positive)),
        wg.sin(x) * wg.cos(x) + positive**x,
        wg.erf(x) + wg.gelu(x),
    ]


def products(x: Any, w: Any) -> Any:
    """Contractions with what comes before and after them."""
    square = np.tanh(x.T @ x)
    chained = (x * 2 - 1) @ w @ w.T
    return [
        square,
        chained,
        wg.sum(x @ w, axis=0),
        wg.sum((x @ w) ** 2, axis=1),
        wg.sum(x @ w),
        np.einsum("ij,kj,kl->il", x, chained, chained),
        x @ w[:, 0],
        x[0] @ w,
        x[0] @ w[:, 0],
    ]


def recurrent(w: Any, xs: Any) -> Any:
    """Value and gradient of a loop."""

    def loss(w: Any, xs: Any) -> Any:
        last, ys = wg.scan(lambda h, x: (np.tanh(h @ w + x), wg.sum(h * x)), xs[0] * 0, xs)
        return wg.sum(last**2) + wg.mean(ys)

    return wg.value_and_grad(loss, argnums=(0, 1))(w, xs)


def repeated(w: Any, x: Any) -> Any:
    """Value, gradient and tangent of a loop that ends by itself."""

    def loss(w: Any, x: Any) -> Any:
        def step(state: Any) -> Any:
            h, _, n = state
            return np.tanh(h @ w + x), h, n + 1

        def moves(state: Any) -> Any:
            h, before, n = state
            return (wg.max(wg.abs(h - before)) > 1e-2) & (n < 12)

        last, before, _ = wg.while_loop(moves, step, (x * 0, x + 1, 0), max_steps=20)
        return wg.sum(last**2) + wg.mean(before)

    dx = wg.cos(x)
    return wg.value_and_grad(loss, argnums=(0, 1))(w, x), wg.jvp(lambda x: loss(w, x), (x,), (dx,))


def arranged(x: Any, indices: Any) -> Any:
    """Positions, order and matrices."""
    square = x[:12, :12] @ x[:12, :12].T + 12 * np.eye(12, dtype=x.dtype)

    def gathered(x: Any) -> Any:
        return wg.sum(wg.take(x, indices, axis=0) ** 2 + wg.sort(x, axis=0)[indices])

    return [
        wg.grad(gathered)(x),
        wg.cumulative_sum(x, axis=0),
        wg.cumulative_sum(x, axis=1),
        wg.linalg.cholesky(square),
        wg.linalg.solve(square, x[:12, :3]),
        wg.linalg.inv(square),
        wg.concat([x[3:], x[:2] * 2]),
        wg.argsort(x, axis=1),
        np.pad(wg.flip(x, axis=0), ((1, 2), (0, 1))) + 1,
    ]


def factored(x: Any) -> Any:
    """Factors of matrices, in lanes and by reflections, and what is made of them."""

    def of_factors(x: Any) -> Any:
        u, s, vh = wg.linalg.svd(x)
        w, v = wg.linalg.eigh(x)
        values = wg.sum(s**2 * w) + wg.sum(wg.linalg.expm(0.1 * x))
        return wg.sum(u * vh) + wg.sum(v**3) + values

    small, large = x[:36].reshape(36, -1)[:, :16].reshape(36, 4, 4), x[:20, :20]
    return [
        *wg.linalg.qr(large),
        *wg.linalg.svd(x[:20, :15], full_matrices=False),
        wg.grad(of_factors)(small),
        wg.grad(of_factors)(large),
        wg.linalg.pinv(x[:9, :5]),
        wg.linalg.lstsq(x[:9, :5], x[:9, 6:8]).x,
    ]


Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]


def cases(dtype: Any) -> Cases:
    """Each program with its arguments."""
    rng = np.random.default_rng(7)

    def real(*shape: int) -> Any:
        return rng.uniform(-2, 2, shape).astype(dtype)

    return {
        "network": (
            network,
            (real(19, 37), real(37, 21), real(21), real(21, 10), np.arange(19) % 10),
        ),
        "rows": (rows, (real(11, 300), real(300, 33), real(33))),
        "folds": (folds, (real(37 * 130),)),
        "long_folds": (lambda x: (wg.sum(x), wg.max(x), wg.sum(x * x)), (real(70_001),)),
        "elementary": (elementary, (real(203),)),
        "products": (products, (real(23, 17), real(17, 29))),
        "large_product": (
            lambda x, w: wg.sum(np.tanh(x @ w), axis=0),
            (real(90, 530), real(530, 75)),
        ),
        "recurrent": (recurrent, (real(9, 9), real(6, 3, 9))),
        "arranged": (arranged, (real(21, 18), rng.integers(0, 21, 40))),
        "factored": (factored, (real(36, 20),)),
        "repeated": (repeated, (real(9, 9) / 8, real(6, 9))),
    }


def digest() -> str:
    """Of all results of all programs."""
    found = hashlib.sha256()
    for dtype in (np.float32, np.float64):
        for name, (function, args) in cases(dtype).items():
            found.update(name.encode())
            for each in bits(wg.compile(function)(*args)):
                found.update(each)
    return found.hexdigest()


if __name__ == "__main__":
    print(digest())
