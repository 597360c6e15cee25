"""The oracle in JAX: for every op, by name, the function it must agree with.

A name JAX spells in the same way is found by itself. Others are in REFERENCES, and what JAX does
not have is in NO_REFERENCE with the reason; an op in none of them fails its test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from wengert.core.op import Op


def _determinant(x: Any) -> Any:
    """JAX has none of matrices without elements."""
    return jnp.linalg.det(x) if x.shape[-1] else jnp.ones(x.shape[:-2], x.dtype)


def _cofactors(x: Any) -> Any:
    return jax.grad(lambda x: jnp.sum(_determinant(x)))(x)


def _slogdet(x: Any) -> Any:
    if x.size:
        return jnp.linalg.slogdet(x)
    return jnp.ones(x.shape[:-2], x.dtype), jnp.zeros(x.shape[:-2], x.dtype)


def _triangular_solve(a: Any, b: Any, lower: bool, trans: bool = False) -> Any:
    triangle = jnp.tril(a) if lower else jnp.triu(a)
    return jnp.linalg.solve(triangle.mT if trans else triangle, b)


def _solve(a: Any, b: Any) -> Any:
    return jnp.linalg.solve(a, b) if a.size else jnp.zeros_like(b)


def _vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    if not x.size:
        return jnp.sum(x, axis=axis, keepdims=keepdims)
    return jnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def _shift(x: Any, axis: int, step: int = 1, fill: float = 0) -> Any:
    rolled = jnp.roll(x, step, axis)
    places = jnp.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis % x.ndim - 1))
    return jnp.where(places < step if step > 0 else places >= x.shape[axis] + step, fill, rolled)


def _recurrence(a: Any, b: Any, axis: int) -> Any:
    a, b = jnp.moveaxis(a, axis, 0), jnp.moveaxis(b, axis, 0)
    rows = []
    for factor, term in zip(a, b, strict=True):
        rows.append(factor * rows[-1] + term if rows else term)
    return jnp.moveaxis(jnp.stack(rows), 0, axis) if rows else jnp.moveaxis(b, 0, axis)


def _grid(start: Any, size: Any, step: Any) -> Any:
    return jnp.ix_(
        *(first + np.arange(n) * by for first, n, by in zip(start, size, step, strict=True))
    )


def _slice_axes(x: Any, start: Any, size: Any, step: Any) -> Any:
    return x[_grid(start, size, step)] if x.ndim else x


def _place(x: Any, shape: Any, start: Any, step: Any) -> Any:
    return jnp.zeros(shape, x.dtype).at[_grid(start, x.shape, step)].set(x) if x.ndim else x


def _gather(arrays: Any, axis: int) -> Any:
    x, *indices = arrays
    return x[(slice(None),) * axis + tuple(indices)]


def _scatter(arrays: Any, shape: Any, axis: int) -> Any:
    x, *indices = arrays
    return jnp.zeros(shape, x.dtype).at[(slice(None),) * axis + tuple(indices)].add(x)


def _scatter_add(x: Any, indices: Any, updates: Any, axis: int = 0) -> Any:
    return x.at[(slice(None),) * (axis % x.ndim) + (indices,)].add(updates)


def _reduced(losses: Any, reduction: str) -> Any:
    return {"mean": jnp.mean, "sum": jnp.sum, "none": lambda x: x}[reduction](losses)


def _paired(loss: Callable[..., Any]) -> Callable[..., Any]:
    def f(x: Any, y: Any, reduction: str = "mean", **params: Any) -> Any:
        return _reduced(loss(x, y, **params), reduction)

    return f


def _huber(x: Any, y: Any, delta: float = 1.0) -> Any:
    far = jnp.abs(x - y)
    return jnp.where(far <= delta, far**2 / 2, delta * (far - delta / 2))


def _bce(x: Any, y: Any) -> Any:
    return -(y * jax.nn.log_sigmoid(x) + (1 - y) * jax.nn.log_sigmoid(-x))


def _kl_div(log_q: Any, p: Any, axis: int = -1, reduction: str = "mean") -> Any:
    return _reduced(jnp.sum(p * (jnp.log(p) - log_q), axis), reduction)


def _cross_entropy(
    x: Any, y: Any, axis: int = -1, reduction: str = "mean", label_smoothing: float = 0.0
) -> Any:
    count = x.shape[axis]
    if y.dtype.kind != "f":
        y = jax.nn.one_hot(y, count, axis=axis, dtype=x.dtype)
    y = y * (1 - label_smoothing) + label_smoothing / count
    return _reduced(-jnp.sum(y * jax.nn.log_softmax(x, axis), axis), reduction)


def _placed(y: Any, x: Any, axes: Any) -> Any:
    """A scale or shift that belongs to these axes of x."""
    sizes = dict(zip(reversed(axes), reversed(y.shape), strict=False))
    return y.reshape([sizes.get(i, 1) for i in range(x.ndim)])


def _axes(axis: Any, x: Any) -> list[int]:
    return sorted(i % x.ndim for i in (axis if isinstance(axis, tuple) else (axis,)))


def _affine(y: Any, scale: Any, shift: Any, axes: Any) -> Any:
    y = y if scale is None else y * _placed(scale, y, axes)
    return y if shift is None else y + _placed(shift, y, axes)


def _standardize(x: Any, axis: Any = -1, eps: float = 1e-5) -> Any:
    return (x - x.mean(axis, keepdims=True)) / jnp.sqrt(x.var(axis, keepdims=True) + eps)


def _layer_norm(
    x: Any, scale: Any = None, shift: Any = None, axis: Any = -1, eps: float = 1e-5
) -> Any:
    return _affine(_standardize(x, axis, eps), scale, shift, _axes(axis, x))


def _batch_norm(
    x: Any, scale: Any = None, shift: Any = None, axis: Any = 0, eps: float = 1e-5
) -> Any:
    features = [i for i in range(x.ndim) if i not in _axes(axis, x)]
    return _affine(_standardize(x, axis, eps), scale, shift, features)


def _rescale(x: Any, axis: Any, eps: float) -> Any:
    return x / jnp.sqrt(jnp.mean(x * x, axis, keepdims=True) + eps)


def _rms_norm(x: Any, scale: Any = None, axis: Any = -1, eps: float = 1e-6) -> Any:
    return _affine(_rescale(x, axis, eps), scale, None, _axes(axis, x))


def _inverse_spread(x: Any, axis: Any, eps: float, centred: bool) -> Any:
    square = x.var(axis, keepdims=True) if centred else jnp.mean(x * x, axis, keepdims=True)
    return 1 / jnp.sqrt(square + eps)


REFERENCES: dict[str, Callable[..., Any]] = {
    "astype": lambda x, dtype: x.astype(dtype),
    "arange": lambda start, **params: jnp.arange(start, **params),
    "batch_norm": _batch_norm,
    "bce_with_logits": _paired(_bce),
    "cofactors": _cofactors,
    "cofactors_tangent": lambda x, dx: jax.jvp(_cofactors, (x,), (dx,))[1],
    "couple": jnp.multiply,
    "cross_entropy": _cross_entropy,
    "det": _determinant,
    "det_sign": lambda x: _slogdet(x)[0],
    "gather": _gather,
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "huber": _paired(_huber),
    "inverse_spread": _inverse_spread,
    "kl_div": _kl_div,
    "layer_norm": _layer_norm,
    "lgamma": jax.scipy.special.gammaln,
    "log_abs_det": lambda x: _slogdet(x)[1],
    "mae": _paired(lambda x, y: jnp.abs(x - y)),
    "mse": _paired(lambda x, y: (x - y) ** 2),
    "permute_dims": lambda x, axes: jnp.transpose(x, [i % x.ndim for i in axes]),
    "place": _place,
    "pull": jnp.multiply,
    "recurrence": _recurrence,
    "rescale": _rescale,
    "rms_norm": _rms_norm,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "shift": _shift,
    "slice_axes": _slice_axes,
    "softsign": jax.nn.soft_sign,
    "solve": _solve,
    "standardize": _standardize,
    "stop_gradient": jax.lax.stop_gradient,
    "boundary": lambda x, _safe: jnp.asarray(x),
    "triangular_solve": _triangular_solve,
    "vector_norm": _vector_norm,
}

NO_REFERENCE: dict[str, str] = {
    "excess": "the derivative of cross_entropy, which is compared",
    "fold_in": "every library derives keys in its own way",
    "random_bits": "every library draws bits of its own",
}


def reference(op: Op) -> Callable[..., Any] | None:
    """JAX's function for an op, or None where none is known."""
    if op.name in REFERENCES:
        return REFERENCES[op.name]
    linalg = [jnp.linalg] if op.space == "linalg" else []
    for module in (*linalg, jnp, jax.nn, jax.scipy.special, jax.lax):
        found = getattr(module, op.name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


def with_gradients(f: Callable[..., Any], calls: list[Any]) -> Callable[..., Any]:
    """JAX's outputs, cotangents and cotangents of these for all calls of one op, compiled at once.

    The function takes, per call, the operands, the cotangents g of the float outputs (or none) and
    the seeds h of the second order (or none). Where they are given, it finds Jᵀg and ∂⟨h, Jᵀg⟩/∂x.
    """

    def one(call: Any, operands: list[Any], cotangents: list[Any], seeds: list[Any]) -> Any:
        def of_floats(*primals: Any) -> Any:
            given = list(operands)
            for i, x in zip(call.floats, primals, strict=True):
                given[i] = x
            out = f(given, **call.params) if call.op.call.variadic else f(*given, **call.params)
            every = tuple(out) if isinstance(out, tuple | list) else (out,)
            return [y for y in every if y.dtype.kind == "f"], every

        def gradients(*primals: Any) -> Any:
            _, pull, every = jax.vjp(of_floats, *primals, has_aux=True)
            return list(pull(cotangents)), every

        primals = [operands[i] for i in call.floats]
        if not primals or not cotangents:
            return of_floats(*primals)[1], [], []
        if not seeds:
            first, every = gradients(*primals)
            return every, first, []
        first, pull, every = jax.vjp(gradients, *primals, has_aux=True)
        return every, first, list(pull(seeds))

    def run(rows: Any) -> Any:
        return [one(call, *row) for call, row in zip(calls, rows, strict=True)]

    return jax.jit(run)
