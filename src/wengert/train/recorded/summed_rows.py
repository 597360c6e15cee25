"""Sums over the rows of a batch, where a mean over rows is taken of what batches give: what comes
out depends on how large the batches are.

A number counts as a sum where it is one, or is made of one by adding and by factors that no mean
has. Where something else is computed over the rows before, as weights that are divided by their
sum, nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType
from wengert.core.words.source import Line
from wengert.train.batch import ROWS

LEAST_FACTOR = 0.5  # as in half of the squares; 1 / 32 may be the size of a batch


def sums_over_rows(graph: Graph) -> Iterator[Line | None]:
    """The lines at which results of a function are summed over the rows of its arguments."""
    rows = [any(str(size).startswith(ROWS) for size in _shape(node)) for node in graph.nodes]
    for number in graph.returns:
        total = _sum_in(graph, rows, number)
        if total is not None and _is_of_each_row(graph, rows, total):
            yield graph.nodes[total].line


def _shape(node: Node) -> tuple[object, ...]:
    return tuple(node.type.shape) if isinstance(node.type, ArrayType) else ()


def _operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]


def _sum_in(graph: Graph, rows: list[bool], number: int) -> int | None:
    """The node that a result is the sum of rows by, but for what is added and simple factors."""
    node = graph.nodes[number]
    operands = _operands(node)
    adds_up = node.op.name == "sum" or node.op.kind == "bilinear"
    if adds_up and not rows[number] and any(rows[i] for i in operands):
        return number
    if node.op.name in ("multiply", "negative", "astype"):
        factors = [graph.nodes[i] for i in operands if graph.nodes[i].op.name == "constant"]
        if not all(map(_is_simple, factors)):
            return None
        operands = [i for i in operands if graph.nodes[i].op.name != "constant"]
        return _sum_in(graph, rows, operands[0]) if len(operands) == 1 else None
    if node.op.name in ("add", "subtract"):
        parts = (_sum_in(graph, rows, i) for i in operands)
        return next((part for part in parts if part is not None), None)
    return None


def _is_simple(constant: Node) -> bool:
    value = constant.params["value"]
    return value.size == 1 and math.fabs(float(value.reshape(-1)[0])) >= LEAST_FACTOR


def _is_of_each_row(graph: Graph, rows: list[bool], total: int) -> bool:
    """Whether what is summed was computed for each row by itself: nothing in it is about all rows,
    or about their number.
    """
    seen, pending = set[int](), _operands(graph.nodes[total])
    while pending:
        number = pending.pop()
        node = graph.nodes[number]
        operands = _operands(node)
        of_rows = any(rows[i] for i in operands)
        along = of_rows and node.op.kind == "composite" and "axis" in node.params
        if node.op.name == "size" or (of_rows and not rows[number]) or along:
            return False
        more = [i for i in operands if i not in seen]
        seen.update(more)
        pending += more
    return True
