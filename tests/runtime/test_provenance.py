"""Where a result that is not finite comes from: op, phase, line, parameter, index and ranges."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import NonFiniteError
from wengert.runtime.origins.provenance import describe, locate

FLOATS = [np.float32, np.float64]


def raised(function: Any, *args: Any, **options: Any) -> NonFiniteError:
    """The error of a compiled function, called three times: by the slow way and the quick one."""
    compiled = wg.compile(function, nonfinite="raise", **options)
    errors = []
    for _ in range(3):
        with pytest.raises(NonFiniteError) as caught:
            compiled(*args)
        errors.append(caught.value)
    assert len({str(error) for error in errors}) == 1
    return errors[0]


def line_of(function: Any, text: str) -> int:
    """The number of the line of a function that has this text."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [i for i, each in enumerate(lines) if text in each]
    return first + found


# Forward.


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("function", "bad", "op", "value"),
    [
        (wg.log, -1.0, "log", "nan"),
        (wg.log, 0.0, "log", "-inf"),
        (lambda x: 2.0 / x, 0.0, "divide", "inf"),
        (lambda x: wg.exp(x), 800.0, "exp", "inf"),
        (wg.sqrt, -0.25, "sqrt", "nan"),
        (lambda x: x**3.5, -2.0, "power", "nan"),
        (lambda x: wg.atanh(x), 2.0, "atanh", "nan"),
    ],
)
def test_the_op_that_did_it(dtype, function, bad, op, value):
    x = np.full((3, 4), 0.9, dtype)
    x[1, 2] = bad
    found = raised(lambda x: wg.sum(function(x) * 2.0 + 1.0), x)
    assert (found.op, found.value, found.phase) == (op, value, "forward")
    assert found.index == (1, 2)
    assert found.result_index == ()
    assert found.parameter is None
    low, high = min(bad, 0.9), max(bad, 0.9)
    assert ("x", float(dtype(low)), float(dtype(high))) in found.ranges


def overflowing(x: Any, y: Any) -> Any:
    scaled = x * 1e200
    smaller = scaled / 2.0
    product = smaller * scaled
    return y + wg.mean(product)


def test_the_line_of_the_user():
    found = raised(overflowing, np.ones((2, 3)), np.ones(3))
    assert found.op == "multiply"
    assert found.file == __file__
    assert found.line == line_of(overflowing, "product = ")
    assert f"(test_provenance.py:{found.line})" in str(found)
    assert [low for _, low, _ in found.ranges] == [5e199, 1e200]


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_overflow_while_adding_up(dtype):
    x = np.full((3, 40), np.finfo(dtype).max / 10, dtype)
    x[1] /= 10
    found = raised(lambda x: wg.sum(x, axis=1), x)
    assert (found.op, found.value, found.index) == ("sum", "inf", (0,))
    product = raised(lambda x, y: x @ y, x[1:], np.full((40, 2), 100, dtype))
    assert (product.op, product.index) == ("matmul", (0, 0))


def test_the_first_of_several_outputs():
    def several(x: Any) -> Any:
        return {"fine": x + 1, "logs": [wg.log(x)], "later": 1 / x}

    found = raised(several, np.array([1.0, 2.0, 0.0]))
    assert found.op == "log"
    assert "output logs.0 must be finite" in str(found)


def test_an_argument_that_is_not_finite():
    @dataclass
    class Model:
        w: Any
        b: Any

    model = Model([np.ones((2, 3)), np.ones((3, 2))], np.ones(2))
    model.w[1][2, 0] = np.nan
    found = raised(lambda model, x: wg.tanh(x @ model.w[0]) @ model.w[1], model, np.ones((4, 2)))
    assert (found.op, found.value, found.index) == ("input", "nan", (2, 0))
    assert found.parameter == "model.w.1"
    assert "argument 'model.w.1' is nan at index (2, 0)" in str(found)
    assert "Correct the argument, or pass" in str(found)
    assert found.result_index == (0, 0)


