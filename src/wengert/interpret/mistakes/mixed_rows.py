"""Rows that meet columns: (n, 8) and (n,) fit where n is 8, and only there. While a program is
recorded for any n, that is noted for whoever knows that both have the rows of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import permutations
from typing import NamedTuple

from wengert.core.dims import Dim, Shape, yielding_sizes
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.words.source import Line, user_line


class MixedRows(NamedTuple):
    """Two shapes of operands that fit where an open size, by its name, is so many rows."""

    name: str
    rows: int
    used_by: str  # the op or function
    shapes: tuple[str, str]
    line: Line | None


_noted = Meanwhile[dict[MixedRows, None]]()


def noting_mixed_rows() -> AbstractContextManager[dict[MixedRows, None]]:
    """Where rows meet columns, in what is recorded meanwhile."""
    return _noted.said({})


def note_mixed_rows(used_by: str, shapes: Sequence[Shape]) -> None:
    """Say that shapes do not fit; where they would, if the size of a batch were a number, and both
    have that size along different axes, this is noted.
    """
    if _noted.value is None:
        return
    names = frozenset().union(*(x.names for s in shapes for x in s if isinstance(x, Dim)))
    for name, count in yielding_sizes(names).items():
        for one, other in permutations(shapes, 2):
            if _meet(one, other, Dim(name), count):
                texts = str(tuple(other)), str(tuple(one))
                _noted.value[MixedRows(name, count, used_by, texts, user_line())] = None
                return


def _meet(one: Shape, other: Shape, rows: Dim, count: int) -> bool:
    """Whether rows of one lie along an axis of so many of the other, which has them elsewhere."""
    behind = min(len(one), len(other))
    return any(
        isinstance(one[-i], Dim) and one[-i] == rows and other[-i] == count
        for i in range(1, behind + 1)
        if isinstance(other[-i], int)
    ) and any(isinstance(x, Dim) and x == rows for x in other)
