"""sin, cos, tan and their inverses, in float32 and float64.

Errors, in units of the last place, measured against mpmath (tests/codegen): see each function.
"""

from __future__ import annotations

from math import inf

from wengert.codegen.llvm.math.argument_reduction import reduced
from wengert.codegen.llvm.math.double import in_double, values
from wengert.codegen.llvm.text.arithmetic import Arithmetic, polynomial
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dtypes import int64

# Polynomials in z, the square of the angle, on ±0.802; the highest power comes first.

# (sin x / x - 1) / z; relative error of the sine 2⁻²⁷·⁸ and 2⁻⁵⁷·⁶
_SINE = {
    4: ("-0x1.99100cp-13", "0x1.1106b0p-7", "-0x1.555544p-3"),
    8: (
        *("0x1.5d6fff4ede608p-33", "-0x1.ae5df016b4aaap-26", "0x1.71de34e50c173p-19"),
        *("-0x1.a01a019b6ec65p-13", "0x1.111111110f3a8p-7", "-0x1.5555555555546p-3"),
    ),
}

# (cos x - 1 + z/2) / z²; error of the cosine 2⁻³²·⁹ and 2⁻⁶³·⁷
_COSINE = {
    4: ("0x1.99d732p-16", "-0x1.6c0c06p-10", "0x1.55554ap-5"),
    8: (
        *("-0x1.8f862216bfaf3p-37", "0x1.1ee99ed38a79fp-29", "-0x1.27e4f79a6e6c9p-22"),
        *("0x1.a01a019c1a77cp-16", "-0x1.6c16c16c14b95p-10", "0x1.5555555555549p-5"),
    ),
}

# (atan t / t - 1) / z for t in ±tan(π/8); relative error 2⁻⁵⁹·⁴
_ATAN = (
    *("-0x1.2584380d5cca6p-6", "0x1.37e158760e8c5p-5", "-0x1.9cd7413050d35p-5"),
    *("0x1.df10432475254p-5", "-0x1.10ebc860aecc7p-4", "0x1.3b111a674671bp-4"),
    *("-0x1.745cf8ec6da23p-4", "0x1.c71c70e67d1c1p-4", "-0x1.24924922ae08bp-3"),
    *("0x1.9999999995872p-3", "-0x1.555555555553dp-2"),
)

# (asin t / t - 1) / z for t in ±0.5; relative error 2⁻⁵⁹·⁸
_ASIN = (
    *("0x1.0bf52adf4af1ep-5", "-0x1.5a2ea664418fap-6", "0x1.652b9c54f7d6fp-6"),
    *("0x1.e0cb908f61441p-9", "0x1.6194b9767de3bp-7", "0x1.7575adf2d5691p-7"),
    *("0x1.ca218172938b6p-7", "0x1.1c49db607ff0bp-6", "0x1.6e8be00c1c933p-6"),
    *("0x1.f1c71a8a5c683p-6", "0x1.6db6db722e18cp-5", "0x1.333333332def7p-4"),
    "0x1.5555555555578p-3",
)

# Multiples of π/4 as sums of two floats.
_PI_4 = ("0x1.921fb54442d18p-1", "0x1.1a62633145c07p-55")
_PI_2 = ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54")
_3_PI_4 = ("0x1.2d97c7f3321d2p+1", "0x1.a79394c9e8a0ap-54")
_PI = ("0x1.921fb54442d18p+1", "0x1.1a62633145c07p-53")

_ZERO = ("0x0p+0", "0x0p+0")
_TAN_PI_8, _TAN_3_PI_8 = 0.4142135623730951, 2.414213562373095

Pair = tuple[Vector, Vector]  # a number as a sum of two, the second much smaller


def sine_and_cosine(e: Arithmetic, head: Vector, rest: Vector) -> tuple[Pair, Pair]:
    """Of the angle head + rest in ±π/4, each as a sum of two numbers."""
    dtype = head.dtype
    size = dtype.itemsize
    z = e.mul(head, head)
    half = e.mul(z, e.const(0.5, dtype))
    # sin(h + r) = h + (h z P(z) + r (1 - z/2))
    sloped = e.fma(e.neg(rest), half, rest)
    sine = e.fma(e.mul(head, z), polynomial(e, z, values(_SINE[size])), sloped)
    # cos(h + r) = (1 - z/2) + (what that lost + z² Q(z) - h r)
    one = e.const(1, dtype)
    large = e.sub(one, half)
    lost = e.sub(e.sub(one, large), half)
    lost = e.fma(e.neg(head), rest, lost)
    cosine = e.fma(e.mul(z, z), polynomial(e, z, values(_COSINE[size])), lost)
    return (head, sine), (large, cosine)


