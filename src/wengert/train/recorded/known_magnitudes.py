"""Extents: how large the values of an elementwise graph can be, and how small.

Of each value is known the most that |x| can be, and of some the least that x can be, by the rules
of the ops (`core/op_parts/magnitude.py`). What is found is a scalar, so a graph over millions of
elements is followed in a few dozen instructions.

Where the most is finite, no element is infinite or NaN. Ops hand a most that is not finite on to
their results; where one does not, as 1 / inf does, its operand is noted as one to look at.
"""

from __future__ import annotations

from collections.abc import Mapping

from wengert.core.dtypes import is_float
from wengert.core.graph import Graph, Node
from wengert.core.op_parts.magnitude import NotFollowed
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value


class Extents:
    """The extents of a graph's values, from those of its inputs and of what else is known. What
    they rest on gathers in two lists: of scalars that have to be `finite`, and of scalars that are
    to be `not_negative`.
    """

    def __init__(
        self, graph: Graph, most: Mapping[int, Value], least: Mapping[int, Value | None]
    ) -> None:
        self._nodes = graph.nodes
        self.finite: list[Value] = []
        self.not_negative: list[Value] = []
        self.asked: set[int] = set()  # nodes whose least was needed
        self._least = {i: x for i, x in least.items() if x is not None}
        self._most = dict(most)
        for number, node in enumerate(graph.nodes):
            rule = node.op.magnitude
            if number not in self._most and rule is not None and _is_float(node):
                try:
                    self._most[number] = rule.most(self, node)
                except NotFollowed:
                    continue  # it may only decide a branch, both sides of which are known

    def most(self, number: int | None) -> Value:
        """What no element of a node is larger than, in absolute value."""
        if number not in self._most:
            raise NotFollowed
        return self._most[number]

    def least(self, number: int | None) -> Value:
        """What no element of a node is smaller than."""
        assert number is not None
        self.asked.add(number)
        if number not in self._least:
            node = self._nodes[number]
            rule = node.op.magnitude
            if rule is None or rule.least is None or not _is_float(node):
                raise NotFollowed
            self._least[number] = rule.least(self, node)
        return self._least[number]

    def require_not_negative(self, x: Value) -> Value:
        """Note a scalar that must be 0 or more for the rest to hold. A constant is
        checked at once.
        """
        if not isinstance(x, Tensor):
            if not x >= 0:
                raise NotFollowed
        elif not any(x is other for other in self.not_negative):
            self.not_negative.append(x)
        return x


def _is_float(node: Node) -> bool:
    return isinstance(node.type, ArrayType) and is_float(node.type.dtype)
