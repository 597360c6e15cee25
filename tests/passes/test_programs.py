"""Whole programs through all passes: gradients, loops, branches, regions, open sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sample_graphs
from programs import NUMPY_FUNCTIONS, OPEN_FUNCTIONS

import wengert as wg
from passes.checking import check_pass, check_passes, meaning, recorded
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.text.show import show
from wengert.core.types import type_of
from wengert.errors import CheckError
from wengert.passes.pipeline import EXACT, PIPELINE, run

rng = np.random.default_rng(7)
X, W = rng.uniform(0.5, 2.0, (4, 3)), rng.uniform(0.5, 2.0, (3, 3))


def inputs_of(graph: Graph, batch: int = 5) -> list[Any]:
    """Random inputs of a graph; its open size is `batch`."""
    shapes = [[n if isinstance(n, int) else batch for n in t.shape] for t in graph.input_types()]
    types = graph.input_types()
    return [rng.standard_normal(s).astype(t.dtype) for s, t in zip(shapes, types, strict=True)]


@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
def test_numpy_programs(name):
    check_passes(EXACT, wg.trace(NUMPY_FUNCTIONS[name], X, W), [X, W])


@pytest.mark.parametrize("name", OPEN_FUNCTIONS)
def test_open_sizes(name):
    graph = wg.trace(OPEN_FUNCTIONS[name], np.ones((4, 6)), dims={"x": {0: wg.Dim("batch")}})
    values = inputs_of(graph)
    check_passes(EXACT, graph, values)


@pytest.mark.parametrize("make", [sample_graphs.mlp, sample_graphs.mlp_gradient])
def test_networks(make):
    graph = make()
    found = check_passes(EXACT, graph, inputs_of(graph))
    assert len(found) <= len(run(graph, PIPELINE[:1]))


def step(h: Any, x: Any) -> Any:
    h = wg.tanh(h * 2.0 + x)
    return h, (wg.softmax(h), wg.mean(x))


def loop(x: Any) -> Any:
    last, (ys, means) = wg.scan(step, wg.zeros(3), x)
    return wg.sum(ys * ys) + wg.sum(last) + means[-1]


def branch(x: Any) -> Any:
    return wg.cond(wg.sum(x) > 0, lambda x: wg.sum(wg.silu(x)), lambda x: wg.sum(x * x), x)


def region(x: Any) -> Any:
    inner = wg.checkpoint(lambda x: wg.gelu(wg.layer_norm(x)) + wg.exp(x))
    return wg.sum(inner(inner(x)) * wg.exp(x))


BODIES = {"loop": loop, "branch": branch, "region": region}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(name):
    f = BODIES[name]
    check_passes(EXACT, recorded(lambda x: [f(x)], [X]), [X])
    check_passes(EXACT, recorded(lambda x: [*wg.value_and_grad(f)(x)], [X]), [X])
    once = wg.grad(lambda x: wg.sum(wg.sin(wg.grad(f)(x))))
    check_passes(EXACT, recorded(lambda x: [once(x)], [X]), [X])


def test_loops():
    graph = sample_graphs.loops()
    check_passes(EXACT, graph, inputs_of(graph))


def test_what_a_region_recomputes_stays_recomputed():
    """exp is needed outside, in the region and again in the region of its gradient."""

    def f(x: Any) -> Any:
        return wg.sum(wg.checkpoint(lambda x: wg.sin(wg.exp(x)))(x) * wg.exp(x))

    found = run(recorded(lambda x: [*wg.value_and_grad(f)(x)], [X]), check=True)

    def count(graph: Graph) -> list[int]:
        own = sum(node.op is op.exp for node in graph.nodes)
        return [own, *(n for body in graph.subgraphs() for n in count(body))]

    assert count(found) == [1, 1, 1]


def test_grad_with_loss():
    g = wg.Graph()
    x, w = g.input(X, name="x"), g.parameter(W, name="w")
    g.set_outputs(g.mean(g.softmax(g.matmul(x, w))))
    graph = wg.grad_with_loss(g, [w])
    named = {"x": X, "w": W, "d_output": np.array(2.0)}
    check_passes(EXACT, graph, [named[graph.name(number)] for number in graph.inputs])


def test_a_gradient_loses_its_noise():
    """Cotangents of one, broadcasts of them and products with them are gone."""
    graph = recorded(lambda x: [wg.grad(lambda x: wg.sum(x * x))(x)], [X])
    text = show(run(graph, check=True), lines=False)
    assert text == (
        'graph(%0: float64[4, 3] "x0") {\n  %1: float64[4, 3] = add(%0, %0)\n  return %1\n}'
    )


# Passes that do wrong are noticed.


def changing(graph: Graph) -> Graph:
    graph.nodes.append(graph.nodes[-1])
    return graph


def growing(graph: Graph) -> Graph:
    return Graph([*graph.nodes, graph.nodes[-1]], [*graph.inputs], [*graph.returns])


def losing_an_input(graph: Graph) -> Graph:
    return Graph([*graph.nodes], graph.inputs[:1], [*graph.returns])


def lying(graph: Graph) -> Graph:
    nodes = [*graph.nodes]
    nodes[-1] = replace(nodes[-1], type=type_of(np.ones(7)))
    return Graph(nodes, [*graph.inputs], [*graph.returns])


def turning(graph: Graph) -> Graph:
    out = Graph([*graph.nodes], [*graph.inputs])
    last = graph.returns[0]
    out.returns.append(out.append(Node(op.abs, (last,), {}, graph.nodes[last].type)))
    return out


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (changing, "changed its argument"),
        (growing, "at its second time"),
        (losing_an_input, "not listed among"),
        (lying, "its rule gives"),
        (turning, "output 0 is"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_wrong_pass_is_caught(wrong, says):
    values = [np.array([-0.0, 1.0]), np.array([2.0, 3.0])]
    graph = recorded(lambda x, y: [x * y], values)
    with pytest.raises((AssertionError, CheckError), match=says):
        check_pass(wrong, graph, values, meaning(graph, values))


def test_run_checks_each_result():
    graph = recorded(lambda x: [x * x], [X])
    with pytest.raises(CheckError, match="its rule gives"):
        run(graph, (lying, *PIPELINE), check=True)
