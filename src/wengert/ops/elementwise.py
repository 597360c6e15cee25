"""Arithmetic and powers, one scalar at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise, function
from wengert.core.emit import on_arrays
from wengert.core.lowering import Elementwise, changed_meanwhile
from wengert.core.op_parts import magnitude
from wengert.core.op_parts.samples import Exactly, Real, sample, uniform
from wengert.core.table import op
from wengert.errors import DTypeError


def _pull(g: Any, p: Any) -> Any:
    out = np.asarray(np.multiply(g, p))
    if math.isfinite(np.vdot(out, out)):  # one pass; an overflow only costs the slow path
        return out
    return np.where(np.equal(g, 0), np.asarray(g, out.dtype), out)


def _pull_jvp(tangents: Any, _out: Any, g: Any, p: Any) -> Any:
    dg, dp = tangents
    terms = [op.pull(dg, p)] if dg is not None else []
    terms += [op.couple(g, dp)] if dp is not None else []
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


@elementwise(
    numpy=_pull,
    vjp=lambda h, _out, g, p: (op.pull(h, p), op.couple(g, h)),
    jvp=_pull_jvp,
    emit=lambda e, g, p: e.select(e.eq(g, e.const(0)), g, e.mul(g, p)),
    samples=uniform((-2, 2), (-2, 2)),
    at=[((0.0, math.inf), 0.0, (math.inf, 0.0), "zero wins over anything non-finite")],
    space="hidden",
)
def pull(g: Any, p: Any, /) -> None:
    """A cotangent times a partial derivative: g where g is 0, else g * p. Zero cotangents win."""


def _couple(g: Any, h: Any) -> Any:
    out = np.multiply(g, h)
    if np.isfinite(np.vdot(out, out)):
        return out
    return np.where(np.equal(g, 0) | np.equal(h, 0), out.dtype.type(0), out)


def _couple_jvp(tangents: Any, _out: Any, g: Any, h: Any) -> Any:
    dg, dh = tangents
    terms = [op.couple(dg, h)] if dg is not None else []
    terms += [op.couple(g, dh)] if dh is not None else []
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def _emit_couple(e: Any, g: Any, h: Any) -> Any:
    zero = e.const(0)
    return e.select(e.or_(e.eq(g, zero), e.eq(h, zero)), zero, e.mul(g, h))


@elementwise(
    numpy=_couple,
    vjp=lambda k, _out, g, h: (op.couple(k, h), op.couple(k, g)),
    jvp=_couple_jvp,
    emit=_emit_couple,
    commutative=True,
    samples=uniform((-2, 2), (-2, 2)),
    at=[
        ((0.0, math.inf), 0.0, (math.inf, 0.0), "zero wins over anything non-finite"),
        ((math.inf, 0.0), 0.0, (0.0, math.inf), "from either side"),
    ],
    space="hidden",
)
def couple(g: Any, h: Any, /) -> None:
    """A product of two cotangents or tangents, as second derivatives have: 0 where either is 0."""


@elementwise(
    numpy=np.add,
    infix="__add__",
    commutative=True,
    partials=lambda _out, _x, _y: (1, 1),
    emit=lambda e, x, y: e.add(x, y),
    samples=uniform((-2, 2), (-2, 2)),
    exact=True,
    magnitude=magnitude.SUM,
)
def add(x: Any, y: Any, /) -> None:
    """Sum of each pair of elements, x + y.

    >>> wg.add(np.array([1.0, 2.0]), 10)
    array([11., 12.])
    """


@elementwise(
    numpy=np.subtract,
    infix="__sub__",
    dtypes=promotion.signed,
    partials=lambda _out, _x, _y: (1, -1),
    emit=lambda e, x, y: e.sub(x, y),
    samples=uniform((-2, 2), (-2, 2)),
    exact=True,
    magnitude=magnitude.DIFFERENCE,
)
def subtract(x: Any, y: Any, /) -> None:
    """Difference of each pair of elements, x - y.

    >>> wg.subtract(np.array([1.0, 2.0]), 10)
    array([-9., -8.])
    """


@elementwise(
    numpy=np.multiply,
    infix="__mul__",
    commutative=True,
    partials=lambda _out, x, y: (y, x),
    emit=lambda e, x, y: e.mul(x, y),
    samples=uniform((-2, 2), (-2, 2)),
    exact=True,
    magnitude=magnitude.PRODUCT,
)
def multiply(x: Any, y: Any, /) -> None:
    """Product of each pair of elements, x * y.

    >>> wg.multiply(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([3., 8.])
    """


def _inverse(y: Any) -> Any:
    """1 / y, where y may be a Python number and zero."""
    return math.copysign(math.inf, y) if type(y) in (int, float) and y == 0 else 1 / y


@elementwise(
    numpy=np.divide,
    infix="__truediv__",
    dtypes=promotion.quotient,
    partials=lambda out, _x, y: (lambda: _inverse(y), lambda: -out / y),
    emit=lambda e, x, y: e.div(x, y),
    samples=uniform((-2, 2), (1, 2)),
    exact=True,
    magnitude=magnitude.QUOTIENT,
)
def divide(x: Any, y: Any, /) -> None:
    """Quotient of each pair of elements, x / y; that of integers is a float.

    >>> wg.divide(np.array([1, 3]), 2)
    array([0.5, 1.5])
    """


@elementwise(
    numpy=np.floor_divide,
    infix="__floordiv__",
    dtypes=promotion.counting,
    flat=True,
    emit=lambda e, x, y: e.floor_div(x, y),
    samples=uniform((-9, 9), (1, 2)),
)
def floor_divide(x: Any, y: Any, /) -> None:
    """Quotient of each pair of elements rounded down, x // y; 0 for integers where y is 0.

    >>> wg.floor_divide(np.array([7, -7]), 2)
    array([ 3, -4])
    """


@elementwise(
    numpy=np.remainder,
    infix="__mod__",
    dtypes=promotion.counting,
    partials=lambda _out, x, y: (1, lambda: -op.floor_divide(x, y)),
    emit=lambda e, x, y: e.remainder(x, y),
    samples=(*uniform((-9, 9), (1, 2)), *uniform((-9, 9), (-2, -1))),
    at=[
        ((-7.0, 3.0), 2.0, (1.0, 3.0), "the remainder has the sign of y, as in Python"),
        ((6.0, 3.0), 0.0, (1.0, -2.0), "at a jump, the derivative from the right in x"),
    ],
)
def remainder(x: Any, y: Any, /) -> None:
    """What x // y leaves, x % y, with the sign of y; 0 for integers where y is 0.

    >>> wg.remainder(np.array([7.0, -7.0]), 3)
    array([1., 2.])
    """


@elementwise(
    numpy=np.negative,
    infix="__neg__",
    dtypes=promotion.signed,
    partials=lambda _out, _x: -1,
    emit=lambda e, x: e.neg(x),
    samples=uniform((-2, 2)),
    exact=True,
    magnitude=magnitude.NEGATED,
)
def negative(x: Any, /) -> None:
    """Each element with its sign turned, -x.

    >>> wg.negative(np.array([1.0, -2.0]))
    array([-1.,  2.])
    """


@elementwise(
    numpy=np.positive,
    infix="__pos__",
    dtypes=promotion.signed,
    partials=lambda _out, _x: 1,
    emit=lambda e, x: x,
    samples=uniform((-2, 2)),
    exact=True,
)
def positive(x: Any, /) -> None:
    """Each element as it is, +x.

    >>> wg.positive(np.array([1.0, -2.0]))
    array([ 1., -2.])
    """


@elementwise(
    numpy=lambda x: np.divide(1, x),  # np.reciprocal of an integer is 0
    aliases=(np.reciprocal,),
    dtypes=promotion.quotient,
    partials=lambda out, _x: -(out * out),
    emit=lambda e, x: e.div(e.const(1), x),
    samples=(*uniform((0.5, 2)), *uniform((-2, -0.5))),
    exact=True,
    magnitude=magnitude.QUOTIENT,
)
def reciprocal(x: Any, /) -> None:
    """1 / x of each element.

    >>> wg.reciprocal(np.array([2.0, -4.0]))
    array([ 0.5 , -0.25])
    """


@elementwise(
    numpy=np.square,
    dtypes=promotion.counting,
    partials=lambda _out, x: 2 * x,
    emit=lambda e, x: e.mul(x, x),
    samples=uniform((-2, 2)),
    exact=True,
    magnitude=magnitude.SQUARE,
)
def square(x: Any, /) -> None:
    """x * x of each element.

    >>> wg.square(np.array([-3.0, 0.5]))
    array([9.  , 0.25])
    """


@elementwise(
    numpy=np.sqrt,
    dtypes=promotion.inexact,
    partials=lambda out, _x: 0.5 / out,
    emit=lambda e, x: e.sqrt(x),
    samples=uniform((0.2, 3)),
    at=[((0.0,), 0.0, (math.inf,), "the tangent of the root is vertical at 0, as in IEEE")],
    exact=True,
    magnitude=magnitude.ROOT,
)
def sqrt(x: Any, /) -> None:
    """Square root of each element.

    >>> wg.sqrt(np.array([4.0, 2.0]))
    array([2.        , 1.41421356])
    """


def _emit_rsqrt(e: Any, x: Any) -> Any:
    return e.div(e.const(1), e.sqrt(x))


@elementwise(
    numpy=on_arrays(_emit_rsqrt),
    dtypes=promotion.inexact,
    partials=lambda out, x: -0.5 * out / x,
    emit=_emit_rsqrt,
    samples=uniform((0.2, 3)),
    at=[((0.0,), math.inf, (-math.inf,), "the limit from the right")],
)
def rsqrt(x: Any, /) -> None:
    """1 / sqrt(x) of each element.

    >>> wg.rsqrt(np.array([4.0, 0.25]))
    array([0.5, 2. ])
    """


@elementwise(
    numpy=np.cbrt,
    dtypes=promotion.inexact,
    partials=lambda out, _x: 1 / (3 * (out * out)),
    emit=lambda e, x: e.cbrt(x),
    samples=(*uniform((0.2, 3)), *uniform((-3, -0.2))),
    at=[((0.0,), 0.0, (math.inf,), "the tangent of the root is vertical at 0")],
)
def cbrt(x: Any, /) -> None:
    """Real cube root of each element.

    >>> wg.cbrt(np.array([-8.0, 27.0]))
    array([-2.,  3.])
    """


def _power(x: Any, y: Any) -> Any:
    try:
        # The operator knows that x ** 2 is x * x.
        out = x**y if type(x) is np.ndarray else np.power(x, y)
    except ValueError as error:
        if "negative integer" not in str(error):
            raise
        raise DTypeError(
            "power: given integers and a negative exponent; the result would not be an integer. "
            "Convert one of them to float first."
        ) from None
    if np.ndim(y) == 0 and y == 0.5:
        # NumPy takes the square root, which is another number than the power at -inf and -0.
        return np.where(np.equal(x, -math.inf), out.dtype.type(math.inf), out + 0.0)
    return out


def _power_by_base(x: Any, y: Any) -> Any:
    """y · x^(y-1); by `pull`, so that y = 0 wins where x is 0 and no derivative is cut off."""
    if type(y) in (int, float):
        return 0 if y == 0 else 2 * x if y == 2 else y * op.power(x, y - 1)
    return op.pull(y, op.power(x, op.subtract(y, 1)))


def _power_by_exponent(out: Any, x: Any, y: Any) -> Any:
    """x^y · log x, and 0 where the power of 0 or of infinity stays 0 around y.

    Below 0 it is NaN, also where the power is so small that it is 0.
    """
    if type(x) in (int, float) and 0 < x < math.inf:
        return out * math.log(x)
    at_zero = op.logical_and(op.equal(x, 0), op.greater_equal(y, 0))
    at_infinity = op.logical_and(op.equal(x, math.inf), op.less(y, 0))
    return out * op.log(op.where(op.logical_or(at_zero, at_infinity), 1, x))


@elementwise(
    numpy=_power,
    aliases=(np.power,),
    infix="__pow__",
    dtypes=promotion.counting,
    partials=lambda out, x, y: (
        lambda: _power_by_base(x, y),
        lambda: _power_by_exponent(out, x, y),
    ),
    samples=(
        *uniform((0.2, 2), (-2, 3)),
        sample(Real((3, 4), -2, 2), Exactly(3)),
        sample(Real((3, 4), -2, -1), Exactly(-2)),
    ),
    at=[
        (
            (0.0, 0.0),
            1.0,
            (0.0, 0.0),
            "x**0 is the constant 1, and 0**y is not differentiable at 0",
        ),
        ((0.0, 1.0), 0.0, (1.0, 0.0), "x**1 is x"),
        ((0.0, 2.0), 0.0, (0.0, 0.0), "2 x at 0; 0**y stays 0 around y"),
        ((-2.0, 3.0), -8.0, (12.0, math.nan), "no power of x < 0 exists around y"),
        ((-0.5, 2000.0), 0.0, (0.0, math.nan), "nor where it is too small for a number"),
        ((-math.inf, 0.5), math.inf, (0.0, math.nan), "the power, not the square root"),
        ((-math.inf, 1.5), math.inf, (math.inf, math.nan), "1.5 times the power 0.5"),
        ((math.inf, -1.0), 0.0, (-0.0, 0.0), "the power of infinity stays 0 around y < 0"),
        ((0.0, 0.5), 0.0, (math.inf, 0.0), "the root, whose tangent is vertical"),
    ],
    lower=Elementwise(
        lambda e, x, y: e.pow(x, y),
        failure=changed_meanwhile(
            DTypeError,
            "a negative exponent of integers",
            refuses=lambda e, x, y: e.lt(y, e.const(0)),
            when=lambda dtype: dtype.kind == "i",
        ),
    ),
)
def power(x: Any, y: Any, /) -> None:
    """x to the power y, of each pair of elements; 1 where y is 0.

    >>> wg.power(np.array([2.0, 9.0]), np.array([10.0, 0.5]))
    array([1024.,    3.])
    """


@function()
def pow(x: Any, y: Any, /) -> Any:
    """x to the power y: the array API's name of `power`.

    >>> wg.pow(np.array([2.0, 3.0]), 2)
    array([4., 9.])
    """
    return op.power(x, y)


def _emit_hypot(e: Any, x: Any, y: Any) -> Any:
    """The larger one times the root of 1 + the square of a ratio, which cannot overflow."""
    x, y = e.abs(x), e.abs(y)
    large, small = e.max(x, y), e.min(x, y)
    ratio = e.div(small, large)
    length = e.mul(large, e.sqrt(e.add(e.const(1), e.mul(ratio, ratio))))
    length = e.select(e.eq(large, e.const(0)), large, length)
    infinite = e.const(math.inf)  # wins over NaN
    return e.select(e.or_(e.eq(x, infinite), e.eq(y, infinite)), infinite, length)


def _direction(x: Any, out: Any) -> Any:
    """x / out, and 0 at the origin, where there is no direction."""
    return op.where(op.equal(out, 0), 0, x / out)


@elementwise(
    numpy=np.hypot,
    dtypes=promotion.inexact,
    commutative=True,
    partials=lambda out, x, y: (lambda: _direction(x, out), lambda: _direction(y, out)),
    emit=_emit_hypot,
    samples=uniform((0.5, 2), (-2, -0.5)),
    at=[((0.0, 0.0), 0.0, (0.0, 0.0), "like abs at 0: the middle of all slopes")],
)
def hypot(x: Any, y: Any, /) -> None:
    """Square root of x² + y², of each pair of elements, without overflow on the way.

    >>> wg.hypot(np.array([3.0, 1e200]), np.array([4.0, 1e200]))
    array([5.00000000e+000, 1.41421356e+200])
    """
