"""Powers and the cube root as LLVM instructions.

pow is 2^(y·log2 |x|). The error of the logarithm is multiplied by the exponent, which may be a
thousand, so float64 keeps it as the sum of two numbers; float32 is computed in float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from wengert.codegen.llvm.math.double import in_double
from wengert.codegen.llvm.math.exponential import DOUBLE, clamp, power, scaled
from wengert.codegen.llvm.math.logarithm import decomposed
from wengert.codegen.llvm.math.polynomial import quick_polynomial
from wengert.codegen.llvm.text.arithmetic import Arithmetic, polynomial
from wengert.codegen.llvm.text.vectors import Index, Vector, scalar_type
from wengert.core.dtypes import float32, float64, is_float

_hex = float.fromhex

# log2(m) = s·(C0 + C1·z + z²·P(z)) with s = (m - 1) / (m + 1), z = s², √½ ≤ m ≤ √2; C0 = 2 / ln 2
# and C1 = C0 / 3 in two parts each. Relative error 2^-73.4.
_C0 = (_hex("0x1.71547652b82fep+1"), _hex("0x1.777d0ffda0d24p-55"))
_C1 = (_hex("0x1.ec709dc3a03fdp-1"), _hex("0x1.d27f05548af0cp-55"))
_LOG2 = [
    _hex("0x1.61f135b556fd5p-3"),
    _hex("0x1.58fcd04838707p-3"),
    _hex("0x1.8a09b6e29aef1p-3"),
    _hex("0x1.c68ee96aaa4bdp-3"),
    _hex("0x1.0c9a853ad7f6fp-2"),
    _hex("0x1.484b13d6ad2f8p-2"),
    _hex("0x1.a61762a7aeddap-2"),
    _hex("0x1.2776c50ef9bfcp-1"),
]
# log2(m) = s·(C0 + z·P(z)), enough for a float32 result; relative error 2^-44.9.
_LOG2_SHORT = [
    _hex("0x1.2154ba6dd581fp-2"),
    _hex("0x1.479cd212ca2e0p-2"),
    _hex("0x1.a619f6693c40ep-2"),
    _hex("0x1.2776c2ef9a225p-1"),
    _hex("0x1.ec709dc4c27e5p-1"),
]
# 2^r = 1 + r·P(r) for |r| ≤ 1/2; error relative to 2^r 2^-59.7.
_EXP2 = [
    _hex("0x1.e04c3ffdde9cdp-36"),
    _hex("0x1.ec6eed7111745p-32"),
    _hex("0x1.e4bbefbc0548ap-28"),
    _hex("0x1.b52333fc63e47p-24"),
    _hex("0x1.62c0271533c4dp-20"),
    _hex("0x1.ffcbfd4845babp-17"),
    _hex("0x1.430912f759f54p-13"),
    _hex("0x1.5d87fe7874820p-10"),
    _hex("0x1.3b2ab6fba5198p-7"),
    _hex("0x1.c6b08d704a1d3p-5"),
    _hex("0x1.ebfbdff82c58ep-3"),
    _hex("0x1.62e42fefa39efp-1"),
]
# The same, enough for a float32 result: 2^-34.3.
_EXP2_SHORT = [
    _hex("0x1.fde1b0ee6fc51p-17"),
    _hex("0x1.445ca5182f4adp-13"),
    _hex("0x1.5d8a899097d81p-10"),
    _hex("0x1.3b29f3759fb43p-7"),
    _hex("0x1.c6b08abd160e8p-5"),
    _hex("0x1.ebfbe077b0e08p-3"),
    _hex("0x1.62e42ff0e30d6p-1"),
]
# (1 + f)^(-1/3) for ¾ ≤ 1 + f ≤ 3/2; relative error 2^-17.4.
_INVERSE_CBRT = [
    _hex("-0x1.4352368223ba1p-4"),
    _hex("0x1.2f917ccc47db3p-3"),
    _hex("-0x1.6b9b99836cbf4p-3"),
    _hex("0x1.c767fd686747cp-3"),
    _hex("-0x1.553c6b99d6b3ap-2"),
    _hex("0x1.ffffcb6789304p-1"),
]


class _Pair(NamedTuple):
    """The sum of two floats, the second much smaller than the first."""

    high: Vector
    low: Vector


def pow(e: Arithmetic, x: Vector, y: Vector) -> Vector:
    """x^y; of floats as in C99, with an error of at most 1.5 ulp, exact for y = 0, 1 and 2.

    1 where y is 0 or x is 1, even if the other is NaN; NaN where x < 0 and y is not whole. Integers
    wrap around.
    """
    if not is_float(x.dtype):
        return _pow_of_integers(e, x, y)
    size = e.abs(x)
    raised = _single(e, size, y) if x.dtype == float32 else _double(e, size, y)
    return _with_special_cases(e, x, y, raised)


def _with_special_cases(e: Arithmetic, x: Vector, y: Vector, raised: Vector) -> Vector:
    dtype, size = x.dtype, e.abs(x)
    zero, one, infinity = (e.const(c, dtype) for c in (0, 1, math.inf))
    half = e.mul(y, e.const(0.5, dtype))
    whole = e.eq(e.floor(y), y)
    odd = e.and_(whole, e.ne(e.floor(half), half))
    raised = e.copysign(raised, e.select(odd, x, one))
    imaginary = e.and_(e.and_(e.lt(x, zero), e.lt(size, infinity)), e.not_(whole))
    unknown = e.or_(imaginary, e.or_(e.ne(x, x), e.ne(y, y)))
    raised = e.select(unknown, e.const(math.nan, dtype), raised)
    raised = e.select(e.eq(y, e.const(2, dtype)), e.mul(x, x), raised)
    raised = e.select(e.eq(y, one), x, raised)
    endless = e.and_(e.eq(size, one), e.eq(e.abs(y), infinity))
    return e.select(e.or_(e.or_(e.eq(y, zero), e.eq(x, one)), endless), one, raised)


def _single(e: Arithmetic, size: Vector, y: Vector) -> Vector:
    """size^y of float32, by float64."""
    size, y = e.cast(size, float64), e.cast(y, float64)
    k, m = decomposed(e, size, math.sqrt(0.5))
    one = e.const(1, float64)
    s = e.div(e.sub(m, one), e.add(m, one))
    z = e.mul(s, s)
    slope = e.fma(z, polynomial(e, z, _LOG2_SHORT), e.const(_C0[0], float64))
    exponent = e.mul(y, _with_ends(e, size, e.fma(s, slope, k)))
    whole, r = _whole_and_rest(e, exponent, 200.0, DOUBLE.bias)
    result = e.fma(r, quick_polynomial(e, r, _EXP2_SHORT, e.mul(r, r)), one)
    return e.cast(e.mul(result, power(e, whole)), float32)


def _double(e: Arithmetic, size: Vector, y: Vector) -> Vector:
    """size^y of float64."""
    dtype, zero = y.dtype, e.const(0, y.dtype)
    logarithm = _log2_in_two(e, size)
    main = _with_ends(e, size, logarithm.high)
    exponent = e.mul(y, main)
    rest = e.fma(y, logarithm.low, e.fma(y, main, e.neg(exponent)))
    # Beyond the range of results the rest may be infinite or NaN, and does not count.
    rest = e.select(e.lt(e.abs(exponent), e.const(2000, dtype)), rest, zero)
    whole, r = _whole_and_rest(e, exponent, 1200.0, 2 * DOUBLE.bias)
    r = e.add(r, rest)
    one = e.const(1, dtype)
    result = e.fma(r, quick_polynomial(e, r, _EXP2, e.mul(r, r)), one)
    return scaled(e, result, whole)


def _whole_and_rest(e: Arithmetic, x: Vector, limit: float, offset: int) -> tuple[Vector, Vector]:
    """The nearest integer n of x, as low bits n + offset of a float, and x - n.

    An x beyond the limits is brought back to them, which is far enough for 0 and infinity.
    """
    x = clamp(e, x, -limit, limit)
    shift = e.const(DOUBLE.round + offset, x.dtype)
    whole = e.add(x, shift)
    return whole, e.sub(x, e.sub(whole, shift))


def _with_ends(e: Arithmetic, size: Vector, logarithm: Vector) -> Vector:
    """The logarithm of 0 and of infinity, where they are given."""
    infinity = e.const(math.inf, size.dtype)
    with_infinity = e.select(e.eq(size, infinity), infinity, logarithm)
    return e.select(e.eq(size, e.const(0, size.dtype)), e.neg(infinity), with_infinity)


def _sum(e: Arithmetic, x: Vector, y: Vector) -> _Pair:
    """x + y and what its rounding lost; |x| ≥ |y| or x = 0."""
    total = e.add(x, y)
    return _Pair(total, e.add(e.sub(x, total), y))


def _product(e: Arithmetic, x: _Pair, y: _Pair) -> _Pair:
    """x·y, nearly to twice the precision."""
    main = e.mul(x.high, y.high)
    lost = e.fma(x.high, y.high, e.neg(main))
    return _Pair(main, e.fma(x.low, y.high, e.fma(x.high, y.low, lost)))


def _log2_in_two(e: Arithmetic, size: Vector) -> _Pair:
    """log2 of a positive number with a relative error of 2^-64."""
    dtype = size.dtype
    k, m = decomposed(e, size, math.sqrt(0.5))
    f = e.sub(m, e.const(1, dtype))
    bottom = _sum(e, e.const(2, dtype), f)
    inverse = e.div(e.const(1, dtype), bottom.high)
    guess = e.mul(f, inverse)
    back = e.neg(guess)
    left = e.fma(back, bottom.low, e.fma(back, bottom.high, f))
    s = _Pair(guess, e.mul(left, inverse))
    z = _product(e, s, s)
    tail = e.mul(z.high, polynomial(e, z.high, _LOG2))
    slope = _sum(e, e.const(_C1[0], dtype), tail)
    slope = _Pair(slope.high, e.add(slope.low, e.const(_C1[1], dtype)))
    more = _product(e, z, slope)
    slope = _sum(e, e.const(_C0[0], dtype), more.high)
    low = e.add(slope.low, e.add(more.low, e.const(_C0[1], dtype)))
    part = _product(e, s, _Pair(slope.high, low))
    total = _sum(e, k, part.high)
    return _Pair(total.high, e.add(total.low, part.low))


def _pow_of_integers(e: Arithmetic, x: Vector, y: Vector) -> Vector:
    """x^y for y ≥ 0 by repeated squaring, as many steps as the largest y of all lanes has bits."""
    code, dtype = e.code, y.dtype
    bits = 8 * dtype.itemsize
    largest = code.lane(code.join(y, lambda a, b: e.or_(a, b)), 0)
    kind = scalar_type(dtype)
    zeros = code.call(f"llvm.ctlz.{kind}", kind, (kind, largest), ("i1", "false"))
    wide = zeros if bits == 64 else code.let(f"zext {kind} {zeros} to i64")
    one, parts = e.const(1, dtype), len(x.parts)

    def step(_: Index, carried: list[str]) -> list[str]:
        raised, base, left = (
            Vector(tuple(carried[i * parts : (i + 1) * parts]), dtype) for i in range(3)
        )
        odd = e.ne(e.and_(left, one), e.const(0, dtype))
        raised = e.select(odd, e.mul(raised, base), raised)
        return [*raised.parts, *e.mul(base, base).parts, *e.lshr(left, 1).parts]

    start = [(code.type(dtype), part) for value in (one, x, y) for part in value.parts]
    last = code.loop(0, code.sub(bits, wide), 1, step, start)
    return Vector(tuple(last[:parts]), dtype)


@in_double
def cbrt(e: Arithmetic, x: Vector) -> Vector:
    """The real cube root; error at most 0.501 ulp."""
    dtype, size = x.dtype, e.abs(x)
    k, m = decomposed(e, size)
    one, shift = e.const(1, dtype), e.const(DOUBLE.round + DOUBLE.bias, dtype)
    whole = e.fma(k, e.const(1 / 3, dtype), shift)
    left = e.fma(e.sub(whole, shift), e.const(-3, dtype), k)  # -1, 0 or 1
    more, less = e.gt(left, e.const(0.5, dtype)), e.lt(left, e.const(-0.5, dtype))
    y = polynomial(e, e.sub(m, one), _INVERSE_CBRT)
    y = e.mul(y, _three_ways(e, more, less, 2.0 ** (-1 / 3), 2.0 ** (1 / 3)))
    m = e.mul(m, _three_ways(e, more, less, 2.0, 0.5))
    # y = m^(-1/3)·(1 - ε)^(1/3) with 1 - ε = m·y³; its series in ε to the second power.
    miss = e.fma(e.mul(e.mul(y, y), e.neg(m)), y, one)
    series = e.mul(miss, e.fma(miss, e.const(2 / 9, dtype), e.const(1 / 3, dtype)))
    y = e.fma(y, series, y)
    # m·y² is the root; one step of Newton's with the cube of it in two parts.
    slope = e.mul(y, y)
    root = e.mul(m, slope)
    square = e.mul(root, root)
    lost = e.fma(root, root, e.neg(square))
    miss = e.fma(lost, e.neg(root), e.fma(square, e.neg(root), m))
    root = e.fma(e.mul(miss, e.const(1 / 3, dtype)), slope, root)
    signed = e.copysign(e.mul(root, power(e, whole)), x)
    usual = e.and_(e.gt(size, e.const(0, dtype)), e.lt(size, e.const(math.inf, dtype)))
    return e.select(usual, signed, x)


def _three_ways(e: Arithmetic, more: Vector, less: Vector, x: float, y: float) -> Vector:
    """One number where the first bool holds, another where the second does, else 1."""
    other = e.select(less, e.const(y, e.dtype), e.const(1, e.dtype))
    return e.select(more, e.const(x, e.dtype), other)
