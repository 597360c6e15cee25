"""Paired rows: predictions of shape (n, 1) and targets of shape (n,) make n × n differences, of
which a loss then takes the mean. That is valid NumPy, and hardly ever meant.

A program is known to do so where both have the rows of the batch, the axis of one element was not
written on purpose (it is that of the data, what is left of a table that has these rows, what they
read from a table of one column, or what a loop has stacked), and all pairs are reduced to one
number. Where both come from the model, or both from the batch alone, pairs of one thing with itself
do not count, nor does a loss with products of matrices for all pairs. Pairs that are reduced along
one axis first, `log_prob(action).sum(-1)`, count where one of the two comes from the model and the
other does not, and where nothing goes back to the pairs, as in a softmax. So do pairs that are laid
out in one row, `(p - y).ravel()`, as residuals are, of which a `jacobian` is taken.
`ends_of_pairs.py` knows losses that are about pairs, `pairs_of_products.py` products of matrices
that stand for a product of each row, `columns_of_tables.py` what is read from tables, and products
with the rows in columns, `written_columns.py` axes that were added in vain, `p - y[:, None]`.

`scores[:, actions]` is another way to such pairs: it takes every action from every row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from wengert.api.pairs.columns_of_tables import (
    is_stacked,
)
from wengert.api.pairs.pairing_loss import PairingLoss, is_own, shape_of, shown
from wengert.api.pairs.pairs_of_products import rows_of_products
from wengert.api.pairs.recorded_pairs import (
    COLUMN,
    ROW,
    is_backward,
    operands,
)
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.passes.opened_bodies import with_open_bodies


def warn_of_pairs(
    graph: Graph, own: Collection[str], rows: str, where: str, same: Collection[str] = ()
) -> None:
    """Warn where the loss that was recorded as this graph, maybe with its gradient, pairs rows, of
    which there are `rows`, an open size or a number; `same` are other sizes that count as that one.
    `own` are the names of arguments that are the model, or belong to it. Rows of which some are cut
    off, `prediction[:-1] - y[1:]`, count as well.
    """
    whole = PairingLoss(graph, own, (rows, *same))
    _warn_of_pairs_in(whole, where)
    for cut in _sizes_of_cuts(graph, own, (rows, *same)):
        _warn_of_pairs_in(PairingLoss(graph, own, (cut,), whole.natural), where)


def _sizes_of_cuts(graph: Graph, own: Collection[str], rows: Collection[str]) -> list[str]:
    """How many rows slices of data have that leave some of them out; none of these sizes is one
    that an argument has.
    """
    inputs = [graph.nodes[number] for number in graph.inputs]
    taken = {str(size) for node in inputs for size in shape_of(node)} | {*rows, "0", "1"}
    sizes = []
    for node in graph.nodes:
        if node.op is op.slice_axes and not is_backward(node) and shape_of(node):
            number = operands(node)[0]
            source = graph.nodes[number]
            of_data = number in graph.inputs and not is_own(source, own)
            if of_data and str(shape_of(source)[0]) in rows:
                sizes.append(str(shape_of(node)[0]))
    return [size for size in dict.fromkeys(sizes) if size not in taken]


def _warn_of_pairs_in(loss: PairingLoss, where: str) -> None:
    for node, row, end, repair in _one_of_each_line(loss.paired()):
        warn_user(
            f"{node.op.name}: given shapes {shown(COLUMN)} and {row} {where}, both with the rows "
            f"of the batch; the result has a number for each pair of rows, and all of them are "
            f"{end}. Give both one shape, {repair}; if pairs are meant, write [:, None] and "
            "[None, :].",
            PairedRowsWarning,
            node.line,
        )
    for node in rows_of_products(loss.recorded):
        warn_user(
            f"{node.op.name}: a product of matrices, which has a number for each pair of rows, was "
            f"given beside shape {shown(ROW)} {where}, a number for each row; all pairs are "
            "reduced. For one product of each row, write wg.sum(a * b, axis=1) in the place of "
            "a @ b.T; if pairs are meant, write [None, :].",
            PairedRowsWarning,
            node.line,
        )
    for node, table, row in loss.every_index_of_every_row():
        warn_user(
            f"getitem: x[:, index] was given x of shape {table} and an index of shape {row} "
            f"{where}; it takes every index from every row, a number for each pair of rows, and "
            "all of them are reduced. For one of each row, write wg.take_along_axis(x, "
            "index[:, None], axis=1)[:, 0].",
            PairedRowsWarning,
            node.line,
        )

    for node, table, row in loss.every_time_of_every_row():
        warn_user(
            f"getitem: x[index] was given x of shape {table} and an index of shape {row} {where}; "
            "it takes all rows at the index of each, a number for each pair of rows, and all of "
            "them are reduced. For one time of each row, write x[index, wg.arange(x.shape[1])].",
            PairedRowsWarning,
            node.line,
        )


def warn_of_pairs_in_data(graph: Graph, own: Collection[str], where: str) -> None:
    """The same for a function of a model, the arguments with the names `own`, and of data, which
    are its other arguments and constants.
    """
    warn_of_pairs_of_one_size(with_open_bodies(graph), own, where, {})


def warn_of_pairs_of_one_size(
    graph: Graph, own: Collection[str], where: str, sizes: Mapping[str, int]
) -> None:
    """The same where the number of rows is not known: it is what two arrays of data begin with,
    arguments or constants, or one of them and a column that a loop has stacked; where something
    else has that size, too, nothing is known. `sizes` are the open ones of the call that the graph
    was recorded for.
    """
    inputs = [graph.nodes[number] for number in graph.inputs]
    constants = [x for x in graph.nodes if x.op is op.constant and not is_backward(x)]
    shapes = [shape_of(node) for node in (*inputs, *constants) if not is_own(node, own)]
    known = {name: str(size) for name, size in sizes.items()}

    def text(size: Any) -> str:
        return known.get(str(size), str(size))

    begins = Counter(text(shape[0]) for shape in shapes if shape)
    columns = [node for node in graph.nodes if len(shape_of(node)) == 2 and not is_backward(node)]
    stacked = {str(shape_of(node)[0]) for node in columns if is_stacked(graph, node)}
    stacked -= {"0", "1", *known}
    written = stacked | {str(shape[0]) for shape in shapes if shape} - {"0", "1", *known}
    others = {text(size) for shape in shapes for size in shape[1:]}
    others |= {text(size) for node in inputs if is_own(node, own) for size in shape_of(node)}
    for rows, count in begins.items():
        if (count > 1 or rows in stacked) and rows in written and rows not in others:
            same = [name for name, size in known.items() if size == rows]
            warn_of_pairs(graph, own, rows, where, same)


def _one_of_each_line(
    pairs: Iterable[tuple[Node, str, str, str]],
) -> Iterable[tuple[Node, str, str, str]]:
    """The first of those at one line: a distribution pairs its rows several times."""
    return {each[0].line or i: each for i, each in reversed([*enumerate(pairs)])}.values()
