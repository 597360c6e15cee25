"""Every kind of lie a graph can tell is planted here, and the check must name it."""

from dataclasses import replace

import numpy as np
import pytest
import sample_graphs
from effort import calls
from sample_graphs import BATCH, f32, graph_of, new_op

from wengert.core.check import check
from wengert.core.dims import Dim
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.errors import CheckError
from wengert.interpret.trace import node_type

GRAPHS = [
    sample_graphs.hand_made,
    sample_graphs.mlp,
    sample_graphs.mlp_gradient,
    sample_graphs.loops,
    Graph,
]


@pytest.mark.parametrize("make", GRAPHS, ids=lambda make: make.__name__)
def test_true_graphs_pass(make):
    check(make())
    check(make(), node_type)


def change(number, **fields):
    """A lie about one node of the hand-made graph: 0 x, 1 w, 2 matmul, 3 tanh, 4 sum."""

    def plant(graph):
        graph.nodes[number] = replace(graph.nodes[number], **fields)

    return plant


def add(*nodes):
    def plant(graph):
        for node in nodes:
            graph.append(node)

    return plant


def lists(**fields):
    def plant(graph):
        for name, value in fields.items():
            getattr(graph, name)[:] = value

    return plant


def body_of(graph, name="body"):
    return next(node.params[name] for node in graph.nodes if name in node.params)


INT32 = np.dtype("int32")
SUM = {"axes": (0, 1), "keepdims": False}

