"""Instructions: all of `Emit` as LLVM."""

from __future__ import annotations

from wengert.codegen.llvm import (
    math_division,
    math_exponential,
    math_gamma,
    math_hyperbolic,
    math_logarithm,
    math_polygamma,
    math_power,
    math_special,
    math_trigonometric,
)
from wengert.codegen.llvm.code import Vector
from wengert.codegen.llvm.emit import Arithmetic
from wengert.core.emit import Emit


class Instructions(Arithmetic):
    """What a kernel of one dtype is written in: arithmetic, and functions written with it.

    Each function's module says how large its error may be.
    """

    def floor_div(self, x: Vector, y: Vector) -> Vector:
        return math_division.floor_div(self, x, y)

    def remainder(self, x: Vector, y: Vector) -> Vector:
        return math_division.remainder(self, x, y)

    def exp(self, x: Vector) -> Vector:
        return math_exponential.exp(self, x)

    def exp2(self, x: Vector) -> Vector:
        return math_exponential.exp2(self, x)

    def expm1(self, x: Vector) -> Vector:
        return math_exponential.expm1(self, x)

    def log(self, x: Vector) -> Vector:
        return math_logarithm.log(self, x)

    def log1p(self, x: Vector) -> Vector:
        return math_logarithm.log1p(self, x)

    def log2(self, x: Vector) -> Vector:
        return math_logarithm.log2(self, x)

    def log10(self, x: Vector) -> Vector:
        return math_logarithm.log10(self, x)

    def pow(self, x: Vector, y: Vector) -> Vector:
        return math_power.pow(self, x, y)

    def cbrt(self, x: Vector) -> Vector:
        return math_power.cbrt(self, x)

    def sin(self, x: Vector) -> Vector:
        return math_trigonometric.sin(self, x)

    def cos(self, x: Vector) -> Vector:
        return math_trigonometric.cos(self, x)

    def tan(self, x: Vector) -> Vector:
        return math_trigonometric.tan(self, x)

    def asin(self, x: Vector) -> Vector:
        return math_trigonometric.asin(self, x)

    def acos(self, x: Vector) -> Vector:
        return math_trigonometric.acos(self, x)

    def atan(self, x: Vector) -> Vector:
        return math_trigonometric.atan(self, x)

    def atan2(self, y: Vector, x: Vector) -> Vector:
        return math_trigonometric.atan2(self, y, x)

    def sinh(self, x: Vector) -> Vector:
        return math_hyperbolic.sinh(self, x)

    def cosh(self, x: Vector) -> Vector:
        return math_hyperbolic.cosh(self, x)

    def tanh(self, x: Vector) -> Vector:
        return math_hyperbolic.tanh(self, x)

    def asinh(self, x: Vector) -> Vector:
        return math_hyperbolic.asinh(self, x)

    def acosh(self, x: Vector) -> Vector:
        return math_hyperbolic.acosh(self, x)

    def atanh(self, x: Vector) -> Vector:
        return math_hyperbolic.atanh(self, x)

    def sigmoid(self, x: Vector) -> Vector:
        return math_hyperbolic.sigmoid(self, x)

    def erf(self, x: Vector) -> Vector:
        return math_special.erf(self, x)

    def erfc(self, x: Vector) -> Vector:
        return math_special.erfc(self, x)

    def lgamma(self, x: Vector) -> Vector:
        return math_gamma.lgamma(self, x)

    def digamma(self, x: Vector) -> Vector:
        return math_gamma.digamma(self, x)

    def polygamma(self, n: Vector, x: Vector) -> Vector:
        return math_polygamma.polygamma(self, n, x)


_llvm: type[Emit] = Instructions  # a type checker sees here that no instruction is missing
