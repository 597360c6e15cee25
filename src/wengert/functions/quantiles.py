"""Medians, quantiles and percentiles: elements of sorted rows, and what lies between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.dims import Dim, Shape, Size, product
from wengert.core.op_parts.broadcast import canonical_axes
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import DTypeError, ShapeError
from wengert.functions.statistics import averageable, reduced_shape

Axes = tuple[int, ...]

# Which of two neighbours a place between them means: the share of the upper one.
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def rows_of(x: Any, axes: Axes) -> Any:
    """The axes that are reduced as the last one, all others before it."""
    others = tuple(each for each in range(x.ndim) if each not in axes)
    shape = (*(x.shape[each] for each in others), product(tuple(x.shape[each] for each in axes)))
    return op.reshape(op.permute_dims(x, (*others, *axes)), shape)


def _shares(q: Any) -> Any:
    """The quantiles asked for, as a NumPy array of numbers between 0 and 1."""
    if isinstance(q, Tensor):
        error = DTypeError(
            "quantile: q is a Tensor; which elements are meant must be known. Pass numbers."
        )
        raise located(error, [q])
    shares = np.asarray(q, np.float64)
    if not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError(
            f"quantile: q={q!r} was given; quantiles lie between 0 and 1, and percentiles between "
            "0 and 100. Choose others."
        )
    return shares


def _last_index(count: Size) -> Any:
    """The index of the last of so many elements: of an open size an array of one integer, which is
    known when the program runs.
    """
    return op.add(count - 1, np.zeros(1, np.int64)) if isinstance(count, Dim) else count - 1


def _element(rows: Any, index: Any) -> Any:
    """Of each row the element at this index, or at its own one."""
    index = op.broadcast_to(index, (*rows.shape[:-1], 1))
    return op.take_along_axis(rows, index, axis=-1)[..., 0]


def quantile_of_rows(
    rows: Any, last: Any, q: Any, method: str, shape: Shape, axes: Axes, keepdims: bool
) -> Any:
    """Quantiles of sorted rows whose numbers end at index `last`, one axis in front for those of q.

    `last` is an integer, or an array of them with an axis of size 1 at the end.
    """
    shares = _shares(q)
    quantiles = [_one(rows, last, float(share), method) for share in shares.reshape(-1)]
    reduced = reduced_shape(shape, axes, keepdims)
    if not shares.ndim:
        return op.reshape(quantiles[0], reduced)
    if not quantiles:
        return op.zeros((*shares.shape, *reduced), dtype=rows.dtype)
    return op.reshape(op.stack(quantiles, axis=0), (*shares.shape, *reduced))


def _one(rows: Any, last: Any, share: float, method: str) -> Any:
    place = op.multiply(last, share) if not isinstance(last, int) else np.float64(share * last)
    low = op.maximum(op.floor(place), 0)
    weight = op.subtract(place, low)
    if method != "linear":
        between = op.greater(weight, 0)
        half = {"lower": 0.0, "higher": 1.0, "midpoint": 0.5}.get(method)
        if half is None:  # of two that are equally near, the even one
            weight = op.subtract(op.round(place), low)
        else:
            weight = op.where(between, half, 0.0)
    first = op.astype(low, np.int64)
    second = op.minimum(first + 1, op.maximum(op.astype(op.asarray(last), np.int64), 0))
    shape = (*rows.shape[:-1], 1)
    lower, upper = (_element(rows, index) for index in (first, second))
    weight = op.reshape(op.broadcast_to(op.astype(weight, rows.dtype), shape), rows.shape[:-1])
    # From the nearer end, so that equal neighbours are met exactly.
    same = op.equal(lower, upper)  # infinite perhaps, and nothing lies between
    gap = op.where(same, 0, upper) - op.where(same, 0, lower)
    value = op.where(op.less(weight, 0.5), lower + gap * weight, upper - gap * (1 - weight))
    value = op.where(op.equal(weight, 0), lower, op.where(op.equal(weight, 1), upper, value))
    if isinstance(last, int):
        return value
    return op.where(op.less(last[..., 0], 0), math.nan, value)


@function()
def quantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """The number below which a share q of the elements along the axes lies; several for an array q.

    `method` says what lies between two elements: "linear", "lower", "higher", "midpoint" or
    "nearest". NaN where one of the elements is.

    >>> wg.quantile(np.array([4.0, 1.0, 3.0, 2.0]), np.array([0.5, 1.0]))
    array([2.5, 4. ])
    """
    x = op.asarray(x)
    axes = canonical_axes("quantile", axis, x.ndim)
    if method not in INTERPOLATIONS or any(x.shape[each] == 0 for each in axes):
        error = ShapeError(
            f"quantile: given shape {tuple(x.shape)}, axis {axis} and method {method!r}; an axis "
            f"with elements is needed, and one of {', '.join(map(repr, INTERPOLATIONS))}. Choose "
            "another."
        )
        raise located(error, [x])
    x = averageable(x)
    rows = op.sort(rows_of(x, axes))
    last = _last_index(rows.shape[-1])
    values = quantile_of_rows(rows, last, q, method, x.shape, axes, keepdims)
    unknown = op.reshape(op.isnan(rows[..., -1]), reduced_shape(x.shape, axes, keepdims))
    return op.where(unknown, math.nan, values)


@function()
def median(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The middle one of the sorted elements along the axes, or the mean of the middle two.

    >>> wg.median(np.array([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]]), axis=1)
    array([2., 8.])
    """
    x = averageable(op.asarray(x))
    axes = canonical_axes("median", axis, x.ndim)
    rows = op.sort(rows_of(x, axes))
    count = rows.shape[-1]
    if isinstance(count, Dim):
        middle = _middle_of_open_rows(rows)
    else:
        middle = op.mean(rows[..., max(count - 1, 0) // 2 : count // 2 + 1], -1)
    if isinstance(count, Dim) or count:
        last = rows[..., -1]
        middle = op.where(op.isnan(last), last, middle)  # NaN comes last, and is the median then
    return op.reshape(middle, reduced_shape(x.shape, axes, keepdims))


def _middle_of_open_rows(rows: Any) -> Any:
    """The median of sorted rows, where how many elements they have is known at run time only."""
    last = _last_index(rows.shape[-1])
    lower, upper = (_element(rows, op.floor_divide(index, 2)) for index in (last, last + 1))
    is_one = op.equal(op.remainder(last, 2), 0)[..., 0]
    return op.where(is_one, lower, op.mean(op.stack([lower, upper], axis=-1), -1))


def percentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    return quantile(
        x, q if isinstance(q, Tensor) else np.true_divide(q, 100), axis, method, keepdims
    )
