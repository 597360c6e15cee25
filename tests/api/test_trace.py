"""Tracing: plain functions over trees become graphs that say what was computed, and where."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from differences import require_all_close, require_close
from programs import NUMPY_FUNCTIONS

import wengert as wg
from wengert.errors import ShapeError, TraceError

rng = np.random.default_rng(14)
X, W = rng.uniform(0.5, 2.0, (4, 3)), rng.uniform(0.5, 2.0, (3, 3))
BATCH = {"x": {0: wg.Dim("batch")}}


def here() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


# Functions written with NumPy only.


@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
def test_numpy_code_is_traced_unchanged(name: str):
    function = NUMPY_FUNCTIONS[name]
    graph = wg.trace(function, X, W)
    graph.check()
    x, w = X[::-1] * 0.9 + 0.1, W.T + 0.2
    [found] = graph.run(x=x, w=w)
    expected = function(x, w)
    assert found.dtype == expected.dtype
    require_close(found, expected, 1e-13)


def test_a_whole_model_in_numpy():
    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        scores = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
        return (scores / np.sum(scores, axis=-1, keepdims=True)) @ v

    q, k, v = rng.standard_normal((3, 2, 4, 5))
    graph = wg.trace(attention, q, k, v)
    require_close(graph.run(q=2 * q, k=k, v=v)[0], attention(2 * q, k, v), 1e-14)


# Trees and names.


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    w: Any
    b: Any
    act: Any = np.tanh
    name: str = "dense"


def test_inputs_are_named_after_parameters_and_paths():
    def function(model: Any, batch: Any, scale: Any) -> Any:
        total = batch[0] * scale
        for layer in model["layers"]:
            total = layer.act(total * layer.w + layer.b)
        return total + batch[1][0]

    model = {"layers": [Layer(np.ones(3), np.zeros(3)), Layer(np.full(3, 2.0), np.ones(3))]}
    batch = (np.ones(3), [np.ones(3)])
    graph = wg.trace(function, model, batch, np.array(2.0))
    names = [graph.name(each) for each in graph.inputs]
    assert names == [
        "model.layers.0.w",
        "model.layers.0.b",
        "model.layers.1.w",
        "model.layers.1.b",
        "batch.0",
        "batch.1.0",
        "scale",
    ]
    values = [*wg.tree.leaves(model), *wg.tree.leaves(batch), np.array(3.0)]
    inputs = {name: x + 0.5 for name, x in zip(names, values, strict=True)}
    found = graph.run(**inputs)
    shifted = wg.tree.map(lambda x: x + 0.5, (model, batch, np.array(3.0)))
    require_close(found[0], function(*shifted), 1e-14)


def test_fields_of_a_namedtuple_are_named():
    graph = wg.trace(lambda pair: pair.first - pair.second, Pair(np.ones(1), np.zeros(1)))
    assert [graph.name(each) for each in graph.inputs] == ["pair.first", "pair.second"]


def test_dictionaries_keep_their_order():
    graph = wg.trace(lambda m: m["z"] + m["a"], {"z": np.ones(1), "a": np.ones(1)})
    assert [graph.name(each) for each in graph.inputs] == ["m.z", "m.a"]


def test_results_may_be_trees():
    def function(x: Any) -> Any:
        return {"z": x + 1, "a": [x * 2, (x,)], "none": None, "text": "static"}

    found = wg.trace(function, np.ones(2)).run(x=np.array([1.0, 2.0]))
    require_all_close(found, [[2.0, 3.0], [2.0, 4.0], [1.0, 2.0]], 0)


def test_static_leaves_are_python_while_tracing():
    def function(options: Any, x: Any) -> Any:
        for _ in range(options["repeat"]):
            x = options["function"](x)
        return x if options["name"] == "plain" else -x

    options = {"repeat": 3, "function": lambda x: x * 2, "name": "plain", "none": None}
    graph = wg.trace(function, options, np.ones(2))
    assert [graph.name(each) for each in graph.inputs] == ["x"]
    require_close(graph.run(x=np.ones(2))[0], [8.0, 8.0], 0)


def test_types_stand_for_arguments():
    like = wg.trace(lambda x: x, np.ones((2, 3), np.float32)).input_types()[0]
    graph = wg.trace(lambda x: wg.sum(x, axis=0), like)
    np.testing.assert_array_equal(graph.run(x=np.ones((2, 3), np.float32))[0], [2.0, 2.0, 2.0])


def test_inputs_that_are_not_used_stay_inputs():
    graph = wg.trace(lambda x, unused: x * 2, np.ones(2), np.ones(5))
    assert [graph.name(each) for each in graph.inputs] == ["x", "unused"]
    require_close(graph.run(x=np.ones(2), unused=np.zeros(5))[0], [2.0, 2.0], 0)


def test_outputs_may_be_inputs_constants_and_repeated():
    def function(x: Any) -> Any:
        y = x + 1
        return y, x, y, np.array([1.0, 2.0]), 3.0

    graph = wg.trace(function, np.ones(2))
    graph.check()
    y, x, again, constant, *_ = graph.run(x=np.array([5.0, 6.0]))
    require_all_close([y, x, again, constant], [[6, 7], [5, 6], [6, 7], [1, 2]], 0)


def test_integers_and_bools_are_inputs_too():
    def function(x: Any, index: Any, mask: Any) -> Any:
        return np.where(mask, x[index], 0.0)

    graph = wg.trace(function, np.arange(3.0), np.array([2, 0]), np.array([True, False]))
    inputs = {"x": np.arange(3.0), "index": np.array([1, 1]), "mask": np.array([False, True])}
    require_close(graph.run(**inputs)[0], [0.0, 1.0], 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.bool_])
def test_python_numbers_are_weak(dtype: Any):
    """The type of a result is NumPy's."""
    x = np.ones(2, dtype)
    for function in (lambda x: x + 1, lambda x: x * 2.5, lambda x: x / 2):
        assert wg.trace(function, x).run(x=x)[0].dtype == function(x).dtype


