"""Paired rows: predictions of shape (n, 1) and targets of shape (n,) make n × n differences, of
which a loss then takes the mean. That is valid NumPy, and hardly ever meant.

A program is known to do so where both have the rows of the batch, one comes from the model and the
other from the batch alone, the axis of one element was not written on purpose (it is that of the
data, or what is left of a table that has these rows), and all pairs are reduced to one number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

from wengert.core.dims import Shape
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.train.batch import ROWS
from wengert.train.recorded.step_arrays import OwnArguments

ROW, COLUMN, SQUARE = (ROWS,), (ROWS, "1"), (ROWS, ROWS)  # shapes in words


def warn_of_paired_rows(
    graph: Graph,
    own: Collection[str] = OwnArguments._fields,
    where: str = "in the loss of a TrainStep",
) -> None:
    """Warn where the loss that was recorded as this graph, maybe with its gradient, pairs its rows.
    `own` are the names of arguments that the step itself gives to it.
    """
    for node, column, row in _Loss(graph, own).paired():
        warn_user(
            f"{node.op.name}: given shapes {_shown(column)} and {_shown(row)} {where}, one from "
            "the model and one from the batch; the result has a number for each pair of rows, and "
            "all of them are reduced. Give both one shape, as with prediction[:, 0]; if pairs are "
            "meant, write [:, None] and [None, :].",
            PairedRowsWarning,
            node.line,
        )


def _shown(shape: Shape) -> str:
    sizes = ["n" if str(size) == ROWS else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


class _Loss:
    """The forward pass of a step's program, and what is known of its nodes by number."""

    def __init__(self, graph: Graph, own: Collection[str]) -> None:
        self._graph, self._own = graph, own
        self._kinds = [tuple(map(str, self._shape(i))) for i in range(len(graph))]

    def paired(self) -> Iterator[tuple[Node, Shape, Shape]]:
        """The nodes that pair rows, with the shapes of their operands."""
        for number, node in enumerate(self._graph.nodes):
            found = {self._kinds[i]: i for i in _operands(node)}
            column, row = found.get(COLUMN), found.get(ROW)
            if (
                node.op.kind == "elementwise"
                and self._kinds[number] == SQUARE
                and column in self._natural
                and row is not None
                and (column in self._of_model) != (row in self._of_model)
                and number in self._reduced
            ):
                yield node, self._shape(column), self._shape(row)

    def _shape(self, number: int) -> Shape:
        found = self._graph.nodes[number].type
        return found.shape if isinstance(found, ArrayType) else ()

    @cached_property
    def _of_model(self) -> set[int]:
        """Those that depend on what the step itself gives to the loss."""
        found: set[int] = set()
        for number, node in enumerate(self._graph.nodes):
            name = str(node.params.get("name", "")).partition(".")[0]
            own = number in self._graph.inputs and name in self._own
            if own or not found.isdisjoint(_operands(node)):
                found.add(number)
        return found

    @cached_property
    def _natural(self) -> set[int]:
        """Columns that come from matrix products, from other tables of the same rows and from
        columns of the batch alone. Where products of matrices have all pairs themselves, as in the
        squared distances of two sets of points, tables do not count: pairs are meant.
        """
        found: set[int] = set()
        for number, node in enumerate(self._graph.nodes):
            if self._kinds[number] != COLUMN:
                continue
            columns = [i for i in _operands(node) if self._kinds[i] == COLUMN]
            computed = isinstance(node.op.lower, Elementwise) or node.op.kind == "composite"
            follows = computed and bool(columns) and found.issuperset(columns)
            product = node.op.kind == "bilinear"
            if number in self._graph.inputs or product or follows or self._of_table(node, found):
                found.add(number)
        return found

    def _of_table(self, node: Node, natural: set[int]) -> bool:
        """Whether a column is what is left of more than a column: `sum(q, axis=1, keepdims=True)`,
        `take_along_axis(q, actions[:, None], axis=1)`, `q[:, :1]`.
        """
        first = next(iter(_operands(node)), None)
        kind = () if first is None else self._kinds[first]
        table = len(kind) > 1 and kind[0] == ROWS and (kind != COLUMN or first in natural)
        return table and not self._pairs_are_meant

    @cached_property
    def _pairs_are_meant(self) -> bool:
        """Whether the loss has a product of matrices for all pairs."""
        return any(
            node.op.kind == "bilinear" and kind == SQUARE and not _is_backward(node)
            for node, kind in zip(self._graph.nodes, self._kinds, strict=True)
        )

    @cached_property
    def _reduced(self) -> set[int]:
        """Those of which all that the loss computes ends in single numbers."""
        read, kept = set(), set()
        for number, node in reversed([*enumerate(self._graph.nodes)]):
            if _is_backward(node):
                continue
            read.update(_operands(node))
            if self._kinds[number] and (self._kinds[number] != SQUARE or number in kept):
                kept.update(_operands(node))
        return read - kept


def _is_backward(node: Node) -> bool:
    return node.line is not None and node.line.phase != "forward"


def _operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
