"""Rows that meet columns: (n, 8) and (n,) fit where n is 8, and only there. While a program is
recorded for any n, that is noted for whoever knows that both have the rows of a batch. So it is
where rows meet an array from outside, which fits one n alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.dims import Dim, Shape, Size, yielding_sizes
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.core.words.source import Line, user_line
from wengert.interpret.mistakes.widening import place_of

if TYPE_CHECKING:
    from wengert.interpret.trace import Trace

    _Place: TypeAlias = tuple[Trace, int]  # a level that records, and the number of a node there


class MixedRows(NamedTuple):
    """Two shapes of operands that fit where an open size, by its name, is so many rows; from
    outside comes one that has so many along an axis, whether they fit or not.
    """

    name: str
    rows: int
    used_by: str  # the op or function
    shapes: tuple[str, str]
    line: Line | None
    how: str  # they differ
    of_layer: bool  # whether one comes from a layer along times whose batch has these rows


TURNED, COLUMN, WITHOUT_ROWS, OTHERWISE = "turned", "column", "without rows", ""
WITHOUT_FIRST = "without the first axis"  # the same, where rows lay along axis 0, and times behind
NUMBERED = "numbered"  # an index counts rows along another axis
ALONG_ROWS = "along rows"  # without rows, for a loop went along them
SUMMED = "summed"  # in a sum of products with a matrix that has rows and as many columns
OUTSIDE = "outside"  # the one is a constant, which no run puts into the order of its rows

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
                how = ALONG_ROWS if _went_along_rows(values[k], rows) else WITHOUT_ROWS
            else:
                continue
            texts = str(tuple(shapes[k])), str(tuple(shapes[i]))
            of_layer = bool(values) and _is_of_layer(values[i], values[k], rows, how)
            if how == WITHOUT_ROWS and _lay_first(values[k], rows, count):
                how = WITHOUT_FIRST
            _noted.value[MixedRows(name, count, used_by, texts, user_line(), how, of_layer)] = None
            return


def note_numbered_rows(
    used_by: str, shape: Shape, sizes: Sequence[Size], indices: Sequence[Value]
) -> None:
    """Of an array of this shape, axes of these sizes are indexed. Where one of the indices counts
    the rows of a batch, wg.arange(batch), along an axis that is another one, but as long, and the
    axis of the rows is indexed by another, this is noted.
    """
    if _noted.value is None or len(indices) < 2:
        return
    names = frozenset().union(*(size.names for size in sizes if isinstance(size, Dim)))
    for name, count in yielding_sizes(names).items():
        rows = Dim(name)
        for size, index in zip(sizes, indices, strict=True):
            if isinstance(size, int) and size == count and rows in sizes and _counts(index, rows):
                texts = str(tuple(shape)), str((rows,))
                noted = MixedRows(name, count, used_by, texts, user_line(), NUMBERED, False)
                _noted.value[noted] = None
                return


def _counts(index: Value, rows: Dim) -> bool:
    place = place_of(index)
    if place is None or place[1] >= len(place[0].graph.nodes):
        return False
    return place[0].graph.nodes[place[1]].op is op.arange and _shape(*place) == (rows,)


def note_summed_rows(used_by: str, values: Sequence[Value]) -> None:
    """Say that factors of a sum of products do not fit; where rows of a batch meet so many of
    another axis, and an argument of the program has both, this is noted: a matrix of distances,
    weights or neighbours has its rows in the order of the batch, and its columns in their own.
    """
    if _noted.value is None:
        return
    shapes = [tuple(x.shape) if isinstance(x, Tensor) else np.shape(x) for x in values]
    note_rows_from_outside(used_by, shapes, values, most_axes=1)
    names = frozenset().union(*(x.names for s in shapes for x in s if isinstance(x, Dim)))
    for name, count in yielding_sizes(names).items():
        rows = Dim(name)
        for i, k in permutations(range(len(shapes)), 2):
            if rows not in shapes[i] or count not in shapes[k] or not _is_given(values[k]):
                continue
            if _is_of_square(values[i], rows, count) or _is_of_square(values[k], rows, count):
                texts = str(shapes[min(i, k)]), str(shapes[max(i, k)])
                found = MixedRows(name, count, used_by, texts, user_line(), SUMMED, of_layer=False)
                _noted.value[found] = None
                return


def note_rows_from_outside(
    used_by: str, shapes: Sequence[Shape], values: Sequence[Value], most_axes: int | None = None
) -> None:
    """Say that shapes do not fit; where one of them has the rows of a batch, and another is that of
    a constant whose entries differ along an axis, this is noted with the size of that axis. What
    was sorted has places of its own, pairs of rows may be labelled by their places, and
    np.arange(n) just counts. Constants with more than `most_axes` may stand for anything.
    """
    if _noted.value is None:
        return
    names = frozenset().union(*(x.names for s in shapes for x in s if isinstance(x, Dim)))
    for name in yielding_sizes(names):
        rows = Dim(name)
        for i, k in permutations(range(len(shapes)), 2):
            if tuple(shapes[i]).count(rows) != 1:
                continue
            if most_axes is not None and len(shapes[k]) > most_axes:
                continue
            constants = _constants(values[k])
            sizes = [size for size in shapes[k] if isinstance(size, int)]
            told = [n for n in dict.fromkeys(sizes) if any(_differs(x, n) for x in constants)]
            if told and not _is_reordered(values[i], rows):
                texts = str(tuple(shapes[k])), str(tuple(shapes[i]))
                for size in told:
                    found = MixedRows(name, size, used_by, texts, user_line(), OUTSIDE, False)
                    _noted.value[found] = None
                return


def _constants(x: Value) -> list[np.ndarray[Any, Any]]:
    """The arrays that a value was computed of, where these are constants alone. Of a type nothing
    is known.
    """
    if place_of(x) is None:
        return [] if isinstance(x, ArrayType) else [np.asarray(x)]
    begins = [level.graph.nodes[i] for level, i in _origins(x)]
    begins = [node for node in begins if not any(i is not None for i in node.operands)]
    if not all(node.op is op.constant for node in begins):
        return []
    return [node.params["value"] for node in begins]


def _differs(x: np.ndarray[Any, Any], size: int) -> bool:
    """Whether entries along one axis of this size differ, and do not just count. A matrix of so
    many rows and columns may be one of pairs.
    """
    if x.dtype.kind in "iu" and x.shape == (size,) and (x == np.arange(size)).all():
        return False
    axes = [axis for axis, each in enumerate(x.shape) if each == size]
    return size > 1 and len(axes) == 1 and bool((x != x.take([0], axes[0])).any())


def _is_reordered(x: Value, rows: Dim) -> bool:
    """Whether rows come in an order that the program itself has found, to compute a value."""
    for level, number in _origins(x):
        node = level.graph.nodes[number]
        first = node.operands[0] if node.operands else None
        if first is None or node.op not in (op.sort, op.argsort, op.take_along_axis, op.gather):
            continue
        axis, shape = node.params.get("axis"), _shape(level, first)
        if axis is not None and shape[axis] != rows:
            continue
        index = node.operands[1] if node.op is op.gather else None
        if index is None or level.graph.nodes[index].op is not op.arange:
            return True
    return False


def _is_given(x: Value) -> bool:
    """Whether a value was computed of arguments of the program; constants may be all the same."""
    return any(number in level.graph.inputs for level, number in _origins(x))


def _is_of_square(x: Value, rows: Dim, count: int) -> bool:
    """Whether a value was computed of an argument with these rows and so many columns."""
    return any(
        number in level.graph.inputs and s[:1] == (rows,) and count in s[1:]
        for level, number in _origins(x)
        for s in [_shape(level, number)]
    )


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
    return any(rows in _shape(level, number) for level, number in _origins(x))


def _lay_first(x: Value, rows: Dim, count: int) -> bool:
    """Whether a value has lost its rows where they lay along axis 0, with as many times behind. The
    last step in which rows were lost counts: those before may be means of a batch.
    """
    for level, number in _origins(x):
        for before in (i for i in level.graph.nodes[number].operands if i is not None):
            shape = _shape(level, before)
            if rows in shape and rows not in _shape(level, number):
                return shape[0] == rows and shape[1:2] == (count,)
    return False


def _went_along_rows(x: Value, rows: Dim) -> bool:
    """Whether a value comes from a loop that goes along the rows of what has more axes behind."""
    return any(len(s) > 2 and s[0] == rows for s in _gone_along(x))


def _is_of_layer(one: Value, other: Value, rows: Dim, how: str) -> bool:
    """Whether `other`, where it has no rows left, is one row of what a loop gives that goes along
    times, with these rows as its batch; or just one of two that are turned comes from such a loop.
    """
    if how == WITHOUT_ROWS:
        return _went_along_times(other, rows) and any(
            level.graph.nodes[number].op is op.slice_axes and _is_one_row(level, number, rows)
            for level, number in _origins(other)
        )
    return how == TURNED and _went_along_times(one, rows) != _went_along_times(other, rows)


def _went_along_times(x: Value, rows: Dim) -> bool:
    return any(len(s) > 1 and s[0] != rows and s[1] == rows for s in _gone_along(x))


def _gone_along(x: Value) -> Iterator[Shape]:
    """The shapes of what recurrent layers and scans went along, axis 0, to compute a value; that of
    a scan whose body is being recorded, too.
    """
    for level, number in _origins(x):
        node = level.graph.nodes[number]
        over: Sequence[int | None] = ()
        if node.op is op.recurrent_loop:
            over = node.operands[:1]
        elif node.op is op.scan:
            over = node.operands[node.params["consts"] + node.params["carry"] :]
        yield from (_shape(level, i) for i in over if i is not None)
        outer = place_of(level.stands_for.get(number, 0.0))
        if outer is not None and _shape(*outer)[1:] == _shape(level, number) != _shape(*outer):
            yield _shape(*outer)


def _is_one_row(level: Trace, number: int, rows: Dim) -> bool:
    (source,) = level.graph.nodes[number].operands
    assert source is not None
    sizes = zip(_shape(level, source), _shape(level, number), strict=True)
    return any(before == rows and after == 1 for before, after in sizes)


def _origins(x: Value) -> Iterator[_Place]:
    """All nodes that a value is computed of, in the graph that is being recorded and in those
    around it: what goes into the body of a scan is known outside.
    """
    pending, seen = [place_of(x)], set[object]()
    for place in pending:
        if place is None or place in seen:
            continue
        seen.add(place)
        level, number = place
        if number >= len(level.graph.nodes):  # a constant of the call that does not fit
            continue
        yield place
        pending += [(level, i) for i in level.graph.nodes[number].operands if i is not None]
        pending.append(place_of(level.stands_for.get(number, 0.0)))


def _shape(level: Trace, number: int) -> Shape:
    known = level.graph.nodes[number].type
    return known.shape if isinstance(known, ArrayType) else ()
