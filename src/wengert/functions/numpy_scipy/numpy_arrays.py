"""NumPy's ways to turn, order and fill arrays, and its pairs of ufuncs, under its names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.define import function
from wengert.core.dtypes import is_weak
from wengert.core.promotion import any_number, inexact
from wengert.core.table import UFUNC_METHODS, UFUNCS, op
from wengert.core.tensor import Tensor
from wengert.errors import ShapeError
from wengert.functions.statistics import as_float


@function()
def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array turned k times by a quarter, from the first of two axes towards the second.

    >>> wg.rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    x = op.asarray(x)
    first, second = (int(each) % x.ndim if -x.ndim <= each < x.ndim else -1 for each in axes)
    if first == second or -1 in (first, second):
        error = ShapeError(
            f"rot90: given shape {tuple(x.shape)} and axes {tuple(axes)}; two different axes of "
            "the array are needed. Choose them."
        )
        raise located(error, [x])
    turned = op.swapaxes(x, first, second)
    return (
        x,
        op.flip(turned, first),
        op.flip(x, (first, second)),
        op.flip(turned, second),
    )[k % 4]


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    if x.dtype.kind in "biu":  # powers of small integers soon leave their dtype
        x = op.astype(x, np.promote_types(x.dtype, int))
    count = int(x.shape[0]) if N is None else N
    powers = [op.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    if count <= 0:
        return op.zeros((x.shape[0], 0), dtype=x.dtype)
    return op.stack(powers if increasing else powers[::-1], axis=1)


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None
) -> Any:
    powers = op.power(base, op.linspace(start, stop, num, None, endpoint))
    return powers if dtype is None else op.astype(powers, dtype)


def partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """All of it sorted, which has the k-th in its place, too."""
    ordered = op.sort(op.reshape(x, (-1,)), 0) if axis is None else op.sort(x, axis)
    _require_places("np.partition", ordered, kth, axis)
    return ordered


def argpartition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    order = op.argsort(op.reshape(x, (-1,)), 0) if axis is None else op.argsort(x, axis)
    _require_places("np.argpartition", order, kth, axis)
    return order


def _require_places(name: str, x: Any, kth: Any, axis: int | None) -> None:
    """Refuse places that the axis does not have, where both are known, as NumPy does."""
    size = x.shape[-1 if axis is None else axis]
    if not isinstance(size, int) or not isinstance(kth, int | list | tuple | np.ndarray):
        return
    for k in np.ravel(kth).tolist():
        if not -size <= k < size:
            error = ValueError(
                f"{name}: kth={k} was given for an axis of size {size}; it must lie between "
                f"{-size} and {size - 1}. Choose another."
            )
            raise located(error, [x])


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Every function is called with the whole x; a choice that is not made has no gradient."""
    x = op.asarray(x)
    several = isinstance(condlist, list | tuple) or np.ndim(condlist) > x.ndim
    given = condlist if several else [condlist]
    conditions = [op.asarray(each) for each in given]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        error = ShapeError(
            f"np.piecewise: given {len(conditions)} conditions and {len(funclist)} functions; one "
            "function per condition, and perhaps one for the rest, are needed. Pass these."
        )
        raise located(error, [x])

    def value(each: Any) -> Any:
        result = each(x, *args, **kw) if callable(each) else each
        return op.astype(op.broadcast_to(op.asarray(result), x.shape), x.dtype)

    rest = funclist[len(conditions) :]
    chosen = value(rest[0]) if rest else op.zeros_like(x)
    for condition, each in zip(conditions, funclist, strict=False):
        chosen = op.where(condition, value(each), chosen)
    return chosen


# Ufuncs.


def _ready(rule: Any, name: str, *operands: Any) -> list[Any]:
    """Operands as arrays of the dtype that a rule gives."""
    given = [x if is_weak(x) else op.asarray(x) for x in operands]
    dtype = rule(name, given)[1]
    return [op.astype(op.asarray(x), dtype) for x in given]


def _leaving_out_nan(ours: Callable[..., Any]) -> Callable[..., Any]:
    def choose(x: Any, y: Any) -> Any:
        x, y = _ready(any_number, "np.fmax", x, y)
        if x.dtype.kind != "f":
            return ours(x, y)
        return op.where(op.isnan(x), y, op.where(op.isnan(y), x, ours(x, y)))

    return choose


def fmod(x: Any, y: Any) -> Any:
    """What is left of x, with the sign of x."""
    x, y = _ready(any_number, "np.fmod", x, y)
    negative = op.less(x, 0)
    if x.dtype.kind != "f":  # the smallest integer has no opposite
        rest = op.remainder(x, y)
        other_sign = op.logical_and(op.not_equal(rest, 0), op.not_equal(op.less(rest, 0), negative))
        return op.where(other_sign, rest - y, rest)
    rest = op.remainder(op.where(negative, -x, x), op.abs(y))
    return op.where(negative, -rest, rest)


def divmod(x: Any, y: Any) -> Any:
    return op.floor_divide(x, y), op.remainder(x, y)


def modf(x: Any) -> Any:
    x = as_float(op.asarray(x))
    whole = op.trunc(x)
    return op.copysign(op.where(op.isinf(x), 0, x - whole), x), whole


def float_power(x: Any, y: Any) -> Any:
    x, y = _ready(inexact, "np.float_power", x, y)
    return op.power(op.astype(x, np.float64), op.astype(y, np.float64))


def _accumulated(ours: Callable[..., Any], neutral: Callable[[Any], Any]) -> Callable[..., Any]:
    """A running fold in log₂ n steps: after each, an element has twice as many behind it."""

    def accumulate(x: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        x = x if dtype is None else op.astype(x, dtype)
        step, fill = 1, neutral(x.dtype)
        while step < int(x.shape[axis]):
            x = ours(x, op.shift(x, axis=axis % x.ndim, step=step, fill=fill))
            step *= 2
        return x

    return accumulate


def _lowest(dtype: Any) -> Any:
    return -math.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return math.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _log_of_sum(
    x: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False
) -> Any:
    return op.logsumexp(x if dtype is None else op.astype(x, dtype), axis, keepdims)


UFUNCS[np.fmax], UFUNCS[np.fmin] = _leaving_out_nan(op.maximum), _leaving_out_nan(op.minimum)
UFUNCS[np.fmod] = fmod
UFUNCS[np.divmod] = divmod
UFUNCS[np.modf] = modf
UFUNCS[np.float_power] = float_power
UFUNC_METHODS[np.maximum, "accumulate"] = _accumulated(op.maximum, _lowest)
UFUNC_METHODS[np.minimum, "accumulate"] = _accumulated(op.minimum, _highest)
UFUNC_METHODS[np.logaddexp, "accumulate"] = _accumulated(op.logaddexp, _lowest)
UFUNC_METHODS[np.logaddexp, "reduce"] = _log_of_sum


def _divmod(self: Tensor, other: Any) -> Any:
    return divmod(self, other)


def _reflected_divmod(self: Tensor, other: Any) -> Any:
    return divmod(other, self)


setattr(Tensor, "__divmod__", _divmod)  # noqa: B010 (a class of core, which has no ops)
setattr(Tensor, "__rdivmod__", _reflected_divmod)  # noqa: B010
