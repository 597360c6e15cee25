"""Which dtypes exist and how they combine: NumPy's promotion with weak Python scalars, and nothing
global.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dims import Dim
from wengert.core.types import ArrayType, Value, Weak
from wengert.errors import DTypeError

DType: TypeAlias = np.dtype[Any]

bool_ = np.dtype("bool")
int8, int32, int64 = np.dtype("int8"), np.dtype("int32"), np.dtype("int64")
uint32, uint64 = np.dtype("uint32"), np.dtype("uint64")
float32, float64 = np.dtype("float32"), np.dtype("float64")

INTEGERS = tuple(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = (float32, float64)
SUPPORTED = frozenset((bool_, *INTEGERS, *FLOATS))
CHARS = frozenset("?bhilqBHILQfd")  # of the same dtypes; quicker to look up than the dtype itself


def is_float(dtype: DType) -> bool:
    return dtype.kind == "f"


def require_supported(name: str, which: int | str, dtype: DType) -> None:
    """Refuse an operand, given by position or in words, of a dtype that does not exist here."""
    if dtype not in SUPPORTED:
        what = f"operand {which}" if isinstance(which, int) else which
        repair = "Convert it first, for example with x.astype(np.float32)"
        if dtype.newbyteorder("=") in SUPPORTED:
            order = "the byte order of this machine"
            repair = f"Convert it to {order}: x.astype(np.{dtype.newbyteorder('=')})"
        if dtype.kind == "O":
            repair = "Convert it first: float(x) of one number, x.astype(np.float32) of an array"
        if dtype.kind == "c":
            repair = "Compute with its parts, x.real and x.imag, as arrays of their own"
        raise DTypeError(
            f"{name}: {what} has dtype {dtype}; it must be bool, an integer, float32 or float64. "
            f"{repair}."
        )


def native(x: Value) -> Value:
    """An array in the byte order of this machine; those from files may have the other one."""
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def canonical(name: str, dtype: Any) -> DType:
    """A dtype argument as a supported NumPy dtype."""
    try:
        result: DType | None = np.dtype(dtype)
    except TypeError:
        result = None
    if result is None or result not in SUPPORTED:
        raise DTypeError(
            f"{name}: dtype {dtype!r} was given; it must be bool, an integer, float32 or float64. "
            "Choose one of these."
        )
    return result


_WEAK = {"f": 1.0, "i": 1, "b": True}  # Python numbers that are promoted alike
_NUMBERS = (bool, int, float)
_NUMBERS_AND_SIZES = (*_NUMBERS, Dim)  # tuples that are made once: every call asks for them


def promote(*operands: Value) -> DType:
    """The common dtype of arrays and weak Python scalars, as NumPy decides it."""
    kinds = tuple(map(_kind, operands))
    if all(isinstance(kind, np.dtype) for kind in kinds):
        return _promoted(*kinds)
    common: DType = np.result_type(*kinds)
    return common


@cache
def _promoted(*kinds: DType) -> DType:
    common: DType = np.result_type(*kinds)
    return common


def _kind(x: Value) -> Any:
    """What NumPy promotes an operand by."""
    if hasattr(type(x), "known"):  # a Tensor, which `isinstance` would have to ask
        return _WEAK[x.dtype.kind] if type(x.known) is Weak else x.dtype
    if isinstance(x, _NUMBERS):
        return x
    if isinstance(x, Dim):
        return 1
    return _WEAK[x.dtype.kind] if is_weak(x) else x.dtype


def is_weak(x: Value) -> bool:
    """Whether the dtype of an operand gives way to those of arrays."""
    if hasattr(type(x), "known"):  # a Tensor, which `isinstance` would have to ask
        return type(x.known) is Weak
    return isinstance(x, _NUMBERS_AND_SIZES) or type(getattr(x, "known", None)) is Weak


def strong_dtype(operands: Sequence[Value]) -> DType | None:
    """The dtype of operands whose types are known, where all have the same and none gives way."""
    common: DType | None = None
    for x in operands:
        known = x if type(x) is ArrayType else getattr(x, "known", None)
        if type(known) is not ArrayType or (common is not None and known.dtype is not common):
            return None
        common = known.dtype
    return common


def floating(dtype: DType) -> DType:
    """Where exp, sqrt … take a dtype: as NumPy, with float16 results widened to float32."""
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float32)


def accumulated(dtype: DType) -> DType:
    """Where sum and prod take a dtype: small integers and bools count in 64 bits."""
    if dtype.kind in "bi":
        return int64 if dtype.itemsize < 8 else dtype
    return uint64 if dtype.kind == "u" else dtype
