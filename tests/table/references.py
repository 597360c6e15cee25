"""The oracle in JAX: for every op, by name, the function it must agree with.

A name JAX spells in the same way is found by itself. Others are in REFERENCES, and what JAX does
not have is in NO_REFERENCE with the reason; an op in none of them fails its test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sequence_references import selective_scan

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


def _leading_signs(x: Any) -> Any:
    """Signs that make the first element of each column positive that is not small."""
    size = jnp.abs(x)
    first = jnp.argmax(size >= jnp.max(size, axis=-2, keepdims=True) / np.pi, axis=-2)
    leading = jnp.take_along_axis(x, first[..., None, :], axis=-2)
    return jax.lax.stop_gradient(jnp.where(leading < 0, -1.0, 1.0))


def _qr(x: Any) -> Any:
    if not x.size:
        return jnp.zeros(x.shape, x.dtype), jnp.zeros((*x.shape[:-2], *x.shape[-1:] * 2), x.dtype)
    q, r = jnp.linalg.qr(x)
    sign = jnp.where(jnp.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return q * sign[..., None, :], r * sign[..., :, None]


def _eigh(x: Any, save: bool) -> Any:
    if not x.size:
        w, v = jnp.zeros(x.shape[:-1], x.dtype), x
    else:
        w, v = jnp.linalg.eigh(x)
        v = v * _leading_signs(v)
    return (w, v) if save else (w,)


def _svd(x: Any, save: bool, signs_of_v: bool) -> Any:
    n = x.shape[-1]
    if not x.size:
        s, u, v = jnp.zeros((*x.shape[:-2], n)), x, jnp.zeros((*x.shape[:-2], n, n), x.dtype)
    else:
        u, s, vh = jnp.linalg.svd(x, full_matrices=False)
        v = vh.mT
        sign = _leading_signs(v if signs_of_v else u)
        u, v = u * sign, v * sign
    return (s, u, v) if save else (s,)


def _complement(x: Any) -> Any:
    """Where one direction is left out, its elements are minors of the matrix."""
    m, n = x.shape[-2:]
    if n != m - 1 or n == 0:
        return jnp.broadcast_to(jnp.eye(m, dtype=x.dtype)[:, n:], (*x.shape[:-2], m, m - n))
    minors = [(-1) ** i * _determinant(jnp.delete(x, i, axis=-2)) for i in range(m)]
    found = jnp.stack(minors, axis=-1)[..., None]
    found = found / jnp.linalg.norm(found, axis=-2, keepdims=True)
    return found * _leading_signs(found) if x.size else found


def _sqrtm(x: Any) -> Any:
    """The iteration of Denman and Beavers, not scaled; JAX has one that has no derivative."""
    if not x.size:
        return x
    y = jnp.broadcast_to(jnp.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for _ in range(12):
        x, y = 0.5 * (x + jnp.linalg.inv(y)), 0.5 * (y + jnp.linalg.inv(x))
    return x


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    def one(a: Any, b: Any, q: Any) -> Any:
        left, right = jnp.kron(a, jnp.eye(len(b))), jnp.kron(jnp.eye(len(a)), b.T)
        return jnp.linalg.solve(left + right, q.reshape(-1)).reshape(q.shape)

    if not q.size:
        return q
    return jnp.vectorize(one, signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, q)


def _banded_solve(diagonals: Any, b: Any, below: int, above: int) -> Any:
    n = diagonals.shape[-1]
    i, j = np.indices((n, n))
    row = above + i - j
    inside = (row >= 0) & (row < below + above + 1)
    a = jnp.where(inside, diagonals[..., np.where(inside, row, 0), j], 0)
    return _solve(a, b)


def _pseudo_inverse(x: Any, rtol: Any) -> Any:
    return jnp.linalg.pinv(x, rtol=rtol) if x.size else jnp.zeros(x.mT.shape, x.dtype)


def _least_squares(a: Any, b: Any, rtol: Any = None) -> Any:
    return jnp.linalg.pinv(a, rtol=rtol) @ b


def _expm(x: Any) -> Any:
    return jax.scipy.linalg.expm(x) if x.size else x


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


def _fixed(x: Any) -> Any:
    return jax.lax.stop_gradient(x)


def _powers(x: Any, count: int) -> Any:
    """x to the power 0, 1, 2 … along a new last axis, and these numbers."""
    n = jnp.arange(count, dtype=jnp.float64)
    return jnp.asarray(x)[..., None] ** n, n


def _gammainc(a: Any, x: Any) -> Any:
    """A series, because JAX has no second derivative by a."""
    powers, n = _powers(x, 70)
    gammas = jax.scipy.special.gammaln(jnp.asarray(a)[..., None] + n + 1)
    return x**a * jnp.exp(-x) * jnp.sum(powers * jnp.exp(-gammas), -1)


def _betainc(a: Any, b: Any, x: Any) -> Any:
    """A series of positive terms, because JAX has no second derivative by a and b."""
    powers, n = _powers(x, 200)
    a_, b_ = jnp.asarray(a)[..., None], jnp.asarray(b)[..., None]
    lgamma = jax.scipy.special.gammaln
    terms = jnp.exp(lgamma(a_ + b_ + n) - lgamma(b_) - lgamma(a_ + 1 + n))
    return x**a * (1 - x) ** b * jnp.sum(terms * powers, -1)


def _log_gamma_quantile(a: Any, p: Any) -> Any:
    """By Newton's method, whose last two steps carry the derivatives."""

    def step(a: Any, p: Any, y: Any) -> Any:
        x = jnp.exp(y)
        return y - jnp.clip((_gammainc(a, x) - p) / (x * _gamma_density(a, x)), -1, 1)

    fixed_a, fixed_p = _fixed(a), _fixed(p)
    start = jnp.log(fixed_a) + 0 * fixed_p
    y = jax.lax.fori_loop(0, 40, lambda _, y: step(fixed_a, fixed_p, y), start)
    return step(a, p, step(a, p, y))


