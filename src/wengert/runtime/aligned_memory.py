"""Memory that begins where a cache line does, as machine code likes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.memory.plan import ALIGNMENT
from wengert.core.dtypes import DType
from wengert.runtime.entries import objects

Array: TypeAlias = np.ndarray[Any, Any]


def aligned_bytes(size: int, make: Callable[..., Array] = np.empty) -> Array:
    """New bytes: uninitialised, or zeros with `np.zeros`."""
    room = make(size + ALIGNMENT, np.uint8)
    skipped = -objects.data(room) % ALIGNMENT
    return room[skipped : skipped + size]


def aligned_array(
    shape: Sequence[int], dtype: DType, make: Callable[..., Array] = np.empty
) -> Array:
    """A new array: uninitialised, or of zeros with `np.zeros`."""
    elements: Array = aligned_bytes(math.prod(shape) * dtype.itemsize, make).view(dtype)
    return elements.reshape(shape)


def aligned_count(count: int, dtype: DType) -> int:
    """This many elements, or a few more, so that what follows them in an array is aligned, too."""
    unit = ALIGNMENT // dtype.itemsize
    return -(-count // unit) * unit
