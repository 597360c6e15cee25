"""Hyperbolic functions and sigmoid as LLVM instructions.

Those of float32 that networks call most, tanh and sigmoid, are piecewise polynomials. In float64,
and where sigmoid is next to 0 or 1, they divide by a sum of exponentials. The sum is kept as a
float and what its rounding lost; the quotient is corrected once by what both leave, so that only
the last rounding counts.
"""

from __future__ import annotations

import math

from wengert.codegen.llvm.math.double import in_double
from wengert.codegen.llvm.math.exponential import (
    DOUBLE,
    clamp,
    expm1_scaled,
    format_of,
    power,
    reduced,
)
from wengert.codegen.llvm.math.logarithm import log1p_of_sum
from wengert.codegen.llvm.math.piecewise_code import piecewise
from wengert.codegen.llvm.math.piecewise_tables import SIGMOID, TANH
from wengert.codegen.llvm.math.polynomial import quick_polynomial
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Vector

_hex = float.fromhex


def _quotient(e: Arithmetic, x: Vector, y: Vector, rest: Vector, inverse: Vector) -> Vector:
    """x / (y + rest), rounded nearly as if computed exactly; `inverse` is 1 / y, rounded."""
    guess = e.mul(x, inverse)
    back = e.neg(guess)
    return e.fma(e.fma(back, rest, e.fma(back, y, x)), inverse, guess)


def tanh(e: Arithmetic, x: Vector) -> Vector:
    """Hyperbolic tangent; error at most 1 ulp in float32 and 1.7 ulp in float64."""
    size = e.abs(x)
    limit = e.const(9.09 if x.dtype.itemsize == 4 else 20.0, x.dtype)  # 1 is the nearest beyond
    size = e.select(e.gt(size, limit), limit, size)
    of_size = piecewise(e, size, TANH) if x.dtype.itemsize == 4 else _tanh_double(e, size)
    return e.copysign(of_size, x)


def _tanh_double(e: Arithmetic, x: Vector) -> Vector:
    """(exp(2x) - 1) / (exp(2x) + 1)."""
    one = e.const(1, x.dtype)
    part = reduced(e, e.add(x, x), DOUBLE.bias)
    square = e.mul(part.r, part.r)
    tail = e.fma(square, quick_polynomial(e, part.r, DOUBLE.expm1, square), part.low)
    scale = power(e, part.whole)
    top = e.fma(scale, tail, e.fma(scale, part.high, e.sub(scale, one)))
    above, p = e.add(scale, one), e.add(part.high, tail)
    bottom = e.fma(scale, p, above)
    rest = e.fma(scale, p, e.sub(above, bottom))
    inverse = e.div(one, bottom)
    near = _quotient(e, top, bottom, rest, inverse)
    # Farther out both sums begin to lose the 1, and 1 - 2 / (exp(2x) + 1) does not.
    return e.select(
        e.gt(x, e.const(0.75, x.dtype)), e.fma(inverse, e.const(-2, x.dtype), one), near
    )


def sigmoid(e: Arithmetic, x: Vector) -> Vector:
    """1 / (1 + exp(-x)), subnormal results too; error at most 0.9 ulp (1 in float64)."""
    return _sigmoid_single(e, x) if x.dtype.itemsize == 4 else _sigmoid_everywhere(e, x)


def _sigmoid_single(e: Arithmetic, x: Vector) -> Vector:
    """Pieces near 0; a vector with a number far out is computed again for those."""
    size, dtype = e.abs(x), x.dtype
    below = piecewise(e, size, SIGMOID)
    near = e.select(e.gt(x, e.const(0, dtype)), e.sub(e.const(1, dtype), below), below)
    far = e.gt(size, e.const(11.6, dtype))
    return e.where_any(far, lambda: _sigmoid_everywhere(e, x), near)


def _sigmoid_everywhere(e: Arithmetic, x: Vector) -> Vector:
    """The same by exp, for all numbers."""
    dtype, form = x.dtype, format_of(x.dtype)
    one = e.const(1, dtype)
    # 2^n would overflow far out. So all is 2^-down as much, and the quotient 2^down.
    down = 32 if dtype.itemsize == 4 else 64
    unit = e.const(2.0**-down, dtype)
    part = reduced(e, e.neg(clamp(e, x, form.lowest, 40.0)), form.bias - down)
    square = e.mul(part.r, part.r)
    tail = e.fma(square, quick_polynomial(e, part.r, form.expm1, square), part.low)
    p = e.add(part.high, tail)  # exp(-x) = 2^n·(1 + p)
    scale = power(e, part.whole)
    start = e.add(scale, unit)
    added = e.sub(start, unit)
    lost = e.add(e.sub(unit, e.sub(start, added)), e.sub(scale, added))
    bottom = e.fma(scale, p, start)
    rest = e.add(e.fma(scale, p, e.sub(start, bottom)), lost)
    return e.mul(_quotient(e, one, bottom, rest, e.div(one, bottom)), unit)


