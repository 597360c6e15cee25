"""Graphs as text: what a person sees, what reads back equal, and what is said about a bad text."""

import base64
import contextlib
import functools
from dataclasses import replace

import numpy as np
import pytest
import sample_graphs
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sample_graphs import BATCH, f32, graph_of, new_op

from wengert.core.check import check
from wengert.core.dims import Dim
from wengert.core.dtypes import SUPPORTED
from wengert.core.graph import Graph, Node
from wengert.core.literal import ValueTokens, Writer
from wengert.core.show import read, show
from wengert.core.source import Line
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import CheckError


def same_value(a, b):
    if isinstance(a, np.ndarray | np.generic):
        equal = type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        return equal and a.tobytes() == b.tobytes()
    if type(a) is tuple:
        return type(b) is tuple and len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, Graph):
        return same_graph(a, b)
    if isinstance(a, slice):
        return same_value((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return type(a) is type(b) and repr(a) == repr(b)


def same_graph(a, b):
    return (a.inputs, a.returns, len(a)) == (b.inputs, b.returns, len(b)) and all(
        x.op is y.op
        and x.operands == y.operands
        and x.type == y.type
        and str(x.line) == str(y.line)
        and x.params.keys() == y.params.keys()
        and all(same_value(x.params[k], y.params[k]) for k in x.params)
        for x, y in zip(a.nodes, b.nodes, strict=True)
    )


def require_round_trip(graph):
    text = show(graph)
    again = read(text)
    assert show(again) == text
    assert same_graph(graph, again)
    return text


# What a person sees


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


# Values of parameters


def written(value):
    writer = Writer()
    return writer.value(value, "p", []), writer


def read_value(text, writer):
    tokens = ValueTokens(text)
    tokens.data = {str(i): base64.b64decode(each) for each, i in writer.data.items()}
    value = tokens.value()
    assert tokens.here() == len(text), text
    return value


VALUES = {
    "3": 3,
    "-12345678901234567890": -12345678901234567890,
    "0.1": 0.1,
    "-1e-30": -1e-30,
    "1e+16": 1e16,
    "inf": float("inf"),
    "-inf": float("-inf"),
    "nan": float("nan"),
    "-0.0": -0.0,
    "True": True,
    "None": None,
    "...": ...,
    '"a \\"b\\" # %1 \\n ü"': 'a "b" # %1 \n ü',
    "()": (),
    "(1,)": (1,),
    "((0, 1), (None, 2.5))": ((0, 1), (None, 2.5)),
    "slice(0, batch, None)": slice(0, BATCH, None),
    "batch": BATCH,
    "2*batch*batch - n + 3": BATCH * BATCH * 2 - Dim("n") + 3,
    "-batch + 1": 1 - BATCH,
    'dim("2*float32 + inf")': Dim("float32") * 2 + Dim("inf"),
    "float32": np.dtype("float32"),
    "bool": np.dtype("bool"),
    'dtype("<c8")': np.dtype("complex64"),
    'dtype(">f4")': np.dtype(">f4"),
    "float32[2*batch + 1, 0]": f32(BATCH * 2 + 1, 0),
    "(float32[], int64[3])": (f32(), ArrayType((3,), np.dtype("int64"))),
    "float32(0.1)": np.float32(0.1),
    "bool(True)": np.bool_(True),
    "int8(-3)": np.int8(-3),
    "array([1.0, 0.1], float32)": np.array([1, 0.1], np.float32),
    "array(7, int64)": np.array(7),
    "array([], float64, (0, 3))": np.zeros((0, 3)),
    'array([1.5], dtype(">f4"))': np.array([1.5], ">f4"),
    "array($0, int64, (4, 5))": np.arange(20).reshape(4, 5),
    'array($0, dtype("<c16"), (1,))': np.array([1 + 2j]),
}


@pytest.mark.parametrize("text", VALUES)
def test_values_read_back(text):
    found, writer = written(VALUES[text])
    assert found == text
    assert same_value(read_value(text, writer), VALUES[text])


def dims():
    names = st.sampled_from(["batch", "n", "inf", "float32", "slice", "größe", "x1"])
    term = st.builds(
        lambda c, ns: functools.reduce(lambda a, n: a * Dim(n), ns, c),
        st.integers(-5, 5),
        st.lists(names, max_size=3),
    )
    return st.lists(term, min_size=1, max_size=4).map(sum)


def arrays():
    dtypes = st.sampled_from(sorted(SUPPORTED, key=str))
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    return hnp.arrays(dtypes, shapes)


SIMPLE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | dims()
    | arrays()
    | st.sampled_from(sorted(SUPPORTED, key=str))
    | arrays().map(lambda x: x.dtype.type(3))
    | st.builds(
        lambda sizes, dtype: ArrayType(tuple(sizes), dtype),
        st.lists(dims(), max_size=3),
        st.sampled_from(sorted(SUPPORTED, key=str)),
    )
)


@given(st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8))
def test_any_value_reads_back(value):
    text, writer = written(value)
    assert "\n" not in text
    assert same_value(read_value(text, writer), value)


