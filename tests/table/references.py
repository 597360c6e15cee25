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
from sequence_references import selective_scan

from table import matrix_references as matrices
from table import special_references as special
from wengert.core.op import Op


def _take_from_planes(x: Any, positions: Any) -> Any:
    flat = x.reshape(x.shape[0], int(np.prod(x.shape[1:])))
    places = positions.reshape(positions.shape[0], int(np.prod(positions.shape[1:])))
    return jnp.take_along_axis(flat, places, axis=1).reshape(positions.shape)


def _put_in_planes(x: Any, positions: Any, shape: Any) -> Any:
    zeros = jnp.zeros((x.shape[0], *shape), x.dtype)
    return jax.vjp(lambda planes: _take_from_planes(planes, positions), zeros)[1](x)[0]


def _convolution(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, spread: Any) -> Any:
    """JAX has no axis for groups: they stand side by side among the channels."""
    batch, groups, channels = x.shape[:3]
    if 0 in x.shape:
        sizes = zip(x.shape[3:], w.shape[3:], stride, padding, strict=True)
        space = [(n + sum(pad) - k) // s + 1 for n, k, s, pad in sizes]
        return jnp.zeros((batch, groups, w.shape[1], *space)) + jnp.sum(x) + jnp.sum(w)
    found = jax.lax.conv_general_dilated(
        x.reshape(batch, groups * channels, *x.shape[3:]),
        w.reshape(groups * w.shape[1], channels, *w.shape[3:]),
        window_strides=stride,
        padding=padding,
        lhs_dilation=spread,
        rhs_dilation=dilation,
        feature_group_count=groups,
    )
    return found.reshape(batch, groups, -1, *found.shape[2:])


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


def _recurrence_from(a: Any, b: Any, h0: Any, axis: int) -> Any:
    first = jnp.expand_dims(h0, axis)
    both = (jnp.concatenate([jnp.ones_like(first), a], axis), jnp.concatenate([first, b], axis))
    return jnp.take(_recurrence(*both, axis), jnp.arange(1, b.shape[axis] + 1), axis)


def _state_space_scan(*operands: Any) -> Any:
    u, delta, a, b, c, h0 = operands
    return selective_scan(u, delta, a, b, c, h0=h0)


def _diagonal_scan(u: Any, a: Any, b: Any, c: Any, d: Any, real: Any, imag: Any) -> Any:
    decay, weights, h, ys = a + 1j * b, c + 1j * d, real + 1j * imag, []
    for t in range(u.shape[2]):
        h = decay * h + u[..., t, None]
        ys.append(jnp.sum((weights * h).real, -1))
    return jnp.stack(ys, -1), h.real, h.imag


def _recurrent_loop(operands: Any, kind: str, save: bool = False) -> Any:
    """Written out from the formulas of the layers, step by step; nothing of what `save` adds."""
    projected, weight, bias, h, *others = operands
    memory, hs = (others or [None])[0], []
    for x in projected:
        y = h @ weight.T + bias
        if kind == "lstm":
            i, f, g, o = jnp.split(x + y, 4, -1)
            memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(memory)
        elif kind == "gru":
            (xr, xz, xn), (hr, hz, hn) = jnp.split(x, 3, -1), jnp.split(y, 3, -1)
            z = jax.nn.sigmoid(xz + hz)
            h = (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn) + z * h
        else:
            h = jnp.tanh(x + y) if kind == "tanh" else jax.nn.relu(x + y)
        hs.append(h)
    return jnp.stack(hs), h, *([] if memory is None else [memory])


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


def _last_at(indices: Any, size: int) -> Any:
    here = (indices % max(size, 1))[None, :] == jnp.arange(size)[:, None]
    numbers = jnp.where(here, jnp.arange(len(indices)), -1)
    return jnp.max(numbers, axis=1, initial=-1)


def _largest_at(x: Any, indices: Any, updates: Any, sign: float = 1.0) -> Any:
    """Every row beside all updates, those for other rows out of the way."""
    here = (indices % len(x))[None, :] == jnp.arange(len(x))[:, None]
    here = here.reshape(*here.shape, *[1] * (x.ndim - 1))
    rows = jnp.where(here, sign * updates[None], -jnp.inf)
    return sign * jnp.max(jnp.concatenate([sign * x[:, None], rows], axis=1), axis=1)


def _smallest_at(x: Any, indices: Any, updates: Any) -> Any:
    return _largest_at(x, indices, updates, -1.0)


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
    "beta_density": special.beta_density,
    "betainc": special.betainc,
    "betainc_slope": lambda a, b, x, by_a, by_b: special.slope(
        special.betainc, a, b, x, by=(by_a, by_b)
    ),
    "cofactors": matrices.cofactors,
    "convolution": _convolution,
    "cofactors_tangent": lambda x, dx: jax.jvp(matrices.cofactors, (x,), (dx,))[1],
    "couple": jnp.multiply,
    "cross_entropy": _cross_entropy,
    "det": matrices.determinant,
    "det_sign": lambda x: matrices.slogdet(x)[0],
    "embed": lambda weight, indices: weight[indices],
    "erfcinv": lambda q: jax.scipy.special.erfinv(1 - q),
    "erfcx": lambda x: jnp.exp(x * x) * jax.scipy.special.erfc(x),
    "gamma_density": special.gamma_density,
    "gammainc": special.gammainc,
    "gammaincc": lambda a, x: 1 - special.gammainc(a, x),
    "ive_slope": lambda v, x, times: special.slope(special.scaled_bessel, v, x, by=(times,)),
    "scaled_bessel": special.scaled_bessel,
    "gammainc_slope": lambda a, x, order: special.slope(special.gammainc, a, x, by=(order,)),
    "gather": _gather,
    "log_gammaincinv": special.log_gamma_quantile,
    "poisson_quantile": special.poisson_quantile,
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "i1e_over_x": lambda x: jax.scipy.special.i1e(x) / x,
    "huber": _paired(_huber),
    "integers_between": lambda low, high: high - low,
    "position_with_room": lambda position, room: jnp.broadcast_arrays(position, room)[0],
    "required": lambda refused, x, **_: jax.lax.stop_gradient(jnp.broadcast_arrays(refused, x)[1]),
    "inverse_spread": _inverse_spread,
    "kl_div": _kl_div,
    "layer_norm": _layer_norm,
    "lgamma": jax.scipy.special.gammaln,
    "log_abs_det": lambda x: matrices.slogdet(x)[1],
    "mae": _paired(lambda x, y: jnp.abs(x - y)),
    "mse": _paired(lambda x, y: (x - y) ** 2),
    # JAX has no derivative of it.
    "nextafter": lambda x, y: (
        x + (jnp.nextafter(special.fixed(x), special.fixed(y)) - special.fixed(x))
    ),
    "permute_dims": lambda x, axes: jnp.transpose(x, [i % x.ndim for i in axes]),
    "place": _place,
    "put_in_planes": _put_in_planes,
    "pull": jnp.multiply,
    "recurrence": _recurrence,
    "recurrence_from": _recurrence_from,
    "recurrent_loop": _recurrent_loop,
    "diagonal_scan": _diagonal_scan,
    "state_space_scan": _state_space_scan,
    "rescale": _rescale,
    "rms_norm": _rms_norm,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "last_at": _last_at,
    "largest_at": _largest_at,
    "smallest_at": _smallest_at,
    "shift": _shift,
    "eigh_parts": matrices.eigh,
    "banded_solve": matrices.banded_solve,
    "expm": matrices.expm,
    "solve_sylvester": matrices.solve_sylvester,
    "sqrtm": matrices.sqrtm,
    "least_squares": matrices.least_squares,
    "orthogonal_complement": matrices.complement,
    "pseudo_inverse": matrices.pseudo_inverse,
    "qr_tall": matrices.qr,
    "svd_tall": matrices.svd,
    "take_from_planes": _take_from_planes,
    "slice_axes": _slice_axes,
    "softsign": jax.nn.soft_sign,
    "solve": matrices.solve,
    "standardize": _standardize,
    "stop_gradient": jax.lax.stop_gradient,
    "boundary": lambda x, _safe: jnp.asarray(x),
    "for_several": lambda x, over: jnp.asarray(x),
    "over_micro_batches": jnp.asarray,
    "triangular_solve": matrices.triangular_solve,
    "vector_norm": matrices.vector_norm,
}


REFERENCES |= {
    "j0": lambda x: special.jn(0, x),
    "j1": lambda x: special.jn(1, x),
    "j1_over_x": lambda x: special.jn(1, x) / x,
    "jn": special.jn,
    "y0": special.y0,
    "y1": special.y1,
    "yn": special.yn,
}

NO_REFERENCE: dict[str, str] = {
    "excess": "the derivative of cross_entropy, which is compared",
    "largest_positions": "JAX finds no positions; max_pool is compared in ops/test_pooling.py",
    "diagonal_pullback": "the way back of diagonal_scan, which is compared",
    "state_space_pullback": "the way back of state_space_scan, which is compared",
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
