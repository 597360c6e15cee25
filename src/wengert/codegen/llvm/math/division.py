"""Whole quotients and remainders, as Python and NumPy define them, of floats and of integers.

Both are exact for floats of any ratio: a remainder is a float, and no step of its way here rounds.
"""

from __future__ import annotations

from math import inf

import numpy as np

from wengert.codegen.llvm.text.arithmetic import Arithmetic, power_of_two
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dtypes import is_float

_FRACTION = {4: 23, 8: 52}  # bits of a float after the first
_BIAS = {4: 127, 8: 1023}  # of its exponent

# Below this ratio one division finds the quotient to within one, and fma the remainder.
_RATIO = {size: 2.0 ** (bits - 1) for size, bits in _FRACTION.items()}

# Each round makes a larger ratio smaller by 2²¹ (2⁵⁰); the largest is 2²⁷⁷ (2²⁰⁹⁸).
_ROUNDS = {4: 14, 8: 43}


def floor_div(e: Arithmetic, x: Vector, y: Vector) -> Vector:
    """x / y rounded down; of integers 0 where y is 0, and the lowest integer divided by -1 wraps.

    Of floats as NumPy: (x - remainder) / y rounded to a whole number; x / y where y is 0; NaN
    where x is infinite.
    """
    if not is_float(x.dtype):
        return _divide_integers(e, x, y)[0]
    zero, one = e.const(0, x.dtype), e.const(1, x.dtype)
    left = _truncated_remainder(e, x, y)
    quotient = e.div(e.sub(x, left), y)
    quotient = e.select(_opposed(e, left, y), e.sub(quotient, one), quotient)
    whole = e.floor(quotient)
    above = e.gt(e.sub(quotient, whole), e.const(0.5, x.dtype))
    whole = e.select(above, e.add(whole, one), whole)
    plain = e.div(x, y)
    whole = e.select(e.eq(quotient, zero), e.copysign(zero, plain), whole)
    return e.select(e.eq(y, zero), plain, whole)


def remainder(e: Arithmetic, x: Vector, y: Vector) -> Vector:
    """x - y · floor_div(x, y), with the sign of y; of integers 0 where y is 0, of floats NaN."""
    if not is_float(x.dtype):
        return _divide_integers(e, x, y)[1]
    zero = e.const(0, x.dtype)
    left = _truncated_remainder(e, x, y)
    left = e.select(_opposed(e, left, y), e.add(left, y), left)
    return e.select(e.eq(left, zero), e.copysign(zero, y), left)


def _opposed(e: Arithmetic, left: Vector, y: Vector) -> Vector:
    """Whether a remainder is not 0 and its sign is not that of y."""
    zero = e.const(0, y.dtype)
    differ = e.xor(e.lt(left, zero), e.lt(y, zero))
    return e.and_(e.ne(left, zero), differ)


def _hidden(e: Arithmetic, y: Vector) -> Vector:
    """The same number in every lane, where LLVM does not see which. Given one, it replaces the
    division of 64-bit vectors by products, and fails at that for some (LLVM 22).
    """
    code = e.code
    if code.lanes == 1 or y.dtype.itemsize < 8 or y.parts[0].startswith("%"):
        return y
    number = code.let(f"extractelement {code.type(y.dtype)} {y.parts[0]}, i32 0")
    room = code.room(y.dtype, 1)
    code.do(f"store i64 {number}, ptr {room}, align 8")
    return code.splat(code.let(f"load volatile i64, ptr {room}, align 8"), y.dtype)