def test_nan_that_a_product_with_a_mask_keeps():
    x = np.array([[1.0, np.nan], [2.0, 3.0]])
    found = raised(lambda x: wg.sum(x * ~wg.isnan(x)), x)
    assert "leave masked NaN out with wg.where(mask, x, 0), as 0 * nan is nan, or" in str(found)
    assert wg.compile(lambda x: wg.sum(wg.where(~wg.isnan(x), x, 0)))(x) == 6.0
    infinite = raised(lambda x: wg.sum(x), np.array([1.0, np.inf]))
    assert "Correct the argument, or pass" in str(infinite)


def test_a_constant_that_is_not_finite():
    table = np.array([1.0, np.inf])
    found = raised(lambda x: x + table, np.ones(2))
    assert (found.op, found.index) == ("constant", (1,))
    assert "constant" in str(found)


def test_open_sizes():
    compiled = wg.compile(
        lambda x: wg.sum(wg.log(x), axis=0), dims={"x": {0: wg.Dim("n")}}, nonfinite="raise"
    )
    compiled(np.ones((3, 2)))
    for rows in (5, 2, 9):
        x = np.ones((rows, 2))
        x[rows - 1, 1] = -1.0
        with pytest.raises(NonFiniteError) as caught:
            compiled(x)
        assert caught.value.index == (rows - 1, 1)
        assert caught.value.result_index == (1,)


def test_strided_and_swapped_arguments():
    x = np.ones((6, 4))
    x[4, 1] = -1.0
    assert raised(lambda x: wg.log(x), x[::2].T).index == (1, 2)
    assert raised(lambda x: wg.log(x), x.astype(x.dtype.newbyteorder())).index == (4, 1)


# What is not to blame.


def test_a_mask_of_infinities_is_not_blamed():
    mask = np.array([True, False, True, False])

    def attention(scores: Any, values: Any) -> Any:
        weights = wg.softmax(wg.where(mask, scores, -np.inf), axis=-1)
        return wg.sum(weights * wg.log(values))

    found = raised(attention, np.ones(4), np.array([1.0, 1.0, -1.0, 1.0]))
    assert (found.op, found.index) == ("log", (2,))


def test_an_infinity_that_vanishes_is_not_blamed():
    def choosing(x: Any, y: Any) -> Any:
        return wg.where(x > 0, wg.log(x), 0.0) + wg.sqrt(y)

    found = raised(choosing, np.array([0.0, 1.0]), np.array([1.0, -1.0]))
    assert (found.op, found.index) == ("sqrt", (1,))


def test_bad_elements_elsewhere_are_not_blamed():
    def products(x: Any, y: Any, z: Any) -> Any:
        first = wg.log(x) @ y  # row 0 is not finite
        return wg.concat([first[1:], first[1:]]) + wg.exp(z)

    x, y, z = np.ones((3, 2)), np.ones((2, 2)), np.ones((4, 2))
    x[0, 0], z[3, 1] = 0.0, 1000.0
    found = raised(products, x, y, z)
    assert (found.op, found.index) == ("exp", (3, 1))
    z[3, 1] = 0.0
    x[2, 1] = 0.0
    found = raised(products, x, y, z)
    assert (found.op, found.index) == ("log", (2, 1))


def test_a_product_that_overflows_beside_rows_that_are_not_finite():
    x = np.full((2, 2), 1e200)
    x[0] = np.inf
    found = raised(lambda x, y: (x @ y)[1], x, np.full((2, 2), 1e200))
    assert (found.op, found.index) == ("matmul", (1, 0))


def test_the_nan_and_not_the_infinity_beside_it():
    found = raised(lambda x, y: wg.exp(x) + wg.log(y), np.array([1000.0]), np.array([-1.0]))
    assert (found.op, found.value) == ("log", "nan")


def test_a_nan_made_of_infinite_constants():
    """No op made the infinities; the one that made a NaN of them is named."""
    masked = raised(
        lambda x: wg.softmax(wg.where(x > 0, x, -np.inf), axis=-1), np.array([[1.0], [-1.0]])
    )
    assert (masked.op, masked.inside, masked.index) == ("subtract", "softmax", (1, 0))
    assert masked.value == "nan"


