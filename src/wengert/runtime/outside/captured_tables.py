"""Captured tables: data frames and columns that a function reads from outside. What it takes of
them goes through the hands of another library, so that nobody knows which numbers of the program
these are. All of a table is compared, when arrays are; where it has changed the function is
recorded again, and refused if that gives another program.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection
from typing import Any

import numpy as np

from wengert.core.trees.foreign import columns_of, is_table
from wengert.runtime.outside.watch import Captured, checksum

_PLAIN = "biufcmMSU"  # kinds of dtypes whose memory is what they hold
MOST_OBJECTS = 100_000  # texts and other objects of a column that are compared, one by one


class CapturedTable(Captured):
    """A table that a program may depend on, and what was in it. It is not kept alive."""

    _what = "table"

    def __init__(self, table: Any, name: str, by: str, named: Collection[str]) -> None:
        """`named` are the names in the code that could read it. Where columns are among these,
        others that are added later are of no interest.
        """
        self.name, self.line, self._by = name, None, by
        self.live, self.certain, self.sample = False, False, ()
        self._owner = weakref.ref(table)
        titles = list(table.columns) if is_table(table) else []
        self._titles = titles if any(str(title) in named for title in titles) else None
        self._contents = _contents(table, self._titles)

    @property
    def is_compared(self) -> bool:
        """Whether it can be told what is in it."""
        return self._contents is not None

    @property
    def changed(self) -> bool:
        table = self._owner()
        return table is not None and _contents(table, self._titles) != self._contents


def captured_table(table: Any, name: str, by: str, named: Collection[str]) -> CapturedTable | None:
    """A table to be compared; None where that is not possible."""
    if not type(table).__weakrefoffset__:
        return None
    captured = CapturedTable(table, name, by, named)
    return captured if captured.is_compared else None


def _contents(table: Any, titles: list[Any] | None) -> int | None:
    """What tells whether a table has others than before, in these columns or altogether; None where
    nothing does.
    """
    try:
        if not is_table(table):
            return _content(table)
        known = set(table.columns if titles is None else titles)
        columns = zip(table.columns, columns_of(table), strict=True)
        held = [(str(title), _content(column)) for title, column in columns if title in known]
        return None if any(content is None for _, content in held) else hash(tuple(held))
    except Exception:  # of objects that have no hash, and in the words of any library
        return None


def _content(column: Any) -> int | None:
    x = np.asarray(column)
    if x.dtype.kind in _PLAIN:
        return hash((x.shape, checksum(x)))
    few = x.ndim > 0 and x.size <= MOST_OBJECTS
    return hash((x.shape, tuple(x.flat))) if few else None
