"""NumPy's functions of sampled curves and of counts, under its names and with its defaults."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.op_parts.broadcast import canonical_axes
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import ShapeError, TraceError
from wengert.functions.statistics import as_float, averageable


@function()
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """The piecewise linear curve through the points (xp, fp) at each x; xp must increase.

    Beyond the ends it is `left` and `right`, by default the first and the last of fp. At a point
    the slope is that to its right.

    >>> wg.interp(np.array([0.5, 1.5, 9.0]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 10.0, 0.0]))
    array([5., 5., 0.])
    """
    x, xp, fp = (as_float(op.asarray(each)) for each in (x, xp, fp))
    if xp.ndim != 1 or tuple(xp.shape) != tuple(fp.shape) or xp.shape[0] == 0:
        error = ShapeError(
            f"interp: given points of shapes {tuple(xp.shape)} and {tuple(fp.shape)}; two vectors "
            "of one length that is not 0 are needed. Interpolate other axes one by one."
        )
        raise located(error, [x, xp, fp])
    last = xp.shape[0] - 1
    place = op.searchsorted(xp, op.astype(x, xp.dtype), side="right")
    low = op.clip(place - 1, 0, op.maximum(last - 1, 0))
    high = op.minimum(low + 1, last)
    x0, x1, f0, f1 = (op.take(p, i) for p in (xp, fp) for i in (low, high))
    width = op.subtract(x1, x0)
    slope = op.subtract(f1, f0) / op.where(op.equal(width, 0), 1, width)
    inside = f0 + slope * (x - x0)
    inside = op.where(op.equal(x, x1), f1, inside)
    curve = op.where(op.less(x, xp[0]), fp[0] if left is None else left, inside)
    curve = op.where(op.greater(x, xp[-1]), fp[-1] if right is None else right, curve)
    return op.where(op.isnan(x), x, curve)


def np_interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    x, xp, fp = (op.astype(op.asarray(each), np.float64) for each in (x, xp, fp))
    return interp(x, xp, fp, left, right)


def gradient(f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    axes = canonical_axes("np.gradient", axis, f.ndim)
    each = [1.0] if not spacing else [*spacing] if len(spacing) > 1 else [spacing[0]]
    each = each * len(axes) if len(each) == 1 else each
    if len(each) != len(axes) or edge_order not in (1, 2):
        error = ShapeError(
            f"np.gradient: given {len(spacing)} spacings for {len(axes)} axes and edge_order "
            f"{edge_order}; one spacing per axis or one for all, and 1 or 2, are needed. Pass so."
        )
        raise located(error, [f])
    f = averageable(f)
    slopes = [_slopes(f, h, number, edge_order) for number, h in zip(axes, each, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slopes(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """Derivatives along one axis by differences of the second order, at the ends of this one."""
    f = op.moveaxis(f, axis, -1)
    count = int(f.shape[-1])
    if count < edge_order + 1:
        error = ShapeError(
            f"np.gradient: given {count} elements along axis {axis}; at least {edge_order + 1} are "
            "needed. Leave the axis out."
        )
        raise located(error, [f])
    h = op.asarray(spacing)
    steps = op.diff(h) if h.ndim else op.broadcast_to(h, (count - 1,))
    steps = op.astype(steps, f.dtype)
    rises = op.diff(f) / steps
    before, after = steps[:-1], steps[1:]
    middle = (after * rises[..., :-1] + before * rises[..., 1:]) / (before + after)
    first, last = rises[..., :1], rises[..., -1:]
    if edge_order == 2:
        bend = (rises[..., 1:] - rises[..., :-1]) / (before + after)
        first = first - bend[..., :1] * steps[:1]
        last = last + bend[..., -1:] * steps[-1:]
    return op.moveaxis(op.concat([first, middle, last], axis=-1), -1, axis)


def unwrap(
    x: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Any:
    x = averageable(x)
    steps = op.diff(x, axis=axis)
    half = period / 2
    wrapped = op.remainder(steps + half, period) - half
    upper = op.logical_and(op.equal(wrapped, -half), op.greater(steps, 0))
    correction = op.where(upper, half, wrapped) - steps
    small = op.less(op.abs(steps), half if discont is None else max(discont, half))
    # Whole periods: they have no slope.
    correction = op.stop_gradient(op.where(small, 0, correction))
    return x + op.cumulative_sum(correction, axis=axis, include_initial=True)


def fftshift(x: Any, axes: Any = None) -> Any:
    return _rolled(x, axes, lambda size: size // 2)


def ifftshift(x: Any, axes: Any = None) -> Any:
    return _rolled(x, axes, lambda size: -(size // 2))


def _rolled(x: Any, axes: Any, by: Any) -> Any:
    numbers = canonical_axes("np.fft.fftshift", axes, x.ndim)
    return op.roll(x, tuple(by(int(x.shape[n])) for n in numbers), tuple(numbers))


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    sizes = tuple(window_shape) if isinstance(window_shape, Sequence) else (window_shape,)
    numbers = tuple(range(x.ndim)) if axis is None else axis
    numbers = tuple(numbers) if isinstance(numbers, Sequence) else (numbers,)
    fits = len(sizes) == len(numbers)
    for number, size in zip(numbers, sizes, strict=False):
        if not fits or not 0 < size <= int(x.shape[number]):
            error = ShapeError(
                f"np.sliding_window_view: given shape {tuple(x.shape)}, windows {sizes} and axes "
                f"{numbers}; one size per axis, from 1 to that of the axis, is needed. Change them."
            )
            raise located(error, [x])
        starts = np.arange(int(x.shape[number]) - size + 1)
        windows = op.take(x, starts[:, None] + np.arange(size), axis=number)
        x = op.moveaxis(windows, number % x.ndim + 1, -1)
    return x


@function()
def bincount(x: Any, weights: Any = None, length: int | None = None) -> Any:
    """How often each of 0, 1, … length - 1 occurs in a vector of integers, or their sum of weights.

    Without a length it is one more than the largest integer, whose value must be known then.
    Integers from `length` on are an IndexError.

    >>> wg.bincount(np.array([0, 2, 2]), length=4)
    array([1, 0, 2, 0])
    """
    x = op.asarray(x)
    if x.ndim != 1 or x.dtype.kind not in "iu":
        error = ShapeError(
            f"bincount: given {x.dtype} of shape {tuple(x.shape)}; a vector of integers is needed. "
            "Reshape or convert it."
        )
        raise located(error, [x])
    if length is None:
        if isinstance(x, Tensor):
            unknown = TraceError(
                "bincount: the length of its result depends on numbers that are not known yet; it "
                "must be given. Write wg.bincount(x, weights, length=count)."
            )
            raise located(unknown, [x])
        length = int(x.max()) + 1 if x.size else 0
    given = op.ones(x.shape, dtype=np.int64) if weights is None else op.asarray(weights)
    return op.scatter_add(op.zeros((length,), dtype=given.dtype), x, given)


def np_bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if isinstance(x, Tensor):
        return bincount(x, weights)  # refused, in its words
    x = np.asarray(x)
    weights = None if weights is None else op.astype(op.asarray(weights), np.float64)
    return bincount(x, weights, max(int(minlength), int(x.max()) + 1 if x.size else 0))


def histogram(
    x: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> Any:
    edges = _edges(x, bins, range)
    count = len(edges) - 1
    flat = op.reshape(op.asarray(x), (-1,))
    flat = op.astype(flat, np.result_type(flat.dtype, edges.dtype))
    place = op.searchsorted(edges.astype(flat.dtype), flat, side="right") - 1
    place = op.where(op.equal(flat, edges[-1]), count - 1, place)
    inside = op.logical_and(op.greater_equal(flat, edges[0]), op.less_equal(flat, edges[-1]))
    given = op.ones(flat.shape, dtype=np.int64) if weights is None else op.reshape(weights, (-1,))
    counted = op.where(inside, given, 0)
    total = op.scatter_add(
        op.zeros((count,), dtype=counted.dtype), op.where(inside, place, 0), counted
    )
    if density:
        total = total / op.sum(total) / np.diff(edges)
    return total, edges


def _edges(x: Any, bins: Any, range: Any) -> Any:
    """The edges of bins, which must be known before the numbers are."""
    if not isinstance(bins, str | Tensor) and np.ndim(bins) == 1:
        return np.asarray(bins)
    if isinstance(bins, int) and range is not None:
        low, high = range
        return np.linspace(low, high, bins + 1)
    if isinstance(bins, int) and not isinstance(x, Tensor):  # only the weights are not known
        return np.histogram_bin_edges(np.asarray(x), bins)
    error = TraceError(
        f"np.histogram: given bins={bins!r} and range={range!r}; the edges must be known before "
        "the numbers are. Pass the edges, or a number of bins and range=(low, high)."
    )
    raise located(error, [x])
