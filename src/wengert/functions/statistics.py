"""Means and spreads."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import composite
from wengert.core.dims import Dim, Shape, Size, product
from wengert.core.op_parts.batching import along
from wengert.core.op_parts.broadcast import canonical_axes
from wengert.core.op_parts.samples import sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import DTypeError
from wengert.interpret.mistakes.summed_losses import note_mean_of_one

Axes = tuple[int, ...]
Axis = int | tuple[int, ...] | None


def reduced_shape(shape: Shape, axis: Axes, keepdims: bool) -> Shape:
    """What is left of a shape when the axes are reduced."""
    if keepdims:
        return tuple(1 if number in axis else size for number, size in enumerate(shape))
    return tuple(size for number, size in enumerate(shape) if number not in axis)


def restored(y: Any, x: Any, axis: Axes) -> Any:
    """A reduced array with its axes back, of size 1: it broadcasts against what was reduced."""
    return op.reshape(y, reduced_shape(x.shape, axis, True))


def count(x: Any, axis: Axes) -> Size:
    """How many elements are reduced to one."""
    return product(tuple(x.shape[number] for number in axis))


def as_float(x: Any) -> Any:
    """Integers as floats wide enough for them; floats as they are."""
    return x if dtypes.is_float(x.dtype) else op.astype(x, dtypes.floating(x.dtype))


def _averaged(dtype: Any) -> Any:
    """The dtype of a mean. What is averaged is converted first: no sum of integers wraps around."""
    return dtype if dtypes.is_float(dtype) else dtypes.float64


def averageable(x: Any) -> Any:
    """Integers as float64; floats as they are."""
    return x if dtypes.is_float(x.dtype) else op.astype(x, dtypes.float64)


def _averaged_type(x: Any, axis: Axes, keepdims: bool, correction: float = 0) -> ArrayType:
    return ArrayType(reduced_shape(x.shape, axis, keepdims), _averaged(x.dtype))


_SAMPLES = (
    sample((3, 4)),
    sample((2, 3, 4), axis=(0, -1)),
    sample((2, 3, 4), axis=1, keepdims=True),
    sample((3, 1, 2), axis=-3),
)


def _mean_params(x: Any, axis: Axis, keepdims: bool) -> dict[str, Any]:
    if not x.ndim:
        note_mean_of_one(x)
    return {"axis": canonical_axes("mean", axis, x.ndim), "keepdims": bool(keepdims)}


@composite(
    numpy=lambda x, axis, keepdims: np.true_divide(
        np.add.reduce(x, axis=axis, keepdims=keepdims, dtype=_averaged(x.dtype)),
        int(count(x, axis)),
    ),
    type=_averaged_type,
    canonical=_mean_params,
    vjp=lambda g, _out, _x, axis, keepdims: op.broadcast_to(
        restored(op.divide(g, count(_x, axis)), _x, axis), _x.shape
    ),
    jvp=lambda d, _out, _x, axis, keepdims: op.mean(d[0], axis, keepdims),
    samples=(*_SAMPLES, sample(()), sample((2, 3), axis=())),
    method=True,
    batch=along("axis"),
)
def mean(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """Arithmetic mean of the elements along the axes; all of them by default. NaN where none are.

    >>> wg.mean(np.array([[1, 2], [3, 6]]), axis=0)
    array([2., 4.])
    """
    return op.divide(op.sum(averageable(x), axis, keepdims), count(x, axis))


def _spread(name: str) -> Any:
    def canonical(x: Any, axis: Axis, correction: float, keepdims: bool) -> dict[str, Any]:
        try:
            number = float(correction)
        except (TypeError, ValueError):
            raise DTypeError(
                f"{name}: correction {correction!r} was given; it is a number. Pass 0 or 1."
            ) from None
        return {
            "axis": canonical_axes(name, axis, x.ndim),
            "correction": int(number) if number.is_integer() else number,
            "keepdims": bool(keepdims),
        }

    return canonical


def _freedom(x: Any, axis: Axes, correction: float) -> Any:
    """Degrees of freedom: what a sum of squared deviations is divided by."""
    size = count(x, axis)
    if not isinstance(size, Dim):
        return max(size - correction, 0)
    freedom = op.maximum(size - correction, 0)
    return op.astype(freedom, x.dtype)


def _deviation(x: Any, axis: Axes) -> Any:
    return x - op.mean(x, axis, True)


def _var_vjp(g: Any, _out: Any, x: Any, axis: Axes, correction: float, keepdims: bool) -> Any:
    scale = op.divide(2 * g, _freedom(x, axis, correction))
    return op.pull(restored(scale, x, axis), _deviation(x, axis))


def _var_jvp(d: Any, _out: Any, x: Any, axis: Axes, correction: float, keepdims: bool) -> Any:
    total = op.sum(op.pull(d[0], _deviation(x, axis)), axis, keepdims)
    return op.divide(2 * total, _freedom(x, axis, correction))


@composite(
    type=_averaged_type,
    canonical=_spread("var"),
    vjp=_var_vjp,
    jvp=_var_jvp,
    samples=(*_SAMPLES, sample((3, 4), axis=0, correction=1), sample((5,), correction=0.5)),
    batch=along("axis"),
)
def var(x: Any, /, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
    """Mean squared deviation from the mean along the axes.

    The sum of squares is divided by the number of elements less `correction`: 0 for the variance of
    all there is, 1 for an unbiased estimate from a sample.

    >>> wg.var(np.array([1.0, 2.0, 3.0])), wg.var(np.array([1.0, 2.0, 3.0]), correction=1)
    (array(0.66666667), array(1.))
    """
    x = averageable(x)
    total = op.sum(op.square(_deviation(x, axis)), axis, keepdims)
    return op.divide(total, _freedom(x, axis, correction))


def root_of_squares(x: Any, plain: Any, axis: Axes, freedom: Any, eps: float = 0.0) -> Any:
    """The root of `plain`, which is Σ x² / freedom + eps along the axes, kept with size 1.

    Where squares over- or underflow, those of x times a power of two are taken instead. That power
    is exact, so the root is what it would be if floats had no ends. Elsewhere these sums add
    nothing: compiled code leaves them out, and for arrays they are not computed.
    """
    limits = np.finfo(plain.dtype)
    down, up = 2.0 ** -(limits.maxexp // 2 + 20), 2.0 ** (limits.maxexp // 2 + limits.nmant + 8)
    low = float(limits.tiny / limits.eps) if eps < limits.tiny / limits.eps else 0.0
    if isinstance(plain, np.ndarray) and np.all((plain >= low) & (plain < np.inf)):
        return np.sqrt(plain)
    odd = op.equal(plain, np.inf)
    factor, rest = op.full((), down, dtype=plain.dtype), eps * down * down
    if low:  # else eps is so much larger that squares may as well be 0
        large, odd = odd, op.logical_or(odd, op.less(plain, low))
        factor = op.astype(op.where(large, down, up), plain.dtype)
        rest = op.astype(op.where(large, rest, eps * up * up), plain.dtype)
    # Chosen twice: first, so that compiled code computes no square in advance; and last, so that it
    # sees that there is nothing to add.
    squares = op.square(op.where(odd, x, 0) * factor)
    total = op.sum(op.where(odd, squares, 0), axis, True)
    scaled = op.sqrt(op.divide(total, freedom) + rest) / factor
    return op.where(odd, scaled, op.sqrt(plain))


def _exact_deviation(x: Any, axis: Axes) -> Any:
    """Deviations without the rounding of the mean, which may be all there is to a tiny spread."""
    deviation = _deviation(x, axis)
    return deviation - op.mean(deviation, axis, True)


def _direction(out: Any, x: Any, axis: Axes) -> Any:
    """Deviations in units of the spread, and 0 where there is none: no larger than √n, and neither
    are their derivatives lost where the inverse of a spread or its square is no float.
    """
    std = restored(out, x, axis)
    flat = op.equal(std, 0)
    return op.where(flat, 0, _exact_deviation(x, axis) / op.where(flat, 1, std))


def _std_vjp(g: Any, out: Any, x: Any, axis: Axes, correction: float, keepdims: bool) -> Any:
    scale = op.divide(g, _freedom(x, axis, correction))
    return op.pull(restored(scale, x, axis), _direction(out, x, axis))


def _std_jvp(d: Any, out: Any, x: Any, axis: Axes, correction: float, keepdims: bool) -> Any:
    total = op.sum(op.pull(d[0], _direction(out, x, axis)), axis, keepdims)
    return op.divide(total, _freedom(x, axis, correction))


@composite(
    type=_averaged_type,
    canonical=_spread("std"),
    vjp=_std_vjp,
    jvp=_std_jvp,
    samples=(*_SAMPLES, sample((3, 4), axis=0, correction=1)),
    at=[
        (
            ([2.0, 2.0],),
            0.0,
            ([0.0, 0.0],),
            "equal elements are a minimum of the spread, whose gradient there is 0, as abs'(0) is",
        )
    ],
    batch=along("axis"),
)
def std(x: Any, /, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
    """Standard deviation along the axes, the root of `var`. Where it is 0, so is its gradient.

    Where the variance over- or underflows, the deviation does not.

    >>> wg.std(np.array([1.0, 3.0])), wg.std(np.array([1e200, 3e200]))
    (array(1.), array(1.e+200))
    """
    plain, freedom = op.var(x, axis, correction, True), _freedom(x, axis, correction)
    out = root_of_squares(_deviation(x, axis), plain, axis, freedom)
    return out if keepdims else op.reshape(out, reduced_shape(x.shape, axis, False))


def _logsumexp_type(x: Any, axis: Axes, keepdims: bool) -> ArrayType:
    return ArrayType(reduced_shape(x.shape, axis, keepdims), dtypes.floating(x.dtype))


@composite(
    type=_logsumexp_type,
    canonical=lambda x, axis, keepdims: {
        "axis": canonical_axes("logsumexp", axis, x.ndim),
        "keepdims": bool(keepdims),
    },
    vjp=lambda g, out, x, axis, keepdims: op.pull(
        restored(g, x, axis), op.exp(x - restored(out, x, axis))
    ),
    jvp=lambda d, out, x, axis, keepdims: op.sum(
        op.pull(d[0], op.exp(x - restored(out, x, axis))), axis, keepdims
    ),
    samples=(*_SAMPLES, sample((2, 3), axis=())),
    batch=along("axis"),
)
def logsumexp(x: Any, /, axis: Any = None, keepdims: bool = False) -> Any:
    """Logarithm of the sum of exponentials along the axes, without overflow; -inf where none are.

    >>> wg.logsumexp(np.array([1000.0, 1000.0, -np.inf]))
    array(1000.69314718)
    """
    x = as_float(x)
    if any(x.shape[number] == 0 for number in axis):
        return op.full(reduced_shape(x.shape, axis, keepdims), -np.inf, dtype=x.dtype)
    highest = op.stop_gradient(op.max(x, axis, True))
    highest = op.where(op.isfinite(highest), highest, 0)  # where all are -inf, or one is inf
    out = op.log(op.sum(op.exp(x - highest), axis, True)) + highest
    return out if keepdims else op.reshape(out, reduced_shape(x.shape, axis, False))