def test_infinities_of_an_op_that_become_nan():
    found = raised(lambda x: wg.exp(x) - wg.exp(x), np.array([1.0, 1000.0]))
    assert (found.op, found.value, found.result_index) == ("exp", "inf", (1,))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: wg.cumulative_sum(x, axis=1),
        lambda x: wg.sort(x, axis=1),
        lambda x: wg.take(x, np.array([1, 1]), axis=0),
        lambda x: wg.flip(x),
        lambda x: wg.roll(x, 3),
        lambda x: wg.linalg.inv(x[:, :3] + 5.0 * np.eye(3)),
        lambda x: wg.einsum("ij,kj->ik", x, x),
        lambda x: wg.max(x, axis=0, keepdims=True),
        lambda x: x.reshape(2, 6).T[:3],
        lambda x: wg.broadcast_to(x, (5, 3, 4)) * 2.0,
        lambda x: wg.concat([x, x + 1.0]),
        lambda x: wg.tensordot(x, x, axes=2),
        lambda x: wg.stack([x + 1.0, wg.matmul(x[None], x.T)[0] @ x])[1],
    ],
)
def test_through_every_kind_of_op(function):
    x = np.random.default_rng(1).uniform(0.5, 1, (3, 4))
    x[1, 2] = -1.0
    found = raised(lambda x: function(wg.log(x)), x)
    assert (found.op, found.index) == ("log", (1, 2))


# Backward.


def rooted(x: Any) -> Any:
    shifted = x - 1.0
    return wg.sum(wg.sqrt(shifted))


@pytest.mark.parametrize("dtype", FLOATS)
def test_backward(dtype):
    x = np.array([2.0, 1.0, 3.0], dtype)
    wg.compile(rooted, nonfinite="raise")(x)
    found = raised(wg.grad(rooted), x)
    assert (found.phase, found.of, found.op, found.value) == ("backward", "sqrt", "divide", "inf")
    assert (found.index, found.parameter) == ((1,), "x")
    assert found.line == line_of(rooted, "wg.sqrt")
    assert str(found).startswith("sqrt: its backward step gave inf at index (1,)")


def test_the_sum_of_cotangents():
    found = raised(wg.grad(lambda x, s: wg.sum(x * s + x * s)), np.zeros(2), np.full(2, 1.5e308))
    assert (found.op, found.phase, found.value) == ("add", "backward", "inf")
    assert found.parameter == "x"


def test_gradients_of_named_parameters():
    def loss(params: Any, x: Any) -> Any:
        hidden = wg.relu(x @ params["layers"][0]["w"])
        return wg.sum(wg.sqrt(hidden @ params["layers"][1]["w"]))

    params = {"layers": [{"w": np.ones((2, 3))}, {"w": np.zeros((3, 1))}], "scale": np.ones(())}
    found = raised(wg.value_and_grad(loss), params, np.ones((4, 2)))
    assert (found.phase, found.of) == ("backward", "sqrt")
    assert found.parameter == "params.layers.0.w"
    assert "output 1.layers.0.w (for 'params.layers.0.w') must be finite" in str(found)


def test_two_parameters_that_share_a_cotangent():
    both = wg.grad(lambda a, b: wg.sum(wg.sqrt(a + b)), argnums=(0, 1))
    assert raised(both, np.zeros(2), np.zeros(2)).parameter == "a"

    graph = wg.trace(both, np.zeros(2), np.zeros(2))
    assert graph.returns[0] == graph.returns[1]
    assert graph.gradient_of[graph.returns[0]] == graph.inputs


# Composites.


def class_loss(logits: Any) -> Any:
    return wg.cross_entropy(logits * 1.0, np.array([1, 1]))


def test_inside_a_composite():
    logits = np.zeros((2, 2))
    logits[1] = 1e308, -1e308
    found = raised(class_loss, logits)
    assert (found.op, found.inside, found.phase) == ("subtract", "cross_entropy", "forward")
    assert (found.index, found.value) == ((1, 1), "-inf")
    assert found.line == line_of(class_loss, "wg.cross_entropy")
    assert str(found).startswith("subtract: gave -inf in the forward pass at index (1, 1), inside ")


