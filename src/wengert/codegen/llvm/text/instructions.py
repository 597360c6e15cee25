"""Instructions: all of `Emit` as LLVM."""

from __future__ import annotations

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
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.emit import Emit


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


_llvm: type[Emit] = Instructions  # a type checker sees here that no instruction is missing
