"""What becomes of pairs of rows: whether all of them are reduced, or laid out in one row, or
whether the loss is about pairs.

Right programs with pairs weigh them against each other: they take the nearest of each row, as a
Chamfer distance does, reduce pairs along one axis and again along the other, weigh them by their
softmax, or have pairs of one sample with itself beside those of two, as an energy distance. Where
both samples of a discrepancy are the model's, drawn or computed twice, a kernel tells them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from wengert.api.pairs.recorded_pairs import (
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


def are_weighed(loss: RecordedLoss, pairs: int, column: int, row: int) -> bool:
    """Whether a loss with pairs of this column and this row is about pairs."""
    return (
        _are_compared(loss)
        or _is_paired_with_itself(loss, {loss.root(column), loss.root(row)})
        or _is_discrepancy(loss, pairs)
    )


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


def _is_discrepancy(loss: RecordedLoss, pairs: int) -> bool:
    """Whether a kernel of pairs is averaged, beside that of pairs of which both are the model's. A
    kernel alone may be a robust loss, as `-mean(exp(-(p - y) ** 2))` is.
    """
    return _is_kernel(loss, pairs) and any(
        _is_paired(loss, node)
        and loss.kinds[number] == SQUARE
        and all(i in loss.of_model for i in operands(node))
        and _is_kernel(loss, number)
        for number, node in loss.forward()
    )


def _is_kernel(loss: RecordedLoss, pairs: int) -> bool:
    """Whether all that is computed of pairs is of `exp(…)`, `1 / …` or `… ** -0.5` of them before
    it is reduced, and that is no logarithm, as in a likelihood.
    """
    plain, weights = {pairs}, set[int]()
    for number, node in loss.forward():
        of_plain = not plain.isdisjoint(operands(node))
        if not of_plain and weights.isdisjoint(operands(node)):
            continue
        if not _has_pairs(loss, number):
            if of_plain:
                return False
        elif node.op in (op.log, op.log1p):
            return False
        elif of_plain and not _weighs(loss, node, plain):
            plain.add(number)
        else:
            weights.add(number)
    return bool(weights)


def _weighs(loss: RecordedLoss, node: Node, pairs: Collection[int]) -> bool:
    """Whether pairs become weights: larger differences smaller numbers."""
    if node.op is op.exp:
        return True
    first, *others = operands(node)
    if node.op is op.power:
        exponents = [loss.node(i).params.get("value") for i in others]
        return all(each is not None and np.all(each < 0) for each in exponents)
    return node.op is op.reciprocal or (node.op is op.divide and first not in pairs)
