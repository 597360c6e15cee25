"""Graphs that the tests of check, show and html look at."""

import numpy as np

import wengert  # noqa: F401  (fills the table)
from wengert.core.dims import Dim
from wengert.core.graph import Graph, Node
from wengert.core.op import Call, Op
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.core.words.source import Line
from wengert.interpret.derive import vjp_flat
from wengert.interpret.trace import trace_flat


def f32(*shape):
    return ArrayType(shape, np.dtype("float32"))


BATCH = Dim("batch")
MLP_TYPES = [f32(BATCH, 4), f32(BATCH, 1), f32(4, 8), f32(8), f32(8, 1)]
MLP_NAMES = ["x", "y", "layers.0.w", "layers.0.b", "layers.1.w"]


def mlp_loss(x, y, w, b, v):
    error = op.tanh(x @ w + b) @ v - y
    return op.sum(error * error) * 0.5 / x.shape[0]


def mlp():
    """The loss of a small network for any number of rows."""
    return trace_flat(lambda *args: [mlp_loss(*args)], MLP_TYPES, MLP_NAMES)[0]


def mlp_gradient():
    """Loss and gradient; the weights are parameters."""

    def run(x, y, *weights):
        loss, pullback = vjp_flat(lambda *ws: [mlp_loss(x, y, *ws)], weights)
        return [*loss, *pullback([np.ones((), np.float32)])]

    graph = trace_flat(run, MLP_TYPES, MLP_NAMES)[0]
    for number in graph.inputs[2:]:
        node = graph.nodes[number]
        graph.nodes[number] = Node(op.parameter, (), node.params, node.type, node.line)
    return graph


def loops():
    """A scan that captures a value, and a branch."""

    def run(x, w):
        def step(h, row):
            h = op.tanh(h + row @ w)
            return h, op.sum(h)

        last, ys = op.scan(step, np.zeros(4, np.float32), x)
        return [op.cond(op.sum(last) > 0, lambda v: v * 2, lambda v: v + 1, last), ys]

    return trace_flat(run, [f32(BATCH, 4), f32(4, 4)], ["x", "w"])[0]


def chain(steps):
    """A long graph: five nodes for each step."""

    def run(x):
        for _ in range(steps):
            x = op.tanh(x * 0.5 + 1)
        return [x]

    return trace_flat(run, [f32(BATCH, 4)], ["x"])[0]


def hand_made():
    """x, w -> tanh(x @ w) summed; every node is written out."""
    graph = Graph()
    graph.inputs[:] = [0, 1]
    line = Line("/home/me/model.py", 12)
    for name, found in (("x", f32(BATCH, 4)), ("w", f32(4, 64))):
        graph.append(Node(op.input, (), {"name": name, "type": found}, found))
    graph.append(Node(op.matmul, (0, 1), {}, f32(BATCH, 64), line))
    graph.append(Node(op.tanh, (2,), {}, f32(BATCH, 64), line))
    params = {"axes": (0, 1), "keepdims": False}
    graph.append(Node(op.sum, (3,), params, f32(), Line("/home/me/model.py", 13)))
    graph.returns[:] = [4]
    return graph


def new_op(monkeypatch, function, found, **fields):
    """An op that is in the table while one test runs; `found` is its type rule."""
    name = function.__name__
    call = Call.read(function, "primitive")
    made = Op(name, "primitive", call, "", numpy=None, type=found, **fields)
    monkeypatch.setitem(op._ops, name, made)
    return made


def graph_of(made, params, inputs=(), found=None):
    """A graph with one node of an op, whose operands are inputs of these types."""
    graph = Graph()
    for i, each in enumerate(inputs):
        graph.inputs.append(
            graph.append(Node(op.input, (), {"name": f"x{i}", "type": each}, each, None))
        )
    result = made.type(*inputs, **params) if found is None else found
    graph.returns.append(graph.append(Node(made, tuple(graph.inputs), params, result)))
    return graph
