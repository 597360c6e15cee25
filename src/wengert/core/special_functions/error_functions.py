"""What belongs to the error function: scaled, inverted, and the logarithm of the normal
distribution.
"""

from __future__ import annotations

import math
from typing import Any

from wengert.core.special_functions.numpy_special import ERFC
from wengert.core.special_functions.pieces import polynomial

# fmt: off
# erfinv(y) / y in 8y² - 1, for |y| up to 1/2
_CENTER = (
    0.9174083670522701, 0.03356743029704948, 0.0026140273452605754, 0.0002522747551744835,
    2.697700101018418e-05, 3.063743625042923e-06, 3.619864126626641e-07, 4.398277107297447e-08,
    5.456542916315438e-09, 6.87947841959413e-10, 8.785252799610099e-11, 1.1316232483758686e-11,
    1.4725045058101758e-12, 2.0671742197483168e-13, 2.7415675767303887e-14,
)
# erfcinv(q) / s in (s - 2) / (s + 2), moved to [-1, 1], with s = √-log q, for q up to 1/4; to 3e-7
_TAIL = (
    0.9308047280358908, 0.12822088436695772, -0.0822133224963983, 0.026599725169061863,
    -0.0063673035822820355, 8.624891913856725e-05, 0.0007712588698784555, -0.0006076926181623653,
    0.00013404055712799143,
)
# fmt: on
_TAIL_MIDDLE, _TAIL_HALF = 0.30128856333208576, 0.5631182163289312
_SLOPE = 2 / math.sqrt(math.pi)


def _scaled_of_positive(e: Any, x: Any) -> Any:
    """exp(x²) erfc(x) for x ≥ 0."""
    inside = e.select(e.lt(x, e.const(1e300)), x, e.const(1e300))
    ratio = e.div(e.sub(inside, e.const(3.75)), e.add(inside, e.const(3.75)))
    half = e.const(0.5)
    return e.div(e.mul(half, polynomial(e, ratio, ERFC)), e.add(x, half))


def erfc_scaled(e: Any, x: Any) -> Any:
    """erfcx(x) = exp(x²) erfc(x), which neither under- nor overflows for x ≥ 0."""
    size = e.abs(x)
    right = e.select(e.eq(size, e.const(math.inf)), e.const(0), _scaled_of_positive(e, size))
    left = e.sub(e.mul(e.const(2), e.exp(e.mul(size, size))), right)
    value = e.select(e.lt(x, e.const(0)), left, right)
    return e.select(e.ne(x, x), x, value)


def normal_distribution(e: Any, x: Any) -> Any:
    """The probability that a standard normal number is below x."""
    return e.mul(e.const(0.5), e.erfc(e.mul(x, e.const(-math.sqrt(0.5)))))


def log_normal_distribution(e: Any, x: Any) -> Any:
    """The logarithm of the probability that a standard normal number is below x."""
    scaled = e.mul(x, e.const(math.sqrt(0.5)))
    size = e.abs(scaled)
    tail = e.mul(e.const(0.5), _scaled_of_positive(e, size))
    below = e.sub(e.log(tail), e.mul(e.const(0.5), e.mul(x, x)))
    above = e.log1p(e.mul(e.const(-0.5), e.erfc(scaled)))
    return e.select(e.lt(x, e.const(-1)), below, above)


def _inverse_near_zero(e: Any, y: Any) -> Any:
    """erfinv for |y| ≤ 1/2."""
    return e.mul(y, polynomial(e, e.fma(e.mul(y, y), e.const(8), e.const(-1)), _CENTER))


def _inverse_of_tail(e: Any, q: Any) -> Any:
    """erfcinv for 0 < q ≤ 1/2: a first guess, and one step of Halley's method on log erfc."""
    logarithm = e.log(q)
    s = e.sqrt(e.neg(logarithm))
    t = e.div(e.sub(s, e.const(2)), e.add(s, e.const(2)))
    t = e.mul(e.sub(t, e.const(_TAIL_MIDDLE)), e.const(1 / _TAIL_HALF))
    x = e.mul(s, polynomial(e, t, _TAIL))
    scaled = _scaled_of_positive(e, x)
    # h = log erfc - log q has h' = -p and h'' = p (2x - p)
    p = e.div(e.const(_SLOPE), scaled)
    h = e.sub(e.sub(e.log(scaled), e.mul(x, x)), logarithm)
    bend = e.mul(e.mul(e.const(0.5), h), e.div(e.sub(e.add(x, x), p), p))
    return e.add(x, e.div(e.div(h, p), e.sub(e.const(1), bend)))


def erf_inverse(e: Any, y: Any) -> Any:
    """erfinv(y): the x with erf(x) = y, for |y| ≤ 1."""
    size, half, one = e.abs(y), e.const(0.5), e.const(1)
    near = e.le(size, half)
    center = _inverse_near_zero(e, e.select(near, y, half))
    inside = e.and_(e.gt(size, half), e.lt(size, one))
    tail = _inverse_of_tail(e, e.select(inside, e.sub(one, size), half))
    far = e.select(e.eq(size, one), e.const(math.inf), tail)
    x = e.select(near, center, e.copysign(far, y))
    return e.select(e.le(size, one), x, e.const(math.nan))


def erfc_inverse(e: Any, q: Any) -> Any:
    """erfcinv(q): the x with erfc(x) = q, for q from 0 to 2."""
    half, one, two, zero = e.const(0.5), e.const(1), e.const(2), e.const(0)
    reflected = e.select(e.gt(q, one), e.sub(two, q), q)
    near = e.ge(reflected, half)
    center = _inverse_near_zero(e, e.select(near, e.sub(one, q), half))
    inside = e.and_(e.gt(reflected, zero), e.lt(reflected, half))
    tail = _inverse_of_tail(e, e.select(inside, reflected, half))
    far = e.select(e.eq(reflected, zero), e.const(math.inf), tail)
    x = e.select(near, center, e.select(e.gt(q, one), e.neg(far), far))
    valid = e.and_(e.ge(q, zero), e.le(q, two))
    return e.select(valid, x, e.const(math.nan))
