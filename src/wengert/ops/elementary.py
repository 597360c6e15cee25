"""Exponentials, logarithms, and the functions of angles, one scalar at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core import promotion
from wengert.core.define import elementwise
from wengert.core.dtypes import floating
from wengert.core.emit import on_arrays
from wengert.core.op_parts.samples import uniform
from wengert.core.special_functions import numpy_special
from wengert.core.table import op


@elementwise(
    numpy=np.exp,
    dtypes=promotion.inexact,
    partials=lambda out, _x: out,
    emit=lambda e, x: e.exp(x),
    samples=uniform((-2, 2)),
)
def exp(x: Any, /) -> None:
    """e to the power of each element.

    >>> wg.exp(np.array([-1.0, 0.0, 1.0]))
    array([0.36787944, 1.        , 2.71828183])
    """


@elementwise(
    numpy=np.exp2,
    dtypes=promotion.inexact,
    partials=lambda out, _x: out * math.log(2),
    emit=lambda e, x: e.exp2(x),
    samples=uniform((-2, 2)),
)
def exp2(x: Any, /) -> None:
    """2 to the power of each element.

    >>> wg.exp2(np.array([-1.0, 0.0, 10.0]))
    array([5.000e-01, 1.000e+00, 1.024e+03])
    """


@elementwise(
    numpy=np.expm1,
    dtypes=promotion.inexact,
    partials=lambda out, _x: out + 1,
    emit=lambda e, x: e.expm1(x),
    samples=uniform((-2, 2)),
)
def expm1(x: Any, /) -> None:
    """exp(x) - 1 of each element, accurate near 0.

    >>> wg.expm1(np.array([1e-20, 1.0]))
    array([1.00000000e-20, 1.71828183e+00])
    """


@elementwise(
    numpy=np.log,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / x,
    emit=lambda e, x: e.log(x),
    samples=uniform((0.2, 3)),
    at=[((0.0,), -math.inf, (math.inf,), "the limit from the right")],
)
def log(x: Any, /) -> None:
    """Natural logarithm of each element.

    >>> wg.log(np.array([1.0, np.e]))
    array([0., 1.])
    """


@elementwise(
    numpy=np.log1p,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / (1 + x),
    emit=lambda e, x: e.log1p(x),
    samples=uniform((-0.8, 2)),
)
def log1p(x: Any, /) -> None:
    """log(1 + x) of each element, accurate near 0.

    >>> wg.log1p(np.array([1e-20, 1.0]))
    array([1.00000000e-20, 6.93147181e-01])
    """


@elementwise(
    numpy=np.log2,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / (x * math.log(2)),
    emit=lambda e, x: e.log2(x),
    samples=uniform((0.2, 3)),
)
def log2(x: Any, /) -> None:
    """Logarithm of each element to base 2.

    >>> wg.log2(np.array([0.5, 1024.0]))
    array([-1., 10.])
    """


@elementwise(
    numpy=np.log10,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / (x * math.log(10)),
    emit=lambda e, x: e.log10(x),
    samples=uniform((0.2, 3)),
)
def log10(x: Any, /) -> None:
    """Logarithm of each element to base 10.

    >>> wg.log10(np.array([0.01, 1000.0]))
    array([-2.,  3.])
    """


def _emit_logaddexp(e: Any, x: Any, y: Any) -> Any:
    distance = e.neg(e.abs(e.sub(x, y)))
    total = e.add(e.max(x, y), e.log1p(e.exp(distance)))
    # Of two equal infinities the distance is NaN.
    return e.select(e.eq(x, y), e.add(x, e.const(math.log(2))), total)


def _lead(x: Any, y: Any) -> Any:
    """x - y, and 0 for two equal infinities, which share the gradient evenly."""
    same = op.logical_and(op.equal(x, y), op.isinf(x))
    return op.where(same, 0, op.subtract(x, y))


@elementwise(
    numpy=np.logaddexp,
    dtypes=promotion.inexact,
    commutative=True,
    partials=lambda _out, x, y: (
        lambda: op.sigmoid(_lead(x, y)),
        lambda: op.sigmoid(_lead(y, x)),
    ),
    emit=_emit_logaddexp,
    samples=uniform((-2, 2), (-2, 2)),
    at=[
        ((-math.inf, -math.inf), -math.inf, (0.5, 0.5), "equals share the gradient evenly"),
        ((-math.inf, 1.0), 1.0, (0.0, 1.0), "exp(-inf) adds nothing"),
        ((1000.0, 1000.0), 1000 + math.log(2), (0.5, 0.5), "no overflow on the way"),
    ],
)
def logaddexp(x: Any, y: Any, /) -> None:
    """log(exp(x) + exp(y)) of each pair of elements, without overflow on the way.

    >>> wg.logaddexp(np.array([0.0, 1000.0]), np.array([0.0, 1000.0]))
    array([6.93147181e-01, 1.00069315e+03])
    """


def _emit_logaddexp2(e: Any, x: Any, y: Any) -> Any:
    distance = e.neg(e.abs(e.sub(x, y)))
    total = e.add(e.max(x, y), e.mul(e.log1p(e.exp2(distance)), e.const(1 / math.log(2))))
    # Of two equal infinities the distance is NaN.
    return e.select(e.eq(x, y), e.add(x, e.const(1)), total)


@elementwise(
    numpy=np.logaddexp2,
    dtypes=promotion.inexact,
    commutative=True,
    partials=lambda _out, x, y: (
        lambda: op.sigmoid(_lead(x, y) * math.log(2)),
        lambda: op.sigmoid(_lead(y, x) * math.log(2)),
    ),
    emit=_emit_logaddexp2,
    samples=uniform((-2, 2), (-2, 2)),
    at=[((3.0, 3.0), 4.0, (0.5, 0.5), "equals share the gradient evenly")],
)
def logaddexp2(x: Any, y: Any, /) -> None:
    """log2(2**x + 2**y) of each pair of elements, without overflow on the way.

    >>> wg.logaddexp2(np.array([0.0, 1000.0]), np.array([0.0, 1000.0]))
    array([1.000e+00, 1.001e+03])
    """


def _emit_xlogy(e: Any, x: Any, y: Any) -> Any:
    nothing = e.and_(e.eq(x, e.const(0)), e.eq(y, y))
    return e.select(nothing, e.const(0), e.mul(x, e.log(y)))


@elementwise(
    numpy=on_arrays(_emit_xlogy),
    emit=_emit_xlogy,
    dtypes=promotion.inexact,
    partials=lambda _out, x, y: (lambda: op.log(y), lambda: op.pull(x, 1 / y)),
    samples=uniform((-2, 2), (0.2, 3)),
    at=[
        ((0.0, 0.0), 0.0, (-math.inf, 0.0), "no weight on an event that does not happen"),
        ((0.0, 2.0), 0.0, (math.log(2), 0.0), "the slopes around it"),
    ],
)
def xlogy(x: Any, y: Any, /) -> None:
    """x · log(y) of each pair of elements, and 0 where x is 0, whatever y is but NaN.

    >>> wg.xlogy(np.array([0.0, 2.0]), np.array([0.0, np.e]))
    array([0., 2.])
    """


def _sigmoid(x: Any) -> Any:
    x = np.asarray(x)
    return numpy_special.sigmoid(x.astype(floating(x.dtype), copy=False))


@elementwise(
    numpy=_sigmoid,
    dtypes=promotion.inexact,
    partials=lambda out, _x: out * (1 - out),
    emit=lambda e, x: e.sigmoid(x),
    samples=uniform((-3, 3)),
    at=[
        ((-1000.0,), 0.0, (0.0,), "no overflow on the way"),
        ((1000.0,), 1.0, (0.0,), "no overflow on the way"),
    ],
)
def sigmoid(x: Any, /) -> None:
    """1 / (1 + exp(-x)) of each element, without overflow on the way.

    >>> wg.sigmoid(np.array([-1.0, 0.0, 1000.0]))
    array([0.26894142, 0.5       , 1.        ])
    """


@elementwise(
    numpy=np.sin,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.cos(x),
    emit=lambda e, x: e.sin(x),
    samples=uniform((-4, 4)),
)
def sin(x: Any, /) -> None:
    """Sine of each element, in radians.

    >>> wg.sin(np.array([0.0, np.pi / 2, 1e6]))
    array([ 0.       ,  1.       , -0.3499935])
    """


@elementwise(
    numpy=np.cos,
    dtypes=promotion.inexact,
    partials=lambda _out, x: -op.sin(x),
    emit=lambda e, x: e.cos(x),
    samples=uniform((-4, 4)),
)
def cos(x: Any, /) -> None:
    """Cosine of each element, in radians.

    >>> wg.cos(np.array([0.0, np.pi / 3, np.pi]))
    array([ 1. ,  0.5, -1. ])
    """


@elementwise(
    numpy=np.tan,
    dtypes=promotion.inexact,
    partials=lambda out, _x: 1 + out * out,
    emit=lambda e, x: e.tan(x),
    samples=uniform((-1.2, 1.2)),
)
def tan(x: Any, /) -> None:
    """Tangent of each element, in radians.

    >>> wg.tan(np.array([0.0, np.pi / 4]))
    array([0., 1.])
    """


def _cofactor(x: Any) -> Any:
    """1 - x², without the rounding error of x² near ±1."""
    return (1 - x) * (1 + x)


@elementwise(
    numpy=np.asin,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / op.sqrt(_cofactor(x)),
    emit=lambda e, x: e.asin(x),
    samples=uniform((-0.8, 0.8)),
)
def asin(x: Any, /) -> None:
    """Inverse sine of each element, in [-π/2, π/2].

    >>> wg.asin(np.array([0.0, 0.5, 1.0]))
    array([0.        , 0.52359878, 1.57079633])
    """


@elementwise(
    numpy=np.acos,
    dtypes=promotion.inexact,
    partials=lambda _out, x: -1 / op.sqrt(_cofactor(x)),
    emit=lambda e, x: e.acos(x),
    samples=uniform((-0.8, 0.8)),
)
def acos(x: Any, /) -> None:
    """Inverse cosine of each element, in [0, π].

    >>> wg.acos(np.array([-1.0, 0.0, 1.0]))
    array([3.14159265, 1.57079633, 0.        ])
    """


@elementwise(
    numpy=np.atan,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / (1 + x * x),
    emit=lambda e, x: e.atan(x),
    samples=uniform((-3, 3)),
)
def atan(x: Any, /) -> None:
    """Inverse tangent of each element, in [-π/2, π/2].

    >>> wg.atan(np.array([0.0, 1.0, np.inf]))
    array([0.        , 0.78539816, 1.57079633])
    """


def _turn(a: Any, y: Any, x: Any) -> Any:
    """a / (x² + y²) without overflow on the way, and 0 at the origin, where there is no angle."""
    length = op.hypot(x, y)
    return op.where(op.equal(length, 0), 0, a / length / length)


@elementwise(
    numpy=np.atan2,
    dtypes=promotion.inexact,
    partials=lambda _out, y, x: (lambda: _turn(x, y, x), lambda: -_turn(y, y, x)),
    emit=lambda e, y, x: e.atan2(y, x),
    samples=(*uniform((0.5, 2), (-2, 2)), *uniform((-2, -0.5), (-2, 2))),
    at=[((0.0, 0.0), 0.0, (0.0, 0.0), "the origin has no angle to change")],
)
def atan2(y: Any, x: Any, /) -> None:
    """Angle of each point (x, y), in [-π, π].

    >>> wg.atan2(np.array([1.0, -1.0]), np.array([-1.0, -1.0]))
    array([ 2.35619449, -2.35619449])
    """


@elementwise(
    numpy=np.sinh,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.cosh(x),
    emit=lambda e, x: e.sinh(x),
    samples=uniform((-2, 2)),
)
def sinh(x: Any, /) -> None:
    """Hyperbolic sine of each element.

    >>> wg.sinh(np.array([0.0, 1.0]))
    array([0.        , 1.17520119])
    """


@elementwise(
    numpy=np.cosh,
    dtypes=promotion.inexact,
    partials=lambda _out, x: op.sinh(x),
    emit=lambda e, x: e.cosh(x),
    samples=uniform((-2, 2)),
)
def cosh(x: Any, /) -> None:
    """Hyperbolic cosine of each element.

    >>> wg.cosh(np.array([0.0, 1.0]))
    array([1.        , 1.54308063])
    """


@elementwise(
    numpy=np.tanh,
    dtypes=promotion.inexact,
    partials=lambda out, _x: 1 - out * out,
    emit=lambda e, x: e.tanh(x),
    samples=uniform((-2, 2)),
)
def tanh(x: Any, /) -> None:
    """Hyperbolic tangent of each element.

    >>> wg.tanh(np.array([-1.0, 0.0, 1000.0]))
    array([-0.76159416,  0.        ,  1.        ])
    """


@elementwise(
    numpy=np.asinh,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / op.hypot(x, 1),  # x² may overflow
    emit=lambda e, x: e.asinh(x),
    samples=uniform((-3, 3)),
)
def asinh(x: Any, /) -> None:
    """Inverse hyperbolic sine of each element.

    >>> wg.asinh(np.array([-1.0, 0.0, 1e10]))
    array([-0.88137359,  0.        , 23.71899811])
    """


@elementwise(
    numpy=np.acosh,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / (op.sqrt(x - 1) * op.sqrt(x + 1)),
    emit=lambda e, x: e.acosh(x),
    samples=uniform((1.2, 3)),
)
def acosh(x: Any, /) -> None:
    """Inverse hyperbolic cosine of each element; NaN below 1.

    >>> wg.acosh(np.array([1.0, 2.0]))
    array([0.       , 1.3169579])
    """


@elementwise(
    numpy=np.atanh,
    dtypes=promotion.inexact,
    partials=lambda _out, x: 1 / _cofactor(x),
    emit=lambda e, x: e.atanh(x),
    samples=uniform((-0.8, 0.8)),
)
def atanh(x: Any, /) -> None:
    """Inverse hyperbolic tangent of each element, which lie in [-1, 1].

    >>> wg.atanh(np.array([-0.5, 0.0, 0.5]))
    array([-0.54930614,  0.        ,  0.54930614])
    """