@pytest.mark.parametrize("derive", [lambda f: f, wg.grad])
def test_composites_within_composites_have_the_name_of_the_outermost(derive):
    found = raised(derive(lambda x: wg.sum(wg.layer_norm(x, eps=0.0))), np.ones((2, 3)))
    assert (found.op, found.inside, found.value) == ("divide", "layer_norm", "nan")
    assert found.phase == "forward"


def smooth(x: Any) -> Any:
    return wg.sum(wg.silu(x))


def test_the_backward_step_of_a_composite():
    graph = wg.trace(wg.grad(smooth), np.ones(3))
    lines = [n.line for n in graph.nodes if n.line is not None]
    found = {(line.phase, line.of, line.inside) for line in lines}
    assert found >= {
        ("forward", "", "silu"),
        ("forward", "", ""),
        ("backward", "multiply", "silu"),
        ("backward", "sigmoid", "silu"),
    }
    assert {line.number for line in lines if line.of} == {line_of(smooth, "silu")}


def normed() -> Any:
    graph = wg.Graph()
    x = graph.input(np.ones((2, 3)), name="x")
    graph.set_outputs(wg.sum(wg.layer_norm(x, eps=0.0)))
    return wg.grad_with_loss(graph, [x])


def test_a_graph_that_is_differentiated():
    given = [np.ones((2, 3)), np.array(1.0)]
    cause = locate(normed(), given, ["x", "d_output"], {}, output=1)
    assert (cause.op, cause.line.inside) == ("divide", "layer_norm")
    assert cause.line.number == line_of(normed, "wg.layer_norm")


# Updates.


def test_the_update_of_a_donated_parameter():
    def step(p: Any, x: Any) -> Any:
        loss, grads = wg.value_and_grad(lambda p: wg.sum(wg.sqrt(p["w"]) * x) + wg.sum(p["b"]))(p)
        return wg.tree.map(lambda w, g: w - 0.1 * g, p, grads), loss

    p = {"b": np.ones(2), "w": np.array([1.0, 0.0])}
    before = wg.tree.copy(p)
    found = raised(step, p, np.ones(2), donate="p")
    assert (found.parameter, found.of, found.phase) == ("p.w", "sqrt", "backward")
    assert (found.index, found.result_index) == ((1,), (1,))
    assert all(np.array_equal(p[name], before[name]) for name in p)


# The error, and the function behind it.


def test_the_message():
    def loss(params: Any) -> Any:
        return wg.sum(wg.log(params["w"]))

    found = raised(loss, {"w": np.array([[1.0, 2.0], [3.0, -4.0]])})
    line = line_of(loss, "wg.log")
    assert str(found) == (
        "log: gave nan in the forward pass at index (1, 1), where x ('params.w') is -4 "
        "(range [-4, 3]); the output must be finite. Change what goes in, or pass "
        f"nonfinite='ignore'. (test_provenance.py:{line})"
    )


def test_an_error_can_be_sent_to_another_process():
    found = raised(rooted, np.zeros(2))
    copy = pickle.loads(pickle.dumps(found))
    assert str(copy) == str(found)
    assert vars(copy) == vars(found)


def test_locate_on_a_graph():
    graph = wg.trace(lambda x, y: (x + y, x / y), np.ones(3), np.ones(3))
    good, bad = np.ones(3), np.array([1.0, 2.0, 0.0])
    assert locate(graph, [good, good], ["x", "y"], {}) is None
    cause = locate(graph, [good, bad], ["x", "y"], {})
    assert (cause.op, cause.index, cause.position) == ("divide", (2,), 1)
    assert locate(graph, [good, bad], ["x", "y"], {}, output=0) is None
    assert describe(cause, "the ratio", by="train").startswith("divide: gave inf in the forward")


def test_nothing_is_said_where_nothing_can_be_found(monkeypatch):
    monkeypatch.setattr("wengert.runtime.origins.provenance.locate", lambda *given, **options: None)
    found = raised(lambda x: wg.log(x), np.zeros(2))
    assert str(found).startswith("compile: the output is not finite; ")
    assert found.op is None
