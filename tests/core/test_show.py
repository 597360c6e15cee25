"""Graphs as text: what a person sees, and that it reads back equal."""

from dataclasses import replace

import numpy as np
import pytest
import sample_graphs
from graph_texts import require_round_trip
from sample_graphs import f32, graph_of, new_op

from wengert.core.check import check
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.text.show import read, show
from wengert.core.types import ArrayType
from wengert.core.words.source import Line


def test_the_text_of_a_graph():
    assert (
        show(sample_graphs.hand_made())
        == """\
graph(%0: float32[batch, 4] "x", %1: float32[4, 64] "w") {
  %2: float32[batch, 64] = matmul(%0, %1)                   # model.py:12
  %3: float32[batch, 64] = tanh(%2)                         # model.py:12
  %4: float32[] = sum(%3, axes=(0, 1), keepdims=False)      # model.py:13
  return %4
}"""
    )


def test_the_text_of_a_traced_loss():
    assert (
        show(sample_graphs.mlp(), lines=False)
        == """\
graph(
  %0: float32[batch, 4] "x",
  %1: float32[batch, 1] "y",
  %2: float32[4, 8] "layers.0.w",
  %3: float32[8] "layers.0.b",
  %4: float32[8, 1] "layers.1.w",
) {
  %5: float32[batch, 8] = matmul(%0, %2)
  %6: float32[batch, 8] = add(%5, %3)
  %7: float32[batch, 8] = tanh(%6)
  %8: float32[batch, 1] = matmul(%7, %4)
  %9: float32[batch, 1] = subtract(%8, %1)
  %10: float32[batch, 1] = multiply(%9, %9)
  %11: float32[] = sum(%10, axes=(0, 1), keepdims=False)
  %12: float32[] = constant(0.5)
  %13: float32[] = multiply(%11, %12)
  %14: float32[] = size(dim=batch, dtype=float32)
  %15: float32[] = divide(%13, %14)
  return %15
}"""
    )


def test_the_text_of_bodies(monkeypatch):
    def choose(*operands, branches, count):
        """One of several bodies."""

    made = new_op(monkeypatch, choose, lambda *xs, branches, count: (f32(3),) * count)
    inner = graph_of(op.region, {"body": graph_of(op.negative, {}, [f32(3)])}, [f32(3)])
    inner.returns[:] = [inner.append(Node(op.pick, (1,), {"index": 0}, f32(3)))]
    inner.nodes[1] = replace(inner.nodes[1], line=Line("model.py", 9))
    plain = graph_of(op.negative, {}, [f32(3)])
    graph = graph_of(made, {"branches": (inner, plain), "count": 1}, [f32(3)])
    graph.nodes[1] = replace(graph.nodes[1], line=Line("model.py", 7))
    graph.returns[:] = [graph.append(Node(op.pick, (1,), {"index": 0}, f32(3)))]
    assert (
        require_round_trip(graph)
        == """\
graph(%0: float32[3] "x0") {
  %1: (float32[3],) = choose(%0, branches=(@branches.0, @branches.1), count=1) {  # model.py:7
    branches.0 = graph(%0: float32[3] "x0") {
      %1: (float32[3],) = region(%0, body=@body) {          # model.py:9
        body = graph(%0: float32[3] "x0") {
          %1: float32[3] = negative(%0)
          return %1
        }
      }
      %2: float32[3] = pick(%1, index=0)
      return %2
    }
    branches.1 = graph(%0: float32[3] "x0") {
      %1: float32[3] = negative(%0)
      return %1
    }
  }
  %2: float32[3] = pick(%1, index=0)
  return %2
}"""
    )


def constant(value):
    return graph_of(op.constant, {"value": np.asarray(value)})


