"""Columns (n, 1) that somebody has written, `y[:, None]`, beside rows (n,) that were left as they
are: of `p - y[:, None]` one may think that `p` was a column.

Pairs of them are known to be a mistake where one side is of the model and the other is of other
data, where nothing but differences, products, squares, absolute values and what a Huber loss makes
of these is reduced to one number, and where the loss has no other pairs. So kernels, quantiles, the
nearest of each row, labels of pairs, and an energy distance, which has pairs of a sample with
itself, are let be. An axis that was taken away first, `p[:, 0][:, None]`, is written on purpose.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from wengert.api.pairs.recorded_pairs import COLUMN, ROW, ROWS, SQUARE, RecordedLoss, operands
from wengert.core.graph import Node
from wengert.core.lowering import Elementwise
from wengert.core.table import op


def written_columns(loss: RecordedLoss) -> set[int]:
    """Columns that are rows with an axis more, and what is computed of these alone, one by one."""
    written: set[int] = set()
    for number, node in loss.forward():
        if loss.kinds[number] != COLUMN:
            continue
        columns = [i for i in operands(node) if loss.kinds[i] == COLUMN]
        follows = isinstance(node.op.lower, Elementwise) and columns
        if (follows and written.issuperset(columns)) or _adds_an_axis(loss, number, node):
            written.add(number)
    return written


def _adds_an_axis(loss: RecordedLoss, number: int, node: Node) -> bool:
    if node.op is not op.reshape or loss.kinds[operands(node)[0]] != ROW:
        return False
    return loss.kinds[loss.root(number)] != COLUMN


def are_hardly_meant(loss: RecordedLoss, pairs: int, column: int, row: int) -> bool:
    """Whether pairs of a written column and of a row are a mistake; all that is computed of them is
    known to end in single numbers.
    """
    return (
        loss.kinds[row] == ROW
        and loss.node(pairs).op in _COMPUTING
        and _is_of_other_data(loss, column, row)
        and not _has_other_pairs(loss)
        and _are_averaged(loss, pairs)
    )


def _is_of_other_data(loss: RecordedLoss, one: int, other: int) -> bool:
    """Whether one of these is of the model, and the other one of data alone, of which the first one
    does not have all.
    """
    if (one in loss.of_model) == (other in loss.of_model):
        return False
    model, data = (one, other) if one in loss.of_model else (other, one)
    return not _data_of(loss, data) <= _data_of(loss, model)


def _data_of(loss: RecordedLoss, number: int) -> set[int]:
    """The arrays that one is computed of, but for those of the model."""
    before = loss.before(number).difference(loss.of_model)
    return {i for i in before if loss.kinds[i] and not operands(loss.node(i))}


def _has_other_pairs(loss: RecordedLoss) -> bool:
    """Whether the loss has numbers of pairs of rows but those of a column and a row of which one is
    of the model.
    """
    for number, node in loss.forward():
        given = [i for i in operands(node) if loss.kinds[i]]
        if loss.kinds[number].count(ROWS) < 2 or any(loss.kinds[i].count(ROWS) > 1 for i in given):
            continue
        sides = {loss.kinds[i]: i in loss.of_model for i in given}
        if sides.keys() != {COLUMN, ROW} or sides[COLUMN] == sides[ROW]:
            return True
    return False


_COMPUTING = {op.add, op.subtract, op.multiply, op.divide, op.negative, op.astype}
_COMPUTING |= {op.stop_gradient}
_CHOOSING = {op.less, op.less_equal, op.greater, op.greater_equal, op.minimum, op.maximum, op.sqrt}


def _are_averaged(loss: RecordedLoss, pairs: int) -> bool:
    """Whether pairs are computed with as a loss does with errors or products, and then summed."""
    known, sizes = {pairs}, set[int]()  # sizes: those that are the same for -1 and for 1
    for number, node in loss.forward():
        given = known.intersection(operands(node))
        if not given:
            continue
        if loss.kinds[number] != SQUARE:
            if loss.kinds[number] or node.op not in (op.sum, op.mean):
                return False
        elif not _computes_as_a_loss(loss, node, given, sizes):
            return False
        else:
            known.add(number)
            if node.op in (op.abs, op.square, op.power) or given <= sizes:
                sizes.add(number)
    return True


def _computes_as_a_loss(
    loss: RecordedLoss, node: Node, given: Collection[int], sizes: Collection[int]
) -> bool:
    """Whether a node computes with numbers of pairs, the `given`, as a loss does: signs of errors
    choose nothing, as they do for quantiles and in rankings.
    """
    first, *others = operands(node)
    if node.op is op.power:
        exponent = loss.node(others[0]).params.get("value")
        return exponent is not None and bool(np.all(np.asarray(exponent) % 2 == 0))
    if node.op is op.divide:
        return others[0] not in given
    if node.op is op.where:
        return first not in given or first in sizes
    if node.op in _CHOOSING:
        return all(i in sizes for i in given)
    return node.op in _COMPUTING or node.op in (op.abs, op.square)
