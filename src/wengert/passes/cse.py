"""Common subexpressions: equal nodes become one, the first.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[3] "x", %1: float32[3] "y") {
...   %2: float32[3] = multiply(%0, %1)                         # model.py:5
...   %3: float32[3] = multiply(%1, %0)                         # model.py:6
...   %4: float32[3] = subtract(%2, %3)                         # model.py:7
...   return %4
... }''')
>>> print(show(cse(graph)))
graph(%0: float32[3] "x", %1: float32[3] "y") {
  %2: float32[3] = multiply(%0, %1)                         # model.py:5
  %3: float32[3] = subtract(%2, %2)                         # model.py:7
  return %3
}

Nodes are equal if op, operands and parameters are, arrays and numbers by their bits. Swapped
operands count as equal where the op is commutative and exact: the larger of -0.0 and 0.0, say,
depends on which comes first. Of folds that differ only in `keepdims`, the second is a reshape of
the first. Random numbers with different keys have different operands. Each body is treated by
itself: nothing is merged across the border of a loop, a branch or a region.

A single number behind a `boundary` is read from before it, if it was computed there, too. So an
update does not go over a gradient for a norm that a proof has needed already.

>>> graph = read('''
... graph(%0: float32[3] "w", %1: float32[3] "g", %2: bool[] "safe") {
...   %3: float32[] = max(%1, axes=(0,), keepdims=False)
...   %4: float32[3] = boundary(%1, %2)
...   %5: float32[] = max(%4, axes=(0,), keepdims=False)
...   %6: float32[3] = multiply(%0, %5)
...   return %6, %3
... }''')
>>> print(show(cse(graph)))
graph(%0: float32[3] "w", %1: float32[3] "g", %2: bool[] "safe") {
  %3: float32[] = max(%1, axes=(0,), keepdims=False)
  %4: float32[3] = boundary(%1, %2)
  %5: float32[3] = multiply(%0, %3)
  return %5, %3
}
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType, Type
from wengert.interpret.printing import prints
from wengert.passes.rebuild import PlacedNode, rebuild, with_bodies


def cse(graph: Graph) -> Graph:
    """The graph without repetitions, its bodies too."""
    first: dict[Any, int] = {}
    before: dict[int, int] = {}  # of nodes behind a boundary: those before it with the same numbers

    def place(out: Graph, node: Node) -> PlacedNode:
        node = with_bodies(node, cse)
        key = _key(node)
        if key is None:
            return out.append(node)
        number = first.setdefault(key, len(out.nodes))
        if number == len(out.nodes):
            twin = _twin(out, node, first, before)
            if twin is not None and not out.type(twin).shape:
                first[key] = twin
                return twin
            if twin is not None:
                before[number] = twin
            return out.append(node)
        if out.nodes[number].type == node.type or not isinstance(node.type, ArrayType):
            return number
        params = {"shape": node.type.shape}
        return place(out, Node(op.reshape, (number,), params, node.type, node.line))

    return rebuild(graph, place)


def _twin(out: Graph, node: Node, first: dict[Any, int], before: dict[int, int]) -> int | None:
    """The node before a boundary with the numbers of this one, which is behind it; `before` has
    those of its operands.
    """
    if node.op is op.boundary:
        return node.operands[0]
    if before.keys().isdisjoint(node.operands):
        return None
    operands = tuple(None if i is None else before.get(i, i) for i in node.operands)
    number = first.get(_key(node.reading(operands)))
    return number if number is not None and out.nodes[number].type == node.type else None


def _key(node: Node) -> Any:
    """What equal nodes have in common; None for a node that is equal to no other."""
    if node.op in (op.input, op.parameter) or prints(node):
        return None
    params: Any = ()
    if node.params:
        params = frozen({k: value for k, value in node.params.items() if k != "keepdims"})
    key = (node.op, _operands(node), _elements(node.type), params)
    try:
        hash(key)
    except TypeError:
        return None  # a parameter that cannot be compared
    return key


def _elements(result_type: Type) -> Any:
    """A type without its axes of size 1, which `keepdims` leaves."""
    if isinstance(result_type, tuple):
        return result_type
    shape = result_type.shape
    return tuple(size for size in shape if size != 1) if 1 in shape else shape, result_type.dtype


def _operands(node: Node) -> tuple[Any, ...]:
    if not node.op.commutative or not node.op.exact:
        return node.operands
    numbers = [i for i in node.operands if i is not None]
    return tuple(sorted(numbers)) if len(numbers) == len(node.operands) else node.operands


def frozen(value: Any) -> Any:
    """A parameter as something that is equal only where every bit is; 0.0 == -0.0 is not enough."""
    if isinstance(value, dict):
        return tuple((name, frozen(each)) for name, each in sorted(value.items()))
    if isinstance(value, tuple):
        return (type(value), *map(frozen, value))
    if isinstance(value, np.ndarray | np.generic):
        return (type(value), value.dtype, value.shape, value.tobytes())
    if isinstance(value, float):
        return (float, value.hex())
    if isinstance(value, slice):
        return (slice, *map(frozen, (value.start, value.stop, value.step)))
    if isinstance(value, Graph):
        return (Graph, *_frozen_graph(value))
    return (type(value), value)  # 1 == True


def _frozen_graph(graph: Graph) -> tuple[Any, ...]:
    nodes = tuple((n.op, n.operands, n.type, frozen(n.params)) for n in graph.nodes)
    return nodes, tuple(graph.inputs), tuple(graph.returns)
