"""Masked arrays and matrices, as far as they must be known to be refused."""

from __future__ import annotations

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


def require_plain_array(name: str, x: Any) -> None:
    """Refuse an array that would not be itself as an operand: the mask would be lost, and `*` with
    a matrix mean another product.
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


def holds_masked_array(x: Any) -> bool:
    """Whether `x` is a masked array, or a dict, list or tuple with one in it."""
    return _masked_type() is not None and _holds(x)


def _holds(x: Any) -> bool:
    if isinstance(x, dict | list | tuple):
        return any(map(_holds, x.values() if isinstance(x, dict) else x))
    return is_masked_array(x)


def _masked_type() -> Any:
    return getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
