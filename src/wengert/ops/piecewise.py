"""Functions with corners and steps: signs, rounding, the larger and the smaller, choices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise
from wengert.core.dtypes import DType, promote
from wengert.core.lowering import Elementwise
from wengert.core.op_parts import magnitude
from wengert.core.op_parts.samples import Booleans, Exactly, Real, sample, uniform
from wengert.core.table import op
from wengert.core.types import Value


@elementwise(
    numpy=np.abs,
    infix="__abs__",
    partials=lambda _out, x: op.sign(x),
    emit=lambda e, x: e.abs(x),
    samples=(*uniform((0.2, 2)), *uniform((-2, -0.2))),
    at=[((0.0,), 0.0, (0.0,), "the middle of the slopes -1 and 1")],
    exact=True,
    magnitude=magnitude.ABSOLUTE,
)
def abs(x: Any, /) -> None:
    """Each element without its sign.

    >>> wg.abs(np.array([-1.5, 2.0]))
    array([1.5, 2. ])
    """


def _emit_sign(e: Any, x: Any) -> Any:
    zero, one = e.const(0), e.const(1)
    below = e.select(e.lt(x, zero), e.neg(one), e.add(x, zero))  # NaN stays, and -0 becomes 0
    return e.select(e.gt(x, zero), one, below)


@elementwise(
    numpy=np.sign,
    dtypes=promotion.signed,
    flat=True,
    emit=_emit_sign,
    samples=(*uniform((-2, 2)), sample(Exactly([-3.0, 0.0, 5.0]))),
    at=[((0.0,), 0.0, (0.0,), "neither positive nor negative")],
    magnitude=magnitude.SIGN,
)
def sign(x: Any, /) -> None:
    """-1, 0 or 1, as each element is negative, zero or positive.

    >>> wg.sign(np.array([-3.0, 0.0, 2.0]))
    array([-1.,  0.,  1.])
    """


@elementwise(
    numpy=np.copysign,
    dtypes=promotion.inexact,
    partials=lambda out, x, _y: (lambda: op.sign(x) * op.sign(out), 0),
    emit=lambda e, x, y: e.copysign(x, y),
    samples=(*uniform((0.2, 2), (-2, -0.2)), *uniform((-2, -0.2), (-2, -0.2))),
    at=[((0.0, -1.0), -0.0, (0.0, 0.0), "like abs at 0")],
    exact=True,
)
def copysign(x: Any, y: Any, /) -> None:
    """The size of each x with the sign of y, a negative zero's included.

    >>> wg.copysign(np.array([1.0, 2.0]), np.array([-0.0, 3.0]))
    array([-1.,  2.])
    """


@elementwise(
    numpy=np.nextafter,
    dtypes=promotion.inexact,
    partials=lambda _out, _x, _y: (1, 0),
    emit=lambda e, x, y: e.nextafter(x, y),
    samples=(*uniform((0.2, 2), (-2, -0.2)), *uniform((-2, -0.2), (-2, 2))),
    at=[((0.0, 1.0), 5e-324, (1.0, 0.0), "the smallest number above 0")],
    exact=True,
)
def nextafter(x: Any, y: Any, /) -> None:
    """The float next to each x in the direction of y; y where they are equal.

    >>> wg.nextafter(np.float32(1), np.float32(2)) > 1
    np.True_
    """


def _of_floats(ufunc: np.ufunc) -> Any:
    """A rounding that leaves integers alone in every version of NumPy."""

    def rounded(x: Any) -> Any:
        x = np.asarray(x)
        return np.array(x) if x.dtype.kind in "biu" else ufunc(x)

    return rounded


@elementwise(
    numpy=_of_floats(np.floor),
    aliases=(np.floor,),
    flat=True,
    emit=lambda e, x: e.floor(x),
    samples=uniform((-9, 9)),
    exact=True,
)
def floor(x: Any, /) -> None:
    """The largest whole number that is not above each element.

    >>> wg.floor(np.array([-1.5, 0.2, 3.0]))
    array([-2.,  0.,  3.])
    """


@elementwise(
    numpy=_of_floats(np.ceil),
    aliases=(np.ceil,),
    flat=True,
    emit=lambda e, x: e.ceil(x),
    samples=uniform((-9, 9)),
    exact=True,
)
def ceil(x: Any, /) -> None:
    """The smallest whole number that is not below each element.

    >>> wg.ceil(np.array([-1.5, 0.2, 3.0]))
    array([-1.,  1.,  3.])
    """


@elementwise(
    numpy=_of_floats(np.trunc),
    aliases=(np.trunc,),
    flat=True,
    emit=lambda e, x: e.trunc(x),
    samples=uniform((-9, 9)),
    exact=True,
)
def trunc(x: Any, /) -> None:
    """Each element without what follows the decimal point.

    >>> wg.trunc(np.array([-1.5, 0.2, 3.9]))
    array([-1.,  0.,  3.])
    """


@elementwise(
    numpy=_of_floats(np.rint),
    aliases=(np.rint,),
    flat=True,
    emit=lambda e, x: e.round_even(x),
    samples=(*uniform((-9, 9)), sample(Exactly([-1.5, -0.5, 0.5, 1.5, 2.5]))),
    at=[((2.5,), 2.0, (0.0,), "of two nearest whole numbers, the even one")],
    exact=True,
)
def round(x: Any, /) -> None:
    """The whole number nearest to each element; of two, the even one.

    >>> wg.round(np.array([0.5, 1.5, -2.7]))
    array([ 0.,  2., -3.])
    """


def _share(wins: Any, x: Any, y: Any) -> Any:
    """1 where x wins, 1/2 at a tie, 0 where y wins, else NaN; in the dtype of the result."""
    win, tie, loss, unknown = (np.asarray(v, promote(x, y)) for v in (1, 0.5, 0, math.nan))
    lost = op.where(wins(y, x), loss, unknown) if _may_be_nan(x, y) else loss
    return op.where(wins(x, y), win, op.where(op.equal(x, y), tie, lost))


def _may_be_nan(*operands: Any) -> bool:
    """Whether a NaN may be among them; of arrays it is known, in one pass each."""
    return any(
        not isinstance(z, np.ndarray) or math.isnan(np.vdot(z, z))
        for z in operands
        if type(z) not in (int, float)
    )


@elementwise(
    numpy=np.maximum,
    commutative=True,
    partials=lambda _out, x, y: (
        lambda: _share(op.greater, x, y),
        lambda: _share(op.less, x, y),
    ),
    emit=lambda e, x, y: e.max(x, y),
    samples=uniform((-2, 2), (-2, 2)),
    at=[((1.0, 1.0), 1.0, (0.5, 0.5), "a tie shares the gradient evenly")],
    magnitude=magnitude.LARGER,
)
def maximum(x: Any, y: Any, /) -> None:
    """The larger of each pair of elements; NaN if either is.

    >>> wg.maximum(np.array([1.0, 5.0]), 3.0)
    array([3., 5.])
    """


@elementwise(
    numpy=np.minimum,
    commutative=True,
    partials=lambda _out, x, y: (
        lambda: _share(op.less, x, y),
        lambda: _share(op.greater, x, y),
    ),
    emit=lambda e, x, y: e.min(x, y),
    samples=uniform((-2, 2), (-2, 2)),
    at=[((1.0, 1.0), 1.0, (0.5, 0.5), "a tie shares the gradient evenly")],
    magnitude=magnitude.SMALLER,
)
def minimum(x: Any, y: Any, /) -> None:
    """The smaller of each pair of elements; NaN if either is.

    >>> wg.minimum(np.array([1.0, 5.0]), 3.0)
    array([1., 3.])
    """


def _relu(x: Any) -> Any:
    x = np.asarray(x)
    return np.maximum(x, x.dtype.type(0))


@elementwise(
    numpy=_relu,
    partials=lambda out, _x: op.sign(out),  # 1, 0 or NaN
    emit=lambda e, x: e.max(x, e.const(0)),
    samples=(*uniform((0.2, 2)), *uniform((-2, -0.2))),
    at=[((0.0,), 0.0, (0.0,), "a unit at rest stays at rest")],
)
def relu(x: Any, /) -> None:
    """Each element where it is positive, else 0.

    >>> wg.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    """


def _bounded(name: str, operands: Sequence[Value]) -> tuple[list[Any], DType]:
    """A bound that is None has no dtype."""
    common = promotion.any_number(name, [x for x in operands if x is not None])[1]
    return [None if x is None else common for x in operands], common


def _clip(x: Any, min: Any, max: Any) -> Any:
    # The dtype of all three: of a weak x, or of an integer one and a weak bound, it is not that of
    # two and then the third.
    if isinstance(x, int | float) or (x.dtype.kind != "f" and not (min is None or max is None)):
        bounds = [
            y if isinstance(y, int | float) else np.asarray(y) for y in (min, max) if y is not None
        ]
        x = np.asarray(x, promote(x, *bounds))
    x = np.array(x) if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def _emit_clip(e: Any, x: Any, min: Any, max: Any) -> Any:
    x = x if min is None else e.max(x, min)
    return x if max is None else e.min(x, max)


def _clip_partials(_out: Any, x: Any, min: Any, max: Any) -> Any:
    """Which of the three the result is: a bound only where x lies beyond it, and max before min.
    Where one is NaN it is none of them, and all derivatives are NaN.
    """
    below = False if min is None else op.less(x, min)
    above = False if max is None else op.greater(x, max)
    crossed = False if min is None or max is None else op.greater(min, max)
    outside = op.logical_or(op.logical_or(below, above), crossed)
    given = [z for z in (x, min, max) if z is not None]

    def slope(chosen: Any) -> Any:
        if not _may_be_nan(*given):
            return chosen
        arrays = [z for z in given if type(z) not in (int, float)]
        unknown = reduce(op.logical_or, [op.not_equal(z, z) for z in arrays])
        return op.where(unknown, np.asarray(math.nan, promote(*given)), chosen)

    return (
        lambda: slope(op.logical_not(outside)),
        lambda: slope(op.logical_and(below, op.logical_not(crossed))),
        lambda: slope(op.logical_or(above, crossed)),
    )


@elementwise(
    numpy=_clip,
    dtypes=_bounded,
    partials=_clip_partials,
    emit=_emit_clip,
    samples=(
        sample((3, 4), Exactly(-1.0), Exactly(1.0)),
        sample((3, 4), Real((4,), -1.5, -0.5), Real((3, 1), 0.5, 1.5)),
        sample((2, 1, 3), None, Real((2, 1), -1, 1)),
        sample((), Exactly(0.0), None),
        sample((0, 3), Exactly(-1.0), Exactly(1.0)),
        sample((3,), None, None),
    ),
    at=[
        ((1.0, -1.0, 1.0), 1.0, (1.0, 0.0, 0.0), "the gradient passes at the upper bound"),
        ((-1.0, -1.0, 1.0), -1.0, (1.0, 0.0, 0.0), "the gradient passes at the lower bound"),
        ((0.0, 2.0, 1.0), 1.0, (0.0, 0.0, 1.0), "where the bounds cross, the upper one holds"),
    ],
    magnitude=magnitude.BETWEEN,
)
def clip(x: Any, min: Any = None, max: Any = None, /) -> None:
    """Each element, but not below min and not above max; None is no bound.

    >>> wg.clip(np.array([-2.0, 0.5, 7.0]), -1, 1), wg.clip(np.array([-2.0, 7.0]), min=0)
    (array([-1. ,  0.5,  1. ]), array([0., 7.]))
    """


@elementwise(
    numpy=np.where,
    dtypes=promotion.selection,
    vjp=lambda g, _out, condition, _x, _y: (
        None,
        op.where(condition, g, 0),
        op.where(condition, 0, g),
    ),
    jvp=lambda d, _out, condition, _x, _y: op.where(
        condition, 0 if d[1] is None else d[1], 0 if d[2] is None else d[2]
    ),
    lower=Elementwise(lambda e, condition, x, y: e.select(condition, x, y), chooses=True),
    samples=(
        sample(Booleans((3, 4)), (3, 4), (3, 4)),
        sample(Booleans((2, 1, 4)), (3, 1), ()),
        sample(Booleans(()), (), ()),
        sample(Booleans((0, 3)), (3,), (0, 1)),
    ),
    exact=True,
    magnitude=magnitude.CHOSEN,
)
def where(condition: Any, x: Any, y: Any, /) -> None:
    """Elements of x where the condition holds, else of y.

    >>> wg.where(np.array([True, False]), np.array([1.0, 2.0]), -1.0)
    array([ 1., -1.])
    """
