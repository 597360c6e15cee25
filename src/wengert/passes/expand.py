"""Expand: composites become the nodes of their bodies, and broadcasting becomes visible.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[2, 3] "x", %1: float32[3] "y") {
...   %2: float32[2, 3] = multiply(%0, %1)                      # model.py:7
...   %3: float32[2, 3] = softsign(%2)                          # model.py:8
...   return %3
... }''')
>>> print(show(expand(graph)))
graph(%0: float32[2, 3] "x", %1: float32[3] "y") {
  %2: float32[2, 3] = broadcast_to(%1, shape=(2, 3))        # model.py:7
  %3: float32[2, 3] = multiply(%0, %2)                      # model.py:7
  %4: float32[2, 3] = abs(%3)                               # model.py:8
  %5: float32[] = constant(1.0)                             # model.py:8
  %6: float32[2, 3] = broadcast_to(%5, shape=(2, 3))        # model.py:8
  %7: float32[2, 3] = add(%6, %4)                           # model.py:8
  %8: float32[2, 3] = divide(%3, %7)                        # model.py:8
  return %8
}

Afterwards no composite is left, the operands of every elementwise node have its shape, and an array
of one repeated number is a broadcast constant. Each new node has the line of the call it is from.

Regions stay nodes: their bodies are expanded in place. A body is a scope of its own, in which every
pass works for itself, so nothing inside a region is ever merged with a node outside; what a
backward region recomputes stays recomputed, and it comes where its cotangent operands are known. No
node needs an id for that. Regions are dissolved after the last pass that merges nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dims import Dim, Shape
from wengert.core.graph import Graph, Node
from wengert.core.lowering import SpecialKernel
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.trace import composite_body
from wengert.passes.rebuild import (
    PlacedNode,
    append_broadcast,
    append_constant,
    copy_into,
    rebuild,
    single,
    with_bodies,
)


def expand(graph: Graph) -> Graph:
    """The graph in terms of ops that are no composites, its bodies too."""
    return rebuild(graph, _Expansion().place)


class _Expansion:
    """A graph while it is expanded. A number that many calls write down, and an array that many
    broadcast, is one node: a loop in Python has thousands of them, which later passes would see.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._wide: dict[tuple[int, Shape], int] = {}

    def place(self, out: Graph, node: Node) -> PlacedNode:
        node = with_bodies(node, expand)
        if node.op.body is not None:
            return self.place_body(out, node)
        if node.op is op.constant:
            return self.place_constant(out, node)
        if node.op is op.full:
            return self.place_full(out, node)
        if node.op.kind == "elementwise":
            array_type = node.type
            assert isinstance(array_type, ArrayType)
            wide = [
                None if i is None else self.wide(out, i, array_type, node) for i in node.operands
            ]
            node = node.reading(tuple(wide))
        lower = node.op.lower
        if node.op.kind == "bilinear" or (isinstance(lower, SpecialKernel) and lower.one_dtype):
            node = _with_one_dtype(out, node)
        return out.append(node)

    def place_constant(self, out: Graph, node: Node) -> int:
        value = node.params["value"]
        if value.ndim:
            return out.append(node)
        key = type(node.type), value.dtype, value.tobytes()
        if key not in self._numbers:
            self._numbers[key] = out.append(node)
        return self._numbers[key]

    def wide(self, out: Graph, number: int, like: ArrayType, reader: Node) -> int:
        """A node in the shape of what reads it."""
        if out.type(number).shape == like.shape:
            return number
        key = number, like.shape
        if key not in self._wide:
            self._wide[key] = append_broadcast(out, number, like, reader.line)
        return self._wide[key]

    def place_body(self, out: Graph, node: Node) -> PlacedNode:
        """The body of a composite, recorded for operands of these types; a missing one is no
        input.
        """
        types = [None if i is None else out.type(i) for i in node.operands]
        body = composite_body(node.op, types, node.params)
        given = dict(zip(body.inputs, (i for i in node.operands if i is not None), strict=True))
        line = node.line
        if line is not None and not line.inside and not line.of:
            line = line._replace(inside=node.op.name)

        def place(out: Graph, each: Node) -> PlacedNode:
            return self.place(out, Node(each.op, each.operands, each.params, each.type, line))

        numbers = copy_into(out, body, given, place)
        outputs = tuple(single(numbers[i]) for i in body.returns)
        return outputs if isinstance(node.type, tuple) else outputs[0]

    def place_full(self, out: Graph, node: Node) -> PlacedNode:
        array_type, fill = node.type, node.params["fill_value"]
        assert isinstance(array_type, ArrayType)
        if isinstance(fill, Dim):
            params = {"dim": fill, "dtype": array_type.dtype}
            number = out.append(Node(op.size, (), params, array_type.with_shape(()), node.line))
        else:
            number = append_constant(out, np.full((), fill, array_type.dtype), node.line)
        return append_broadcast(out, number, array_type, node.line)


def _with_one_dtype(out: Graph, node: Node) -> Node:
    """The node with operands in the dtype of its result."""
    assert isinstance(node.type, ArrayType)
    dtype = node.type.dtype
    operands = []
    for i in node.operands:
        assert i is not None
        operand_type = out.type(i)
        if operand_type.dtype != dtype:
            cast = Node(
                op.astype, (i,), {"dtype": dtype}, operand_type.with_dtype(dtype), node.line
            )
            i = out.append(cast)
        operands.append(i)
    return node.reading(tuple(operands))
