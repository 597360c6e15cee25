"""Values of parameters in the text of a graph: each reads back equal, or says that it cannot."""

import base64
import functools
from dataclasses import replace

import numpy as np
import pytest
import sample_graphs
from graph_texts import same_value
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sample_graphs import BATCH, f32

from wengert.core.dims import Dim
from wengert.core.dtypes import SUPPORTED
from wengert.core.text.literal import ValueTokens, Writer
from wengert.core.text.show import read, show
from wengert.core.types import ArrayType
from wengert.errors import CheckError


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
