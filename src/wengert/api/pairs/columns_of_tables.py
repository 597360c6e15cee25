"""Columns (n, 1) that come about on other ways than as a product of a table of rows: what the rows
of a batch read from a table of one column, `Embedding(k, 1)(u)` or `b[u]`, and products with the
rows in columns, `W @ x.T`, a row (1, n), turned or beside a column of the data. And what loops have
stacked.

A loss with other pairs of rows beside the first two (labels of pairs, distances, `[:, None]`) is
about pairs, and so are two parts of one table, as scores of winners beside those of losers.
"""

from __future__ import annotations

from collections.abc import Collection

from wengert.api.pairs.recorded_pairs import (
    COLUMN,
    LYING,
    ROW,
    ROWS,
    SQUARE,
    RecordedLoss,
    operands,
)
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise
from wengert.core.table import op


def is_read_by_rows(loss: RecordedLoss, node: Node) -> bool:
    """Whether each row of the batch has read one number here, from a table with an axis of one
    element that has not the rows of the batch.
    """
    if node.op is not op.embed and (node.op is not op.gather or node.params["axis"] != 0):
        return False
    table, *indices = (loss.kinds[i] for i in operands(node))
    return indices == [ROW] and len(table) == 2 and table[0] != ROWS and table[1] == "1"


def products_in_a_row(loss: RecordedLoss) -> set[int]:
    """Rows (1, n) that products of matrices have made, and what is computed of them one by one."""
    lying: set[int] = set()
    for number, node in loss.forward():
        if loss.kinds[number] != LYING:
            continue
        rows = [i for i in operands(node) if loss.kinds[i] == LYING]
        computed = isinstance(node.op.lower, Elementwise) or node.op.kind == "composite"
        if node.op.kind == "bilinear" or (computed and rows and lying.issuperset(rows)):
            lying.add(number)
    return lying


def is_turned(node: Node, lying: Collection[int]) -> bool:
    """Whether a column is such a row, transposed."""
    return node.op is op.permute_dims and operands(node)[0] in lying


def computed_of(loss: RecordedLoss, columns: Collection[int]) -> set[int]:
    """These columns, and what is computed of them and has their shape, but for products of
    matrices, which make columns by themselves.
    """
    computed = set(columns)
    for number, node in loss.forward():
        follows = loss.kinds[number] == COLUMN and node.op.kind != "bilinear"
        if follows and not computed.isdisjoint(operands(node)):
            computed.add(number)
    return computed


def has_other_pairs(loss: RecordedLoss, columns: Collection[int], lying: Collection[int]) -> bool:
    """Whether the loss has numbers of pairs of rows that are not made of one of these columns and
    of a row.
    """
    for number, node in loss.forward():
        given = [i for i in operands(node) if loss.kinds[i]]
        if loss.kinds[number] != SQUARE or any(loss.kinds[i] == SQUARE for i in given):
            continue
        stand = [i for i in given if loss.kinds[i] == COLUMN]
        known = all(
            i in columns if loss.kinds[i] == COLUMN else loss.kinds[i] == ROW or i in lying
            for i in given
        )
        if node.op.kind != "elementwise" or not stand or not known:
            return True
    return False


def read_one_table(loss: RecordedLoss, column: int, row: int) -> bool:
    """Whether both are computed of numbers that were read from one table."""
    return not _tables_of(loss, column).isdisjoint(_tables_of(loss, row))


def is_computed_of(loss: RecordedLoss, row: int, column: int) -> bool:
    """Whether a row is computed of this column, or of what that is a part of: pairs of a thing with
    itself.
    """
    return loss.root(column) in loss.before(row)


def _tables_of(loss: RecordedLoss, number: int) -> set[int]:
    before = [loss.node(i) for i in loss.before(number)]
    return {loss.root(operands(node)[0]) for node in before if is_read_by_rows(loss, node)}


def _is_of_loop(graph: Graph, node: Node) -> bool:
    """Whether a node is one of the results of a loop."""
    return node.op is op.pick and graph.nodes[operands(node)[0]].op in (op.scan, op.while_loop)


def is_stacked(graph: Graph, node: Node) -> bool:
    """Whether a column is what a loop has stacked of arrays of one element, maybe behind the first
    of them, as the times of `wg.odeint`; or what `stack([x])` makes of each row.
    """
    nodes = [graph.nodes[i] for i in operands(node)]
    if node.op is op.concat:
        loops = any(_is_of_loop(graph, each) for each in nodes)
        return loops or (len(nodes) == 1 and node.params["axis"] == 1)
    return _is_of_loop(graph, node)
