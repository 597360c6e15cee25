"""log Γ and its first derivative, in float64; the higher ones are in `polygamma`.

Large arguments have an asymptotic series. Small ones step down to [1, 2] by Γ(x + 1) = x Γ(x),
where there is a polynomial, and negative ones are reflected: Γ(x) Γ(1 - x) = π / sin πx.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf, nan, pi

from wengert.codegen.llvm.math.double import in_double, values
from wengert.codegen.llvm.math.logarithm import log
from wengert.codegen.llvm.math.trigonometric import of_half_turns
from wengert.codegen.llvm.text.arithmetic import Arithmetic, polynomial
from wengert.codegen.llvm.text.vectors import Vector

# Polynomials in 2u - 1 for u in [0, 1], the highest power first.

# log Γ(1 + u) / (u (u - 1)); relative error 2⁻⁵⁴·⁶
_LGAMMA = (
    *("0x1.78e1dd24e189ap-37", "-0x1.36f0cb06ee651p-35", "0x1.e26f768d4e057p-35"),
    *("-0x1.68660662315c5p-33", "0x1.6351ec341c25fp-31", "-0x1.1cf632633c5c7p-29"),
    *("0x1.bac6bb25d64d7p-28", "-0x1.6184eed920e9dp-26", "0x1.1c734c588f49bp-24"),
    *("-0x1.cb50310c6cbc9p-23", "0x1.750b2375cabffp-21", "-0x1.313e530a7ee8dp-19"),
    *("0x1.f814b432582aap-18", "-0x1.a5035375d8b8ep-16", "0x1.64f0665f6ed13p-14"),
    *("-0x1.34dbda129043cp-12", "0x1.13342352603ecp-10", "-0x1.007aa83cef96cp-8"),
    *("0x1.01af62a292b2ep-6", "-0x1.2aed059bd6085p-4", "0x1.eeb95b094c191p-2"),
)

# ψ(1 + u) / (u - root); relative error 2⁻⁵³·⁶
_DIGAMMA = (
    *("-0x1.73ac445824e23p-34", "0x1.137b4135322p-32", "-0x1.32687ab60b7dcp-32"),
    *("0x1.d43718e8c4d88p-31", "-0x1.fcca1cdfca86ep-29", "0x1.7c66005493e0ap-27"),
    *("-0x1.0fc2fb1195f14p-25", "0x1.97e0f20b12e95p-24", "-0x1.336c418a75ca7p-22"),
    *("0x1.cd42c312254eep-21", "-0x1.5a06bd05ef11ep-19", "0x1.03bfe51288e54p-17"),
    *("-0x1.86356311da70ep-16", "0x1.2564773953282p-14", "-0x1.b9f8b1212e9c9p-13"),
    *("0x1.4de9a9fe13f98p-11", "-0x1.fb44202a1245cp-10", "0x1.8512e59075ee9p-8"),
    *("-0x1.2feeeb98a79bp-6", "0x1.eca189b8e6b5ap-5", "-0x1.b1cb63005ee98p-3"),
    *("0x1.e6f0cbb873617p-1",),
)

# Where ψ(1 + u) is zero, as the sum of two floats.
_ROOT = ("0x1.d8b618d5af8fep-2", "-0x1.1e563779a1f5bp-56")

# B2, B4, … B20: the Bernoulli numbers of the asymptotic series.
BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66),
    *(-691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330),
)

_LARGE = 10  # from here on the asymptotic series


@in_double
def lgamma(e: Arithmetic, x: Vector) -> Vector:
    """log |Γ(x)|; +inf at 0, at the negative integers and at ±inf.

    Error below 6 ulp for x > 0 (1 in float32); for x < 0 that of the terms that make it up.
    """
    one = e.const(1)
    negative = e.lt(x, e.const(0))
    of_positive = _lgamma_of_positive(e, e.select(negative, e.sub(one, x), x))

    def reflected() -> tuple[str, ...]:
        distance = from_integer(e, x)
        sine, _ = of_half_turns(e, distance)
        below = e.sub(e.sub(e.const(math.log(pi)), log(e, e.abs(sine))), of_positive)
        pole = e.or_(e.eq(distance, e.const(0)), e.eq(x, e.const(-inf)))
        below = e.select(pole, e.const(inf), below)
        return e.select(negative, below, of_positive).parts

    return where_any(e, negative, reflected, of_positive)


def where_any(
    e: Arithmetic, mask: Vector, rare: Callable[[], tuple[str, ...]], usual: Vector
) -> Vector:
    """What `rare` computes if any lane of the mask holds, else the usual."""
    code = e.code
    kinds = [code.type(usual.dtype)] * code.pieces
    parts = code.either(e.any_lane(mask), kinds, rare, lambda: usual.parts)
    return Vector(tuple(parts), usual.dtype)


def from_integer(e: Arithmetic, x: Vector) -> Vector:
    """x minus the nearest integer: exact, and in ±1/2."""
    return e.sub(x, e.round_even(x))


def _lgamma_of_positive(e: Arithmetic, x: Vector) -> Vector:
    one = e.const(1)
    large, small = e.ge(x, e.const(_LARGE)), e.lt(x, one)
    whole = _whole(e, x)
    product = one
    for step in range(1, _LARGE - 1):
        factor = e.sub(x, e.const(step))
        product = e.select(e.lt(e.const(step), whole), e.mul(product, factor), product)
    # One logarithm serves all three: of x, of x (to be subtracted) or of the factors passed.
    logarithm = log(e, e.select(e.or_(large, small), x, product))
    u = e.select(small, x, e.sub(x, whole))
    near = e.mul(e.mul(u, e.sub(u, one)), polynomial(e, _centered(e, u), values(_LGAMMA)))
    near = e.add(near, e.select(small, e.neg(logarithm), logarithm))
    # Stirling's series
    coefficients = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:8], 1)]
    inverse = e.div(one, x)
    series = e.mul(polynomial(e, e.mul(inverse, inverse), coefficients[::-1]), inverse)
    series = e.add(series, e.const((math.log(2 * pi) - 1) / 2))
    far = e.fma(e.sub(x, e.const(0.5)), e.sub(logarithm, one), series)
    return e.select(large, far, near)


def _whole(e: Arithmetic, x: Vector) -> Vector:
    """floor(x), at least 1: u = x - that is in [0, 1) for x ≥ 1."""
    floor, one = e.floor(x), e.const(1)
    return e.select(e.lt(floor, one), one, floor)


def _centered(e: Arithmetic, u: Vector) -> Vector:
    """2u - 1."""
    return e.sub(e.add(u, u), e.const(1))


@in_double
def digamma(e: Arithmetic, x: Vector) -> Vector:
    """ψ(x), the derivative of log Γ; ∓inf at ±0 and NaN at the negative integers.

    Error below 6 ulp for x > 0 (1 in float32); for x < 0 that of the terms that make it up.
    """
    negative = e.lt(x, e.const(0))
    of_positive = _digamma_of_positive(e, e.select(negative, e.sub(e.const(1), x), x))

    def reflected() -> tuple[str, ...]:
        # ψ(1 - x) - ψ(x) = π cot πx
        distance = from_integer(e, x)
        sine, cosine = of_half_turns(e, distance)
        below = e.sub(of_positive, e.div(e.mul(e.const(pi), cosine), sine))
        below = e.select(e.eq(distance, e.const(0)), e.const(nan), below)
        return e.select(negative, below, of_positive).parts

    return where_any(e, negative, reflected, of_positive)


def _digamma_of_positive(e: Arithmetic, x: Vector) -> Vector:
    one, zero = e.const(1), e.const(0)
    large, small = e.ge(x, e.const(_LARGE)), e.lt(x, one)
    whole = _whole(e, x)
    # 1 / (x - 1) + 1 / (x - 2) + … + 1 / (1 + u) as one fraction
    top, bottom = zero, one
    for step in range(1, _LARGE - 1):
        factor, passed = e.sub(x, e.const(step)), e.lt(e.const(step), whole)
        top = e.select(passed, e.fma(top, factor, bottom), top)
        bottom = e.select(passed, e.mul(bottom, factor), bottom)
    fraction = e.div(e.select(small, e.const(-1), top), e.select(small, x, bottom))
    u = e.select(small, x, e.sub(x, whole))
    root, root_rest = (e.const(value) for value in values(_ROOT))
    distance = e.sub(e.sub(u, root), root_rest)
    near = e.fma(distance, polynomial(e, _centered(e, u), values(_DIGAMMA)), fraction)
    coefficients = [b / (2 * k) for k, b in enumerate(BERNOULLI, 1)]
    inverse = e.div(one, x)
    square = e.mul(inverse, inverse)
    series = e.fma(square, polynomial(e, square, coefficients[::-1]), e.mul(inverse, e.const(0.5)))
    return e.select(large, e.sub(log(e, x), series), near)
