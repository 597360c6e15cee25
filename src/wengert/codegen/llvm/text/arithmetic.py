"""Arithmetic: numbers, comparisons, bits and casts of `Emit` as LLVM. The elementary functions are
written with them, in `math/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.codegen.llvm.text.tables import table_writer
from wengert.codegen.llvm.text.vectors import Code, Vector, scalar_type
from wengert.core.dtypes import DType, bool_, is_float

_COMPARE = {"eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult")}
_COMPARE |= {"le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge")}


class Arithmetic:
    """Instructions that every target has, on Vectors of one `Code`."""

    def __init__(self, code: Code, dtype: DType) -> None:
        self.code = code
        self.dtype = dtype  # of the numbers that `const` makes

    def const(self, value: float, dtype: DType | None = None) -> Vector:
        return self.code.constant(value, self.dtype if dtype is None else dtype)

    # Arithmetic.

    def _pick(self, x: Vector, on_float: str, on_integer: str, on_bool: str) -> str:
        if x.dtype == bool_:
            return on_bool
        return on_float if is_float(x.dtype) else on_integer

    def add(self, x: Vector, y: Vector) -> Vector:
        """The sum. An exact product is added by one fma, with the bits of both instructions."""
        if y.factors is not None:
            return self.fma(*y.factors, x)
        return self.code.each(f"{self._pick(x, 'fadd', 'add', 'or')} {{t}} {{0}}, {{1}}", x, y)

    def sub(self, x: Vector, y: Vector) -> Vector:
        return self.code.each(f"{self._pick(x, 'fsub', 'sub', 'xor')} {{t}} {{0}}, {{1}}", x, y)

    def mul(self, x: Vector, y: Vector) -> Vector:
        name = self._pick(x, "fmul", "mul", "and")
        product = self.code.each(f"{name} {{t}} {{0}}, {{1}}", x, y)
        return product._replace(factors=(x, y)) if x.widened and y.widened else product

    def div(self, x: Vector, y: Vector) -> Vector:
        return self.code.each("fdiv {t} {0}, {1}", x, y)

    def fma(self, x: Vector, y: Vector, z: Vector) -> Vector:
        return self.code.intrinsic("fma", x, y, z)

    def neg(self, x: Vector) -> Vector:
        if is_float(x.dtype):
            return self.code.each("fneg {t} {0}", x)
        return self.sub(self.const(0, x.dtype), x)

    def abs(self, x: Vector) -> Vector:
        if is_float(x.dtype):
            return self.code.intrinsic("fabs", x)
        if x.dtype.kind != "i":
            return x
        return self.select(self.lt(x, self.const(0, x.dtype)), self.neg(x), x)

    def copysign(self, x: Vector, y: Vector) -> Vector:
        return self.code.intrinsic("copysign", x, y)

    def nextafter(self, x: Vector, y: Vector) -> Vector:
        """By the bits of x: floats of one sign are ordered as their bits are."""
        bits = self.bits(x)
        one = self.const(1, bits.dtype)
        zero = self.const(0, x.dtype)
        away = self.eq(self.gt(y, x), self.gt(x, zero))  # from 0: the bits count up
        moved = self.from_bits(self.select(away, self.add(bits, one), self.sub(bits, one)))
        least = self.copysign(self.from_bits(one), y)
        following = self.select(self.eq(x, zero), least, moved)
        following = self.select(self.eq(x, y), y, following)
        unknown = self.or_(self.ne(x, x), self.ne(y, y))
        return self.select(unknown, self.add(x, y), following)

    def sqrt(self, x: Vector) -> Vector:
        return self.code.intrinsic("sqrt", x)

    def min(self, x: Vector, y: Vector) -> Vector:
        if is_float(x.dtype):
            return self.code.intrinsic("minimum", x, y)
        return self.select(self.lt(x, y), x, y)

    def max(self, x: Vector, y: Vector) -> Vector:
        if is_float(x.dtype):
            return self.code.intrinsic("maximum", x, y)
        return self.select(self.gt(x, y), x, y)

    @property
    def takes_apart(self) -> bool:
        """Whether the target has instructions for the exponents and fractions of floats."""
        target = self.code.module.target
        return self.code.lanes > 1 and target.has("avx512f") and target.has("avx512vl")

    def scale(self, x: Vector, exponent: Vector) -> Vector:
        """x·2^n, rounded once, for a float n that is whole; only where `takes_apart`."""
        return self._apart("scalef", x, exponent)

    def exponent(self, x: Vector) -> Vector:
        """The k with 2^k ≤ |x| < 2^(k + 1), subnormal or not, as a float; only where
        `takes_apart`.
        """
        return self._apart("getexp", x)

    def fraction(self, x: Vector) -> Vector:
        """x times a power of 2, with ¾ ≤ |fraction| < 3/2; only where `takes_apart`."""
        return self._apart("getmant", x, choice=3)

    def _apart(self, name: str, *operands: Vector, choice: int | None = None) -> Vector:
        """An instruction of AVX-512, on as many registers as there are."""
        code, dtype = self.code, operands[0].dtype

        def write(parts: Sequence[str], lanes: int) -> str:
            kind, size = f"<{lanes} x {scalar_type(dtype)}>", 8 * lanes * dtype.itemsize
            given = [(kind, part) for part in parts]
            if choice is not None:
                given.append(("i32", str(choice)))
            given += [(kind, "zeroinitializer"), (f"i{max(lanes, 8)}", "-1")]
            if size == 512:
                given.append(("i32", "4"))  # rounding as the control word says
            letter = "s" if dtype.itemsize == 4 else "d"
            return code.call(f"llvm.x86.avx512.mask.{name}.p{letter}.{size}", kind, *given)

        pieces = zip(*(x.parts for x in operands), strict=True)
        return Vector(tuple(code.in_registers(each, dtype, write) for each in pieces), dtype)

    def look_up(self, numbers: Sequence[float], place: Vector) -> Vector:
        """One of PIECES float32 numbers in each lane, by the low bits of the float32 in `place`."""
        code = self.code
        write = table_writer(code, numbers)
        parts = (code.in_registers([part], place.dtype, write) for part in place.parts)
        return Vector(tuple(parts), place.dtype)

    def floor(self, x: Vector) -> Vector:
        return self._rounded("floor", x)

    def ceil(self, x: Vector) -> Vector:
        return self._rounded("ceil", x)

    def trunc(self, x: Vector) -> Vector:
        return self._rounded("trunc", x)

    def round_even(self, x: Vector) -> Vector:
        return self._rounded("roundeven", x)

    def _rounded(self, how: str, x: Vector) -> Vector:
        return self.code.intrinsic(how, x) if is_float(x.dtype) else x

    # Comparisons and choice.

    def _compare(self, how: str, x: Vector, y: Vector) -> Vector:
        on_float, signed, unsigned = _COMPARE[how]
        if is_float(x.dtype):
            return self.code.each(f"fcmp {on_float} {{t}} {{0}}, {{1}}", x, y, dtype=bool_)
        if x.dtype.kind != y.dtype.kind:
            return self._compare_signs(how, x, y)
        order = signed if x.dtype.kind == "i" else unsigned
        return self.code.each(f"icmp {order} {{t}} {{0}}, {{1}}", x, y, dtype=bool_)

    def _compare_signs(self, how: str, x: Vector, y: Vector) -> Vector:
        """An int64 with a uint64: where negative it is the smaller, else both are unsigned."""
        signed, true = (x, ("ne", "lt", "le")) if x.dtype.kind == "i" else (y, ("ne", "gt", "ge"))
        negative = self.lt(signed, self.const(0, signed.dtype))
        as_unsigned = self.code.each(
            f"icmp {_COMPARE[how][2]} {{t}} {{0}}, {{1}}", x, y, dtype=bool_
        )
        return (
            self.or_(negative, as_unsigned)
            if how in true
            else self.and_(self.not_(negative), as_unsigned)
        )

    def eq(self, x: Vector, y: Vector) -> Vector:
        return self._compare("eq", x, y)

    def ne(self, x: Vector, y: Vector) -> Vector:
        return self._compare("ne", x, y)

    def lt(self, x: Vector, y: Vector) -> Vector:
        return self._compare("lt", x, y)

    def le(self, x: Vector, y: Vector) -> Vector:
        return self._compare("le", x, y)

    def gt(self, x: Vector, y: Vector) -> Vector:
        return self._compare("gt", x, y)

    def ge(self, x: Vector, y: Vector) -> Vector:
        return self._compare("ge", x, y)

    def select(self, condition: Vector, x: Vector, y: Vector) -> Vector:
        return self.code.each("select {t} {0}, {r} {1}, {r} {2}", condition, x, y, dtype=x.dtype)

    def where_any(self, mask: Vector, rare: Callable[[], Vector], usual: Vector) -> Vector:
        """`usual`, and where the mask holds `rare()`, which is computed if it holds in any lane."""
        code, dtype = self.code, usual.dtype
        kinds = [code.type(dtype)] * code.pieces
        parts = code.either(
            self.any_lane(mask),
            kinds,
            lambda: self.select(mask, rare(), usual).parts,
            lambda: usual.parts,
        )
        return Vector(tuple(parts), dtype)

    # Bits.

    def and_(self, x: Vector, y: Vector) -> Vector:
        return self.code.each("and {t} {0}, {1}", x, y)

    def or_(self, x: Vector, y: Vector) -> Vector:
        return self.code.each("or {t} {0}, {1}", x, y)

    def xor(self, x: Vector, y: Vector) -> Vector:
        return self.code.each("xor {t} {0}, {1}", x, y)

    def not_(self, x: Vector) -> Vector:
        return self.xor(x, self.const(True if x.dtype == bool_ else -1, x.dtype))

    def shift_left(self, x: Vector, y: Vector) -> Vector:
        """0 where y is negative or at least the width."""
        zero = self.const(0, x.dtype)
        inside, safe = self._within_width(y)
        return self.select(inside, self.code.each("shl {t} {0}, {1}", x, safe), zero)

    def shift_right(self, x: Vector, y: Vector) -> Vector:
        """0, or -1 for x < 0, where y is negative or at least the width."""
        inside, safe = self._within_width(y)
        signed = x.dtype.kind == "i"
        shifted = self.code.each(f"{'ashr' if signed else 'lshr'} {{t}} {{0}}, {{1}}", x, safe)
        last = self.const(8 * x.dtype.itemsize - 1, x.dtype)
        rest = self.code.each("ashr {t} {0}, {1}", x, last) if signed else self.const(0, x.dtype)
        return self.select(inside, shifted, rest)

    def _within_width(self, y: Vector) -> tuple[Vector, Vector]:
        width = self.const(8 * y.dtype.itemsize, y.dtype)
        inside = self.code.each("icmp ult {t} {0}, {1}", y, width, dtype=bool_)
        return inside, self.select(inside, y, self.const(0, y.dtype))

    # What elementary functions need besides: raw shifts and the bits of floats. Shift counts are
    # known while the code is written.

    def shl(self, x: Vector, count: int) -> Vector:
        return self.code.each("shl {t} {0}, {1}", x, self.const(count, x.dtype))

    def lshr(self, x: Vector, count: int) -> Vector:
        return self.code.each("lshr {t} {0}, {1}", x, self.const(count, x.dtype))

    def ashr(self, x: Vector, count: int) -> Vector:
        return self.code.each("ashr {t} {0}, {1}", x, self.const(count, x.dtype))

    def bits(self, x: Vector) -> Vector:
        """The bits of a float as a signed integer of the same size."""
        whole = np.dtype(f"i{x.dtype.itemsize}")
        return self.code.each("bitcast {t} {0} to {r}", x, dtype=whole)

    def from_bits(self, x: Vector) -> Vector:
        """The float with the bits of an integer."""
        return self.code.each("bitcast {t} {0} to {r}", x, dtype=np.dtype(f"f{x.dtype.itemsize}"))

    def cast(self, x: Vector, dtype: DType) -> Vector:
        """The same number in another dtype.

        Integers wrap, floats become integers towards zero and stay inside their range, NaN is 0.
        """
        given = x.dtype
        if given == dtype:
            return x
        if dtype == bool_:
            return self.ne(x, self.const(0, given))
        if given == bool_:
            how = "uitofp" if is_float(dtype) else "zext"
        elif is_float(given) and is_float(dtype):
            if dtype.itemsize > given.itemsize:
                return self.code.each("fpext {t} {0} to {r}", x, dtype=dtype)._replace(widened=True)
            how = "fptrunc"
        elif is_float(given):
            return self._to_integer(x, dtype)
        elif is_float(dtype):
            how = "sitofp" if given.kind == "i" else "uitofp"
        elif dtype.itemsize == given.itemsize:
            return Vector(x.parts, dtype)  # the same bits, read with or without a sign
        elif dtype.itemsize < given.itemsize:
            how = "trunc"
        else:
            how = "sext" if given.kind == "i" else "zext"
        return self.code.each(f"{how} {{t}} {{0}} to {{r}}", x, dtype=dtype)

    def _to_integer(self, x: Vector, dtype: DType) -> Vector:
        sign = "s" if dtype.kind == "i" else "u"
        code = self.code
        one = scalar_type(dtype)
        wide = one if code.lanes == 1 else f"v{code.width}{one}"
        name = f"llvm.fpto{sign}i.sat.{wide}.{code.mangled(x.dtype)}"
        parts = tuple(code.call(name, code.type(dtype), (code.type(x.dtype), p)) for p in x.parts)
        return Vector(parts, dtype)

    def any_lane(self, mask: Vector) -> str:
        """An i1: whether the mask holds in any lane."""
        code = self.code
        joined = mask.parts[0]
        for part in mask.parts[1:]:
            joined = code.let(f"or {code.type(bool_)} {joined}, {part}")
        if code.lanes == 1:
            return joined
        bits = code.let(f"bitcast {code.type(bool_)} {joined} to i{code.width}")
        return code.let(f"icmp ne i{code.width} {bits}, 0")


def power_of_two(e: Arithmetic, exponent: Vector) -> Vector:
    """2 to the power of an integer inside the range of normal numbers, by its bits."""
    size = exponent.dtype.itemsize
    fraction, bias = (23, 127) if size == 4 else (52, 1023)
    return e.from_bits(e.shl(e.add(exponent, e.const(bias, exponent.dtype)), fraction))


def polynomial(e: Arithmetic, x: Vector, coefficients: list[Any]) -> Vector:
    """Horner's rule with fma; the coefficient of the highest power comes first."""
    total = e.const(coefficients[0], x.dtype)
    for each in coefficients[1:]:
        total = e.fma(total, x, e.const(each, x.dtype))
    return total