def _sine(e: Arithmetic, x: Vector, quarter: int) -> Vector:
    """sin(x + quarter · π/2)."""
    quadrant, head, rest = reduced(e, x)
    whole = quadrant.dtype
    if quarter:
        quadrant = e.add(quadrant, e.const(quarter, whole))
    sine, cosine = (e.add(*pair) for pair in sine_and_cosine(e, head, rest))
    odd = e.ne(e.and_(quadrant, e.const(1, whole)), e.const(0, whole))
    size = e.select(odd, cosine, sine)
    turned = e.shl(e.and_(quadrant, e.const(2, whole)), 8 * whole.itemsize - 2)
    return e.from_bits(e.xor(e.bits(size), turned))


def sin(e: Arithmetic, x: Vector) -> Vector:
    """Sine of radians; NaN at ±inf. Error below 0.9 ulp for every finite x."""
    return e.select(e.eq(x, e.const(0, x.dtype)), x, _sine(e, x, 0))  # keeps -0


def cos(e: Arithmetic, x: Vector) -> Vector:
    """Cosine of radians; NaN at ±inf. Error below 0.9 ulp for every finite x."""
    return _sine(e, x, 1)


@in_double
def tan(e: Arithmetic, x: Vector) -> Vector:
    """Tangent of radians; NaN at ±inf. Error below 1.1 ulp (0.51 in float32) for every finite x."""
    quadrant, head, rest = reduced(e, x)
    sine, cosine = sine_and_cosine(e, head, rest)
    whole = quadrant.dtype
    odd = e.ne(e.and_(quadrant, e.const(1, whole)), e.const(0, whole))  # there -cos / sin
    top = [e.select(odd, e.neg(c), s) for s, c in zip(sine, cosine, strict=True)]
    bottom = [e.select(odd, s, c) for s, c in zip(sine, cosine, strict=True)]
    quotient, correction = _quotient(e, _sum(e, *top), _sum(e, *bottom))
    return e.select(e.eq(x, e.const(0)), x, e.add(quotient, correction))


def _sum(e: Arithmetic, large: Vector, small: Vector) -> Pair:
    """The same sum with a first number that is the whole, rounded (Dekker's fast sum)."""
    total = e.add(large, small)
    return total, e.sub(small, e.sub(total, large))


def _quotient(e: Arithmetic, top: Pair, bottom: Pair) -> Pair:
    """top / bottom and a correction, which together are right to almost twice the precision."""
    inverse = e.div(e.const(1, top[0].dtype), bottom[0])
    quotient = e.mul(top[0], inverse)
    left = e.fma(e.neg(quotient), bottom[0], top[0])
    left = e.fma(e.neg(quotient), bottom[1], e.add(left, top[1]))
    return quotient, e.mul(left, inverse)


@in_double
def atan(e: Arithmetic, x: Vector) -> Vector:
    """Inverse tangent. Error below 0.75 ulp (0.51 in float32)."""
    y = e.abs(x)
    infinite = e.eq(y, e.const(inf))
    one = e.const(1)
    angle = _angle(e, e.select(infinite, one, y), e.select(infinite, e.const(0), one), None)
    return e.copysign(angle, x)


@in_double
def atan2(e: Arithmetic, y: Vector, x: Vector) -> Vector:
    """The angle of the point (x, y). Error below 0.75 ulp (0.51 in float32)."""
    high, wide = e.abs(y), e.abs(x)
    zero, one = e.const(0), e.const(1)
    # Infinite coordinates stand for a direction: 1 beside 0 or beside another 1.
    high_infinite, wide_infinite = e.eq(high, e.const(inf)), e.eq(wide, e.const(inf))
    infinite = e.or_(high_infinite, wide_infinite)
    high = e.select(infinite, e.select(high_infinite, one, zero), high)
    wide = e.select(infinite, e.select(wide_infinite, one, zero), wide)
    # A power of two brings the larger one to where its inverse is a normal number.
    larger = e.select(e.gt(high, wide), high, wide)
    scale = e.select(e.gt(larger, e.const(2.0**1000)), e.const(2.0**-100), one)
    scale = e.select(e.lt(larger, e.const(2.0**-400)), e.const(2.0**600), scale)
    high, wide = e.mul(high, scale), e.mul(wide, scale)
    wide = e.select(e.eq(larger, zero), one, wide)
    behind = e.lt(e.bits(x), e.const(0, int64))  # -0 too
    angle = e.copysign(_angle(e, high, wide, behind), y)
    both = e.add(e.mul(y, zero), e.mul(x, zero))
    return e.select(e.or_(e.ne(y, y), e.ne(x, x)), both, angle)


