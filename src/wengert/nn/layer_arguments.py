"""Arguments of layers that are refused alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import float32, float64
from wengert.errors import DTypeError, ShapeError


def require_float(by: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of parameters, or the worded error."""
    try:
        float_dtype: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        float_dtype = np.dtype(object)
    if float_dtype not in (float32, float64):
        raise DTypeError(
            f"{by}: dtype={dtype!r} was given; parameters are float32 or float64. Choose one."
        )
    return float_dtype


def require_size(by: str, name: str, size: Any) -> int:
    """A whole number of at least 1, or the worded error."""
    if isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 1:
        return int(size)
    raise ValueError(
        f"{by}: {name}={size!r} was given; it must be a whole number of at least 1. Choose another."
    )


def as_sequence(given: Any) -> tuple[Any, ...] | None:
    """What a sequence or an array with axes holds; None for all else, and for text."""
    if isinstance(given, str | bytes):
        return None
    many = isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim > 0)
    return tuple(given) if many else None


def require_shape(by: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple, from sizes of 0 or more or from one of them, or the worded error."""
    sizes = as_sequence(shape)
    sizes = (shape,) if sizes is None else sizes
    if all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 0 for n in sizes):
        return tuple(int(n) for n in sizes)
    raise ShapeError(
        f"{by}: shape={shape!r} was given; it must be a tuple of whole numbers of at least 0. "
        "Write (2, 3)."
    )
