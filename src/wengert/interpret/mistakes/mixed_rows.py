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
from wengert.core.types import ArrayType, Value
from wengert.core.words.source import Line, user_line
from wengert.interpret.mistakes.widening import place_of


class MixedRows(NamedTuple):
    """Two shapes of operands that fit where an open size, by its name, is so many rows."""

    name: str
    rows: int
    used_by: str  # the op or function
    shapes: tuple[str, str]
    line: Line | None
    how: str  # they differ


TURNED, COLUMN, WITHOUT_ROWS, OTHERWISE = "turned", "column", "without rows", ""

_noted = Meanwhile[dict[MixedRows, None]]()


def noting_mixed_rows() -> AbstractContextManager[dict[MixedRows, None]]:
    """Where rows meet columns, in what is recorded meanwhile."""
    return _noted.said({})


def note_mixed_rows(
    used_by: str,
    shapes: Sequence[Shape],
    values: Sequence[Value] = (),
    class_axis: int | None = None,
) -> None:
    """Say that shapes do not fit; where they would, if the size of a batch were a number, and both
    have that size along different axes, this is noted. So it is where only one has it, and the
    other, of these values, was computed of rows. What has most axes may have one of classes.
    """
    if _noted.value is None:
        return
    names = frozenset().union(*(x.names for s in shapes for x in s if isinstance(x, Dim)))
    beside = [_without(s, class_axis, max(map(len, shapes))) for s in shapes]
    for name, count in yielding_sizes(names).items():
        rows = Dim(name)
        for i, k in permutations(range(len(shapes)), 2):
            if not _meet(beside[i], beside[k], rows, count):
                continue
            if any(isinstance(x, Dim) and x == rows for x in beside[k]):
                how = _difference(beside[i], beside[k])
            elif values and _is_of(values[k], rows):
                how = WITHOUT_ROWS
            else:
                continue
            texts = str(tuple(shapes[k])), str(tuple(shapes[i]))
            _noted.value[MixedRows(name, count, used_by, texts, user_line(), how)] = None
            return


def _without(shape: Shape, class_axis: int | None, longest: int) -> Shape:
    if class_axis is None or len(shape) < longest:
        return shape
    return (*shape[:class_axis], *shape[class_axis + 1 :])


def _meet(one: Shape, other: Shape, rows: Dim, count: int) -> bool:
    """Whether rows of one lie along an axis of so many of the other."""
    behind = min(len(one), len(other))
    return any(
        isinstance(one[-i], Dim) and one[-i] == rows and other[-i] == count
        for i in range(1, behind + 1)
        if isinstance(other[-i], int)
    )


def _difference(one: Shape, other: Shape) -> str:
    if len(one) > 1 and (one[1], one[0], *one[2:]) == tuple(other):
        return TURNED
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    is_column = len(longer) > 1 and longer[-1] == 1 and tuple(longer[:-1]) == tuple(shorter)
    return COLUMN if is_column else OTHERWISE


def _is_of(x: Value, rows: Dim) -> bool:
    """Whether a value was computed of one with these rows."""
    place = place_of(x)
    if place is None:
        return False
    (level, number), seen = place, set[int]()
    pending = [number]
    for number in pending:
        if number >= len(level.graph.nodes):  # a constant of the call that does not fit
            continue
        node = level.graph.nodes[number]
        if isinstance(node.type, ArrayType) and rows in node.type.shape:
            return True
        more = [i for i in node.operands if i is not None and i not in seen]
        seen.update(more)
        pending += more
    return False
