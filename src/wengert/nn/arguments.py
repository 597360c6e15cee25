"""Arguments of layers that are refused alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import float32, float64
from wengert.errors import DTypeError


def require_float(by: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of parameters, or the worded error."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (float32, float64):
        raise DTypeError(
            f"{by}: dtype={dtype!r} was given; parameters are float32 or float64. Choose one."
        )
    return found


def require_size(by: str, name: str, size: Any) -> int:
    """A whole number of at least 1, or the worded error."""
    if isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 1:
        return int(size)
    raise ValueError(
        f"{by}: {name}={size!r} was given; it must be a whole number of at least 1. Choose another."
    )
