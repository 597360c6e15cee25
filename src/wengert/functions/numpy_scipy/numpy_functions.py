"""What NumPy has and we call differently or not at all, under NumPy's names, with its defaults."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.dims import product
from wengert.core.op_parts.broadcast import canonical_axes, canonical_axis
from wengert.core.promotion import inexact
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.source import user_line
from wengert.errors import AxisError, ShapeError, TraceError
from wengert.functions.statistics import as_float

# Shapes.


def shape(x: Any) -> tuple[Any, ...]:
    return tuple(x.shape)


def ndim(x: Any) -> int:
    return len(x.shape)


def size(x: Any, axis: Any = None) -> Any:
    return product(tuple(x.shape[each] for each in canonical_axes("np.size", axis, x.ndim)))


def copy(x: Any) -> Any:
    return x


def ravel(x: Any) -> Any:
    return op.reshape(x, (-1,))


def transpose(x: Any, axes: Any = None) -> Any:
    return op.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else axes)


def atleast_1d(*arrays: Any) -> Any:
    return _at_least(arrays, lambda x: (1,) if not x.shape else x.shape)


def atleast_2d(*arrays: Any) -> Any:
    return _at_least(arrays, lambda x: (1,) * (2 - x.ndim) + tuple(x.shape))


def atleast_3d(*arrays: Any) -> Any:
    def form(x: Any) -> tuple[Any, ...]:
        lead = (1,) * (2 - x.ndim)  # a vector stands between two new axes
        return (*lead, *x.shape, *(1,) * (3 - len(lead) - x.ndim))

    return _at_least(arrays, form)


def _at_least(arrays: Sequence[Any], form: Callable[[Any], Any]) -> Any:
    ready = [op.asarray(x) for x in arrays]
    out = tuple(op.reshape(x, form(x)) for x in ready)
    return out[0] if len(out) == 1 else out


def vstack(arrays: Sequence[Any]) -> Any:
    return op.concat([atleast_2d(x) for x in arrays], axis=0)


def hstack(arrays: Sequence[Any]) -> Any:
    ready = [atleast_1d(x) for x in arrays]
    return op.concat(ready, axis=0 if ready[0].ndim == 1 else 1)


def dstack(arrays: Sequence[Any]) -> Any:
    return op.concat([atleast_3d(x) for x in arrays], axis=2)


def column_stack(arrays: Sequence[Any]) -> Any:
    ready = [op.asarray(x) for x in arrays]
    return op.concat([x if x.ndim > 1 else op.reshape(x, (-1, 1)) for x in ready], axis=1)


def append(x: Any, values: Any, axis: int | None = None) -> Any:
    return op.concat([op.asarray(x), op.asarray(values)], axis=axis)


def block(arrays: Any) -> Any:
    """Nested lists: the innermost are joined along the last axis, those around them before it."""

    def depth(x: Any) -> int:
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    def join(x: Any, level: int, rank: int) -> Any:
        if isinstance(x, list):
            return op.concat([join(each, level - 1, rank) for each in x], axis=-level)
        x = op.asarray(x)
        return op.reshape(x, (1,) * (rank - x.ndim) + tuple(x.shape))

    def highest(x: Any) -> int:
        return max(map(highest, x)) if isinstance(x, list) else int(np.ndim(x))

    levels = depth(arrays)
    return join(arrays, levels, max(levels, highest(arrays)))


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if np.ndim(indices_or_sections) == 0 and (count := int(indices_or_sections)) > 0:
        each, more = divmod(int(x.shape[axis]), count)
        sizes = [each + 1] * more + [each] * (count - more)
        indices_or_sections = np.cumsum(sizes)[:-1].tolist()
    return op.split(x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    return op.split(x, indices_or_sections, min(1, x.ndim - 1))


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    return op.split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    return op.split(x, indices_or_sections, 2)


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """The axis moved to stand before the one at `start`, counted before it is moved."""
    axis = canonical_axis("np.rollaxis", axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        error = AxisError(
            f"np.rollaxis: given start {start} for an array of {x.ndim} axes; it must be from "
            f"{-x.ndim} to {x.ndim}. Choose where the axis goes."
        )
        raise located(error, [x])
    start += x.ndim if start < 0 else 0
    return op.moveaxis(x, axis, start - 1 if axis < start else start)


def fliplr(x: Any) -> Any:
    return op.flip(x, 1)


def flipud(x: Any) -> Any:
    return op.flip(x, 0)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return op.diagonal(x, offset, axis1, axis2)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return op.sum(diagonal(x, offset, axis1, axis2), -1)


def pad(x: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    if mode == "constant" and np.ndim(constant_values) == 0:
        widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist()
        return op.pad(x, tuple(map(tuple, widths)), constant_values)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        _refuse(
            "pad", f"mode={mode!r} with these values", "Pad with one number, or join with wg.concat"
        )
    for axis, width in enumerate(np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))):
        # What NumPy does to positions says which elements are repeated.
        x = op.take(x, np.pad(np.arange(int(x.shape[axis])), tuple(width), mode=mode), axis=axis)
    return x


def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Any:
    if isinstance(fill_value, int | float):
        return op.full_like(x, fill_value, dtype)
    return op.broadcast_to(op.astype(fill_value, dtype or x.dtype), x.shape)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    return op.linspace(start, stop, num, dtype, endpoint)


# Choices.


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        _refuse("where", "a condition alone", "Give both values, np.where(condition, x, y)")
    return op.where(condition, x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    pairs = zip(reversed(condlist), reversed(choicelist), strict=True)
    return functools.reduce(lambda rest, pair: op.where(*pair, rest), pairs, default)


def clip(x: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    if x.dtype.kind in "iu":  # a bound that no such integer is beyond is none
        info = np.iinfo(x.dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    return op.clip(x, low, high)


def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    if x.dtype.kind != "f":
        return x
    largest = float(np.finfo(x.dtype).max)
    x = op.where(op.isnan(x), nan, x)
    x = op.where(op.equal(x, math.inf), largest if posinf is None else posinf, x)
    return op.where(op.equal(x, -math.inf), -largest if neginf is None else neginf, x)


def sort(x: Any, axis: int | None = -1) -> Any:
    return op.sort(ravel(x), 0) if axis is None else op.sort(x, axis)


def argsort(x: Any, axis: int | None = -1) -> Any:
    return op.argsort(ravel(x), 0) if axis is None else op.argsort(x, axis)


def round(x: Any, decimals: int = 0) -> Any:
    if x.dtype.kind in "iu":
        if decimals >= 0:
            return x
        return op.astype(_rounded(op.astype(x, np.float64), decimals), x.dtype)
    return _rounded(as_float(x), decimals)


def _rounded(x: Any, decimals: int) -> Any:
    if decimals == 0:
        return op.round(x)
    scale = 10.0 ** abs(decimals)
    return op.round(x * scale) / scale if decimals > 0 else op.round(x / scale) * scale


def rint(x: Any) -> Any:
    return op.round(as_float(op.asarray(x)))


def fabs(x: Any) -> Any:
    return op.abs(as_float(op.asarray(x)))


def reciprocal(x: Any) -> Any:
    x = op.asarray(x)
    if x.dtype.kind == "f":
        return op.reciprocal(x)
    x = op.astype(x, np.int8) if x.dtype == bool else x
    return op.where(op.equal(op.abs(x), 1), x, 0)  # towards zero; that of 0 is 0, as x // 0


def heaviside(x: Any, at_zero: Any) -> Any:
    given = [y if isinstance(y, bool | int | float) else op.asarray(y) for y in (x, at_zero)]
    dtype = inexact("heaviside", given)[1]
    x, at_zero = (op.astype(op.asarray(y), dtype) for y in given)
    return op.where(
        op.less(x, 0), 0.0, op.where(op.equal(x, 0), at_zero, op.where(op.isnan(x), x, 1.0))
    )


def radians(x: Any) -> Any:
    return op.multiply(as_float(op.asarray(x)), math.pi / 180)


def degrees(x: Any) -> Any:
    return op.multiply(as_float(op.asarray(x)), 180 / math.pi)


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    y = op.asarray(y)
    y = op.astype(y, np.result_type(y.dtype, 1.0))  # differences of integers may wrap around
    near = op.less_equal(op.abs(op.subtract(x, y)), op.abs(y) * rtol + atol)
    same = op.logical_or(op.equal(x, y), op.logical_and(near, op.isfinite(y)))
    return op.logical_or(same, op.logical_and(op.isnan(x), op.isnan(y))) if equal_nan else same


def allclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return _answer(op.all(isclose(x, y, rtol, atol, equal_nan)))


def array_equal(x: Any, y: Any) -> Any:
    return np.shape(x) == np.shape(y) and _answer(op.all(op.equal(x, y)))


def _answer(answer: Any) -> Any:
    """A bool of Python's where the value is known."""
    return answer if isinstance(answer, Tensor) else bool(answer)