@in_double
def sinh(e: Arithmetic, x: Vector) -> Vector:
    """Hyperbolic sine, (t + t / (t + 1)) / 2 with t = exp(|x|) - 1; error at most 2 ulp."""
    half, t = _half_expm1(e, x)
    one = e.const(1, x.dtype)
    bottom = e.add(t, one)
    rest = e.add(e.sub(one, bottom), t)
    ratio = _quotient(e, t, bottom, rest, e.div(one, bottom))
    of_size = e.fma(ratio, e.const(0.5, x.dtype), half)
    tiny = e.lt(e.abs(x), e.const(2.0**-60, x.dtype))
    return e.select(tiny, x, e.copysign(of_size, x))


@in_double
def cosh(e: Arithmetic, x: Vector) -> Vector:
    """Hyperbolic cosine, (t + 1 + 1 / (t + 1)) / 2 with t = exp(|x|) - 1; error at most 1.3 ulp."""
    half, t = _half_expm1(e, x)
    one, a_half = e.const(1, x.dtype), e.const(0.5, x.dtype)
    return e.add(half, e.fma(e.div(one, e.add(t, one)), a_half, a_half))


def _half_expm1(e: Arithmetic, x: Vector) -> tuple[Vector, Vector]:
    """t / 2 and t = exp(|x|) - 1, the latter no larger than 2^60."""
    size, top = e.abs(x), e.const(710.6, x.dtype)  # beyond, both are infinite
    quarter = expm1_scaled(e, e.select(e.gt(size, top), top, size), 2)
    half, limit = e.add(quarter, quarter), e.const(2.0**60, x.dtype)
    t = e.add(half, half)
    return half, e.select(e.gt(t, limit), limit, t)


@in_double
def asinh(e: Arithmetic, x: Vector) -> Vector:
    """Inverse hyperbolic sine, log1p(x + x² / (1 + √(1 + x²))); error at most 1.4 ulp."""
    one, size = e.const(1, x.dtype), e.abs(x)
    square = e.mul(size, size)
    more = e.div(square, e.add(one, e.sqrt(e.add(one, square))))
    return e.copysign(_log1p_of_two(e, size, size, more), x)


@in_double
def acosh(e: Arithmetic, x: Vector) -> Vector:
    """Inverse hyperbolic cosine, log1p(t + √(2t + t²)) with t = x - 1; error at most 1.3 ulp."""
    one = e.const(1, x.dtype)
    t = e.sub(x, one)
    twice = e.add(t, t)
    square = e.fma(t, t, twice)
    root = e.sqrt(square)
    # What rounding took from the square (exactly where x is below 3) and from the root.
    lost = e.fma(t, t, e.sub(twice, square))
    lost = e.div(e.add(e.fma(e.neg(root), root, square), lost), e.add(root, root))
    lost = e.select(e.gt(t, e.const(0, x.dtype)), lost, e.const(0, x.dtype))
    logarithm = _log1p_of_two(e, x, root, t, lost)
    return e.select(e.ge(x, one), logarithm, e.const(math.nan, x.dtype))


def _log1p_of_two(
    e: Arithmetic, x: Vector, large: Vector, small: Vector, lost: Vector | None = None
) -> Vector:
    """log(1 + large + small + lost); log(2x) where x is so large that its square might overflow."""
    total = e.add(large, small)
    rest = e.add(e.sub(large, total), small)
    rest = rest if lost is None else e.add(rest, lost)
    huge = e.gt(x, e.const(2.0**500, x.dtype))
    return log1p_of_sum(e, e.select(huge, x, total), rest, huge)


@in_double
def atanh(e: Arithmetic, x: Vector) -> Vector:
    """Inverse hyperbolic tangent, log1p(2x / (1 - x)) / 2; error at most 1.4 ulp."""
    one, size = e.const(1, x.dtype), e.abs(x)
    twice, bottom = e.add(size, size), e.sub(one, size)
    rest = e.sub(e.sub(one, bottom), size)
    inverse = e.div(one, bottom)
    ratio = e.mul(twice, inverse)
    back = e.neg(ratio)
    left = e.mul(e.fma(back, rest, e.fma(back, bottom, twice)), inverse)
    half = e.mul(log1p_of_sum(e, ratio, left), e.const(0.5, x.dtype))
    of_size = e.select(e.eq(size, one), e.const(math.inf, x.dtype), half)
    of_size = e.select(e.gt(size, one), e.const(math.nan, x.dtype), of_size)
    return e.copysign(of_size, x)
