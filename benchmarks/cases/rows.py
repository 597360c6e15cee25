"""Functions of rows with their gradients: softmax, norms, cross-entropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Times
from benchmarks.peers import jax_library, jitted_into, torch_library, torch_tensors

SIZES = {(512, 256): 2.0, (4096, 1024): 1.2}  # and how many times the best peer we want to be
EPS = 1e-5

Shape = tuple[int, int]


@dataclass(frozen=True)
class RowFunction:
    """One function of rows in each library, as (module, x, w, b) -> y: w and b are what rows are
    scaled and shifted by, as far as it does. Given the cotangent of y, the gradients by these are
    measured: those by x, and `weights` more.
    """

    name: str
    ours: Callable[[Any, Any, Any, Any], Any]
    jax: Callable[[Any, Any, Any, Any], Any]
    torch: Callable[[Any, Any, Any, Any], Any]
    numpy: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, ...]]  # x, w, g
    weights: int = 0


def softmax_by_hand(x: np.ndarray, w: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, ...]:
    y = np.exp(x - x.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    return (y * (g - (g * y).sum(axis=1, keepdims=True)),)


def layer_norm_by_hand(x: np.ndarray, w: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, ...]:
    centred = x - x.mean(axis=1, keepdims=True)
    inverse = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(EPS))
    y, gw = centred * inverse, g * w
    gx = gw - gw.mean(axis=1, keepdims=True) - y * (gw * y).mean(axis=1, keepdims=True)
    return gx * inverse, (g * y).sum(axis=0), g.sum(axis=0)


def rms_norm_by_hand(x: np.ndarray, w: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, ...]:
    inverse = 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + np.float32(EPS))
    y, gw = x * inverse, g * w
    return (gw - y * (gw * y).mean(axis=1, keepdims=True)) * inverse, (g * y).sum(axis=0)


def jax_layer_norm(jax: Any, x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + EPS) * w + b


def jax_rms_norm(jax: Any, x: Any, w: Any, b: Any) -> Any:
    return x * jax.lax.rsqrt((x * x).mean(axis=1, keepdims=True) + EPS) * w


FUNCTIONS = (
    RowFunction(
        "softmax",
        lambda wg, x, w, b: wg.softmax(x),
        lambda jax, x, w, b: jax.nn.softmax(x),
        lambda torch, x, w, b: torch.softmax(x, -1),
        softmax_by_hand,
    ),
    RowFunction(
        "layer_norm",
        lambda wg, x, w, b: wg.layer_norm(x, w, b, eps=EPS),
        jax_layer_norm,
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, x.shape[1:], w, b, EPS),
        layer_norm_by_hand,
        weights=2,
    ),
    RowFunction(
        "rms_norm",
        lambda wg, x, w, b: wg.rms_norm(x, w, eps=EPS),
        jax_rms_norm,
        lambda torch, x, w, b: torch.nn.functional.rms_norm(x, x.shape[1:], w, EPS),
        rms_norm_by_hand,
        weights=1,
    ),
)


def operands(shape: Shape) -> list[np.ndarray]:
    """x, w, b and the cotangent."""
    rng = np.random.default_rng(0)
    shapes = (shape, shape[1:], shape[1:], shape)
    return [rng.standard_normal(each).astype(np.float32) for each in shapes]


def ours(function: RowFunction, shape: Shape) -> Run:
    import wengert as wg

    x, w, b, g = operands(shape)
    out = np.empty_like(x)
    which = tuple(range(1 + function.weights))
    gradient = wg.grad(lambda x, w, b, g: wg.sum(function.ours(wg, x, w, b) * g), argnums=which)
    compiled = wg.compile(lambda x, w, b, g, out: gradient(x, w, b, g), donate="out")
    return lambda: compiled(x, w, b, g, out)


def with_jax(function: RowFunction, shape: Shape) -> Run:
    jax = jax_library()

    def loss(x: Any, w: Any, b: Any, g: Any) -> Any:
        return jax.numpy.sum(function.jax(jax, x, w, b) * g)

    return jitted_into(jax.grad(loss, argnums=tuple(range(1 + function.weights))), *operands(shape))


def with_torch(function: RowFunction, shape: Shape) -> Run:
    torch = torch_library()
    x, w, b = torch_tensors(operands(shape)[:3], track=True)
    (g,) = torch_tensors(operands(shape)[3:])
    by = (x, w, b)[: 1 + function.weights]
    return lambda: torch.autograd.grad(function.torch(torch, x, w, b), by, g)


def with_numpy(function: RowFunction, shape: Shape) -> Run:
    x, w, _, g = operands(shape)
    return lambda: function.numpy(x, w, g)


def function_case(function: RowFunction, shape: Shape, limit: float) -> Case:
    makers = {OURS: it.ours(partial(ours, function, shape))}
    for label, of, make in (
        ("JAX jit", it.jax, with_jax),
        ("torch", it.torch, with_torch),
        ("NumPy by hand", it.numpy, with_numpy),
    ):
        makers[label] = of(partial(make, function, shape))
    size = " × ".join(map(str, shape))
    by = ", scale and shift"[: len(", scale") if function.weights == 1 else None]
    measures = f"gradient of {function.name} of {size} rows by them"
    measures += by if function.weights else ""
    disturbed = function.name == "softmax" and shape[0] > 1000
    if disturbed:
        makers["torch one thread"] = it.one_thread(makers["torch"])
    return Case(
        f"{function.name} {size}", measures, makers, (Times(limit),), 2, disturbed=disturbed
    )


# Cross-entropy: its value, and its gradient by the logits


def cross_entropy_data(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    return x, rng.integers(0, shape[1], shape[0])


def our_cross_entropy(shape: Shape) -> Run:
    import wengert as wg

    x, y = cross_entropy_data(shape)
    out = np.empty_like(x)
    both = wg.value_and_grad(wg.cross_entropy)
    compiled = wg.compile(lambda x, y, out: both(x, y), donate="out")
    return lambda: compiled(x, y, out)


def jax_cross_entropy(shape: Shape) -> Run:
    jax = jax_library()

    def loss(x: Any, y: Any) -> Any:
        log_p = jax.nn.log_softmax(x)
        return -jax.numpy.mean(jax.numpy.take_along_axis(log_p, y[:, None], axis=1))

    return jitted_into(jax.value_and_grad(loss), *cross_entropy_data(shape))


def torch_cross_entropy(shape: Shape) -> Run:
    torch = torch_library()
    arrays = cross_entropy_data(shape)
    (x,), (y,) = torch_tensors(arrays[:1], track=True), torch_tensors(arrays[1:])

    def run() -> object:
        value = torch.nn.functional.cross_entropy(x, y)
        return value, torch.autograd.grad(value, x)

    return run


def numpy_cross_entropy(shape: Shape) -> Run:
    x, y = cross_entropy_data(shape)
    rows = np.arange(len(y))

    def run() -> object:
        shifted = x - x.max(axis=1, keepdims=True)
        g = np.exp(shifted)
        total = g.sum(axis=1, keepdims=True)
        value = np.mean(np.log(total[:, 0]) - shifted[rows, y])
        g /= total
        g[rows, y] -= 1
        g /= np.float32(len(y))
        return value, g

    return run


def cross_entropy_case(shape: Shape, limit: float) -> Case:
    size = " × ".join(map(str, shape))
    makers = {
        OURS: it.ours(partial(our_cross_entropy, shape)),
        "JAX jit": it.jax(partial(jax_cross_entropy, shape)),
        "torch": it.torch(partial(torch_cross_entropy, shape)),
        "NumPy by hand": it.numpy(partial(numpy_cross_entropy, shape)),
    }
    measures = f"value and gradient of the cross-entropy of {size} logits"
    return Case(f"cross_entropy {size}", measures, makers, (Times(limit),))


CASES = (
    *(function_case(each, *size) for each in FUNCTIONS for size in SIZES.items()),
    *(cross_entropy_case(*size) for size in SIZES.items()),
)