def _poisson_quantile(rate: Any, u: Any) -> Any:
    k = jnp.arange(200.0)
    below = jax.scipy.special.gammaincc(k + 1, jnp.asarray(rate)[..., None])
    return jnp.sum(below < jnp.asarray(u)[..., None], -1).astype(jnp.float64)


def _scaled_bessel(v: Any, x: Any) -> Any:
    """The power series, of which no term is negative."""
    v, x, k = v[..., None], x[..., None], jnp.arange(200.0)
    logarithm = (v + 2 * k) * jnp.log(x / 2) - jax.lax.lgamma(k + 1) - jax.lax.lgamma(v + k + 1)
    return jnp.sum(jnp.exp(logarithm - x), axis=-1)


def _gamma_density(a: Any, x: Any) -> Any:
    return jnp.exp((a - 1) * jnp.log(x) - x - jax.scipy.special.gammaln(a))


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / jnp.exp(jax.scipy.special.betaln(a, b))


def _slope(f: Callable[..., Any], *operands: Any, by: Sequence[int]) -> Any:
    """A mixed derivative of an elementwise function by its first operands."""
    for position, order in enumerate(by):
        for _ in range(order):
            f = _derived(f, position)
    return f(*operands)


def _derived(f: Callable[..., Any], position: int) -> Callable[..., Any]:
    def derivative(*operands: Any) -> Any:
        shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in operands))
        full = [jnp.broadcast_to(x, shape) for x in operands]
        tangents = [
            jnp.ones(shape) if i == position else jnp.zeros(shape) for i in range(len(full))
        ]
        return jax.jvp(f, full, tangents)[1]

    return derivative


