"""Elementary functions whose float32 version is the float64 one, rounded: those where accuracy is
worth more than speed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Vector
from wengert.core.dtypes import float32, float64


def in_double(function: Callable[..., Vector]) -> Callable[..., Vector]:
    """A function written for float64 that takes float32 too; other operands pass unchanged."""

    @wraps(function)
    def converted(e: Arithmetic, *operands: Vector) -> Vector:
        widened = (e.cast(x, float64) if x.dtype == float32 else x for x in operands)
        result = function(Arithmetic(e.code, float64), *widened)
        return e.cast(result, operands[-1].dtype)

    return converted


def values(texts: tuple[str, ...]) -> list[float]:
    """Coefficients written as hexadecimal floats."""
    return [float.fromhex(text) for text in texts]
