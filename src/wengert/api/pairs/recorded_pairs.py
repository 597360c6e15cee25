"""A loss that is looked through for pairs of rows: the nodes of its forward pass, and their shapes
in words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from wengert.core.graph import Graph, Node

ROWS = "n"  # what the number of rows is called here
ROW, COLUMN, SQUARE = (ROWS,), (ROWS, "1"), (ROWS, ROWS)  # shapes in words
LYING = ("1", ROWS)  # a row with both axes
SQUARED = f"{ROWS}**2"
REDUCTIONS = {"sum", "mean", "max", "min", "vector_norm"}


class RecordedLoss(NamedTuple):
    """The graph of a loss, and what is known of its nodes by number."""

    graph: Graph
    kinds: Sequence[tuple[str, ...]]  # shapes, where the number of rows is called ROWS
    readers: Mapping[int, Sequence[int]]  # the nodes of the forward pass that read a node
    of_model: Collection[int]  # those that depend on the model

    def node(self, number: int) -> Node:
        return self.graph.nodes[number]

    def forward(self) -> list[tuple[int, Node]]:
        """The nodes of the forward pass, by number."""
        return [(i, node) for i, node in enumerate(self.graph.nodes) if not is_backward(node)]

    def root(self, number: int) -> int:
        """What a value is a part of, or only another arrangement of."""
        while self.node(number).op.kind == "linear" and len(operands(self.node(number))) == 1:
            (number,) = operands(self.node(number))
        return number

    def before(self, number: int) -> set[int]:
        """The nodes that one is computed of, and itself."""
        pending, seen = [number], {number}
        while pending:
            more = [i for i in operands(self.node(pending.pop())) if i not in seen]
            seen.update(more)
            pending += more
        return seen


def operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]


def is_backward(node: Node) -> bool:
    return node.line is not None and node.line.phase != "forward"
