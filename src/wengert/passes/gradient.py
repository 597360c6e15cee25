"""Gradient: append to a graph the nodes that compute the cotangents of some of its nodes.

Before, with wrt = [%1]:            after, where %3 is the cotangent of the loss %2:

    %0 = input "x"                      %0 … %2 as before
    %1 = parameter "w"                  %3 = input "d_output"
    %2 = multiply(%0, %1)               %4 = pull(%3, %0)
    return %2                           return %2, %4
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core.bind import opened, recording
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.core.words.source import attribute
from wengert.interpret.tape import Tape
from wengert.interpret.trace import Trace, node_type


def prepare(graph: Graph) -> list[Node]:
    """The nodes of a graph that will be differentiated: loops save what their way back reads."""
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.op.saving is not None:
            params = node.op.saving(node.params)
            types = [None if i is None else graph.type(i) for i in node.operands]
            result_type = node_type(node.op, types, params)
            node = Node(node.op, node.operands, params, result_type, node.line)
        nodes.append(node)
    return nodes


def gradient(
    level: Trace, source: Graph, loss: int, g: Tensor, wrt: Sequence[int]
) -> list[Tensor | None]:
    """Record the cotangents of the nodes `wrt`, given that of `loss`; None where none flows.

    The graph of `level` begins with the prepared nodes of `source`.
    """
    with recording(level):
        return _gradient(level, source, loss, g, wrt)


def _gradient(
    level: Trace, source: Graph, loss: int, g: Tensor, wrt: Sequence[int]
) -> list[Tensor | None]:
    tape = Tape()
    with opened(tape):
        values = _onto_tape(tape, level, source, loss, frozenset(wrt))
    slots = {n: values[n].handle for n in wrt if n <= loss and _on(tape, values[n])}
    if not _on(tape, values[loss]):
        return [None] * len(wrt)
    numbers = list(slots)
    swept = tape.sweep({values[loss].handle: g}, [slots[n] for n in numbers])
    cotangents = dict(zip(numbers, swept, strict=True))
    return [cotangents.get(n) for n in wrt]


def _on(tape: Tape, value: Value) -> bool:
    return type(value) is Tensor and value.level is tape


def _onto_tape(
    tape: Tape, level: Trace, source: Graph, loss: int, wrt: frozenset[int]
) -> list[Value]:
    """The nodes up to the loss as values on a tape, without recording again what the graph has."""
    graph = level.graph
    picks = {
        (node.operands[0], node.params["index"]): number
        for number, node in enumerate(graph.nodes)
        if node.op is op.pick
    }
    values: list[Any] = []
    for number in range(loss + 1):
        node = graph.nodes[number]
        operands: list[Any] = [None if i is None else values[i] for i in node.operands]
        if node.op is op.pick:
            value = (
                operands[0][node.params["index"]] if isinstance(operands[0], tuple) else operands[0]
            )
        elif not any(_on(tape, x) for x in operands):
            value = _value(level, number, picks)
        elif node.op.inlined(source.nodes[number].params, node.op.vjp):
            before = attribute(node.line)
            value = tape.process(node.op, operands, source.nodes[number].params)
            attribute(before)
        elif node.op.flat:
            value = level.tensor(number)
        else:
            below = [x._value if _on(tape, x) else x for x in operands]
            sources: list[int | None] = [x.handle if _on(tape, x) else None for x in operands]
            value = tape.record(node.op, node.params, below, sources, _value(level, number, picks))
        if number in wrt and not _on(tape, value):
            value = tape.watch(value)
        values.append(value)
    return values


def _value(level: Trace, number: int, picks: dict[tuple[int | None, int], int]) -> Value:
    """A node as a Tensor of the graph; one with several outputs as a tuple of its picks."""
    graph = level.graph
    node = graph.nodes[number]
    if isinstance(node.type, ArrayType):
        return level.tensor(number)
    for i, each in enumerate(node.type):
        if (number, i) not in picks:
            pick = Node(op.pick, (number,), {"index": i}, each, node.line)
            picks[number, i] = graph.append(pick)
    return tuple(level.tensor(picks[number, i]) for i in range(len(node.type)))
