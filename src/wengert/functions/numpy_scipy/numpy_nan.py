"""NumPy's reductions that leave NaN out, under its names and with its defaults."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.op_parts.broadcast import canonical_axes
from wengert.core.table import op
from wengert.errors import ShapeError
from wengert.functions.quantiles import INTERPOLATIONS, quantile_of_rows, rows_of
from wengert.functions.statistics import averageable


def _is_float(x: Any) -> bool:
    return bool(x.dtype.kind == "f")


def _filled(x: Any, value: float) -> Any:
    """x with another number in the place of each NaN."""
    return op.where(op.isnan(x), value, x) if _is_float(x) else x


def _count(x: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are not NaN, in the dtype of x."""
    return op.astype(op.sum(op.logical_not(op.isnan(x)), axis, keepdims), x.dtype)


def nansum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return op.sum(_filled(x, 0), axis, keepdims)


def nanprod(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return op.prod(_filled(x, 1), axis, keepdims)


def nanmean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if not _is_float(x):
        return op.mean(x, axis, keepdims)
    return nansum(x, axis, keepdims) / _count(x, axis, keepdims)


def nanvar(x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
    x = averageable(x)
    deviation = _filled(x - nanmean(x, axis, True), 0)
    freedom = _count(x, axis, keepdims) - correction
    spread = op.sum(op.square(deviation), axis, keepdims) / op.maximum(freedom, 0)
    return op.where(op.less_equal(freedom, 0), math.nan, spread)


def nanstd(x: Any, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
    spread = nanvar(x, axis, correction, keepdims)
    flat = op.equal(spread, 0)  # where the root has no slope, that of std is 0
    return op.where(flat, 0, op.sqrt(op.where(flat, 1, spread)))


def nanmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(op.max, -math.inf, x, axis, keepdims)


def nanmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _extreme(op.min, math.inf, x, axis, keepdims)


def _extreme(reduce: Any, beyond: float, x: Any, axis: Any, keepdims: bool) -> Any:
    if not _is_float(x):
        return reduce(x, axis, keepdims)
    extreme = reduce(_filled(x, beyond), axis, keepdims)
    return op.where(op.all(op.isnan(x), axis, keepdims), math.nan, extreme)


def nancumsum(x: Any, axis: int | None = None) -> Any:
    return _running(op.cumsum, 0, x, axis)


def nancumprod(x: Any, axis: int | None = None) -> Any:
    return _running(op.cumprod, 1, x, axis)


def _running(fold: Any, neutral: float, x: Any, axis: int | None) -> Any:
    x = _filled(x, neutral)
    return fold(op.reshape(x, (-1,)), axis=0) if axis is None else fold(x, axis=axis)


def nanmedian(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def nanpercentile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    return nanquantile(x, np.true_divide(q, 100), axis, method, keepdims)


def nanquantile(
    x: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """NaNs are sorted to the end: how many numbers come before them is known only when the program
    runs.
    """
    axes = canonical_axes("np.nanquantile", axis, x.ndim)
    if method not in INTERPOLATIONS or x.size == 0:
        error = ShapeError(
            f"np.nanquantile: given shape {tuple(x.shape)} and method {method!r}; elements are "
            f"needed, and one of {', '.join(map(repr, INTERPOLATIONS))}. Choose another."
        )
        raise located(error, [x])
    x = averageable(x)
    rows = op.sort(rows_of(x, axes))
    last = op.sum(op.logical_not(op.isnan(rows)), -1, True) - 1  # of each row; -1 where none is
    return quantile_of_rows(rows, last, q, method, x.shape, axes, keepdims)