def test_large_arrays_stand_after_the_graph():
    graph = constant(np.zeros((2, 9), np.float32))
    graph.append(
        Node(
            op.constant,
            (),
            {"value": np.zeros((18,), np.int32)},
            ArrayType((18,), np.dtype("int32")),
        )
    )
    assert (
        require_round_trip(graph)
        == f'''\
graph() {{
  %0: float32[2, 9] = constant($0)
  %1: int32[18] = constant($0)
  return %0
}}
data {{
  $0 = "{"A" * 96}"
}}'''
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(0.1), "float32[] = constant(0.1)"),
        (np.float64(0.1), "float64[] = constant(0.1)"),
        ([[1, 2], [3, 4]], "int64[2, 2] = constant([[1, 2], [3, 4]])"),
        ([True, False], "bool[2] = constant([True, False])"),
        (np.array([np.inf, -np.inf, np.nan, -0.0]), "constant([inf, -inf, nan, -0.0])"),
        (np.zeros((0, 3)), "float64[0, 3] = constant([])"),
        (np.zeros((2, 0)), "float64[2, 0] = constant([[], []])"),
        (np.full((2, 1), 1e-30, np.float32), "constant([[1e-30], [1e-30]])"),
        (np.uint64(2**64 - 1), "uint64[] = constant(18446744073709551615)"),
    ],
)
def test_constants(value, text):
    assert text in require_round_trip(constant(value))


def test_bits_of_a_nan_are_kept():
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    assert "constant($0)" in require_round_trip(constant(odd))


def test_arrays_of_any_memory_order_are_kept():
    square = np.arange(36.0).reshape(6, 6)
    for value in (square.T, square[::2, ::-1], np.asfortranarray(square), square.astype(">f8")):
        graph = constant(square)
        graph.nodes[0] = Node(
            op.constant,
            (),
            {"value": value.astype(float)},
            ArrayType(value.shape, np.dtype("float64")),
        )
        require_round_trip(graph)


def test_inputs_may_have_lines_and_any_number():
    graph = sample_graphs.loops()
    body = next(node.params["body"] for node in graph.nodes if "body" in node.params)
    assert body.inputs != sorted(body.inputs)  # what is captured comes first, and is numbered later
    graph.nodes[0] = replace(graph.nodes[0], line=Line("a b.py", 3))
    text = require_round_trip(graph)
    assert text.splitlines()[1].split("  # ") == [
        '  %0: float32[batch, 4] "x",' + " " * 30,
        "a b.py:3",
    ]
    assert show(graph, lines=False).splitlines()[0].endswith('"w") {')


def test_parameters_are_told_from_inputs():
    text = require_round_trip(sample_graphs.mlp_gradient())
    assert '  parameter %2: float32[4, 8] "layers.0.w",' in text.splitlines()


def test_a_parameter_that_is_no_input_stands_in_the_body():
    graph = sample_graphs.mlp_gradient()
    graph.inputs[:] = graph.inputs[:2]
    assert '  %2: float32[4, 8] = parameter("layers.0.w")' in require_round_trip(graph)


def test_a_graph_without_anything():
    assert require_round_trip(Graph()) == "graph() {\n  return\n}"


def test_an_operand_left_out(monkeypatch):
    def scale(x, factor=None, /):
        """x, or x times the factor."""

    graph = graph_of(new_op(monkeypatch, scale, lambda x, factor: x), {}, [f32(3), f32()])
    graph.nodes[2] = replace(graph.nodes[2], operands=(0, None))
    assert "scale(%0, _)" in require_round_trip(graph)


@pytest.mark.parametrize(
    "make", [sample_graphs.mlp, sample_graphs.mlp_gradient, sample_graphs.loops]
)
def test_traced_graphs_read_back_equal(make):
    graph = make()
    require_round_trip(graph)
    without = read(show(graph, lines=False))
    assert show(without) == show(graph, lines=False)
    check(without)


def test_a_graph_that_breaks_the_rules_is_shown_nevertheless():
    graph = sample_graphs.hand_made()
    graph.inputs[:] = [0, 0, 2, 9]
    graph.returns[:] = [9]
    graph.nodes[3] = Node(op.tanh, (7, None), {"axes": [0, {}]}, f32())
    text = show(graph)
    assert text.startswith("graph(%0, %0, %2, %9) {")
    assert "%3: float32[] = tanh(%7, _, axes=<python list>)" in text
    assert "return %9" in text
