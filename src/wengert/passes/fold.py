"""Fold: compute beforehand what depends on constants only.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[2] "x") {
...   %1: float32[] = constant(3.0)
...   %2: float32[] = sqrt(%1)                                  # model.py:5
...   %3: float32[2] = broadcast_to(%2, shape=(2,))             # model.py:6
...   %4: float32[2] = multiply(%0, %3)                         # model.py:6
...   %5: float32[] = exp(%1)                                   # model.py:7
...   return %4, %5
... }''')
>>> print(show(fold(graph)))
graph(%0: float32[2] "x") {
  %1: float32[] = constant(3.0)
  %2: float32[] = constant(1.7320508)                       # model.py:5
  %3: float32[2] = broadcast_to(%2, shape=(2,))             # model.py:6
  %4: float32[2] = multiply(%0, %3)                         # model.py:6
  %5: float32[] = exp(%1)                                   # model.py:7
  return %4, %5
}

Only ops that say they are `exact` are computed, for only they give the same bits at run time on
every target; exp is not one of them. A repeated number stays one number, broadcast, with open
sizes too. Nothing larger than LIMIT elements is written into the program, and what cannot be
computed without an invalid operation (0/0, an index out of range) is left to run time. A branch
whose condition is constant is the body it chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.dims import has_dims
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.passes.rebuild import (
    PlacedNode,
    append_broadcast,
    append_constant,
    copy_into,
    rebuild,
    single,
    with_bodies,
)

LIMIT = 1024  # elements of an array that folding writes into the program


def fold(graph: Graph) -> Graph:
    """The graph with constants in the place of nodes whose values are known."""
    return rebuild(graph, _Fold().place)


class _Fold:
    def __init__(self) -> None:
        # By number in the new graph. A 0-d value stands for an array of any shape filled with it.
        self.known: dict[int, Any] = {}

    def place(self, out: Graph, node: Node) -> PlacedNode:
        if node.op is op.cond and node.operands[0] in self.known:
            return self.branch(out, node)
        node = with_bodies(node, fold)
        value = self.value(out, node)
        if value is None:
            return out.append(node)
        array_type = node.type
        assert isinstance(array_type, ArrayType)
        if node.op is op.broadcast_to or (node.op is op.constant and value.ndim == array_type.ndim):
            number = out.append(node)  # as small as it can be
        else:
            number = append_constant(out, value, node.line)
            self.known[number] = value
            number = append_broadcast(out, number, array_type, node.line)
        self.known[number] = value
        return number

    def branch(self, out: Graph, node: Node) -> PlacedNode:
        """The nodes of the one branch that a constant condition chooses."""
        condition, *operands = (i for i in node.operands if i is not None)
        body: Graph = node.params["then" if self.known[condition] else "orelse"]
        given = dict(zip(body.inputs, operands, strict=True))
        numbers = copy_into(out, body, given, self.place)
        return tuple(single(numbers[i]) for i in body.returns)

    def value(self, out: Graph, node: Node) -> Any:
        """The value of a node, or None where it is not known or not to be written down."""
        if node.op is op.constant:
            return _compact(node.params["value"])
        array_type = node.type
        if not node.op.exact or not node.operands or not isinstance(array_type, ArrayType):
            return None
        known = self.known
        numbers = [i for i in node.operands if i in known]
        if len(numbers) < len(node.operands):
            return None
        values = [self.known[i] for i in numbers]
        if all(value.ndim == 0 for value in values):
            if node.op is op.broadcast_to:
                return values[0]
            if node.op.kind == "elementwise":
                return _computed(node, values, array_type.with_shape(()))
        types = [out.type(i) for i in numbers]
        shapes = [array_type.shape, *(each.shape for each in types)]
        if has_dims((*shapes, *node.params.values())) or int(array_type.size) > LIMIT:
            return None
        whole = [
            np.broadcast_to(x, tuple(map(int, t.shape))) for x, t in zip(values, types, strict=True)
        ]
        return _compact(_computed(node, whole, array_type))


def _computed(node: Node, operands: Sequence[Any], wanted: ArrayType) -> Any:
    try:
        with np.errstate(all="ignore", invalid="raise"):
            array = np.asarray(node.op.numpy(*operands, **node.params))
    except Exception:  # run time reports it, with the line in the message
        return None
    return array if array.shape == wanted.shape and array.dtype == wanted.dtype else None


def _compact(value: Any) -> Any:
    """The one number that an array repeats, bit by bit, as a 0-d array; else the array."""
    if value is None or value.size == 0:
        return value
    numbers = np.ascontiguousarray(value).reshape(-1)
    patterns = numbers.view(f"u{value.itemsize}")
    uniform = patterns[0] == patterns[-1] and (patterns == patterns[0]).all()
    return numbers[0, ...] if uniform else value
