"""Flatten: the last changes to a graph before its nodes become kernels.

Regions dissolve into their nodes, which stay marked as belonging together. Every output is then a
node of its own that no input or other output shares, and nodes stand where they are first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.codegen.kernel import Program
from wengert.codegen.options import Options
from wengert.codegen.views import own_view
from wengert.core.graph import Graph, Node
from wengert.core.lowering import Elementwise, Formula, Source, View, can_fail
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.interpret.printing import prints
from wengert.passes.rebuild import PlacedNode, copy_into, single


def is_given(node: Node) -> bool:
    """Whether no kernel computes a node: it is there before, or computed wherever it is read."""
    return isinstance(node.op.lower, Source | Formula)


def flatten(graph: Graph, _options: Options) -> Program:
    """The graph without regions, in the order of demand, as a program that has no kernels yet.

    >>> from wengert.codegen.kernel_text.kernel_show import show
    >>> from wengert.core.text.show import read
    >>> graph = read('''
    ... graph(%0: float32[3] "x", %1: float32[3] "y") {
    ...   %2: float32[3] = exp(%1)
    ...   %3: (float32[3],) = region(%0, body=@body) {
    ...     body = graph(%0: float32[3] "x") {
    ...       %1: float32[3] = tanh(%0)
    ...       return %1
    ...     }
    ...   }
    ...   %4: float32[3] = pick(%3, index=0)
    ...   return %4, %4, %2
    ... }''')
    >>> print(show(flatten(graph, Options())))
    program(%0: float32[3] "x", %1: float32[3] "y") {
      %2: float32[3] = tanh(%0) region 1
      %3: float32[3] = stop_gradient(%2)
      %4: float32[3] = exp(%1)
      return %2, %3, %4
    }
    """
    flat, regions = _dissolved(graph)
    _copy_shared_outputs(flat, regions)
    return without_kernels(*_by_demand(flat, regions))


def without_kernels(graph: Graph, regions: Sequence[int]) -> Program:
    """A program before fusion: every node has an array of its own, which no kernel computes yet."""
    own = {number: own_view(number, node) for number, node in enumerate(graph.nodes)}
    views = {number: view for number, view in own.items() if view is not None}
    return Program(graph, tuple(regions), views=views)


class _Dissolve:
    def __init__(self) -> None:
        self.out = Graph()
        self.regions: list[int] = []
        self.count = 0

    def place(self, region: int) -> Any:
        def place(out: Graph, node: Node) -> PlacedNode:
            if node.op is op.region:
                self.count += 1
                body: Graph = node.params["body"]
                operands = [i for i in node.operands if i is not None]
                given = dict(zip(body.inputs, operands, strict=True))
                numbers = copy_into(out, body, given, self.place(self.count))
                return tuple(single(numbers[i]) for i in body.returns)
            self.regions.append(region)
            return out.append(node)

        return place


def _dissolved(graph: Graph) -> tuple[Graph, list[int]]:
    dissolve = _Dissolve()
    out = dissolve.out
    numbers = copy_into(out, graph, {}, dissolve.place(0))
    out.inputs[:] = [single(numbers[i]) for i in graph.inputs]
    out.returns[:] = [single(numbers[i]) for i in graph.returns]
    return out, dissolve.regions


def _copy_shared_outputs(graph: Graph, regions: list[int]) -> None:
    """Outputs that are inputs, constants, views or returned twice become copies."""
    seen: set[int] = set()
    for position, number in enumerate(graph.returns):
        node = graph.nodes[number]
        own = not isinstance(node.op.lower, View) and not is_given(node)
        if not own or number in seen:
            copy = Node(op.stop_gradient, (number,), {}, node.type, node.line)
            number = graph.append(copy)
            regions.append(0)
            graph.returns[position] = number
        seen.add(number)


def _by_demand(graph: Graph, regions: Sequence[int]) -> tuple[Graph, list[int]]:
    """Operands right before what reads them first, from the first output to the last. What prints
    comes before these, in the order of the program: then kernels can run in that order. Numbers
    that arrays are computed with come first of all.
    """
    out, regions_by_demand = Graph(), []
    first = _early_numbers(graph, regions)
    numbers: dict[int, int] = {}
    printing = [number for number, node in enumerate(graph.nodes) if prints(node)]
    for start in (*graph.inputs, *first, *printing, *graph.returns):
        stack = [start]
        while stack:
            number = stack[-1]
            if number in numbers:
                stack.pop()
                continue
            node = graph.nodes[number]
            missing = [i for i in node.operands if i is not None and i not in numbers]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            operands = tuple(None if i is None else numbers[i] for i in node.operands)
            numbers[number] = out.append(node.reading(operands))
            regions_by_demand.append(regions[number])
    out.inputs[:] = [numbers[i] for i in graph.inputs]
    out.returns[:] = [numbers[i] for i in graph.returns]
    return out, regions_by_demand


def _early_numbers(graph: Graph, regions: Sequence[int]) -> list[int]:
    """Single numbers made of arguments that arrays are computed with. Where such a number is first
    needed, it would stand between two kernels that could be one.
    """
    plain: set[int] = set()
    numbers: set[int] = set()
    shown: dict[int, int] = {}  # views, and whose elements they show
    early: dict[int, None] = {}
    for number, node in enumerate(graph.nodes):
        operands = [shown.get(i, i) for i in node.operands if i is not None]
        if isinstance(node.op.lower, View) and operands:
            shown[number] = operands[0]
        elif is_given(node):
            plain.add(number)
        elif _is_early_number(node) and regions[number] == 0 and plain.issuperset(operands):
            plain.add(number)
            numbers.add(number)
        elif not isinstance(node.type, ArrayType) or node.type.shape:
            early |= dict.fromkeys(i for i in operands if i in numbers)
    return list(early)


def _is_early_number(node: Node) -> bool:
    lower, kind = node.op.lower, node.type
    if not isinstance(lower, Elementwise) or not isinstance(kind, ArrayType) or kind.shape:
        return False
    return not can_fail(lower, kind.dtype)
