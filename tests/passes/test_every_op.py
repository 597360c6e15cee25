"""Every op of the table, forward and differentiated, goes through every pass unchanged in value."""

from __future__ import annotations

from typing import Any

import numpy as np
from table.calls import (
    Call,
    awkward,
    calls,
    gradient_function,
    outputs,
    random_for,
    random_like,
    tangent_function,
)
from table.ops import differentiable, elementwise, has_samples, of_ops

from passes.checking import check_pass, check_passes, meaning, recorded
from wengert.core.graph import Graph
from wengert.passes.pipeline import EXACT


def primitives_only(graph: Graph) -> bool:
    bodies = all(primitives_only(body) for body in graph.subgraphs())
    return bodies and all(node.op.body is None for node in graph.nodes)


def forward(call: Call) -> tuple[Graph, list[Any]]:
    """The graph of a call, and its inputs."""
    given = [np.asarray(x) for x in call.operands if x is not None]

    def run(*xs: Any) -> Any:
        rest = iter(xs)
        return outputs(call(*(None if x is None else next(rest) for x in call.operands)))

    return recorded(run, given), given


@of_ops(has_samples)
def test_forward(op):
    for call in calls(op, "float32"):
        assert primitives_only(check_passes(EXACT, *forward(call)))


@of_ops(differentiable)
def test_gradient(op):
    for call in calls(op):
        if call.floats and (outs := call.function()(*call.primals)):
            derived = gradient_function(call.function(), len(call.primals))
            values = [*call.primals, *random_like(random_for(op, 1), outs)]
            graph = recorded(derived, values)
            assert primitives_only(check_passes(EXACT, graph, values))


@of_ops(lambda op: differentiable(op) and calls(op)[0].floats)
def test_tangent(op):
    call = calls(op)[0]
    derived = tangent_function(call.function(), len(call.primals))
    values = [*call.primals, *random_like(random_for(op, 1), call.primals)]
    graph = recorded(derived, values)
    assert primitives_only(check_passes(EXACT, graph, values))


@of_ops(lambda op: elementwise(op) and has_samples(op))
def test_awkward_numbers(op):
    call = awkward(op)
    operands = list(call.operands)
    graph = recorded(lambda *xs: outputs(call(*xs)), operands)
    check_passes(EXACT, graph, operands)


@of_ops(has_samples)
def test_every_pass_alone(op):
    """No pass needs another one before it."""
    graph, values = forward(calls(op)[-1])
    expected = meaning(graph, values)
    for each in EXACT:
        check_pass(each, graph, values, expected)
