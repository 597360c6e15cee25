"""Logarithms as LLVM instructions: log, log1p, log2 and log10.

All begin with x = 2^k·(1 + f), ¾ ≤ 1 + f < 3/2, and with a polynomial for log(1 + f). The
sum k·ln 2 + f is kept in two parts, so that nothing but its last rounding counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from wengert.codegen.llvm.math.exponential import format_of
from wengert.codegen.llvm.math.polynomial import quick_polynomial
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dtypes import DType

_hex = float.fromhex

# log(1 + f) = f + f²·P(f) for ¾ ≤ 1 + f ≤ 3/2; relative error 2^-30.0.
_LOG_SINGLE = [
    _hex("0x1.33e4ccp-5"),
    _hex("-0x1.74e67ep-4"),
    _hex("0x1.df1560p-4"),
    _hex("-0x1.04aeaep-3"),
    _hex("0x1.24640ep-3"),
    _hex("-0x1.5519cep-3"),
    _hex("0x1.999760p-3"),
    _hex("-0x1.00006ep-2"),
    _hex("0x1.55555ap-2"),
    -0.5,
]
# The same with relative error 2^-56.5.
_LOG_DOUBLE = [
    _hex("0x1.09079cabd018fp-7"),
    _hex("-0x1.e164c62422228p-6"),
    _hex("0x1.9f4021272f9dep-5"),
    _hex("-0x1.e8e57ed86d1ccp-5"),
    _hex("0x1.f254eacb0e642p-5"),
    _hex("-0x1.fffe2379ced90p-5"),
    _hex("0x1.101cac716b1ecp-4"),
    _hex("-0x1.24656187be318p-4"),
    _hex("0x1.3b1f008022a6bp-4"),
    _hex("-0x1.55593a910646dp-4"),
    _hex("0x1.745cec63b599bp-4"),
    _hex("-0x1.999972c104cdap-4"),
    _hex("0x1.c71c70dbb4906p-4"),
    _hex("-0x1.00000063f1fc2p-3"),
    _hex("0x1.249249297d2a9p-3"),
    _hex("-0x1.555555545901ap-3"),
    _hex("0x1.999999998c56dp-3"),
    _hex("-0x1.0000000000773p-2"),
    _hex("0x1.55555555555a1p-2"),
    -0.5,
]


class _Base(NamedTuple):
    """1 / ln(base) and log_base(2) in two parts each; k·two is exact for every exponent k."""

    inverse: float
    inverse_rest: float
    two: float
    two_rest: float


_TWO_SINGLE = _Base(_hex("0x1.715476p+0"), _hex("0x1.4ae0c0p-26"), 1.0, 0.0)
_TWO_DOUBLE = _Base(_hex("0x1.71547652b82fep+0"), _hex("0x1.777d0ffda0d24p-56"), 1.0, 0.0)
_TEN_SINGLE = _Base(
    _hex("0x1.bcb7b2p-2"), _hex("-0x1.5b235ep-27"), _hex("0x1.344p-2"), _hex("0x1.3509f8p-18")
)
_TEN_DOUBLE = _Base(
    _hex("0x1.bcb7b1526e50ep-2"),
    _hex("0x1.95355baaafad3p-57"),
    _hex("0x1.34413509f7000p-2"),
    _hex("0x1.3fde623e2566bp-43"),
)
# ln 2 in two parts; k·(the first) is exact.
_LN2_SINGLE = (_hex("0x1.62ep-1"), _hex("0x1.0bfbe8p-15"))
_LN2_DOUBLE = (_hex("0x1.62e42fefa3000p-1"), _hex("0x1.3de6af278ece6p-42"))


def _bits_of(value: float, dtype: DType) -> int:
    whole = np.dtype(f"i{dtype.itemsize}")
    return int(np.asarray(value, dtype).view(whole))


def _split(e: Arithmetic, x: Vector, first: float) -> tuple[Vector, Vector, Vector]:
    """A normal x as 2^k·m with first ≤ m < 2·first: k in low bits of a float, m, k + bias."""
    dtype, form = x.dtype, format_of(x.dtype)
    whole = np.dtype(f"i{dtype.itemsize}")
    begin, one = _bits_of(first, dtype), _bits_of(1.0, dtype)
    moved = e.add(e.bits(x), e.const(one - begin, whole))
    exponent = e.lshr(moved, form.fraction)
    fraction = e.and_(moved, e.const((1 << form.fraction) - 1, whole))
    m = e.from_bits(e.add(fraction, e.const(begin, whole)))
    large = e.from_bits(e.add(exponent, e.const(_bits_of(form.round, dtype), whole)))
    return large, m, exponent


def decomposed(e: Arithmetic, x: Vector, first: float = 0.75) -> tuple[Vector, Vector]:
    """A positive x, subnormal or not, as k and m with x = 2^k·m and first ≤ m < 2·first."""
    dtype, form = x.dtype, format_of(x.dtype)
    small = e.lt(x, e.const(2.0 ** (1 - form.bias), dtype))
    up = form.fraction + 1
    normal = e.select(small, e.mul(x, e.const(2.0**up, dtype)), x)
    large, m, _ = _split(e, normal, first)
    offset = form.round + form.bias
    k = e.sub(large, e.select(small, e.const(offset + up, dtype), e.const(offset, dtype)))
    return k, m


def _taken_apart(e: Arithmetic, x: Vector) -> tuple[Vector, Vector]:
    """As `decomposed` from ¾ on; anything where x is not positive and finite."""
    if not e.takes_apart:
        return decomposed(e, x)
    m = e.fraction(x)
    return e.sub(e.exponent(x), e.exponent(m)), m


def _table(f: Vector) -> list[float]:
    return _LOG_SINGLE if f.dtype.itemsize == 4 else _LOG_DOUBLE


def _tail(e: Arithmetic, f: Vector) -> Vector:
    """log(1 + f) - f."""
    square = e.mul(f, f)
    return e.mul(square, quick_polynomial(e, f, _table(f), square))


def _sum(e: Arithmetic, k: Vector, f: Vector, rest: Vector | None = None) -> Vector:
    """k·ln 2 + log(1 + f), plus a tiny number."""
    high, low = _LN2_SINGLE if f.dtype.itemsize == 4 else _LN2_DOUBLE
    tail = e.fma(k, e.const(low, f.dtype), _tail(e, f))
    if rest is not None:
        tail = e.add(tail, rest)
    start = e.mul(k, e.const(high, f.dtype))
    top = e.add(start, f)
    return e.add(top, e.add(e.add(e.sub(start, top), f), tail))


def _with_ends(e: Arithmetic, x: Vector, logarithm: Vector) -> Vector:
    """-inf at 0, NaN below, inf at inf."""
    dtype = x.dtype
    zero, infinity = e.const(0, dtype), e.const(math.inf, dtype)
    outside = e.select(e.eq(x, zero), e.const(-math.inf, dtype), e.const(math.nan, dtype))
    logarithm = e.select(e.eq(x, infinity), infinity, logarithm)
    return e.select(e.gt(x, zero), logarithm, outside)


def log(e: Arithmetic, x: Vector) -> Vector:
    """The natural logarithm; error at most 1 ulp (1.2 in float64)."""
    k, m = _taken_apart(e, x)
    return _with_ends(e, x, _sum(e, k, e.sub(m, e.const(1, x.dtype))))


def log1p(e: Arithmetic, x: Vector) -> Vector:
    """log(1 + x); error at most 1 ulp (1.2 in float64)."""
    return log1p_of_sum(e, x)


def log1p_of_sum(
    e: Arithmetic, x: Vector, rest: Vector | None = None, doubled: Vector | None = None
) -> Vector:
    """log(1 + x + rest), where rest is less than an ulp of x; plus ln 2 where `doubled` holds.

    The other functions need both: their arguments are sums, or would overflow.
    """
    dtype, form = x.dtype, format_of(x.dtype)
    one = e.const(1, dtype)
    total = e.add(one, x)
    large, m, exponent = _split(e, total, 0.75)
    k = e.sub(large, e.const(form.round + form.bias, dtype))
    # f from x itself, not from the rounded 1 + x: f = 2^-k·x + (2^-k - 1), which is exact.
    turned = e.sub(e.const(2 * form.bias, exponent.dtype), exponent)
    scale = e.from_bits(e.shl(turned, form.fraction))
    f = e.fma(x, scale, e.sub(scale, one))
    # Of a large x, 2^-k may not exist, and neither 1 nor the rest makes a difference.
    large_x = e.gt(x, e.const(2.0**60, dtype))
    f = e.select(large_x, e.sub(m, one), f)
    if rest is not None:
        rest = e.mul(e.mul(rest, scale), e.sub(one, f))  # 1 / (1 + f) is 1 - f nearly enough
        rest = e.select(large_x, e.const(0, dtype), rest)
    if doubled is not None:
        k = e.select(doubled, e.add(k, one), k)
    usual = _with_ends(e, total, _sum(e, k, f, rest))
    tiny = e.lt(e.abs(x), e.const(2.0**-60, dtype))  # keeps the sign of 0
    return e.select(tiny, x, usual)


def _in_base(e: Arithmetic, x: Vector, base: _Base) -> Vector:
    """log(x)·inverse + k·two, the sum and the products in two parts."""
    dtype = x.dtype
    k, m = _taken_apart(e, x)
    f = e.sub(m, e.const(1, dtype))
    # log(m) = f - f²/2 + f³·Q(f), the difference of the first two exactly.
    half = e.mul(f, e.const(0.5, dtype))
    square = e.mul(half, f)
    lost = e.fma(half, f, e.neg(square))
    double_square = e.add(square, square)
    cubic = e.mul(e.mul(double_square, f), quick_polynomial(e, f, _table(f)[:-1], double_square))
    natural = e.sub(f, square)
    rest = e.add(e.sub(e.sub(f, natural), square), e.sub(cubic, lost))
    inverse = e.const(base.inverse, dtype)
    high = e.mul(natural, inverse)
    low = e.fma(natural, inverse, e.neg(high))
    low = e.add(low, e.fma(natural, e.const(base.inverse_rest, dtype), e.mul(rest, inverse)))
    start = k
    if base.two != 1.0:
        start = e.mul(k, e.const(base.two, dtype))
        low = e.fma(k, e.const(base.two_rest, dtype), low)
    top = e.add(start, high)
    return e.add(top, e.add(e.add(e.sub(start, top), high), low))


def log2(e: Arithmetic, x: Vector) -> Vector:
    """The logarithm to base 2, exact for powers of 2; error at most 0.9 ulp (1 in float64)."""
    base = _TWO_SINGLE if x.dtype.itemsize == 4 else _TWO_DOUBLE
    return _with_ends(e, x, _in_base(e, x, base))


def log10(e: Arithmetic, x: Vector) -> Vector:
    """The logarithm to base 10; error at most 0.9 ulp (1 in float64)."""
    base = _TEN_SINGLE if x.dtype.itemsize == 4 else _TEN_DOUBLE
    return _with_ends(e, x, _in_base(e, x, base))
