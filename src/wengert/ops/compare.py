"""Comparisons, logic, bits, and questions about floats. None of them has a slope."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise
from wengert.core.op_parts.samples import Booleans, Exactly, Integers, sample, uniform

_ORDERED = (*uniform((-2, 2), (-2, 2)), sample(Exactly([1.0, 2.0, 3.0]), Exactly(2.0)))
_TRUTHS = (
    sample(Booleans((3, 4)), Booleans((4,))),
    sample(Exactly([0.0, 2.0, math.nan]), Exactly([[0.0], [1.0]])),
    sample(Booleans(()), Booleans((0, 2))),
)
_BITS = (
    sample(Integers((3, 4), -9, 9), Integers((4,), -9, 9)),
    sample(Integers((3,), 0, 200, "uint8"), Integers((), 0, 200, "uint8")),
)
_BITS_OR_TRUTHS = (*_BITS, sample(Booleans((3, 4)), Booleans((4,))))
_SHIFTS = (
    sample(Integers((3, 4), -9, 9), Integers((4,), 0, 9)),
    sample(Integers((3,), 0, 200, "uint8"), Integers((), 0, 9, "uint8")),
    sample(Exactly([5, -5, 1]), Exactly([64, 70, 63])),
)


@elementwise(
    numpy=np.equal,
    infix="__eq__",
    commutative=True,
    dtypes=promotion.comparison,
    flat=True,
    emit=lambda e, x, y: e.eq(x, y),
    samples=_ORDERED,
    exact=True,
)
def equal(x: Any, y: Any, /) -> None:
    """Whether each x == y.

    >>> wg.equal(np.array([1, 2, 3]), np.array([1, 0, 3]))
    array([ True, False,  True])
    """


@elementwise(
    numpy=np.not_equal,
    infix="__ne__",
    commutative=True,
    dtypes=promotion.comparison,
    flat=True,
    emit=lambda e, x, y: e.ne(x, y),
    samples=_ORDERED,
    exact=True,
)
def not_equal(x: Any, y: Any, /) -> None:
    """Whether each x != y.

    >>> wg.not_equal(np.array([1, 2, 3]), np.array([1, 0, 3]))
    array([False,  True, False])
    """


@elementwise(
    numpy=np.less,
    infix="__lt__",
    dtypes=promotion.comparison,
    flat=True,
    emit=lambda e, x, y: e.lt(x, y),
    samples=_ORDERED,
    exact=True,
)
def less(x: Any, y: Any, /) -> None:
    """Whether each x < y.

    >>> wg.less(np.array([1, 2, 3]), 2)
    array([ True, False, False])
    """


@elementwise(
    numpy=np.less_equal,
    infix="__le__",
    dtypes=promotion.comparison,
    flat=True,
    emit=lambda e, x, y: e.le(x, y),
    samples=_ORDERED,
    exact=True,
)
def less_equal(x: Any, y: Any, /) -> None:
    """Whether each x <= y.

    >>> wg.less_equal(np.array([1, 2, 3]), 2)
    array([ True,  True, False])
    """


@elementwise(
    numpy=np.greater,
    infix="__gt__",
    dtypes=promotion.comparison,
    flat=True,
    emit=lambda e, x, y: e.gt(x, y),
    samples=_ORDERED,
    exact=True,
)
def greater(x: Any, y: Any, /) -> None:
    """Whether each x > y.

    >>> wg.greater(np.array([1, 2, 3]), 2)
    array([False, False,  True])
    """


@elementwise(
    numpy=np.greater_equal,
    infix="__ge__",
    dtypes=promotion.comparison,
    flat=True,
    emit=lambda e, x, y: e.ge(x, y),
    samples=_ORDERED,
    exact=True,
)
def greater_equal(x: Any, y: Any, /) -> None:
    """Whether each x >= y.

    >>> wg.greater_equal(np.array([1, 2, 3]), 2)
    array([False,  True,  True])
    """


@elementwise(
    numpy=np.logical_and,
    commutative=True,
    dtypes=promotion.logical,
    flat=True,
    emit=lambda e, x, y: e.and_(x, y),
    samples=_TRUTHS,
    exact=True,
)
def logical_and(x: Any, y: Any, /) -> None:
    """Whether both are true; a number is true unless it is 0.

    >>> wg.logical_and(np.array([True, True]), np.array([True, False]))
    array([ True, False])
    """


@elementwise(
    numpy=np.logical_or,
    commutative=True,
    dtypes=promotion.logical,
    flat=True,
    emit=lambda e, x, y: e.or_(x, y),
    samples=_TRUTHS,
    exact=True,
)
def logical_or(x: Any, y: Any, /) -> None:
    """Whether either is true; a number is true unless it is 0.

    >>> wg.logical_or(np.array([True, False]), np.array([False, False]))
    array([ True, False])
    """


@elementwise(
    numpy=np.logical_xor,
    commutative=True,
    dtypes=promotion.logical,
    flat=True,
    emit=lambda e, x, y: e.xor(x, y),
    samples=_TRUTHS,
    exact=True,
)
def logical_xor(x: Any, y: Any, /) -> None:
    """Whether exactly one is true; a number is true unless it is 0.

    >>> wg.logical_xor(np.array([True, True]), np.array([True, False]))
    array([False,  True])
    """


@elementwise(
    numpy=np.logical_not,
    dtypes=promotion.logical,
    flat=True,
    emit=lambda e, x: e.not_(x),
    samples=(sample(Booleans((3, 4))), sample(Exactly([0.0, 2.0, math.nan]))),
    exact=True,
)
def logical_not(x: Any, /) -> None:
    """Whether each element is false; a number is true unless it is 0.

    >>> wg.logical_not(np.array([True, False]))
    array([False,  True])
    """


@elementwise(
    numpy=np.bitwise_and,
    infix="__and__",
    commutative=True,
    dtypes=promotion.integral,
    flat=True,
    emit=lambda e, x, y: e.and_(x, y),
    samples=_BITS_OR_TRUTHS,
    exact=True,
)
def bitwise_and(x: Any, y: Any, /) -> None:
    """The bits set in both, x & y.

    >>> wg.bitwise_and(np.array([0b1100, 0b1010]), 0b0110)
    array([4, 2])
    """


@elementwise(
    numpy=np.bitwise_or,
    infix="__or__",
    commutative=True,
    dtypes=promotion.integral,
    flat=True,
    emit=lambda e, x, y: e.or_(x, y),
    samples=_BITS_OR_TRUTHS,
    exact=True,
)
def bitwise_or(x: Any, y: Any, /) -> None:
    """The bits set in either, x | y.

    >>> wg.bitwise_or(np.array([0b1100, 0b1010]), 0b0110)
    array([14, 14])
    """


@elementwise(
    numpy=np.bitwise_xor,
    infix="__xor__",
    commutative=True,
    dtypes=promotion.integral,
    flat=True,
    emit=lambda e, x, y: e.xor(x, y),
    samples=_BITS_OR_TRUTHS,
    exact=True,
)
def bitwise_xor(x: Any, y: Any, /) -> None:
    """The bits set in one of them only, x ^ y.

    >>> wg.bitwise_xor(np.array([0b1100, 0b1010]), 0b0110)
    array([10, 12])
    """


@elementwise(
    numpy=np.invert,
    infix="__invert__",
    dtypes=promotion.integral,
    flat=True,
    emit=lambda e, x: e.not_(x),
    samples=(sample(Integers((3, 4), -9, 9)), sample(Booleans((3,)))),
    exact=True,
)
def bitwise_invert(x: Any, /) -> None:
    """Every bit turned, ~x; of a bool, its opposite.

    >>> wg.bitwise_invert(np.array([0, 5])), wg.bitwise_invert(np.array([True, False]))
    (array([-1, -6]), array([False,  True]))
    """


@elementwise(
    numpy=np.left_shift,
    infix="__lshift__",
    dtypes=promotion.shifted,
    flat=True,
    emit=lambda e, x, y: e.shift_left(x, y),
    samples=_SHIFTS,
    exact=True,
)
def bitwise_left_shift(x: Any, y: Any, /) -> None:
    """The bits of x moved up by y, x << y; 0 where y is negative or at least the width of x.

    >>> wg.bitwise_left_shift(np.array([1, 3]), 2)
    array([ 4, 12])
    """


@elementwise(
    numpy=np.right_shift,
    infix="__rshift__",
    dtypes=promotion.shifted,
    flat=True,
    emit=lambda e, x, y: e.shift_right(x, y),
    samples=_SHIFTS,
    exact=True,
)
def bitwise_right_shift(x: Any, y: Any, /) -> None:
    """The bits of x moved down by y, x >> y; the sign stays, so that it rounds down.

    >>> wg.bitwise_right_shift(np.array([8, -8]), 2)
    array([ 2, -2])
    """


@elementwise(
    numpy=np.isfinite,
    dtypes=promotion.measured,
    flat=True,
    emit=lambda e, x: e.lt(e.abs(x), e.const(math.inf)),
    samples=(sample(Exactly([0.0, -1.0, math.inf, -math.inf, math.nan])), *uniform((-2, 2))),
    exact=True,
)
def isfinite(x: Any, /) -> None:
    """Whether each element is neither infinite nor NaN.

    >>> wg.isfinite(np.array([1.0, np.inf, np.nan]))
    array([ True, False, False])
    """


@elementwise(
    numpy=np.isinf,
    dtypes=promotion.measured,
    flat=True,
    emit=lambda e, x: e.eq(e.abs(x), e.const(math.inf)),
    samples=(sample(Exactly([0.0, -1.0, math.inf, -math.inf, math.nan])), *uniform((-2, 2))),
    exact=True,
)
def isinf(x: Any, /) -> None:
    """Whether each element is infinite, of either sign.

    >>> wg.isinf(np.array([1.0, -np.inf, np.nan]))
    array([False,  True, False])
    """


@elementwise(
    numpy=np.isnan,
    dtypes=promotion.measured,
    flat=True,
    emit=lambda e, x: e.ne(x, x),
    samples=(sample(Exactly([0.0, -1.0, math.inf, -math.inf, math.nan])), *uniform((-2, 2))),
    exact=True,
)
def isnan(x: Any, /) -> None:
    """Whether each element is not a number.

    >>> wg.isnan(np.array([1.0, np.inf, np.nan]))
    array([False, False,  True])
    """


@elementwise(
    numpy=np.signbit,
    dtypes=promotion.measured,
    flat=True,
    emit=lambda e, x: e.lt(e.copysign(e.const(1), x), e.const(0)),
    samples=(sample(Exactly([0.0, -0.0, -1.0, 1.0, -math.inf])), *uniform((-2, 2))),
    exact=True,
)
def signbit(x: Any, /) -> None:
    """Whether the sign bit of each element is set: below zero, or a negative zero.

    >>> wg.signbit(np.array([-3.0, -0.0, 0.0]))
    array([ True,  True, False])
    """