def _divide_integers(e: Arithmetic, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    y = _hidden(e, y)
    zero, one = e.const(0, x.dtype), e.const(1, x.dtype)
    by_zero = e.eq(y, zero)
    # LLVM 22 aborts at x // 5 where it knows x to be small, as a count is, and one lane is used.
    x = e.code.each("freeze {t} {0}", x)
    if x.dtype.kind == "u":
        safe = e.select(by_zero, one, y)
        quotient = e.code.each("udiv {t} {0}, {1}", x, safe)
        left = e.sub(x, e.mul(quotient, safe))
    else:
        # -1 divides by changing the sign: the processor would trap at the lowest integer.
        minus = e.eq(y, e.const(-1, x.dtype))
        safe = e.select(e.or_(by_zero, minus), one, y)
        quotient = e.code.each("sdiv {t} {0}, {1}", x, safe)
        left = e.sub(x, e.mul(quotient, safe))
        down = _opposed(e, left, safe)
        quotient = e.select(down, e.sub(quotient, one), quotient)
        quotient = e.select(minus, e.neg(x), quotient)
        left = e.select(down, e.add(left, safe), left)
    return e.select(by_zero, zero, quotient), e.select(by_zero, zero, left)


def _truncated_remainder(e: Arithmetic, x: Vector, y: Vector) -> Vector:
    """The remainder with the sign of x, as C's fmod: exact; NaN where y is 0 or x infinite."""
    code, dtype = e.code, x.dtype
    top, bottom = e.abs(x), e.abs(y)
    ratio = e.div(top, bottom)
    large = e.ge(ratio, e.const(_RATIO[dtype.itemsize], dtype))
    finite = e.and_(e.lt(top, e.const(inf, dtype)), e.gt(bottom, e.const(0, dtype)))
    large = e.and_(large, finite)

    def slow() -> tuple[str, ...]:
        return e.select(large, _reduced(e, top, bottom, large), top).parts

    kinds = [code.type(dtype)] * code.pieces
    top = Vector(tuple(code.either(e.any_lane(large), kinds, slow, lambda: top.parts)), dtype)
    return e.copysign(_small_remainder(e, top, bottom), x)


def _small_remainder(e: Arithmetic, top: Vector, bottom: Vector) -> Vector:
    """top modulo bottom, not negative, for a ratio below 2²³ (2⁵²).

    The rounded ratio is at most one too large. Either way top - n · bottom is a multiple of the
    smaller ulp and not larger than bottom, hence a float: fma finds it exactly.
    """
    n = e.trunc(e.div(top, bottom))
    left = e.fma(e.neg(n), bottom, top)
    left = e.select(e.lt(left, e.const(0, top.dtype)), e.add(left, bottom), left)
    return e.select(e.lt(top, bottom), top, left)  # an infinite bottom too


def _reduced(e: Arithmetic, top: Vector, bottom: Vector, large: Vector) -> Vector:
    """A number below 2²³ (2⁵²) · bottom that is top modulo bottom, for lanes with a large ratio.

    Every round takes top modulo bottom · 2ᵏ, with a k that makes their ratio about 2²² (2⁵¹).
    """
    code, dtype = e.code, top.dtype
    one = e.const(1, dtype)
    bottom = e.select(large, bottom, one)
    base = _exponent(e, bottom)
    shift = e.add(base, e.const(_FRACTION[dtype.itemsize] - 1, base.dtype))
    zero = e.const(0, base.dtype)

    def body(_: int | str, carried: list[str]) -> tuple[str, ...]:
        now = Vector(tuple(carried), dtype)
        k = e.sub(_exponent(e, now), shift)
        k = e.select(e.gt(k, zero), k, zero)
        half = e.ashr(k, 1)
        scaled = e.mul(bottom, power_of_two(e, half))
        scaled = e.mul(scaled, power_of_two(e, e.sub(k, half)))
        return _small_remainder(e, now, scaled).parts

    first = e.select(large, top, one)
    carry = [(code.type(dtype), part) for part in first.parts]
    return Vector(tuple(code.loop(0, _ROUNDS[dtype.itemsize], 1, body, carry)), dtype)


def _exponent(e: Arithmetic, x: Vector) -> Vector:
    """floor(log2 x) of positive numbers, subnormal ones too; of 0 something very low."""
    size = x.dtype.itemsize
    bits, whole = _FRACTION[size], np.dtype(f"i{size}")
    lifted = e.mul(x, e.const(2.0 ** (bits + 1), x.dtype))
    subnormal = e.lt(x, e.const(2.0 ** (1 - _BIAS[size]), x.dtype))
    field = e.lshr(e.bits(e.select(subnormal, lifted, x)), bits)
    low, high = (e.const(k, whole) for k in (_BIAS[size] + bits + 1, _BIAS[size]))
    return e.sub(field, e.select(subnormal, low, high))