def test_constants_are_copied():
    constant = np.array([1.0, 2.0])
    graph = wg.trace(lambda x: x * constant, np.ones(2))
    constant[:] = 99.0
    require_close(graph.run(x=np.ones(2))[0], [1.0, 2.0], 0)


def test_results_do_not_share_memory_with_inputs_or_constants():
    constant, x = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    graph = wg.trace(lambda x: (x, np.reshape(x, (2, 1)), x[::-1], constant), np.ones(2))
    for each in graph.run(x=x):
        if each.flags.writeable:
            each[:] = 99.0
    np.testing.assert_array_equal(x, [3.0, 4.0])
    require_close(graph.run(x=x)[3], [1.0, 2.0], 0)


# Lines of the user's program.


def lines_of(graph: Any, name: str) -> list[str]:
    return [str(node.line) for node in graph.nodes if node.op.name == name]


def test_every_node_has_the_users_line():
    def helper(x: Any) -> Any:
        return np.tanh(x), here()

    found = {}

    def function(x: Any) -> Any:
        found["exp"] = here() + 1
        y = wg.exp(x)
        y, found["tanh"] = helper(y)
        found["negative"] = here() + 1
        y = -y
        found["softmax"] = here() + 1
        return wg.softmax(y)

    graph = wg.trace(function, np.ones(2))
    for name, line in found.items():
        assert lines_of(graph, name) == [f"test_trace.py:{line}"]


def test_nodes_of_a_derivative_have_the_line_of_what_they_derive():
    line = here() + 3

    def loss(x: Any) -> Any:
        return wg.sum(wg.tanh(x))

    graph = wg.trace(wg.grad(loss), np.ones(2))
    assert {str(node.line) for node in graph.nodes if node.operands} == {f"test_trace.py:{line}"}


