"""Instructions: all of `Emit` as LLVM."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.llvm.math import (
    division,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    logarithm,
    polygamma,
    power,
    trigonometric,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Vector
from wengert.core.dtypes import bool_, float64
from wengert.core.emit import SETTLED, Algorithm, Emit, Iteration


class Instructions(Arithmetic):
    """What a kernel of one dtype is written in: arithmetic, and functions written with it.

    Each function's module says how large its error may be.
    """

    def floor_div(self, x: Vector, y: Vector) -> Vector:
        return division.floor_div(self, x, y)

    def remainder(self, x: Vector, y: Vector) -> Vector:
        return division.remainder(self, x, y)

    def exp(self, x: Vector) -> Vector:
        return exponential.exp(self, x)

    def exp2(self, x: Vector) -> Vector:
        return exponential.exp2(self, x)

    def expm1(self, x: Vector) -> Vector:
        return exponential.expm1(self, x)

    def log(self, x: Vector) -> Vector:
        return logarithm.log(self, x)

    def log1p(self, x: Vector) -> Vector:
        return logarithm.log1p(self, x)

    def log2(self, x: Vector) -> Vector:
        return logarithm.log2(self, x)

    def log10(self, x: Vector) -> Vector:
        return logarithm.log10(self, x)

    def pow(self, x: Vector, y: Vector) -> Vector:
        return power.pow(self, x, y)

    def cbrt(self, x: Vector) -> Vector:
        return power.cbrt(self, x)

    def sin(self, x: Vector) -> Vector:
        return trigonometric.sin(self, x)

    def cos(self, x: Vector) -> Vector:
        return trigonometric.cos(self, x)

    def tan(self, x: Vector) -> Vector:
        return trigonometric.tan(self, x)

    def asin(self, x: Vector) -> Vector:
        return trigonometric.asin(self, x)

    def acos(self, x: Vector) -> Vector:
        return trigonometric.acos(self, x)

    def atan(self, x: Vector) -> Vector:
        return trigonometric.atan(self, x)

    def atan2(self, y: Vector, x: Vector) -> Vector:
        return trigonometric.atan2(self, y, x)

    def sinh(self, x: Vector) -> Vector:
        return hyperbolic.sinh(self, x)

    def cosh(self, x: Vector) -> Vector:
        return hyperbolic.cosh(self, x)

    def tanh(self, x: Vector) -> Vector:
        return hyperbolic.tanh(self, x)

    def asinh(self, x: Vector) -> Vector:
        return hyperbolic.asinh(self, x)

    def acosh(self, x: Vector) -> Vector:
        return hyperbolic.acosh(self, x)

    def atanh(self, x: Vector) -> Vector:
        return hyperbolic.atanh(self, x)

    def sigmoid(self, x: Vector) -> Vector:
        return hyperbolic.sigmoid(self, x)

    def erf(self, x: Vector) -> Vector:
        return error_function.erf(self, x)

    def erfc(self, x: Vector) -> Vector:
        return error_function.erfc(self, x)

    def lgamma(self, x: Vector) -> Vector:
        return gamma.lgamma(self, x)

    def digamma(self, x: Vector) -> Vector:
        return gamma.digamma(self, x)

    def polygamma(self, n: Vector, x: Vector) -> Vector:
        return polygamma.polygamma(self, n, x)

    def in_double(self, algorithm: Algorithm, *operands: Vector) -> Vector:
        """Algorithms are long: each is one function of the module, however often it is called."""
        code = self.code
        name = f"{algorithm.__name__}_{code.lanes}"
        mark = f"; {name}"  # a comment in the module's text says that it is there
        if mark not in code.module.declared:
            code.module.declared[mark] = mark
            _write_algorithm(Code(code.module, code.lanes), name, algorithm, len(operands))
        places = [code.room(float64, code.lanes) for _ in (*operands, None)]
        for x, place in zip(operands, places, strict=False):
            code.store(self.cast(x, float64), place)
        code.do(f"call void @{name}({', '.join(f'ptr {place}' for place in places)})")
        return self.cast(code.load(places[-1], float64), operands[-1].dtype)

    def iterate(
        self, limit: int, step: Iteration, carried: Sequence[Vector], results: int = 1
    ) -> list[Vector]:
        """A lane that has settled keeps its numbers, whatever the others need."""
        code, kinds = self.code, [bool_, *(x.dtype for x in carried)]
        pieces = code.pieces

        def vectors(parts: Sequence[str]) -> list[Vector]:
            return [
                Vector(tuple(parts[k * pieces : (k + 1) * pieces]), kind)
                for k, kind in enumerate(kinds)
            ]

        def body(parts: list[str]) -> tuple[str, list[str]]:
            going, *old = vectors(parts)
            new = step(*old)
            changes = self.const(False, bool_)
            for x, y in zip(old[:results], new[:results], strict=True):
                size = self.mul(self.const(SETTLED, y.dtype), self.abs(y))
                changes = self.or_(changes, self.gt(self.abs(self.sub(y, x)), size))
            kept = [self.select(going, y, x) for x, y in zip(old, new, strict=True)]
            going = self.and_(going, changes)
            return self.any_lane(going), [part for x in (going, *kept) for part in x.parts]

        start = (self.const(True, bool_), *carried)
        settled = code.repeat_at_most(
            limit, body, [(code.type(x.dtype), part) for x in start for part in x.parts]
        )
        return vectors(settled)[1:]


def _write_algorithm(code: Code, name: str, algorithm: Algorithm, count: int) -> None:
    """A function of pointers to `count` vectors of float64 and to one for the result."""
    names = [f"%x{k}" for k in range(count)]
    operands = [code.load(each, float64) for each in names]
    code.store(algorithm(Instructions(code, float64), *operands), "%result")
    code.function(name, ", ".join(f"ptr {each}" for each in (*names, "%result")))


_llvm: type[Emit] = Instructions  # a type checker sees here that no instruction is missing
