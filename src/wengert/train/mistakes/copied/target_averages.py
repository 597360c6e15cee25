"""The step's own weights, or averages of them, that are written into the arrays it was made with:
these have become a target network, which follows the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.dtypes import is_float

Array: TypeAlias = np.ndarray[Any, Any]
MOST = 64  # numbers of an array that are looked at
FEW, MANY = 3, 8  # numbers: fewer than these may go the way of the step by chance
# Cosines between the ways of an array and of the step. The step may have gone on since the average
# was taken, which few numbers must not make use of.
LIKELY, CERTAIN = 0.7, 0.999
NEAR = 1e-4  # how far numbers are apart, at most, that are those of the step but for rounding


def some_numbers(x: Array) -> Array:
    """Numbers of an array, the same places each time, as a copy."""
    places = np.linspace(0, x.size - 1, min(x.size, MOST)).astype(np.intp)
    return np.array(x.flat[places], np.float64)


def follow_the_step(ways: Sequence[tuple[Array, Array, Array]]) -> bool:
    """Whether arrays have gone from where they were towards where the step is, and not beyond.
    Given are `some_numbers` of each: before, now, and of the step.
    """
    before, now, live = (np.concatenate(each) for each in zip(*ways, strict=True))
    if now.size < FEW:
        return False
    least = LIKELY if now.size >= MANY else CERTAIN
    with np.errstate(all="ignore"):
        gone, whole = now - before, live - before
        length, farthest = float(np.linalg.norm(gone)), float(np.linalg.norm(whole))
        return length <= farthest and float(gone @ whole) >= least * length * farthest


def is_near(x: Array, live: Array) -> bool:
    """Whether an array has the numbers of the step, but for rounding."""
    if x.shape != live.shape or not is_float(live.dtype):  # it may be reshaped in place
        return bool(np.array_equal(x, live))
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(live), initial=0.0))
        return bool(np.allclose(x, live, NEAR, NEAR * scale, equal_nan=True))
