"""Exponentials as LLVM instructions: exp, exp2 and expm1.

All begin with x = n·ln 2 + r, |r| ≤ ln 2 / 2, and with a polynomial for exp(r) - 1. To find the
integer n, x / ln 2 is added to a large constant: then n stands in the low bits of the sum, ready to
be shifted to where a float keeps its exponent.

Coefficients are fitted with mpmath to the smallest greatest error relative to the function, one
after the other rounded to the dtype and the rest fitted again; the highest power comes first.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.codegen.llvm.math.polynomial import quick_polynomial
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dtypes import DType

_hex = float.fromhex

# expm1(r) = r + r²·P(r) for |r| ≤ ln 2 / 2; relative error 2^-31.0.
_EXPM1_SINGLE = [
    _hex("0x1.9e0b0ep-13"),
    _hex("0x1.6d3ecap-10"),
    _hex("0x1.111306p-7"),
    _hex("0x1.5554f4p-5"),
    _hex("0x1.555554p-3"),
    0.5,
]
# The same with relative error 2^-61.5.
_EXPM1_DOUBLE = [
    _hex("0x1.1f2f35c18baacp-29"),
    _hex("0x1.af5f0256bd29cp-26"),
    _hex("0x1.27e505346555cp-22"),
    _hex("0x1.71ddf824a162fp-19"),
    _hex("0x1.a01a0194c4a65p-16"),
    _hex("0x1.a01a01affca55p-13"),
    _hex("0x1.6c16c16c19574p-10"),
    _hex("0x1.111111110f660p-7"),
    _hex("0x1.5555555555550p-5"),
    _hex("0x1.5555555555559p-3"),
    0.5,
]
# 2^r = 1 + r·P(r) for |r| ≤ 1/2; relative error of the product 2^-28.4.
_EXP2_SINGLE = [
    _hex("0x1.b0a23ep-17"),
    _hex("0x1.43ff54p-13"),
    _hex("0x1.5dc7eep-10"),
    _hex("0x1.3b2a66p-7"),
    _hex("0x1.c6b058p-5"),
    _hex("0x1.ebfbe0p-3"),
    _hex("0x1.62e430p-1"),
]
# The same with relative error 2^-54.7.
_EXP2_DOUBLE = [
    _hex("0x1.e9a114503d163p-32"),
    _hex("0x1.e5f6fd89ab739p-28"),
    _hex("0x1.b524f3f4bca39p-24"),
    _hex("0x1.62bfddc019218p-20"),
    _hex("0x1.ffcbfc85bacf6p-17"),
    _hex("0x1.430913058be5ap-13"),
    _hex("0x1.5d87fe789659ap-10"),
    _hex("0x1.3b2ab6fba3260p-7"),
    _hex("0x1.c6b08d704a15ap-5"),
    _hex("0x1.ebfbdff82c590p-3"),
    _hex("0x1.62e42fefa39efp-1"),
]


class Format(NamedTuple):
    """What the functions need to know of a float dtype."""

    fraction: int  # bits after the point
    bias: int  # of the exponent
    inverse: float  # 1 / ln 2
    ln2: float  # all bits of it: n·ln2 is subtracted by fma, and x - n·ln2 is exact
    ln2_rest: float
    lowest: float  # exp of anything lower is 0
    highest: float  # exp of anything higher is infinite
    expm1: list[float]
    exp2: list[float]

    @property
    def round(self) -> float:
        """Added to a small number it leaves its nearest integer in the low bits."""
        return 1.5 * 2.0**self.fraction


SINGLE = Format(
    23,
    127,
    _hex("0x1.715476p+0"),
    _hex("0x1.62e430p-1"),
    _hex("-0x1.05c610p-29"),
    -104.5,
    89.0,
    _EXPM1_SINGLE,
    _EXP2_SINGLE,
)
DOUBLE = Format(
    52,
    1023,
    _hex("0x1.71547652b82fep+0"),
    _hex("0x1.62e42fefa39efp-1"),
    _hex("0x1.abc9e3b39803fp-56"),
    -746.0,
    710.0,
    _EXPM1_DOUBLE,
    _EXP2_DOUBLE,
)


def format_of(dtype: DType) -> Format:
    return SINGLE if dtype.itemsize == 4 else DOUBLE


def clamp(e: Arithmetic, x: Vector, low: float, high: float) -> Vector:
    """x between two numbers; NaN stays NaN."""
    bottom, top = e.const(low, x.dtype), e.const(high, x.dtype)
    x = e.select(e.lt(x, bottom), bottom, x)
    return e.select(e.gt(x, top), top, x)


class Reduced(NamedTuple):
    """x = n·ln 2 + high + low, where high is exact and low is tiny; r = high + low, rounded."""

    whole: Vector  # n and an offset, in the low bits of a float
    high: Vector
    low: Vector
    r: Vector


def reduced(e: Arithmetic, x: Vector, offset: int) -> Reduced:
    """x without its multiples of ln 2; the offset is added to n."""
    dtype, form = x.dtype, format_of(x.dtype)
    shift = e.const(form.round + offset, dtype)
    whole = e.fma(x, e.const(form.inverse, dtype), shift)
    n = e.sub(whole, shift)
    high = e.fma(n, e.const(-form.ln2, dtype), x)
    low = e.mul(n, e.const(-form.ln2_rest, dtype))
    return Reduced(whole, high, low, e.fma(n, e.const(-form.ln2_rest, dtype), high))


def scaled(e: Arithmetic, x: Vector, whole: Vector) -> Vector:
    """x·2^n, rounded once however small it becomes; `whole` holds n + 2·bias in its low bits."""
    form = format_of(x.dtype)
    if e.takes_apart:
        return e.scale(x, e.sub(whole, e.const(form.round + 2 * form.bias, x.dtype)))
    exponent = e.bits(whole)
    half = e.lshr(exponent, 1)
    first = e.from_bits(e.shl(half, form.fraction))
    second = e.from_bits(e.shl(e.sub(exponent, half), form.fraction))
    return e.mul(e.mul(x, first), second)


def power(e: Arithmetic, whole: Vector) -> Vector:
    """2^n in the range of normal numbers; `whole` holds n + bias."""
    return e.from_bits(e.shl(e.bits(whole), format_of(whole.dtype).fraction))


def exp(e: Arithmetic, x: Vector) -> Vector:
    """e^x, subnormal results too; error at most 1 ulp in float32 and 1.1 ulp in float64."""
    form = format_of(x.dtype)
    part = reduced(e, clamp(e, x, form.lowest, form.highest), 2 * form.bias)
    square = e.mul(part.r, part.r)
    p = e.fma(square, quick_polynomial(e, part.r, form.expm1, square), part.r)
    return scaled(e, e.add(p, e.const(1, x.dtype)), part.whole)


def exp2(e: Arithmetic, x: Vector) -> Vector:
    """2^x, exact where x is whole; error at most 0.9 ulp in float32 and 1 ulp in float64."""
    form = format_of(x.dtype)
    x = clamp(e, x, -form.bias - form.fraction - 2.0, form.bias + 2.0)
    shift = e.const(form.round + 2 * form.bias, x.dtype)
    whole = e.add(x, shift)
    r = e.sub(x, e.sub(whole, shift))
    p = e.fma(r, quick_polynomial(e, r, form.exp2, e.mul(r, r)), e.const(1, x.dtype))
    return scaled(e, p, whole)


def expm1(e: Arithmetic, x: Vector) -> Vector:
    """e^x - 1; error at most 1 ulp in float32 and 1.2 ulp in float64."""
    half = expm1_scaled(e, clamp(e, x, -60.0, format_of(x.dtype).highest), 1)
    # Halves of the smallest numbers and the sign of 0 would be lost.
    tiny = e.lt(e.abs(x), e.const(2.0**-60, x.dtype))
    return e.select(tiny, x, e.add(half, half))


def expm1_scaled(e: Arithmetic, x: Vector, down: int) -> Vector:
    """(e^x - 1) / 2^down: near the largest finite number, e^x itself would overflow."""
    dtype, form = x.dtype, format_of(x.dtype)
    part = reduced(e, x, form.bias - down)
    scale, unit = power(e, part.whole), e.const(2.0**-down, dtype)
    square = e.mul(part.r, part.r)
    tail = e.fma(square, quick_polynomial(e, part.r, form.expm1, square), part.low)
    start, step = e.sub(scale, unit), e.mul(scale, part.high)
    high = e.add(start, step)
    low = e.add(e.sub(start, high), step)
    low = e.add(low, e.sub(e.sub(scale, start), unit))  # what start lost
    return e.add(high, e.fma(scale, tail, low))
