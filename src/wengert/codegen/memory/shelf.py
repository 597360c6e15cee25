"""Shelf: what lies in one block of memory, from when to when, and where there is room.

>>> shelf = Shelf(moments=10)
>>> shelf.add(0, 64, begin=0, end=3)
>>> shelf.add(128, 192, begin=2, end=5)
>>> shelf.lowest(64, begin=1, end=2), shelf.lowest(65, begin=1, end=2), shelf.lowest(65, 4, 9)
(64, 192, 0)

A long program lays down thousands of rectangles, most of them alive at once. So the shelf knows a
floor for each moment, below which all bytes are taken then: there no place has to be looked for.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np


class Shelf:
    """Rectangles: a lifetime wide, bytes high. Two may cover the same bytes at other times."""

    MANY = 400  # from so many rectangles on there are floors

    def __init__(self, moments: int) -> None:
        self._moments = moments
        self._lying: list[tuple[int, int, int, int]] = []  # offset, top, begin, end; by offset
        self._highest = 0  # the most bytes of one
        self._floor = np.empty(0, np.int64)  # of each moment, if they are many

    def lowest(self, size: int, begin: int, end: int) -> int:
        """The lowest place with so many bytes, at least one, that are free from one moment to
        another, both inclusive.
        """
        bottom, lying = 0, self._lying
        if self._floor.size:
            bottom = int(self._floor[begin : end + 1].max())
            lying = lying[bisect_left(lying, (bottom - self._highest,)) :]
        for offset, top, first, last in lying:
            if offset - bottom >= size:  # all that follow lie as high, or higher
                break
            if top > bottom and first <= end and begin <= last:
                bottom = top
        return bottom

    def add(self, offset: int, top: int, begin: int, end: int) -> None:
        """Have bytes taken from one moment to another, both inclusive."""
        insort(self._lying, (offset, top, begin, end))
        self._highest = max(self._highest, top - offset)
        if self._floor.size:
            self._raise_floor(offset, top, begin, end)
        elif len(self._lying) == self.MANY:
            self._floor = np.zeros(self._moments, np.int64)
            for each in self._lying:
                self._raise_floor(*each)

    def _raise_floor(self, offset: int, top: int, begin: int, end: int) -> None:
        floor = self._floor[begin : end + 1]
        np.copyto(floor, top, where=(offset <= floor) & (floor < top))
