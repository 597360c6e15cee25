"""Emit: the scalar instructions elementwise ops are written in, and NumPy's reading of them.

An op's `emit=lambda e, x, y: e.add(x, y)` says what happens to one element of each operand. Every
code generator supplies an `e` of its own; `NumpyEmit` is the one that computes, on whole arrays.

Operands arrive in the dtypes of the op's dtype rule, and an instruction returns the dtype of its
operands unless it says otherwise. Integers wrap around. NaN is the only result of a NaN operand,
except of comparisons and of `select`.

>>> softplus = lambda e, x: e.add(e.max(x, e.const(0)), e.log1p(e.exp(e.neg(e.abs(x)))))
>>> softplus(NumpyEmit(np.float64), np.array([-1000.0, 0.0, 1000.0]))
array([0.00000000e+00, 6.93147181e-01, 1.00000000e+03])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from wengert.core.promotion import inexact
from wengert.core.special_functions import numpy_special
from wengert.errors import DTypeError

# One number while a program runs: an array for NumPy, an SSA value for a code generator.
Scalar: TypeAlias = Any
# algorithm(e, *operands) -> the result; its name is unique, and native code has it once
Algorithm: TypeAlias = Callable[..., Scalar]
Iteration: TypeAlias = Callable[..., Sequence[Scalar]]

SETTLED = 2.0**-54  # of a number: a change up to this counts as none


class Emit(Protocol):
    """The instructions. A code generator of one dtype implements all of them."""

    def const(self, value: float) -> Scalar:
        """A number in the dtype of the op's last operand."""

    # Arithmetic, correctly rounded; on bools add is "or" and mul is "and".

    def add(self, x: Scalar, y: Scalar) -> Scalar:
        """x + y."""

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        """x - y."""

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        """x · y."""

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y of floats."""

    def fma(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """x · y + z of floats, rounded once where the target can."""

    def neg(self, x: Scalar) -> Scalar:
        """-x."""

    def abs(self, x: Scalar) -> Scalar:
        """x without its sign."""

    def copysign(self, x: Scalar, y: Scalar) -> Scalar:
        """The size of x with the sign bit of y; floats, zeros and NaNs included."""

    def nextafter(self, x: Scalar, y: Scalar) -> Scalar:
        """The float next to x on the way to y; y where they are equal."""

    def sqrt(self, x: Scalar) -> Scalar:
        """The square root of a float; NaN below zero."""

    def min(self, x: Scalar, y: Scalar) -> Scalar:
        """The smaller; NaN if either is."""

    def max(self, x: Scalar, y: Scalar) -> Scalar:
        """The larger; NaN if either is."""

    def floor_div(self, x: Scalar, y: Scalar) -> Scalar:
        """x / y rounded down, as in Python; 0 where integers are divided by 0."""

    def remainder(self, x: Scalar, y: Scalar) -> Scalar:
        """x - y · floor_div(x, y), with the sign of y; 0 where integers are divided by 0."""

    # Rounding to whole numbers; integers pass unchanged.

    def floor(self, x: Scalar) -> Scalar:
        """Down."""

    def ceil(self, x: Scalar) -> Scalar:
        """Up."""

    def trunc(self, x: Scalar) -> Scalar:
        """Towards zero."""

    def round_even(self, x: Scalar) -> Scalar:
        """To the nearest, ties to the even one."""

    # Comparisons: two numbers of one dtype give a bool, false if either is NaN (ne: true); or an
    # int64 and a uint64.

    def eq(self, x: Scalar, y: Scalar) -> Scalar:
        """x = y."""

    def ne(self, x: Scalar, y: Scalar) -> Scalar:
        """x ≠ y; `ne(x, x)` asks whether x is NaN."""

    def lt(self, x: Scalar, y: Scalar) -> Scalar:
        """x < y."""

    def le(self, x: Scalar, y: Scalar) -> Scalar:
        """x ≤ y."""

    def gt(self, x: Scalar, y: Scalar) -> Scalar:
        """x > y."""

    def ge(self, x: Scalar, y: Scalar) -> Scalar:
        """x ≥ y."""

    def select(self, condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
        """x where the bool holds, else y; the one not chosen has no effect."""

    # Logic of bools, and bit by bit of integers.

    def and_(self, x: Scalar, y: Scalar) -> Scalar:
        """Both."""

    def or_(self, x: Scalar, y: Scalar) -> Scalar:
        """Either."""

    def xor(self, x: Scalar, y: Scalar) -> Scalar:
        """One of them only."""

    def not_(self, x: Scalar) -> Scalar:
        """The opposite; of an integer, every bit turned."""

    def shift_left(self, x: Scalar, y: Scalar) -> Scalar:
        """x · 2^y of integers; 0 where y is negative or at least the width."""

    def shift_right(self, x: Scalar, y: Scalar) -> Scalar:
        """x / 2^y rounded down; 0, or -1 for x < 0, where y is negative or at least the width."""

    # Functions of floats, each with an error bound that the code generator documents.

    def exp(self, x: Scalar) -> Scalar:
        """e to the power x."""

    def exp2(self, x: Scalar) -> Scalar:
        """2 to the power x."""

    def expm1(self, x: Scalar) -> Scalar:
        """exp(x) - 1, accurate near 0."""

    def log(self, x: Scalar) -> Scalar:
        """The natural logarithm; -inf at 0, NaN below."""

    def log1p(self, x: Scalar) -> Scalar:
        """log(1 + x), accurate near 0."""

    def log2(self, x: Scalar) -> Scalar:
        """The logarithm to base 2."""

    def log10(self, x: Scalar) -> Scalar:
        """The logarithm to base 10."""

    def pow(self, x: Scalar, y: Scalar) -> Scalar:
        """x to the power y; 1 where y is 0 or x is 1; of integers with y ≥ 0 too."""

    def cbrt(self, x: Scalar) -> Scalar:
        """The real cube root."""

    def sin(self, x: Scalar) -> Scalar:
        """Sine of radians, for every finite x."""

    def cos(self, x: Scalar) -> Scalar:
        """Cosine of radians, for every finite x."""

    def tan(self, x: Scalar) -> Scalar:
        """Tangent of radians, for every finite x."""

    def asin(self, x: Scalar) -> Scalar:
        """Inverse sine, in [-π/2, π/2]."""

    def acos(self, x: Scalar) -> Scalar:
        """Inverse cosine, in [0, π]."""

    def atan(self, x: Scalar) -> Scalar:
        """Inverse tangent, in [-π/2, π/2]."""

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """The angle of the point (x, y), in [-π, π]; signs of zeros count."""

    def sinh(self, x: Scalar) -> Scalar:
        """Hyperbolic sine."""

    def cosh(self, x: Scalar) -> Scalar:
        """Hyperbolic cosine."""

    def tanh(self, x: Scalar) -> Scalar:
        """Hyperbolic tangent."""

    def asinh(self, x: Scalar) -> Scalar:
        """Inverse hyperbolic sine."""

    def acosh(self, x: Scalar) -> Scalar:
        """Inverse hyperbolic cosine; NaN below 1."""

    def atanh(self, x: Scalar) -> Scalar:
        """Inverse hyperbolic tangent; ±inf at ±1, NaN beyond."""

    def sigmoid(self, x: Scalar) -> Scalar:
        """1 / (1 + exp(-x)), without overflow on the way."""

    def erf(self, x: Scalar) -> Scalar:
        """The error function."""

    def erfc(self, x: Scalar) -> Scalar:
        """1 - erf(x), accurate for large x."""

    def lgamma(self, x: Scalar) -> Scalar:
        """log |Γ(x)|."""

    def digamma(self, x: Scalar) -> Scalar:
        """The derivative of log Γ."""

    def polygamma(self, n: Scalar, x: Scalar) -> Scalar:
        """The n-th derivative of digamma; n is an int64, NaN where it is negative."""

    # Algorithms: functions of an `Emit` and of operands, in instructions themselves.

    def in_double(self, algorithm: Algorithm, *operands: Scalar) -> Scalar:
        """The result of an algorithm in float64, converted to the dtype of the last operand."""

    def iterate(
        self, limit: int, step: Iteration, carried: Sequence[Scalar], results: int = 1
    ) -> Sequence[Scalar]:
        """Steps from carried floats to the next, at most `limit`, until the first ones settle."""


class NumpyEmit:
    """The instructions on NumPy arrays: what every code generator is compared with."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def const(self, value: float) -> Scalar:
        return self.dtype.type(value)

    def fma(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        return x * y + z  # NumPy has no fused one: rounded twice

    def floor(self, x: Scalar) -> Scalar:
        return np.floor(x) if x.dtype.kind == "f" else x

    def ceil(self, x: Scalar) -> Scalar:
        return np.ceil(x) if x.dtype.kind == "f" else x

    def trunc(self, x: Scalar) -> Scalar:
        return np.trunc(x) if x.dtype.kind == "f" else x

    def round_even(self, x: Scalar) -> Scalar:
        return np.rint(x) if x.dtype.kind == "f" else x

    def select(self, condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
        return np.where(condition, x, y)

    def in_double(self, algorithm: Algorithm, *operands: Scalar) -> Scalar:
        wide = (np.asarray(x, np.float64) for x in operands)
        return np.asarray(algorithm(NumpyEmit(np.float64), *wide), self.dtype)

    def iterate(
        self, limit: int, step: Iteration, carried: Sequence[Scalar], results: int = 1
    ) -> Sequence[Scalar]:
        going: Any = True
        for _ in range(limit):
            new = step(*carried)
            kept = [np.where(going, y, x) for x, y in zip(carried, new, strict=True)]
            changes: Any = False
            for x, y in zip(carried[:results], new[:results], strict=True):
                changes |= np.abs(y - x) > SETTLED * np.abs(y)
            going, carried = going & changes, kept
            if not np.any(going):
                break
        return carried

    add, sub, mul, div = np.add, np.subtract, np.multiply, np.divide
    neg, abs, copysign, sqrt = np.negative, np.abs, np.copysign, np.sqrt
    nextafter = np.nextafter
    min, max = np.minimum, np.maximum
    floor_div, remainder = np.floor_divide, np.remainder
    eq, ne, lt, le = np.equal, np.not_equal, np.less, np.less_equal
    gt, ge = np.greater, np.greater_equal
    and_, or_, xor, not_ = np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert
    shift_left, shift_right = np.left_shift, np.right_shift
    exp, exp2, expm1 = np.exp, np.exp2, np.expm1
    log, log1p, log2, log10 = np.log, np.log1p, np.log2, np.log10
    pow, cbrt = np.power, np.cbrt
    sin, cos, tan = np.sin, np.cos, np.tan
    asin, acos, atan, atan2 = np.asin, np.acos, np.atan, np.atan2
    sinh, cosh, tanh = np.sinh, np.cosh, np.tanh
    asinh, acosh, atanh = np.asinh, np.acosh, np.atanh
    sigmoid = staticmethod(numpy_special.sigmoid)
    erf, erfc = staticmethod(numpy_special.erf), staticmethod(numpy_special.erfc)
    lgamma = staticmethod(numpy_special.lgamma)
    digamma = staticmethod(numpy_special.digamma)
    polygamma = staticmethod(numpy_special.polygamma)


def on_arrays(emit: Callable[..., Scalar]) -> Callable[..., Any]:
    """An elementwise op on NumPy arrays by its own instructions, where NumPy has no function for
    it. Operands meet as in `promotion.inexact`.
    """

    def computed(*operands: Any, **params: Any) -> Any:
        try:
            _, dtype = inexact(emit.__name__, operands)
        except DTypeError:
            raise TypeError from None  # worded by the dtype rule, which knows the op's name
        ready = [np.asarray(x, dtype) for x in operands]
        with np.errstate(all="ignore"):
            elements = emit(NumpyEmit(dtype), *ready, **params)
        return np.broadcast_to(elements, np.broadcast_shapes(*(x.shape for x in ready))).astype(
            dtype
        )

    return computed


_numpy: type[Emit] = NumpyEmit  # a type checker sees here that no instruction is missing
