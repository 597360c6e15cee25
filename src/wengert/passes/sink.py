"""Sink: what only a loop reads, element by element, is computed inside the loop.

An array over time that feeds a loop would be written to memory as a whole and read back step by
step. Where an elementwise node makes it, each step computes its own part.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[5, 3] "x", %1: float32[3] "c") {
...   %2: float32[5, 3] = tanh(%0)
...   %3: (float32[3]) = scan(%1, %2, body=@b, consts=0, carry=1, length=5, reverse=False,
...     save=False) {
...     b = graph(%0: float32[3] "c", %1: float32[3] "x") {
...       %2: float32[3] = add(%0, %1)
...       return %2
...     }
...   }
...   %4: float32[3] = pick(%3, index=0)
...   return %4
... }''')
>>> scan = sink(graph).nodes[3]
>>> scan.operands
(1, 0)
>>> print(show(scan.params["body"]))
graph(%0: float32[3] "c", %1: float32[3] "n0") {
  %2: float32[3] = tanh(%1)
  %3: float32[3] = add(%0, %2)
  return %3
}
"""

from __future__ import annotations

from dataclasses import replace

from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.passes.rebuild import (
    append_broadcast,
    append_constant,
    copy_into,
    has_bodies,
    single,
    with_bodies,
)


def sink(graph: Graph) -> Graph:
    """The graph with producers inside the loops that alone read them, its bodies too."""
    if not has_bodies(graph):
        return graph
    nodes = [with_bodies(node, sink) for node in graph.nodes]
    out = Graph(nodes, [*graph.inputs], [*graph.returns])
    readers = _readers(out)
    for number, node in enumerate(nodes):
        if node.op is op.scan:
            nodes[number] = _Loop(out, readers, number).sunk()
    return out


def _readers(graph: Graph) -> list[set[int]]:
    """Which nodes read each node; an output counts as read from outside, by -1."""
    readers: list[set[int]] = [set() for _ in graph.nodes]
    for number, node in enumerate(graph.nodes):
        for i in node.operands:
            if i is not None:
                readers[i].add(number)
    for number in graph.returns:
        readers[number].add(-1)
    return readers


class _Loop:
    """One scan, while producers move into it."""

    def __init__(self, graph: Graph, readers: list[set[int]], number: int) -> None:
        self.graph, self.readers, self.number = graph, readers, number
        self.node = graph.nodes[number]
        operands = [i for i in self.node.operands if i is not None]
        begin = self.node.params["consts"]
        end = begin + self.node.params["carry"]
        self.consts, self.carry = operands[:begin], operands[begin:end]
        inputs = len(self.node.params["body"].inputs)
        self.xs, self.taken = operands[end:inputs], operands[inputs:]

    def sunk(self) -> Node:
        """The loop with everything inside that can be."""
        while (number := next((i for i in self.xs if self.can_sink(i)), None)) is not None:
            self.take_in(number)
        return self.node

    def can_sink(self, number: int) -> bool:
        node = self.graph.nodes[number]
        elementwise = isinstance(node.op.lower, Elementwise)
        if not elementwise or None in node.operands or self.readers[number] != {self.number}:
            return False
        if number in (*self.consts, *self.carry, *self.taken):
            return False
        return all(self.is_stacked(i) or self.is_fixed(i, node) for i in node.operands)

    def is_fixed(self, number: int | None, reader: Node) -> bool:
        """Whether an operand is the same in every step: an array without the axis of time."""
        assert number is not None
        node = self.graph.nodes[number]
        if node.op is not op.broadcast_to or node.operands[0] is None:
            return False
        assert isinstance(reader.type, ArrayType)
        return self.graph.type(node.operands[0]).ndim < reader.type.ndim

    def is_stacked(self, number: int | None) -> bool:
        assert number is not None
        return self.graph.nodes[number].op not in (op.broadcast_to, op.constant)

    def take_in(self, number: int) -> None:
        """Compute one of the xs in every step."""
        producer, body = self.graph.nodes[number], self.node.params["body"]
        out = Graph()
        count = len(self.consts) + len(self.carry)
        kept = [i for i in range(len(body.inputs)) if i < count or self.xs[i - count] != number]
        given = {body.inputs[i]: out.append(body.nodes[body.inputs[i]]) for i in kept}
        inputs = [given[body.inputs[i]] for i in kept]
        consts = inputs[: len(self.consts)]
        carry, xs = inputs[len(consts) : count], inputs[count:]
        self.xs = [i for i in self.xs if i != number]
        operands = []
        assert isinstance(producer.type, ArrayType)
        step_type = producer.type.with_shape(producer.type.shape[1:])
        for i in producer.operands:
            assert i is not None
            self.readers[i].discard(number)
            self.readers[i].add(self.number)
            if self.is_fixed(i, producer):
                operands.append(self.fixed(out, i, step_type, consts))
            else:
                operands.append(self.stacked(out, i, xs))
        made = out.append(replace(producer, operands=tuple(operands), type=step_type))
        for position, i in enumerate(body.inputs):
            if position not in kept:
                given[i] = made
        numbers = copy_into(out, body, given, lambda graph, node: graph.append(node))
        out.inputs[:] = [*consts, *carry, *xs]
        out.returns[:] = [single(numbers[i]) for i in body.returns]
        params = self.node.params | {"body": out, "consts": len(consts)}
        operand_numbers = (*self.consts, *self.carry, *self.xs, *self.taken)
        self.node = replace(self.node, operands=operand_numbers, params=params)

    def fixed(self, out: Graph, number: int, like: ArrayType, consts: list[int]) -> int:
        """An operand that is the same in every step, inside the body."""
        (source,) = self.graph.nodes[number].operands
        assert source is not None
        node, source_type = self.graph.nodes[source], self.graph.type(source)
        wide = ArrayType(like.shape, source_type.dtype)
        if node.op is op.constant and source_type.ndim == 0:
            return append_broadcast(
                out, append_constant(out, node.params["value"], node.line), wide, node.line
            )
        self.consts.append(source)
        self.readers[source].add(self.number)
        consts.append(_input(out, source, source_type))
        return append_broadcast(out, consts[-1], wide, node.line)

    def stacked(self, out: Graph, number: int, xs: list[int]) -> int:
        """An operand over time, inside the body: one of the xs."""
        if number in self.xs:
            return xs[self.xs.index(number)]
        array_type = self.graph.type(number)
        self.xs.append(number)
        xs.append(_input(out, number, array_type.with_shape(array_type.shape[1:])))
        return xs[-1]


def _input(out: Graph, number: int, array_type: ArrayType) -> int:
    """A new input, named after the node outside whose value it takes."""
    taken = {node.params.get("name") for node in out.nodes if node.op is op.input}
    name = f"n{number}"
    while name in taken:
        name += "_"
    return out.append(Node(op.input, (), {"name": name, "type": array_type}, array_type))
