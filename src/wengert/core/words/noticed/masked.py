"""Masked arrays, matrices and arrays with units, as far as they must be known to be refused."""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from wengert.errors import DTypeError


def is_masked_array(x: Any) -> bool:
    """Whether `x` is a masked array.

    `numpy.ma` takes long to import, and only who has imported it can have such an array. It is
    looked at where it lies: another thread may be importing it now, and while it has no
    `MaskedArray` there is no array of that type.
    """
    kind = _masked_type()
    return kind is not None and isinstance(x, kind)


# What gives the numbers of a subclass another meaning than those of an array have. What only shows
# or keeps them, as np.memmap and np.recarray do, is not among these.
_ARITHMETIC = (
    "__array_ufunc__",
    "__array_function__",
    *(
        f"__{side}{name}__"
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
        for side in ("", "r", "i")
    ),
    "__neg__",
    "__abs__",
)

_PLAIN = (np.ndarray, float, int)


def has_own_arithmetic(x: Any) -> bool:
    """Whether `x` is an array of a class that computes with its numbers in its own way, as arrays
    with units do. Masked arrays are known by themselves.
    """
    kind: Any = type(x)
    return kind is not np.ndarray and isinstance(x, np.ndarray) and _computes_itself(kind)


@functools.lru_cache(maxsize=256)
def _computes_itself(kind: type) -> bool:
    masked = _masked_type()
    if masked is not None and issubclass(kind, masked):
        return False
    return any(getattr(kind, name) is not getattr(np.ndarray, name) for name in _ARITHMETIC)


def require_plain_array(name: str, x: Any) -> None:
    """Refuse an array that would not be itself as an operand: the mask or the unit would be lost,
    and `*` with a matrix mean another product.
    """
    if is_masked_array(x):
        raise DTypeError(
            f"{name}: given a masked array as an operand; operands have no masks, and what this "
            "one hides would be used. Use x.filled(value), or wg.where with the mask."
        )
    if isinstance(x, np.matrix):
        raise DTypeError(
            f"{name}: given np.matrix as an operand; operands are plain arrays, whose * and ** "
            "mean something else. Convert it with np.asarray."
        )
    if has_own_arithmetic(x):
        raise DTypeError(
            f"{name}: given an array of class {type(x).__name__} as an operand, which has "
            "arithmetic of its own, such as units; operands are plain numbers, and that would be "
            "lost. Convert it to one unit first, and pass the numbers: np.asarray(x)."
        )


def other_array_in(x: Any) -> Any:
    """The masked array, or the array with arithmetic of its own, that `x` is, or that a dict, list
    or tuple has in it; None where there is none.
    """
    if type(x) in _PLAIN:
        return None
    if isinstance(x, dict | list | tuple):
        inside = map(other_array_in, x.values() if isinstance(x, dict) else x)
        return next((each for each in inside if each is not None), None)
    return x if is_masked_array(x) or has_own_arithmetic(x) else None


def _masked_type() -> Any:
    return getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