def _angle(e: Arithmetic, y: Vector, x: Vector, behind: Vector | None) -> Vector:
    """atan(y / x) of numbers that are not negative; its supplement where `behind` holds.

    Below π/8 it is the polynomial of y / x; up to 3π/8 that of the distance from π/4, above that
    of the distance from π/2, both again tangents that cost one division.
    """
    low = e.lt(y, e.mul(x, e.const(_TAN_PI_8)))
    middle = e.lt(y, e.mul(x, e.const(_TAN_3_PI_8)))
    zero = e.const(0)
    difference, total = e.sub(y, x), e.add(y, x)
    top = e.select(low, y, e.select(middle, difference, e.neg(x)))
    bottom = e.select(low, x, e.select(middle, total, y))
    # What rounding took from the difference and from the total, which are used between only.
    between = e.and_(middle, e.not_(low))
    top_rest = e.select(between, _lost(e, y, e.neg(x), difference), zero)
    bottom_rest = e.select(between, _lost(e, y, x, total), zero)
    t, correction = _quotient(e, (top, top_rest), (bottom, bottom_rest))
    z = e.mul(t, t)
    rest = e.fma(
        e.mul(t, z), polynomial(e, z, values(_ATAN)), e.fma(e.neg(z), correction, correction)
    )
    offsets = [_choose(e, low, middle, k, (_ZERO, _PI_4, _PI_2)) for k in (0, 1)]
    if behind is not None:
        turned = [_choose(e, low, middle, k, (_PI, _3_PI_4, _PI_2)) for k in (0, 1)]
        offsets = [e.select(behind, a, b) for a, b in zip(turned, offsets, strict=True)]
        t, rest = e.select(behind, e.neg(t), t), e.select(behind, e.neg(rest), rest)
    large, small = _sum(e, offsets[0], t)
    return e.add(large, e.add(small, e.add(offsets[1], rest)))


def _lost(e: Arithmetic, x: Vector, y: Vector, total: Vector) -> Vector:
    """x + y - total, where total is x + y rounded (Knuth)."""
    back = e.sub(total, x)
    return e.add(e.sub(x, e.sub(total, back)), e.sub(y, back))


def _choose(
    e: Arithmetic, low: Vector, middle: Vector, part: int, of: tuple[tuple[str, str], ...]
) -> Vector:
    """One part of the offset of the segment that y / x lies in."""
    first, second, third = (e.const(float.fromhex(each[part])) for each in of)
    return e.select(low, first, e.select(middle, second, third))


@in_double
def asin(e: Arithmetic, x: Vector) -> Vector:
    """Inverse sine; NaN outside ±1. Error below 0.75 ulp (0.51 in float32)."""
    size = e.abs(x)
    outer, t, rest = _arc(e, size)
    # asin a = π/2 - 2 asin √((1 - a) / 2)
    right, right_rest = (e.const(float.fromhex(each)) for each in _PI_2)
    large, small = _sum(e, right, e.neg(e.add(t, t)))
    far = e.add(large, e.add(small, e.sub(right_rest, e.add(rest, rest))))
    return e.copysign(e.select(outer, far, e.add(t, rest)), x)


@in_double
def acos(e: Arithmetic, x: Vector) -> Vector:
    """Inverse cosine; NaN outside ±1. Error below 0.75 ulp (0.51 in float32)."""
    outer, t, rest = _arc(e, e.abs(x))
    # 2 asin √((1 - x) / 2), from π for x < 0; between ±1/2 it is π/2 - asin x.
    negative = e.lt(x, e.const(0))
    factor = e.select(outer, e.const(2), e.const(-1))
    factor = e.select(negative, e.neg(factor), factor)
    t, rest = e.mul(t, factor), e.mul(rest, factor)
    offsets = []
    for straight, right in zip(_PI, _PI_2, strict=True):
        far = e.select(negative, e.const(float.fromhex(straight)), e.const(0))
        offsets.append(e.select(outer, far, e.const(float.fromhex(right))))
    large, small = _sum(e, offsets[0], t)
    return e.add(large, e.add(small, e.add(offsets[1], rest)))


def _arc(e: Arithmetic, x: Vector) -> tuple[Vector, Vector, Vector]:
    """For x ≥ 0, whether x > 1/2, and asin of x, or there of √((1 - x) / 2), as a sum of two."""
    half, zero = e.const(0.5), e.const(0)
    outer = e.gt(x, half)
    halved = e.mul(e.sub(e.const(1), x), half)  # exact where it is used
    root = e.sqrt(halved)
    root_rest = e.div(e.fma(e.neg(root), root, halved), e.add(root, root))
    root_rest = e.select(e.eq(root, zero), zero, root_rest)
    t = e.select(outer, root, x)
    z = e.select(outer, halved, e.mul(x, x))
    series = e.mul(e.mul(t, z), polynomial(e, z, values(_ASIN)))
    return outer, t, e.add(series, e.select(outer, root_rest, zero))


def of_half_turns(e: Arithmetic, x: Vector) -> Pair:
    """sin πx and cos πx for a float64 x in ±1/2; error about 1 ulp."""
    size = e.abs(x)
    far = e.gt(size, e.const(0.25))
    near = e.select(far, e.sub(e.const(0.5), size), size)  # exact
    pi, pi_rest = (e.const(float.fromhex(each)) for each in _PI)
    head = e.mul(near, pi)
    rest = e.fma(near, pi_rest, e.fma(near, pi, e.neg(head)))
    sine, cosine = (e.add(*pair) for pair in sine_and_cosine(e, head, rest))
    return e.copysign(e.select(far, cosine, sine), x), e.select(far, sine, cosine)
