"""Dead code: drop the nodes that no output needs, and number the others without gaps.

>>> from wengert.core.text.show import read, show
>>> graph = read('''
... graph(%0: float32[3] "x", %1: float32[3] "unused") {
...   %2: float32[3] = exp(%0)                                  # model.py:5
...   %3: float32[3] = tanh(%0)                                 # model.py:6
...   return %3
... }''')
>>> print(show(dce(graph)))
graph(%0: float32[3] "x", %1: float32[3] "unused") {
  %2: float32[3] = tanh(%0)                                 # model.py:6
  return %2
}

Inputs and parameters stay, because callers count on them; nodes that print stay, too. Loops,
branches and regions leave out outputs that nobody reads, as far as they can, and their bodies are
treated in the same way.
"""

from __future__ import annotations

from dataclasses import replace

from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.interpret.printing import prints
from wengert.passes.rebuild import with_bodies


def dce(graph: Graph) -> Graph:
    """The graph with only what its outputs need."""
    needed = _needed(graph)
    out = Graph()
    numbers: dict[int, int] = {}
    outputs: dict[int, list[int]] = {}  # number before -> its outputs that are left
    for number, node in enumerate(graph.nodes):
        if number not in needed:
            continue
        if node.op is op.pick and node.operands[0] in outputs:
            index = outputs[node.operands[0]].index(node.params["index"])
            node = replace(node, params={"index": index})
        elif node.op.narrow is not None:
            node, outputs[number] = _narrowed(node, needed[number])
        operands = tuple(None if i is None else numbers[i] for i in node.operands)
        numbers[number] = out.append(with_bodies(node, dce).reading(operands))
    out.inputs[:] = [numbers[i] for i in graph.inputs]
    out.returns[:] = [numbers[i] for i in graph.returns]
    return out


def _needed(graph: Graph) -> dict[int, set[int]]:
    """The nodes that are needed, and which of the outputs where one has several."""
    sources = [i for i, node in enumerate(graph.nodes) if node.op in (op.input, op.parameter)]
    printing = [i for i, node in enumerate(graph.nodes) if prints(node)]
    always = (*sources, *graph.inputs, *graph.returns, *printing)
    needed: dict[int, set[int]] = {i: set() for i in always}
    for number in reversed(range(len(graph.nodes))):
        node = graph.nodes[number]
        if number in needed:
            for i in node.operands:
                if i is not None:
                    read = needed.setdefault(i, set())
                    if node.op is op.pick:
                        read.add(node.params["index"])
    return needed


def _narrowed(node: Node, read: set[int]) -> tuple[Node, list[int]]:
    assert node.op.narrow is not None
    assert isinstance(node.type, tuple)
    params, kept = node.op.narrow(node.params, [i in read for i in range(len(node.type))])
    return replace(node, params=params, type=tuple(node.type[i] for i in kept)), kept
