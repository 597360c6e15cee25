"""Taken arrays: those that steps were made with, and have copied; what was in them, and which steps
they were given to.
"""

from __future__ import annotations

import weakref
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from wengert.train.mistakes.copied.untrained_reads import Training

Array: TypeAlias = np.ndarray[Any, Any]
Mark: TypeAlias = tuple[int, ...]
SMALL = 2**12  # bytes of an array whose checksum is that of all of it
COLUMNS = 251  # sums that the checksum of a larger one is of: a prime, unlike the lengths of rows


def mark_of(x: Array) -> Mark:
    """What tells whether the numbers of an array are others than before, in little time."""
    content = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    if content.size <= SMALL:
        return (zlib.crc32(content.data),)
    rows = content.size // (8 * COLUMNS)
    words = content[: 8 * COLUMNS * rows].view(np.uint64).reshape(rows, COLUMNS)
    sums = np.add.reduce(words, axis=0)  # several times as fast as a checksum
    rest = content[8 * COLUMNS * rows :]
    return zlib.crc32(sums.view(np.uint8).data), zlib.crc32(rest.data)


class TakenArray:
    """An array that steps were made with, and what the last of them found in it."""

    def __init__(self, x: Array) -> None:
        self.array = weakref.ref(x)
        self.mark = mark_of(x)
        self.given_to: weakref.WeakSet[Any] = weakref.WeakSet()  # the GivenTrees of these steps
        self.is_argument = False  # whether some step was called with it
        self.is_reference = False  # whether one that was made with it was
        self.training: Training | None = None  # of a step that has trained a copy, and how that
        self.name = ""  # calls it


_taken: weakref.WeakValueDictionary[int, TakenArray] = weakref.WeakValueDictionary()


def take(x: Array) -> TakenArray:
    """Note that a step is made with an array, as it is now."""
    known = taken_array(x)
    if known is None:
        known = _taken[id(x)] = TakenArray(x)
    else:
        known.mark = mark_of(x)
    return known


def taken_array(x: Any) -> TakenArray | None:
    """What is known of an array, if a step was made with it."""
    known = _taken.get(id(x))
    return known if known is not None and known.array() is x else None


def is_only_of(x: Any, own: object) -> bool:
    """Whether an array is of the model that a step was made with, given by its GivenTrees, and no
    other step was.
    """
    known = taken_array(x)
    return known is not None and [*known.given_to] == [own]