LIES = {
    # scope
    "later operand": (
        change(3, operands=(4,)),
        "tanh: node 3 (model.py:12) has operand 0 = node 4; only the",
    ),
    "itself": (
        change(3, operands=(3,)),
        "operand 0 = node 3; only the nodes before it are in scope",
    ),
    "negative operand": (change(3, operands=(-1,)), "has operand 0 = node -1; only"),
    "no number": (change(3, operands=("x",)), "has operand 0 = 'x'; a node number is needed"),
    "bool operand": (change(3, operands=(True,)), "has operand 0 = True; a node number"),
    "too few": (
        change(2, operands=(0,)),
        "matmul: node 2 (model.py:12) has 1 operands; matmul takes 2",
    ),
    "too many": (change(3, operands=(0, 2)), "has 2 operands; tanh takes 1"),
    "left out": (change(2, operands=(0, None)), "has no operand 1; y is not optional"),
    # types
    "wrong shape": (
        change(2, type=f32(BATCH, 65)),
        "matmul: node 2 (model.py:12) has type float32[batch, 65]; its rule gives float32[batch,",
    ),
    "wrong dtype": (
        change(3, type=ArrayType((BATCH, 64), np.dtype("float64"))),
        "has type float64[batch, 64]; its rule gives float32[batch, 64].",
    ),
    "input's type": (
        change(0, type=f32(BATCH, 5)),
        "input: node 0 has type float32[batch, 5]; its rule",
    ),
    "refused": (
        change(2, operands=(0, 0)),
        "is refused by its own type rule: matmul: left has shape",
    ),
    "no type": (change(3, type=None), "has None for its type; an ArrayType"),
    "a plain pair": (
        change(3, type=((BATCH, 64), np.dtype("float32"))),
        "for its type; an ArrayType",
    ),
    "unsupported dtype": (
        change(3, type=ArrayType((BATCH, 64), np.dtype("complex64"))),
        "has dtype dtype('complex64'); wengert does not compute with it",
    ),
    "list for a shape": (
        change(3, type=ArrayType([3], np.dtype("float32"))),
        "has shape [3]; a tuple",
    ),
    "negative size": (change(3, type=f32(-1, 64)), "has size -1; a Dim or a non-negative int"),
    "NumPy size": (change(3, type=f32(BATCH, np.int64(64))), "has size np.int64(64); a Dim or"),
    "unknown Dim": (
        change(3, type=f32(Dim("rows"), 64)),
        "has size rows; no input has an axis named rows",
    ),
    "mixed dtypes": (
        add(
            Node(op.astype, (3,), {"dtype": INT32}, ArrayType((BATCH, 64), INT32)),
            Node(op.add, (3, 5), {}, ArrayType((BATCH, 64), np.dtype("float64"))),
        ),
        "reads operand 0 as float32; it computes in float64, an astype must stand between.",
    ),
    "no line": (
        change(3, line="model.py:12"),
        "tanh: node 3 has 'model.py:12' for its line; a Line",
    ),
    # parameters
    "negative axis": (
        change(4, params={"axes": (0, -1), "keepdims": False}),
        "has axes=(0, -1); canonical",
    ),
    "axis too large": (change(4, params={"axes": (0, 2), "keepdims": False}), "at most 2 axes"),
    "axis twice": (
        change(4, params={"axes": (1, 1), "keepdims": False}),
        "each axis may appear once",
    ),
    "list": (
        change(4, params={"axes": [0, 1], "keepdims": False}),
        "has axes=[0, 1]; a list is not canonical",
    ),
    "user's name": (
        change(4, params={"axis": None, "keepdims": False}),
        "is refused by its own type rule",
    ),
    "missing": (
        change(4, params={"axes": (0, 1)}),
        "sum: node 4 (model.py:13) is refused by its own type rule",
    ),
    "no dict": (change(4, params=(("axes", (0, 1)),)), "a dict with names is needed"),
    "Tensor": (
        change(4, params={**SUM, "keepdims": Tensor(None, 0, None)}),
        "has a Tensor for keepdims",
    ),
    "Dim in an unsized op": (
        change(4, params={**SUM, "keepdims": BATCH}),
        "has keepdims=batch; sum is not sized",
    ),
    "unknown Dim in a size": (
        add(Node(op.size, (), {"dim": Dim("n"), "dtype": INT32}, ArrayType((), INT32))),
        "size: node 5 has size n; no input has an axis named n",
    ),
    # inputs and outputs
    "same names": (
        change(1, params={"name": "x", "type": f32(4, 64)}),
        "is named 'x' as node 0 is",
    ),
    "unknown output": (
        lists(returns=[4, 5]),
        "graph: has node 5 among its outputs; its last node is 4.",
    ),
    "output is no number": (lists(returns=[None]), "graph: has None among its outputs"),
    "unknown input": (lists(inputs=[0, 1, -1]), "graph: has node -1 among its inputs"),
    "input twice": (lists(inputs=[0, 1, 0]), "graph: lists an input twice: [0, 1, 0]"),
    "input left out": (lists(inputs=[0]), "input: node 1 is not listed among the graph's inputs"),
    "no input": (lists(inputs=[0, 1, 2]), "matmul: node 2 (model.py:12) is listed as an input"),
    "no node": (lists(nodes=["x"], inputs=[], returns=[]), "node 0 is no node with an op"),
    # several outputs
    "pick from one": (
        add(Node(op.pick, (3,), {"index": 0}, f32())),
        "pick: node 5 picks from node 3, which has one",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named(lie):
    plant, message = LIES[lie]
    graph = sample_graphs.hand_made()
    check(graph)
    plant(graph)
    with pytest.raises(CheckError) as caught:
        check(graph)
    assert message in str(caught.value)


def pair():
    """A graph whose node 1 has two outputs."""
    body = graph_of(op.negative, {}, [f32(3)])
    body.returns *= 2
    return graph_of(op.region, {"body": body}, [f32(3)])


PICK_LIES = {
    "no such output": (
        Node(op.pick, (1,), {"index": 2}, f32(3)),
        "picks output 2 of node 1, which has 2 outputs",
    ),
    "negative": (Node(op.pick, (1,), {"index": -1}, f32(3)), "picks output -1 of node 1"),
    "no index": (Node(op.pick, (1,), {}, f32(3)), "picks output None of node 1"),
    "wrong type": (
        Node(op.pick, (1,), {"index": 1}, f32(4)),
        "has type float32[4]; its rule gives float32[3]",
    ),
    "other reader": (
        Node(op.negative, (1,), {}, f32(3)),
        "reads node 1, which has several outputs; only pick may",
    ),
}


@pytest.mark.parametrize("lie", PICK_LIES)
def test_a_lie_about_several_outputs_is_named(lie):
    node, message = PICK_LIES[lie]
    graph = pair()
    graph.returns[:] = [graph.append(Node(op.pick, (1,), {"index": 1}, f32(3)))]
    check(graph)
    graph.append(node)
    with pytest.raises(CheckError, match="node 3 ") as caught:
        check(graph)
    assert message in str(caught.value)


def test_several_outputs_cannot_be_returned():
    with pytest.raises(CheckError, match="returns node 1, which has several outputs; pick one"):
        check(pair())


def test_a_lie_in_a_body_is_named_with_its_place():
    graph = sample_graphs.loops()
    body = body_of(graph)
    number = next(i for i, node in enumerate(body.nodes) if node.op is op.tanh)
    body.nodes[number] = replace(body.nodes[number], type=f32(5))
    scan = next(i for i, node in enumerate(graph.nodes) if node.op is op.scan)
    place = (
        rf"tanh: node {number} in body of node {scan} \(scan\) \(sample_graphs.py:\d+\) has type"
    )
    with pytest.raises(CheckError, match=place):
        check(graph)


def test_a_lie_in_the_lists_of_a_body_is_named_with_its_place():
    graph = sample_graphs.loops()
    body_of(graph, "orelse").returns[:] = [99]
    with pytest.raises(CheckError, match=r"graph in orelse of node \d+ \(cond\): has node 99"):
        check(graph)


def test_a_body_reads_only_what_its_node_gives():
    graph = sample_graphs.loops()
    body = body_of(graph)
    extra = Node(op.input, (), {"name": "captured9", "type": f32()}, f32())
    body.inputs.append(body.append(extra))
    with pytest.raises(CheckError, match="has 3 operands for the 4 inputs of body"):
        check(graph)
    body.inputs.pop()
    with pytest.raises(CheckError, match="is not listed among the graph's inputs"):
        check(graph)


def test_a_body_receives_what_it_was_made_for():
    graph = sample_graphs.loops()
    body = body_of(graph)
    body.inputs.reverse()
    with pytest.raises(
        CheckError, match=r"gives float32\[batch, 4\] to input 2 of body; that is float32\[4, 4\]"
    ):
        check(graph)


def test_a_body_may_use_the_sizes_of_the_graph_around_it():
    body = graph_of(op.size, {"dim": BATCH, "dtype": INT32})
    with pytest.raises(CheckError, match="no input has an axis named batch"):
        check(body)
    graph = graph_of(op.region, {"body": body}, [f32(BATCH)], tuple(body.output_types()))
    graph.nodes[1] = replace(graph.nodes[1], operands=())
    graph.returns[:] = [0]
    check(graph)


def test_bodies_are_found_inside_tuples(monkeypatch):
    def choose(*operands, branches):
        """One of several bodies."""

    made = new_op(monkeypatch, choose, lambda *xs, branches: f32(3))
    good, bad = (graph_of(op.negative, {}, [f32(3)]) for _ in range(2))
    check(graph_of(made, {"branches": (good, good)}, [f32(3)]))
    bad.returns[:] = [7]
    with pytest.raises(CheckError, match=r"graph in branches\.1 of node 1 \(choose\): has node 7"):
        check(graph_of(made, {"branches": (good, bad)}, [f32(3)]))


def test_a_graph_cannot_contain_itself():
    graph = graph_of(op.negative, {}, [f32(3)])
    graph.append(Node(op.region, (0,), {"body": graph}, (f32(3),)))
    with pytest.raises(CheckError, match="contains itself"):
        check(graph)


def test_optional_operands_may_be_left_out(monkeypatch):
    def scale(x, factor=None, /):
        """x, or x times the factor."""

    graph = graph_of(new_op(monkeypatch, scale, lambda x, factor: x), {}, [f32(3), f32()])
    check(graph)
    graph.nodes[2] = replace(graph.nodes[2], operands=(0, None))
    check(graph)
    graph.nodes[2] = replace(graph.nodes[2], operands=(None, 1))
    with pytest.raises(CheckError, match="has no operand 0; x is not optional"):
        check(graph)


def test_a_composite_without_a_rule_is_inferred_or_believed(monkeypatch):
    def twice(x, /, times=2):
        """A composite."""

    made = new_op(monkeypatch, twice, None)
    graph = graph_of(made, {"times": 2}, [f32(3)], found=f32(4))
    check(graph)
    with pytest.raises(CheckError, match=r"has type float32\[4\]; its rule gives float32\[3\]"):
        check(graph, lambda op, types, params: types[0])
    with pytest.raises(
        CheckError, match=r"has parameters \['count'\]; its definition has \['times'\]"
    ):
        check(graph_of(made, {"count": 2}, [f32(3)], found=f32(4)))


def test_twice_as_many_nodes_take_twice_the_work():
    graphs = [sample_graphs.chain(count) for count in (50, 400, 800)]
    check(graphs[0])  # fills what is kept
    once, twice = (calls(lambda graph=graph: check(graph)) for graph in graphs[1:])
    assert len(graphs[1]) > 2000
    assert twice < 2.2 * once
    assert once < 100 * len(graphs[1])
