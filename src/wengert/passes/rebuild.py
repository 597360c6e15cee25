"""Rebuild: write a graph anew, node by node, while a pass decides what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType, type_of
from wengert.core.words.source import Line

# Where a node went: its number, or those of its outputs where no node has them together any more.
PlacedNode: TypeAlias = int | tuple[int, ...]
# (the new graph, a node whose operands are numbers there) -> where it is placed
PlaceNode: TypeAlias = Callable[[Graph, Node], PlacedNode]


def rebuild(graph: Graph, place: PlaceNode) -> Graph:
    """The graph with each node where `place` puts it.

    >>> from wengert.core.text.show import read
    >>> graph = read('graph(%0: float32[3] "x") { %1: float32[3] = tanh(%0) return %1 }')
    >>> copy = rebuild(graph, lambda out, node: out.append(node))
    >>> copy is graph, copy.nodes == graph.nodes
    (False, True)
    """
    out = Graph()
    numbers = copy_into(out, graph, {}, place)
    out.inputs[:] = [single(numbers[i]) for i in graph.inputs]
    out.returns[:] = [single(numbers[i]) for i in graph.returns]
    return out


def copy_into(
    out: Graph, graph: Graph, given: Mapping[int, int], place: PlaceNode
) -> list[PlacedNode]:
    """Place the nodes of `graph` in `out`, which has the `given` ones; where each of them is."""
    numbers: list[PlacedNode] = []
    pick = op.pick
    for number, node in enumerate(graph.nodes):
        if number in given:
            numbers.append(given[number])
            continue
        if node.op is pick:
            source = node.operands[0]
            assert source is not None
            outputs = numbers[source]
            if isinstance(outputs, tuple):
                numbers.append(outputs[node.params["index"]])
                continue
        if node.operands:
            operands = [None if i is None else numbers[i] for i in node.operands]
            assert tuple not in map(type, operands), f"{node.op.name}: reads several outputs as one"
            node = node.reading(cast("tuple[int | None, ...]", tuple(operands)))
        numbers.append(place(out, node))
    return numbers


def single(placed: PlacedNode) -> int:
    assert isinstance(placed, int)
    return placed


def with_bodies(node: Node, change: Callable[[Graph], Graph]) -> Node:
    """The node with every graph among its parameters changed."""

    if not node.params or not any(map(_holds_graph, node.params.values())):
        return node

    def changed(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(changed, value))
        return change(value) if isinstance(value, Graph) else value

    return replace(node, params={name: changed(value) for name, value in node.params.items()})


def has_bodies(graph: Graph) -> bool:
    """Whether any node of a graph has graphs among its parameters."""
    return any(any(map(_holds_graph, each.params.values())) for each in graph.nodes if each.params)


def _holds_graph(value: Any) -> bool:
    return isinstance(value, Graph) or (type(value) is tuple and any(map(_holds_graph, value)))


def append_constant(out: Graph, value: Any, line: Line | None) -> int:
    """A new constant; the array is copied and never written again."""
    array = np.array(value, order="C")
    array.flags.writeable = False
    return out.append(Node(op.constant, (), {"value": array}, type_of(array), line))


def append_broadcast(out: Graph, number: int, like: ArrayType, line: Line | None) -> int:
    """The node in this shape: itself where it has that already."""
    array_type = out.type(number)
    if array_type.shape == like.shape:
        return number
    params = {"shape": like.shape}
    return out.append(
        Node(op.broadcast_to, (number,), params, array_type.with_shape(like.shape), line)
    )