def test_nodes_built_by_hand_have_the_users_line():
    g = wg.Graph()
    x = g.input(np.ones(2))
    line = here() + 1
    g.sin(x)
    assert lines_of(g, "sin") == [f"test_trace.py:{line}"]


def test_text_and_page_show_the_line():
    line = here() + 1
    graph = wg.trace(lambda x: wg.sin(x), np.ones(2))
    assert f"test_trace.py:{line}" in graph.to_text()
    assert f"test_trace.py:{line}" in graph.to_html()


def test_an_error_in_traced_code_names_the_users_line():
    line = here() + 3

    def function(x: Any) -> Any:
        return wg.matmul(x, np.ones((5, 2)))

    with pytest.raises(ShapeError, match=rf"matmul: .*test_trace\.py:{line}"):
        wg.trace(function, np.ones((3, 4)))


# What cannot be recorded.

REFUSED = {
    "branch": lambda x: x if x[0] > 0 else -x,
    "and": lambda x: (x[0] > 0) and x,
    "float": lambda x: float(x[0]) * x,
    "int": lambda x: int(x[0]) * x,
    "item": lambda x: x[0].item() * x,
    "tolist": lambda x: x.tolist(),
    "array of tensors": lambda x: np.array([x[0], x[1]]),
    "asarray": lambda x: np.asarray(x) * 2,
    "math": lambda x: __import__("math").sin(x[0]),
    "index": lambda x: [1, 2, 3][x[0]],
    "unknown function": lambda x: np.fft.fft(x),
    "unknown ufunc": lambda x: np.spacing(x),
    "out": lambda x: np.sin(x, out=np.zeros(2)),
    "accumulate": lambda x: np.add.at(x, 0, 1.0),
    "boolean mask": lambda x: x[x > 0],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_is_refused_with_line_and_repair(name: str):
    function = REFUSED[name]
    line = inspect.getsourcelines(function)[1]
    with pytest.raises(TraceError, match=rf"test_trace\.py:{line}") as caught:
        wg.trace(function, np.ones(2))
    message = str(caught.value)
    assert re.match(r"[^:]+: .+; .+\. .+", message), "<op>: <given>; <needed>. <what to do>."


def test_assignment_into_a_traced_value_is_refused():
    def function(x: Any) -> Any:
        x[0] = 1.0
        return x

    with pytest.raises(TraceError, match=r"test_trace\.py"):
        wg.trace(function, np.ones(2))
    with pytest.raises(TraceError, match=r"test_trace\.py"):
        wg.grad(lambda x: wg.sum(function(x)))(np.ones(2))


def test_assignment_of_a_traced_value_into_an_array_is_refused():
    """NumPy would detach it; it wraps our error in a ValueError of its own."""

    def function(x: Any) -> Any:
        result = np.zeros(2)
        result[0] = x[0]
        return result

    for attempt in (
        lambda: wg.trace(function, np.ones(2)),
        lambda: wg.grad(lambda x: wg.sum(function(x)))(np.ones(2)),
    ):
        with pytest.raises((TraceError, ValueError)) as caught:
            attempt()
        reason = caught.value if isinstance(caught.value, TraceError) else caught.value.__cause__
        assert isinstance(reason, TraceError)
        assert "stop_gradient" in str(reason)


def test_a_tensor_does_not_outlive_its_trace():
    kept = []
    wg.trace(lambda x: kept.append(x) or x, np.ones(2))
    with pytest.raises(TraceError):
        wg.trace(lambda y: y + kept[0], np.ones(2))
    with pytest.raises(TraceError):
        wg.sin(kept[0])


def test_a_failed_trace_leaves_nothing_open():
    with pytest.raises(TraceError):
        wg.trace(lambda x: float(x), np.array(1.0))
    assert type(wg.sin(np.ones(2))) is np.ndarray
    assert float(wg.grad(wg.sin)(0.0)) == 1.0
