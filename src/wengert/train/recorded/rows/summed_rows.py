"""Sums over the rows of a batch, where a mean over rows is taken of what batches give: what comes
out depends on how large the batches are.

A number counts as a sum where it is one, or is made of one by adding, by constant factors and by
what the model alone gives, such as the variance of a likelihood. Divided by a multiple of the size
of the batches it is a mean, at least of those that are full. Where something else is computed over
the rows before, as weights that are divided by their sum, nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType
from wengert.core.words.source import Line
from wengert.train.batch import ROWS

_ADDING = ("sum", "count_nonzero")
_OF_SUMS = ("sum", "mean", "reshape", "permute_dims", "negative", "astype")  # keep a sum one
_CLOSE = 1e-3  # of a factor in float32 to that of a mean
_MODEL = "weights"  # the name of the step's argument


class SummedRows(NamedTuple):
    """A sum over rows, and what it is multiplied by."""

    line: Line | None
    factor: float

    def is_mean_of(self, batch_size: int) -> bool:
        """Whether it is divided by the rows of such a batch, or by a multiple of them."""
        times = 1 / self.factor / batch_size if self.factor else 0.0
        return round(times) >= 1 and math.isclose(times, round(times), rel_tol=_CLOSE)


def sums_over_rows(graph: Graph) -> Iterator[SummedRows]:
    """The results of a function that are summed over the rows of its arguments."""
    sums = _Sums(graph)
    for number in graph.returns:
        total = sums.made_of(number)
        if total is not None and sums.is_of_each_row(total[0]):
            yield SummedRows(graph.nodes[total[0]].line, math.fabs(total[1]))


class _Sums:
    def __init__(self, graph: Graph) -> None:
        self._nodes = graph.nodes
        self._rows = [any(map(_is_of_rows, _shape(node))) for node in graph.nodes]
        # The nodes that values are the sums of rows by, but for what is added, and their factors.
        self._made: list[tuple[int, float] | None] = []
        for number in range(len(graph.nodes)):
            self._made.append(self._made_by(number))

    def made_of(self, number: int) -> tuple[int, float] | None:
        """The node that a value is the sum of rows by, and its factor."""
        return self._made[number]

    def _made_by(self, number: int) -> tuple[int, float] | None:
        node = self._nodes[number]
        operands = _operands(node)
        if self._adds_up(number):
            return number, 1.0
        if node.op.name in _OF_SUMS and len(operands) == 1:
            return self.made_of(operands[0])
        if node.op.name in ("add", "subtract"):
            parts = map(self.made_of, operands)
            return next((part for part in parts if part is not None), None)
        if node.op.name == "divide":
            return self._times(operands[0], operands[1], divided=True)
        if node.op.name == "multiply":
            first, second = operands
            return self._times(first, second) or self._times(second, first)
        return None

    def _adds_up(self, number: int) -> bool:
        node = self._nodes[number]
        adds = node.op.name in _ADDING or node.op.kind == "bilinear"
        adds |= node.params.get("reduction") == "sum"
        return adds and not self._rows[number] and any(self._rows[i] for i in _operands(node))

    def _times(self, total: int, by: int, divided: bool = False) -> tuple[int, float] | None:
        made = self.made_of(total)
        factor = None if made is None else self._factor(by)
        if made is None or not factor:
            return None
        return made[0], made[1] / factor if divided else made[1] * factor

    def _factor(self, number: int) -> float | None:
        """A constant; that of what the model gives counts as no number of rows."""
        node = self._nodes[number]
        if node.op.name == "constant":
            value = node.params["value"]
            return float(value.reshape(-1)[0]) if value.size == 1 else None
        inputs = set[str]()
        for before in self._before(number):
            if before.op.name == "size" or any(map(_is_of_rows, _shape(before))):
                return None
            if before.op.name == "input":
                inputs.add(str(before.params.get("name", "")).partition(".")[0])
        return 1.0 if inputs == {_MODEL} else None

    def _before(self, number: int) -> Iterator[Node]:
        """The node, and all that it is computed from."""
        seen, pending = {number}, [number]
        while pending:
            node = self._nodes[pending.pop()]
            yield node
            more = [i for i in _operands(node) if i not in seen]
            seen.update(more)
            pending += more

    def is_of_each_row(self, total: int) -> bool:
        """Whether what is summed was computed for each row by itself: nothing in it is about all
        rows, or about their number.
        """
        last = self._nodes[total]
        for node in self._before(total):
            of_rows = any(self._rows[i] for i in _operands(node))
            loses_rows = of_rows and not any(map(_is_of_rows, _shape(node))) and node is not last
            if node.op.name == "size" or loses_rows or (of_rows and self._goes_along_rows(node)):
                return False
        return True

    def _goes_along_rows(self, node: Node) -> bool:
        axis = node.params.get("axis")
        if node.op.kind != "composite" or "axis" not in node.params:
            return False
        first = _shape(self._nodes[_operands(node)[0]])
        if not isinstance(axis, int) or not -len(first) <= axis < len(first):
            return True
        return _is_of_rows(first[axis])


def _is_of_rows(size: object) -> bool:
    return ROWS in str(size)  # as in 3*batch, of a table that is ravelled


def _shape(node: Node) -> tuple[object, ...]:
    return tuple(node.type.shape) if isinstance(node.type, ArrayType) else ()


def _operands(node: Node) -> list[int]:
    return [i for i in node.operands if i is not None]
