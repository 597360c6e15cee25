"""Paired rows: predictions of shape (n, 1) and targets of shape (n,) make n × n differences, of
which a loss then takes the mean. That is valid NumPy, and hardly ever meant.

A program is known to do so where both have the rows of the batch, one comes from the model and the
other from the batch alone, the axis of one element was not written on purpose (it is that of a
matrix product or of the data), and all pairs are reduced to one number.
"""

from __future__ import annotations

from collections.abc import Iterator
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


def warn_of_paired_rows(graph: Graph) -> None:
    """Warn where the loss that was recorded as this graph, with its gradient, pairs its rows."""
    for node, column, row in _Loss(graph).paired():
        warn_user(
            f"{node.op.name}: given shapes {_shown(column)} and {_shown(row)} in the loss of a "
            "TrainStep, one from the model and one from the batch; the result has a number for "
            "each pair of rows, and all of them are reduced. Give both one shape, as with "
            "prediction[:, 0]; if pairs are meant, write [:, None] and [None, :].",
            PairedRowsWarning,
            node.line,
        )


def _shown(shape: Shape) -> str:
    sizes = ["n" if str(size) == ROWS else str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


class _Loss:
    """The forward pass of a step's program, and what is known of its nodes by number."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
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
            own = number in self._graph.inputs and name in OwnArguments._fields
            if own or not found.isdisjoint(_operands(node)):
                found.add(number)
        return found

    @cached_property
    def _natural(self) -> set[int]:
        """Columns that come from matrix products and from columns of the batch alone."""
        found: set[int] = set()
        for number, node in enumerate(self._graph.nodes):
            if self._kinds[number] != COLUMN:
                continue
            columns = [i for i in _operands(node) if self._kinds[i] == COLUMN]
            computed = isinstance(node.op.lower, Elementwise) or node.op.kind == "composite"
            follows = computed and bool(columns) and found.issuperset(columns)
            if number in self._graph.inputs or node.op.kind == "bilinear" or follows:
                found.add(number)
        return found

    @cached_property
    def _reduced(self) -> set[int]:
        """Those of which all that the loss computes ends in single numbers."""
        read, kept = set(), set()
        for number, node in reversed([*enumerate(self._graph.nodes)]):
            if node.line is not None and node.line.phase != "forward":
                continue
            read.update(_operands(node))
            if self._kinds[number] and (self._kinds[number] != SQUARE or number in kept):
                kept.update(_operands(node))
        return read - kept


def _operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