REFERENCES: dict[str, Callable[..., Any]] = {
    "astype": lambda x, dtype: x.astype(dtype),
    "arange": lambda start, **params: jnp.arange(start, **params),
    "batch_norm": _batch_norm,
    "bce_with_logits": _paired(_bce),
    "beta_density": _beta_density,
    "betainc": _betainc,
    "betainc_slope": lambda a, b, x, by_a, by_b: _slope(_betainc, a, b, x, by=(by_a, by_b)),
    "cofactors": _cofactors,
    "convolution": _convolution,
    "cofactors_tangent": lambda x, dx: jax.jvp(_cofactors, (x,), (dx,))[1],
    "couple": jnp.multiply,
    "cross_entropy": _cross_entropy,
    "det": _determinant,
    "det_sign": lambda x: _slogdet(x)[0],
    "embed": lambda weight, indices: weight[indices],
    "erfcinv": lambda q: jax.scipy.special.erfinv(1 - q),
    "erfcx": lambda x: jnp.exp(x * x) * jax.scipy.special.erfc(x),
    "gamma_density": _gamma_density,
    "gammainc": _gammainc,
    "gammaincc": lambda a, x: 1 - _gammainc(a, x),
    "ive_slope": lambda v, x, times: _slope(_scaled_bessel, v, x, by=(times,)),
    "scaled_bessel": _scaled_bessel,
    "gammainc_slope": lambda a, x, order: _slope(_gammainc, a, x, by=(order,)),
    "gather": _gather,
    "log_gammaincinv": _log_gamma_quantile,
    "poisson_quantile": _poisson_quantile,
    "gelu": lambda x, approximate="none": jax.nn.gelu(x, approximate=approximate == "tanh"),
    "i1e_over_x": lambda x: jax.scipy.special.i1e(x) / x,
    "huber": _paired(_huber),
    "integers_between": lambda low, high: high - low,
    "position_with_room": lambda position, room: jnp.broadcast_arrays(position, room)[0],
    "inverse_spread": _inverse_spread,
    "kl_div": _kl_div,
    "layer_norm": _layer_norm,
    "lgamma": jax.scipy.special.gammaln,
    "log_abs_det": lambda x: _slogdet(x)[1],
    "mae": _paired(lambda x, y: jnp.abs(x - y)),
    "mse": _paired(lambda x, y: (x - y) ** 2),
    # JAX has no derivative of it.
    "nextafter": lambda x, y: x + (jnp.nextafter(_fixed(x), _fixed(y)) - _fixed(x)),
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
    "eigh_parts": _eigh,
    "banded_solve": _banded_solve,
    "expm": _expm,
    "solve_sylvester": _solve_sylvester,
    "sqrtm": _sqrtm,
    "least_squares": _least_squares,
    "orthogonal_complement": _complement,
    "pseudo_inverse": _pseudo_inverse,
    "qr_tall": _qr,
    "svd_tall": _svd,
    "take_from_planes": _take_from_planes,
    "slice_axes": _slice_axes,
    "softsign": jax.nn.soft_sign,
    "solve": _solve,
    "standardize": _standardize,
    "stop_gradient": jax.lax.stop_gradient,
    "boundary": lambda x, _safe: jnp.asarray(x),
    "for_several": lambda x, over: jnp.asarray(x),
    "over_micro_batches": jnp.asarray,
    "triangular_solve": _triangular_solve,
    "vector_norm": _vector_norm,
}

_TURN = 2 * np.pi * np.arange(256) / 256


def _jn(n: Any, x: Any) -> Any:
    """Bessel's integral, in points of which so many are exact."""
    n, x = jnp.asarray(n)[..., None], jnp.asarray(x)[..., None]
    return jnp.mean(jnp.cos(n * _TURN - x * np.sin(_TURN)), axis=-1)


def _y0(x: Any) -> Any:
    """Neumann's series."""
    k = np.arange(1, 40)
    waves = _jn(2 * k, jnp.asarray(x)[..., None]) * (-1.0) ** (k + 1) / k
    logarithm = jnp.log(x / 2) + np.euler_gamma
    return 2 / np.pi * (logarithm * _jn(0, x) + 2 * jnp.sum(waves, axis=-1))


def _y1(x: Any) -> Any:
    return -jax.grad(lambda x: jnp.sum(_y0(x)))(x)


def _yn(n: Any, x: Any) -> Any:
    size = jnp.abs(n)
    orders = [_y0(x), _y1(x)]
    for k in range(1, 8):
        orders.append(2 * k / x * orders[k] - orders[k - 1])
    found = sum(jnp.where(size == k, each, 0) for k, each in enumerate(orders))
    return jnp.where((n < 0) & (n % 2 == 1), -found, found)


REFERENCES |= {
    "j0": lambda x: _jn(0, x),
    "j1": lambda x: _jn(1, x),
    "j1_over_x": lambda x: _jn(1, x) / x,
    "jn": _jn,
    "y0": _y0,
    "y1": _y1,
    "yn": _yn,
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