def test_python_objects_have_a_name_and_cannot_be_read():
    class Thing:
        pass

    def function():
        pass

    places = "test_python_objects_have_a_name_and_cannot_be_read.<locals>"
    assert written(function)[0] == f"<python {__name__}.{places}.function>"
    assert written(Thing())[0] == f"<python {__name__}.{places}.Thing>"
    assert written(len)[0] == "<python len>"
    assert written(np.array([None]))[0] == "<python numpy.ndarray>"
    graph = sample_graphs.hand_made()
    graph.nodes[4] = replace(graph.nodes[4], params={"axes": (0, 1), "keepdims": function})
    with pytest.raises(CheckError) as caught:
        read(show(graph))
    assert str(caught.value) == (
        "read: line 4 has '<python'; a Python object cannot be read from text, "
        "build this graph in Python."
    )


# Bad texts

GOOD = """\
graph(%0: float32[batch, 4] "x", %1: float32[4, 64] "w") {
  %2: float32[batch, 64] = matmul(%0, %1)   # model.py:12
  %3: float32[] = sum(%2, axes=(0, 1), keepdims=False)
  %4: float32[2] = constant([1.0, 2.0])
  return %3
}"""

BAD = {  # what is replaced in the good text, by what, and what is said
    "empty": (GOOD, "", "line 1 has the end of the text; a graph begins with 'graph('"),
    "no graph": ("graph(", "grph(", "line 1 has 'grph'; a graph begins with 'graph('"),
    "cut": ("}", "", "line 6 has the end of the text; expected '}' or ','"),
    "after": (
        "}",
        "}\nmore",
        "line 7 has 'more'; the text must end after the graph, or go on with",
    ),
    "op": ("matmul", "matmull", "line 2 has 'matmull'; there is no such op, did you mean matmul?"),
    "strange op": ("matmul", "qqq", "line 2 has 'qqq'; there is no such op."),
    "dtype": (
        "float32[batch, 64]",
        "float31[batch, 64]",
        "line 2 has 'float31'; expected a type: one of",
    ),
    "size": ("[batch, 64] =", "[batch, 6.4] =", "line 2 has '6'; expected a size such as 4 or"),
    "no sizes": ("float32[] = sum", "float32 = sum", "line 3 has '='; expected '[' and the sizes"),
    "no type": ("%3: float32[] =", "%3 =", "line 3 has '='; expected ':' and a type"),
    "number": ("keepdims=False", "keepdims=1.2.3", "line 3 has '1'; expected a value"),
    "word": ("keepdims=False", "keepdims=slice", "line 3 has ')'; expected '('"),
    "no value": ("keepdims=False", "keepdims=", "line 3 has ')'; expected a value"),
    "element": ("2.0]", "two]", "line 4 has 'two'; expected a number, or numbers in brackets"),
    "too many elements": (
        "2.0]",
        "2.0, 3.0]",
        "line 4 has '['; these elements make no float32 array of",
    ),
    "ragged": (
        "[1.0, 2.0]",
        "[[1.0], 2.0]",
        "line 4 has '['; these elements make no float32 array",
    ),
    "out of range": (
        "%4: float32[2] = constant([1.0, 2.0])",
        "%4: int8[1] = constant([300])",
        "line 4 has '['; these elements make no int8 array of shape (1,)",
    ),
    "no data": (
        "[1.0, 2.0]",
        "$0",
        "line 4 has '$0'; the text ends without a data section that has it",
    ),
    "bad data": (
        "return %3\n}",
        'return %3\n}\ndata {\n  $0 = "a"\n}',
        "line 8 has '\"'; expected base64",
    ),
    "python": (
        "keepdims=False",
        "keepdims=<python f>",
        "line 3 has '<python'; a Python object cannot",
    ),
    "twice": ("keepdims=False", "axes=(0,)", "line 3 has 'axes'; this parameter is given twice"),
    "order": (
        "axes=(0, 1), keepdims=False",
        "axes=(0, 1), %1",
        "line 3 has '%1'; operands must stand",
    ),
    "bare": (
        "%2, axes",
        "2, axes",
        "line 3 has '2'; expected an operand such as %3 or a parameter",
    ),
    "number taken": ("%3: ", "%2: ", "line 3 has '%2'; this number is taken in line 2"),
    "input taken": ("%3: ", "%1: ", "line 3 has '%1'; this number is taken in line 1"),
    "gap": ("%4: ", "%7: ", "line 4 has '%7'; there is no %4, nodes are numbered without gaps"),
    "quotes": ('"w"', "w", "line 1 has 'w'; expected a text in double quotes"),
    "escape": ('"w"', '"\\q"', "line 1 has '\"'; its escapes must be those of JSON"),
    "body": (
        "keepdims=False",
        "keepdims=@body",
        "line 3 has '@body'; expected this graph in a block",
    ),
    "other body": (
        "keepdims=False)",
        "keepdims=False) { body = graph() { return } }",
        "line 3 has 'body'; no parameter above is @body",
    ),
    # true to the grammar, but not to the ops
    "wrong type": (
        "float32[batch, 64] =",
        "float32[batch, 65] =",
        "line 2: matmul: node 2 (model.py:12) has type float32[batch, 65]; its rule gives",
    ),
    "shapes": (
        "float32[4, 64]",
        "float32[5, 64]",
        "line 2: matmul: node 2 (model.py:12) is refused by",
    ),
    "scope": (
        "sum(%2",
        "sum(%4",
        "line 3: sum: node 3 has operand 0 = node 4; only the nodes before it",
    ),
    "unknown node": ("return %3", "return %9", "line 1: graph: has node 9 among its outputs"),
    "parameter": (
        "keepdims=False",
        "keepdim=False",
        "line 3: sum: node 3 is refused by its own type rule",
    ),
    "same names": ('"w"', '"x"', "line 1: input: node 1 is named 'x' as node 0 is"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_text_is_explained(name):
    old, new, message = BAD[name]
    read(GOOD)
    assert old in GOOD
    with pytest.raises(CheckError) as caught:
        read(GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"read: {message}"), caught.value


def test_a_fault_inside_a_body_names_its_line():
    text = show(sample_graphs.loops(), lines=False)
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "= tanh(" in each)
    bad = text.replace("float32[4] = tanh", "float32[5] = tanh")
    with pytest.raises(CheckError, match=rf"^read: line {line}: tanh: node \d+ in body of node"):
        read(bad)


def test_spaces_lines_and_comments_are_free():
    text = "# a graph\n" + GOOD.replace(", ", " ,\n").replace("# model.py:12", "# by hand")
    graph = read(text + "\n\n")
    assert graph.nodes[2].line is None
    assert same_graph(graph, read(GOOD.replace("# model.py:12", "")))


@given(st.integers(0, len(GOOD)), st.integers(1, 12), st.text('%@$(){}[]=,:# \n"_0a.-', max_size=3))
def test_a_damaged_text_never_breaks_the_reader(start, length, put):
    damaged = GOOD[:start] + put + GOOD[start + length :]
    with contextlib.suppress(CheckError):  # and nothing else
        read(damaged)
