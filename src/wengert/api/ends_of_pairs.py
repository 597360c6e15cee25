"""What becomes of pairs of rows: whether all of them are reduced, or laid out in one row, or
whether the loss is about pairs.

Right programs with pairs weigh them against each other: they take the nearest of each row, as a
Chamfer distance does, reduce pairs along one axis and again along the other, weigh them by their
softmax, or have pairs of one sample with itself beside those of two, as an energy distance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from wengert.api.recorded_pairs import (
    COLUMN,
    LYING,
    REDUCTIONS,
    ROW,
    ROWS,
    SQUARE,
    SQUARED,
    RecordedLoss,
    operands,
)
from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.types import ArrayType

_ONE_ROW = {(SQUARED,), ("1", SQUARED), (SQUARED, "1")}


def are_reduced_by_turns(loss: RecordedLoss, pairs: int) -> bool:
    """Whether pairs are computed with one by one and then reduced, along one axis at least.
    Python's `sum` adds the rows of them one by one.
    """
    ends = _ends_of(loss, pairs)
    if _are_all_rows(loss, ends):
        return all(
            _is_followed_by(loss, number, lambda i: loss.node(i).op is op.add) for number in ends
        )
    reduced = all(loss.node(number).op.name in REDUCTIONS for number in ends)
    return reduced and any(loss.kinds[number] for number in ends)


def are_laid_out(loss: RecordedLoss, pairs: int) -> bool:
    """Whether pairs are computed with one by one and then laid out in one row: residuals, what is
    sorted for a median, the factors of a dot product. A diagonal picks some of that row.
    """
    ends = _ends_of(loss, pairs)
    if _are_all_rows(loss, ends):
        return all(
            _is_followed_by(loss, number, lambda i: loss.kinds[i] in _ONE_ROW) for number in ends
        )
    return bool(ends) and all(
        loss.node(number).op is op.reshape
        and loss.kinds[number] in _ONE_ROW
        and not any(_picks(loss, i) for i in _readers(loss, number))
        for number in ends
    )


def _picks(loss: RecordedLoss, number: int) -> bool:
    """Whether a node takes some of all pairs; who sorts takes all of them in another order."""
    picks = loss.node(number).op in (op.slice_axes, op.gather)
    return picks and loss.kinds[number] not in _ONE_ROW


def _readers(loss: RecordedLoss, number: int) -> Sequence[int]:
    return loss.readers.get(number, ())


def _ends_of(loss: RecordedLoss, pairs: int) -> list[int]:
    """What reads pairs, or what is computed of them one by one, and gives no pairs itself."""
    seen, pending, ends = {pairs}, [pairs], []
    while pending:
        for number in _readers(loss, pending.pop()):
            if not _has_pairs(loss, number):
                ends.append(number)
            elif number not in seen:
                seen.add(number)
                pending.append(number)
    return ends


def _has_pairs(loss: RecordedLoss, number: int) -> bool:
    """Whether what reads pairs has a number for each of them, or for all but some along one axis:
    a trapezoidal rule leaves out the first or the last.
    """
    node, kind = loss.node(number), loss.kinds[number]
    keeps = node.op.kind == "elementwise" or node.op in (op.permute_dims, op.slice_axes)
    return keeps and len(kind) == 2 and ROWS in kind and "1" not in kind


def _are_all_rows(loss: RecordedLoss, ends: Sequence[int]) -> bool:
    """Whether these are the rows of pairs, each by itself: so Python goes through an array."""
    nodes = [loss.node(number) for number in ends]
    single = all(loss.kinds[number] == LYING for number in ends)
    if not ends or not single or any(node.op is not op.slice_axes for node in nodes):
        return False
    starts = {str(node.params["start"]) for node in nodes}
    size = nodes[0].type.shape[-1] if isinstance(nodes[0].type, ArrayType) else 0
    return str(size) == str(len(starts))


def _is_followed_by(loss: RecordedLoss, row: int, follows: Callable[[int], bool]) -> bool:
    """Whether a row of pairs is a vector, and read by such alone."""
    vectors = _readers(loss, row)
    while len(vectors) == 1 and loss.node(vectors[0]).op is op.reshape:
        if loss.kinds[vectors[0]] != ROW:
            return False
        vectors = _readers(loss, vectors[0])
    return all(map(follows, vectors))


# Pairs that are meant.


def are_weighed(loss: RecordedLoss, column: int, row: int) -> bool:
    """Whether a loss with pairs of this column and this row is about pairs."""
    return _are_compared(loss) or _is_paired_with_itself(loss, {loss.root(column), loss.root(row)})


def _are_compared(loss: RecordedLoss) -> bool:
    """Whether pairs of columns and rows are weighed by their softmax, by weights that are divided
    by their sum, or in a density; are reduced along both axes in turn; or the least is taken.
    """
    pairs, reduced, axes = set[int](), set[int](), set[int]()
    for number, node in loss.forward():
        of_pairs = not pairs.isdisjoint(operands(node))
        if loss.kinds[number] == SQUARE and node.op.kind == "elementwise":
            if of_pairs or _is_paired(loss, node):
                pairs.add(number)
        elif of_pairs and node.op in (op.softmax, op.log_softmax, op.min):
            if loss.kinds[number]:
                return True
        elif of_pairs and node.op.name in REDUCTIONS and loss.kinds[number]:
            axes.update(node.params.get("axes") or node.params.get("axis") or ())
            reduced.add(number)
        elif node.op in (op.log, op.divide) and reduced.issuperset(operands(node)):
            return True
    return len(axes) > 1


def _is_paired(loss: RecordedLoss, node: Node) -> bool:
    kinds = {loss.kinds[i] for i in operands(node)}
    return COLUMN in kinds and not kinds.isdisjoint((ROW, LYING))


def _is_paired_with_itself(loss: RecordedLoss, roots: Collection[int]) -> bool:
    """Whether one of these meets itself along another axis: `p - p.T`, `y[:, None] - y`."""
    for number, node in loss.forward():
        if loss.kinds[number] == SQUARE and node.op.kind == "elementwise":
            columns = {loss.root(i) for i in operands(node) if loss.kinds[i] == COLUMN}
            rows = {loss.root(i) for i in operands(node) if loss.kinds[i] in (ROW, LYING)}
            if not columns.intersection(rows).isdisjoint(roots):
                return True
    return False
