"""Numbers taken apart into significand and exponent, so that products of many of them neither
overflow nor underflow on the way.
"""

from __future__ import annotations

from typing import NamedTuple

from wengert.codegen.llvm.text.arithmetic import Arithmetic, power_of_two
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import DType, int32, int64

NOTHING = -(2**28)  # the exponent of 0: below all others, and sums of some still fit in 32 bits

_FRACTION = {4: 23, 8: 52}  # bits
_BIAS = {4: 127, 8: 1023}


def bits_dtype(dtype: DType) -> DType:
    """The integers as wide as a float: those of its bits and exponents."""
    return int32 if dtype.itemsize == 4 else int64


def magnitude(e: Arithmetic, x: Vector) -> Vector:
    """The bits of |x|: integers in the order of the numbers, with NaN above infinity."""
    return e.bits(e.abs(x))


def infinity_bits(e: Arithmetic) -> Vector:
    """What `magnitude` gives for infinity."""
    size = e.dtype.itemsize
    return e.const((2 * _BIAS[size] + 1) << _FRACTION[size], bits_dtype(e.dtype))


class Scaled(NamedTuple):
    """significand · 2**exponent, with the significand in [1/2, 1), or 0, infinite or NaN."""

    significand: Vector
    exponent: Vector


def one(e: Arithmetic) -> Scaled:
    return Scaled(e.const(0.5), e.const(1, bits_dtype(e.dtype)))


def taken_apart(e: Arithmetic, x: Vector) -> Scaled:
    """x as a Scaled; 0, infinity and NaN have exponent 0."""
    size, whole = x.dtype.itemsize, bits_dtype(x.dtype)
    fraction, bias = _FRACTION[size], _BIAS[size]
    tiny = e.lt(magnitude(e, x), e.const(1 << fraction, whole))  # subnormal, or 0
    lift = fraction + 2
    lifted = e.select(tiny, e.mul(x, e.const(2.0**lift, x.dtype)), x)
    bits = e.bits(lifted)
    field = e.and_(e.lshr(bits, fraction), e.const(2 * bias + 1, whole))
    kept = e.and_(bits, e.const(~((2 * bias + 1) << fraction), whole))
    significand = e.from_bits(e.or_(kept, e.const((bias - 1) << fraction, whole)))
    exponent = e.sub(
        field, e.select(tiny, e.const(bias - 1 + lift, whole), e.const(bias - 1, whole))
    )
    special = e.or_(e.eq(field, e.const(0, whole)), e.eq(field, e.const(2 * bias + 1, whole)))
    return Scaled(e.select(special, x, significand), e.select(special, e.const(0, whole), exponent))


def times(e: Arithmetic, x: Scaled, y: Scaled) -> Scaled:
    """The product, rounded once."""
    product = taken_apart(e, e.mul(x.significand, y.significand))
    return Scaled(product.significand, e.add(product.exponent, e.add(x.exponent, y.exponent)))


def together(e: Arithmetic, x: Vector, exponent: Vector) -> Vector:
    """x · 2**exponent for any exponent, with at most one rounding to a number that is not 0."""
    whole = exponent.dtype
    limit = _BIAS[x.dtype.itemsize] - 1  # three such steps cross the whole range, and leave it
    low, high = e.const(-limit, whole), e.const(limit, whole)
    for _ in range(3):
        part = e.max(low, e.min(high, exponent))
        x = e.mul(x, power_of_two(e, part))
        exponent = e.sub(exponent, part)
    return x


def leading_exponent(e: Arithmetic, x: Scaled) -> Vector:
    """The exponent, or `NOTHING` for 0."""
    zero = e.eq(x.significand, e.const(0, x.significand.dtype))
    return e.select(zero, e.const(NOTHING, x.exponent.dtype), x.exponent)


def load_scaled(code: Code, significands: str, exponents: str, at: Index, dtype: DType) -> Scaled:
    """Element `at` of two arrays side by side."""
    whole = bits_dtype(dtype)
    return Scaled(
        code.load(code.address(significands, at, dtype), dtype),
        code.load(code.address(exponents, at, whole), whole),
    )


def store_scaled(code: Code, x: Scaled, significands: str, exponents: str, at: Index) -> None:
    code.store(x.significand, code.address(significands, at, x.significand.dtype))
    code.store(x.exponent, code.address(exponents, at, x.exponent.dtype))