# Products.


def vdot(x: Any, y: Any) -> Any:
    return op.matmul(ravel(x), ravel(y))


def multi_dot(arrays: Sequence[Any]) -> Any:
    return functools.reduce(op.matmul, arrays)


def cross(
    x: Any, y: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = op.moveaxis(op.asarray(x), axisa, -1), op.moveaxis(op.asarray(y), axisb, -1)
    return op.moveaxis(op.cross(x, y, axis=-1), -1, axisc)


def polyval(p: Any, x: Any) -> Any:
    p, x = op.asarray(p), op.asarray(x)
    return functools.reduce(lambda value, each: value * x + each, p, op.zeros_like(x))


def convolve(x: Any, y: Any, mode: str = "full") -> Any:
    x, y = atleast_1d(x, y)
    _require_vectors("convolve", x, y, mode)
    if int(x.shape[0]) < int(y.shape[0]):
        x, y = y, x
    n, m = int(x.shape[0]), int(y.shape[0])
    left = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    wide = op.pad(x, ((left, count + m - 1 - n - left),))
    windows = np.arange(count)[:, None] + np.arange(m)
    return op.take(wide, windows, axis=0) @ op.flip(y)


def _require_vectors(name: str, x: Any, y: Any, mode: str) -> None:
    vectors = x.ndim == y.ndim == 1 and 0 not in (*x.shape, *y.shape)
    if not vectors or mode not in ("full", "same", "valid"):
        error = ShapeError(
            f"np.{name}: given shapes {tuple(x.shape)} and {tuple(y.shape)} and mode {mode!r}; two "
            "vectors that are not empty and one of 'full', 'same' and 'valid' are needed. Loop "
            "over other axes."
        )
        raise located(error, [x, y])


def correlate(x: Any, y: Any, mode: str = "valid") -> Any:
    x, y = op.asarray(x), op.asarray(y)
    _require_vectors("correlate", x, y, mode)
    if int(x.shape[0]) < int(y.shape[0]):
        return op.flip(correlate(y, x, mode))
    return convolve(x, op.flip(y), mode)


# Complex numbers, of which there are none.


def iscomplex(x: Any) -> Any:
    return op.zeros_like(x, dtype=np.bool_)


def isreal(x: Any) -> Any:
    return op.ones_like(x, dtype=np.bool_)


def real_if_close(x: Any) -> Any:
    return x


def angle(x: Any, deg: bool = False) -> Any:
    x = as_float(op.asarray(x))
    angles = op.where(op.signbit(x), 180.0 if deg else math.pi, 0.0)
    return op.where(op.isnan(x), x, op.astype(angles, x.dtype))


# Questions about the dtype.


def iscomplexobj(_x: Any) -> bool:
    return False


def isrealobj(_x: Any) -> bool:
    return True


def isposinf(x: Any) -> Any:
    return op.equal(x, math.inf)


def isneginf(x: Any) -> Any:
    return op.equal(x, -math.inf)


def result_type(*arrays: Any) -> Any:
    return np.result_type(*(x.dtype if isinstance(x, Tensor) else x for x in arrays))


def _refuse(name: str, given: str, repair: str) -> Any:
    line = user_line()
    place = f" ({line})" if line else ""
    raise TraceError(f"np.{name}: given {given}; that is not recorded. {repair}.{place}")
