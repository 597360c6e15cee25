"""Replay: run the nodes of a graph again, on arrays or on the Tensors of any level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from wengert.core.bind import at_line, bind
from wengert.core.dims import Size, solve, substitute
from wengert.core.graph import Graph, Node
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import attribute, attributed
from wengert.errors import ShapeError

# Sizes known to the program around a body, for Dims that none of the body's inputs carries.
_outer_sizes = Meanwhile[dict[str, Size]]()


def replay(graph: Graph, operands: Sequence[Value]) -> list[Value]:
    """The outputs of the graph for these values of its inputs."""
    values = replay_all(graph, dict(zip(graph.inputs, operands, strict=True)))
    return [values[number] for number in graph.returns]


def apart(values: Iterable[Value], operands: Sequence[Value]) -> list[Value]:
    """The values, those that share memory with an operand as copies: a body may return what it was
    given, and what a call returns is the caller's own.
    """
    arrays = [x for x in operands if type(x) is np.ndarray]
    return [np.array(x) if _shares(x, arrays) else x for x in values]


def _shares(x: Value, arrays: Sequence[Value]) -> bool:
    return type(x) is np.ndarray and any(np.may_share_memory(x, each) for each in arrays)


def replay_all(graph: Graph, given: dict[int, Value]) -> list[Value]:
    """The value of every node, where those of some nodes (all the inputs) are given."""
    with inside(sizes_of(graph, given, _outer_sizes.value or {})) as sizes:
        values: list[Value] = []
        traced = any(type(x) is Tensor for x in given.values())
        before = attributed()
        try:
            for number, node in enumerate(graph.nodes):
                if traced:  # what is recorded anew belongs to the line it was written in
                    attribute(node.line or before)
                values.append(given[number] if number in given else run_node(node, values, sizes))
        finally:
            attribute(before)
        return values


def inside(sizes: dict[str, Size]) -> AbstractContextManager[dict[str, Size]]:
    """While a program runs: the sizes it has, which its bodies may need too."""
    return _outer_sizes.said(sizes)


def run_node(
    node: Node, values: Sequence[Value] | Mapping[int, Value], sizes: dict[str, Size]
) -> Value:
    """The value of one node, from the values of earlier ones."""
    if node.op is op.pick:
        # A pick has one operand, which has several outputs.
        return values[node.operands[0]][node.params["index"]]  # type: ignore[index]
    if node.op is op.constant:
        return node.params["value"]
    params = node.params
    if sizes and node.op.sized:
        params = {name: substitute(value, sizes) for name, value in params.items()}
    operands = [None if i is None else values[i] for i in node.operands]
    try:
        if not _is_of_derivative(node):
            return bind(node.op, operands, params)
        with np.errstate(all="ignore"):  # of what a where masks, as on a tape
            return bind(node.op, operands, params)
    except Exception as error:
        clearer = at_line(error, node.line)
        if clearer is error:
            raise
        raise clearer from None


def _is_of_derivative(node: Node) -> bool:
    backward = node.line is not None and node.line.phase != "forward"
    return backward or node.op is op.pull or node.op is op.couple


def sizes_of(
    graph: Graph, given: dict[int, Value], outer: dict[str, Size] | None = None
) -> dict[str, Size]:
    """What the given inputs, and the program around the graph, say about its Dims."""
    sizes = dict(outer or {})
    pairs = [
        (number, graph.type(number).shape, tuple(given[number].shape))
        for number in graph.inputs
        if number in given
    ]
    different = [(number, want, have) for number, want, have in pairs if want != have]
    for _number, want, have in different:
        solve(want, have, sizes)
    for number, want, have in different:
        if substitute(want, sizes) != have:
            raise ShapeError(
                f"{graph.name(number)}: given shape {have}; the graph was made for {want}"
                f"{_so_far(sizes)}. Pass an array of that shape."
            )
    return sizes


def _so_far(sizes: dict[str, Any]) -> str:
    return f" with {', '.join(f'{name}={size}' for name, size in sizes.items())}" if sizes else ""
