"""Splice: the nodes of a graph in another one that is being recorded, once more for each call.

As `replay`, but nothing is asked of the ops again: where types are those the graph was recorded
for, its nodes are what would be recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.dims import has_dims
from wengert.core.graph import Graph
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.interpret.replay import replay
from wengert.interpret.trace import Trace


def spliced(graph: Graph, operands: Sequence[Value]) -> list[Value]:
    """The outputs of the graph for these values of its inputs.

    >>> import numpy as np
    >>> from wengert.core.text.show import read, show
    >>> from wengert.interpret.trace import trace_flat
    >>> square = read('graph(%0: float64[2] "x") { %1: float64[2] = multiply(%0, %0) return %1 }')
    >>> spliced(square, [np.array([2.0, 3.0])])
    [array([4., 9.])]
    >>> twice = lambda x: spliced(square, spliced(square, [x]))
    >>> print(show(trace_flat(twice, [ArrayType((2,), np.dtype("float64"))], ["x"])[0]))
    graph(%0: float64[2] "x") {
      %1: float64[2] = multiply(%0, %0)
      %2: float64[2] = multiply(%1, %1)
      return %2
    }
    """
    level = _recording(graph, operands)
    if level is None:
        return replay(graph, operands)
    numbers = {i: x.handle for i, x in zip(graph.inputs, operands, strict=True)}
    for number, node in enumerate(graph.nodes):
        if number in numbers:
            continue
        if node.op is op.constant:
            numbers[number] = level.lift(node.params["value"]).handle
        else:
            read = tuple([None if i is None else numbers[i] for i in node.operands])
            numbers[number] = level.graph.append(node.reading(read))
    return [level.tensor(numbers[i]) for i in graph.returns]


def _recording(graph: Graph, operands: Sequence[Value]) -> Trace | None:
    """The level that all operands are Tensors of, if these have the very types of the inputs."""
    levels = {id(x.level): x.level for x in operands if type(x) is Tensor}
    level = next(iter(levels.values()), None)
    if len(levels) != 1 or type(level) is not Trace:
        return None
    for i, x in zip(graph.inputs, operands, strict=True):
        wanted = graph.type(i)
        if type(x) is not Tensor or type(x.known) is not ArrayType or x.known != wanted:
            return None
        if has_dims(wanted.shape):
            return None
    return level
