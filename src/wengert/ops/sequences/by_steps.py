"""Derivatives of an op with a kernel, from a function that computes the same with other ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from wengert.core.graph import Graph
from wengert.core.op import Jvp, Vjp
from wengert.core.table import op
from wengert.core.types import ArrayType, Value, type_of
from wengert.interpret.bodies.body import filled, gradient_of, scatter, tangent_of
from wengert.interpret.trace import trace_flat

BySteps: TypeAlias = Callable[..., Sequence[Any]]  # operands, all of them floats -> outputs


@lru_cache(maxsize=64)
def _graph(run: BySteps, types: tuple[ArrayType, ...]) -> Graph:
    return trace_flat(run, types, [f"x{i}" for i in range(len(types))])[0]


def vjp_by_steps(run: BySteps) -> Vjp:
    """By the gradient of the function's graph, recomputed as a region."""

    def rule(
        g: Any, out: Any, operands: Sequence[Value], params: Any, wanted: Sequence[bool]
    ) -> Sequence[Value]:
        graph = _graph(run, tuple(type_of(x) for x in operands))
        gs, want = filled(g, graph.output_types()), tuple(wanted)
        body = gradient_of(graph, want)
        return scatter(op.region.rebind([*operands, *gs], {"body": body}), want)

    return rule


def jvp_by_steps(run: BySteps) -> Jvp:
    """By the tangent of the function's graph, as a region."""

    def rule(
        tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: Any
    ) -> Sequence[Value]:
        graph = _graph(run, tuple(type_of(x) for x in operands))
        ds = filled(tangents, graph.input_types())
        d_outs: Sequence[Value] = op.region.rebind([*operands, *ds], {"body": tangent_of(graph)})
        return d_outs

    return rule
