"""SampledWords: a few words of a captured array, which machine code compares in every call.

Who writes into an array mostly writes all of it, so that these few tell of it in the next call. The
rest of it is compared more rarely (`watch.py`).
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

WORD = 8  # bytes. A word that begins at a multiple of that is never on two pages
PER_ARRAY = 4
PER_PROGRAM = 16


class SampledWord(NamedTuple):
    """A word of memory, those bits of it that belong to an array, and what they were."""

    address: int
    mask: int
    expected: int

    @property
    def changed(self) -> bool:
        """Whether it is another one now. The array has to be alive."""
        return ctypes.c_int64.from_address(self.address).value & self.mask != self.expected


def sampled_words(x: np.ndarray[Any, Any]) -> list[SampledWord]:
    """Words with elements from the beginning to the end of an array that has some."""
    x = np.atleast_1d(x)
    places = np.unravel_index(np.linspace(0, x.size - 1, PER_ARRAY).astype(np.int64), x.shape)
    masks: dict[int, int] = {}  # masks of addresses
    for place in zip(*(each.tolist() for each in places), strict=True):
        begin = x.ctypes.data + sum(i * stride for i, stride in zip(place, x.strides, strict=True))
        address = begin - begin % WORD
        bits = np.zeros(WORD, np.uint8)
        bits[begin - address : begin - address + x.dtype.itemsize] = 0xFF
        masks[address] = masks.get(address, 0) | int(bits.view(np.int64)[0])
    return [
        SampledWord(address, mask, ctypes.c_int64.from_address(address).value & mask)
        for address, mask in masks.items()
    ]
