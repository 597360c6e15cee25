"""What holds for every pass and every graph, and the evaluation that can see a changed bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from wengert.core.bind import bind
from wengert.core.check import check
from wengert.core.dims import substitute
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.text.show import show
from wengert.core.types import type_of
from wengert.interpret.replay import sizes_of
from wengert.interpret.trace import composite_body, node_type, trace_flat

Pass = Callable[[Graph], Graph]


def recorded(function: Callable[..., Any], values: Sequence[Any]) -> Graph:
    """A function of arrays as a graph."""
    names = [f"x{i}" for i in range(len(values))]
    return trace_flat(function, [type_of(x) for x in values], names)[0]


def meaning(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The outputs of a graph, whose bits depend on the elements of its inputs only.

    Composites are their bodies, without the shorter ways of eager calls; and every array is laid
    out row by row, as NumPy adds in an order that depends on memory.
    """
    with (
        np.errstate(all="ignore"),
        patch("wengert.ops.control_flow.scan.replay", _outputs),
        patch("wengert.ops.control_flow.while_loop.replay", _outputs),
        patch("wengert.ops.control_flow.control.replay", _outputs),
    ):
        return _outputs(graph, values)


def _outputs(graph: Graph, given: Sequence[Any], outer: Any = None) -> list[Any]:
    values: dict[int, Any] = dict(zip(graph.inputs, given, strict=True))
    sizes = sizes_of(graph, values)
    for number, node in enumerate(graph.nodes):
        if number not in values:
            operands = [None if i is None else values[i] for i in node.operands]
            values[number] = _row_by_row(_value(node, operands, sizes))
    return [values[number] for number in graph.returns]


def _value(node: Node, operands: list[Any], sizes: dict[str, Any]) -> Any:
    if node.op is op.pick:
        return operands[0][node.params["index"]]
    if node.op is op.constant:
        return node.params["value"]
    params = {name: substitute(each, sizes) for name, each in node.params.items()}
    if node.op.body is not None:
        types = [None if x is None else type_of(x) for x in operands]
        found = _outputs(
            composite_body(node.op, types, params), [x for x in operands if x is not None]
        )
        return tuple(found) if isinstance(node.type, tuple) else found[0]
    if node.op is op.power and np.unique(operands[1]).size == 1:
        operands[1] = operands[1].reshape(-1)[0, ...]  # one exponent: 2 is known to be a square
    return bind(node.op, operands, params)


def _row_by_row(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_row_by_row, value))
    return np.array(value, order="C")


def bits(x: Any) -> bytes:
    """The bits of an array; all NaNs are one."""
    x = np.array(x)
    if x.dtype.kind == "f":
        x[np.isnan(x)] = np.nan
    return x.tobytes()


def require_same_bits(found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    assert len(found) == len(expected), f"{what}: {len(found)} outputs, {len(expected)} before"
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert type_of(a) == type_of(b), f"{what}: output {i} is {type_of(a)}, was {type_of(b)}"
        assert bits(a) == bits(b), f"{what}: output {i} is\n{a!r}, was\n{b!r}"


def check_pass(each: Pass, graph: Graph, values: Sequence[Any], expected: Sequence[Any]) -> Graph:
    """A pass gives a graph by the rules, with the same value, and changes nothing at its second
    time; the graph it was given is as before.
    """
    before = _identities(graph)
    found = each(graph)
    text = show(found)
    what = f"{each.__name__} made\n{text}\n"
    assert _identities(graph) == before, f"{each.__name__} changed its argument"
    check(found, node_type)
    assert list(map(found.name, found.inputs)) == list(map(graph.name, graph.inputs)), what
    assert found.input_types() == graph.input_types(), what
    require_same_bits(meaning(found, values), expected, what)
    again = show(each(found))
    assert again == text, f"{what}\nand at its second time\n{again}"
    return found


def _identities(graph: Graph) -> tuple[Any, ...]:
    """What is in a graph and in its bodies, as objects: one that was exchanged is another."""
    nodes = [(id(n), *((name, id(x)) for name, x in n.params.items())) for n in graph.nodes]
    return nodes, [*graph.inputs], [*graph.returns], [*map(_identities, graph.subgraphs())]


def check_passes(passes: Sequence[Pass], graph: Graph, values: Sequence[Any]) -> Graph:
    """All passes one after the other."""
    expected = meaning(graph, values)
    for each in passes:
        graph = check_pass(each, graph, values, expected)
    return graph
