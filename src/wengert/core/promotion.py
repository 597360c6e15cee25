"""The dtype rules elementwise ops choose from.

A rule takes the op's name and its operands (arrays or weak Python numbers) and returns the dtype
each operand is computed in and the dtype of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from wengert.core.dims import Dim
from wengert.core.dtypes import (
    DType,
    bool_,
    float64,
    floating,
    int8,
    int64,
    is_float,
    is_weak,
    promote,
    require_supported,
    strong_dtype,
    uint64,
)
from wengert.core.types import Value
from wengert.errors import DTypeError

DTypeRule: TypeAlias = Callable[[str, Sequence[Value]], tuple[list[DType], DType]]


def _common(name: str, operands: Sequence[Value]) -> DType:
    same = strong_dtype(operands)
    if same is not None:
        require_supported(name, 0, same)
        return same
    for position, x in enumerate(operands):
        if not is_weak(x):
            require_supported(name, position, x.dtype)
    return promote(*operands)


def any_number(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """add, multiply, maximum: any dtype, bools included."""
    common = _common(name, operands)
    return [common] * len(operands), common


def signed(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """subtract, negative: any dtype but bool."""
    common = _common(name, operands)
    if common == bool_:
        raise DTypeError(
            f"{name}: given bool operands; numbers are needed. Use logical_xor or logical_not, or "
            "convert with astype."
        )
    return [common] * len(operands), common


def counting(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """power, floor_divide, shifts of bools: bools are computed as small integers."""
    common = _common(name, operands)
    common = int8 if common == bool_ else common
    return [common] * len(operands), common


def inexact(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """exp, sin, sqrt: integers become floats, wide enough to hold them."""
    common = _common(name, operands)
    if not is_float(common):  # one by one, as NumPy does: int16 and uint16 meet in float32
        weak = [x for x in operands if is_weak(x)]
        strong = [promote(x, *weak) for x in operands if not is_weak(x)]
        common = np.result_type(*map(floating, strong or [common]))
    return [common] * len(operands), common


def quotient(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """divide: the quotient of integers is float64."""
    common = _common(name, operands)
    common = common if is_float(common) else float64
    return [common] * len(operands), common


def comparison(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """equal, less: operands meet in a common dtype, the result is bool.

    Integers are compared as the numbers they are: where no integer dtype holds both, as int64 and
    uint64.
    """
    common = _common(name, operands)
    kinds = [int64 if isinstance(x, Dim) else _integral(x, common) for x in operands]
    if None in kinds:
        return [common] * len(operands), bool_
    whole = np.result_type(*kinds)
    if whole.kind != "f":
        return [whole] * len(operands), bool_
    return [uint64 if kind == uint64 else int64 for kind in kinds], bool_


def _integral(x: Value, common: DType) -> DType | None:
    """The dtype of an integer, which a Python one has where it is beyond the others'; else None."""
    if isinstance(x, bool | int) and not hasattr(x, "dtype"):
        inside = common.kind not in "iu" or np.iinfo(common).min <= x <= np.iinfo(common).max
        return common if inside else int64 if x < 2**63 else uint64
    dtype: DType | None = getattr(x, "dtype", None)
    return dtype if dtype is not None and dtype.kind in "biu" else None


def measured(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """isnan, signbit: a question about floats; the result is bool."""
    return inexact(name, operands)[0], bool_


def logical(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """logical_and: every operand is read as a truth value."""
    _common(name, operands)
    return [bool_] * len(operands), bool_


def integral(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """bitwise_and: integers and bools."""
    common = _common(name, operands)
    if is_float(common):
        raise DTypeError(
            f"{name}: given floats; integers or bools are needed. Convert them with astype."
        )
    return [common] * len(operands), common


def shifted(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """bitwise_left_shift: integers; bools are computed as small ones."""
    integral(name, operands)
    return counting(name, operands)


def selection(name: str, operands: Sequence[Value]) -> tuple[list[DType], DType]:
    """where: a condition, and branches that meet in a common dtype."""
    common = _common(name, operands[1:])
    return [bool_, *[common] * (len(operands) - 1)], common
