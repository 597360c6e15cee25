"""After an error everything is as it was before: graphs, gradients, buffers, tapes and tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.core.bind import _stack
from wengert.errors import (
    DTypeError,
    MissingGradient,
    NonFiniteError,
    ShapeError,
    TraceError,
    WengertError,
)

line = np.array([1.0, 2.0, 3.0])


def small() -> tuple[wg.Graph, Any, Any, Any]:
    """A graph of x · w, whose gradient by w is x."""
    g = wg.Graph()
    x, w = g.input(line, name="x"), g.parameter(np.ones(3), name="w")
    loss = g.sum(g.mul(x, w))
    g.set_outputs(loss)
    return g, x, w, loss


@pytest.fixture(autouse=True)
def _no_level_stays_open():
    yield
    assert not _stack.levels
    assert _stack.recording == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda g, x: g.add(x, np.ones(4)),
        lambda g, x: g.sum(x, axis=5),
        lambda g, x: g.matmul(x, np.ones((4, 2))),
        lambda g, x: g.cat([x, np.ones((2, 2))]),
        lambda g, x: g.gather(x, np.array([9])),
        lambda g, x: g.where(x, np.ones(4), 0.0),
        lambda g, x: g.cross_entropy(x, np.array([0, 1])),
        lambda g, x: g.add(x, wg.Graph().input(line)),
        lambda g, x: g.input(line, name="x"),
        lambda g, x: g.input({"a": line, "b": np.ones(2, complex)}),
        lambda g, x: g.parameter({"a": line, "b": line}, dtype=int),
        lambda g, x: x + np.ones(4),
        lambda g, x: np.ones(4) * x,
        lambda g, x: wg.stack([x, np.ones(4)]),
        lambda g, x: wg.scan(lambda c, y: (np.ones(2), None), np.ones(3), x),
        lambda g, x: g.set_outputs(x, wg.Graph().input(line)),
        lambda g, x: wg.grad_with_loss(g, [99]),
        lambda g, x: wg.grad_with_loss(g, x),
    ],
)
def test_a_refused_call_leaves_no_node(call):
    g, x, *_ = small()
    before = (g.to_text(), list(g.nodes), list(g.inputs), list(g.returns))
    with pytest.raises((WengertError, ValueError, TypeError, IndexError)):
        call(g, x)
    assert (g.to_text(), list(g.nodes), list(g.inputs), list(g.returns)) == before
    g.check()
    assert g.run() == [6.0]


def test_a_refused_call_inside_a_traced_function_leaves_no_node():
    def careful(x):
        try:
            return x + np.ones(4)
        except ShapeError:
            return x * 2.0

    plain = wg.trace(lambda x: x * 2.0, line)
    assert [node.op.name for node in wg.trace(careful, line).nodes] == [
        node.op.name for node in plain.nodes
    ]


def test_values_stay_when_a_new_one_is_refused():
    g, x, w, loss = small()
    pair = g.parameter({"a": line, "b": line}, name="pair")
    assert g.value(loss) == 6.0
    with pytest.raises(ShapeError):
        g.set(x, np.ones(4))
    with pytest.raises(ShapeError):
        g.set(pair, {"a": np.zeros(3), "b": np.zeros(5)})  # not even the one that fits
    with pytest.raises(ShapeError):
        g.run(x=np.zeros(3), w=np.zeros(5))
    assert g.value(loss) == 6.0
    np.testing.assert_array_equal(g.value(pair)["a"], line)
    np.testing.assert_array_equal(g.value(w), np.ones(3))


def test_gradients_stay_when_backward_is_refused():
    g, _x, w, loss = small()
    g.backward(loss)
    refused = [
        (w, None),  # not a scalar
        (w, np.ones(4)),  # a seed of another shape
        (g.sum(g.input(np.arange(3))), None),  # integers
        (g.sum(g.input(shape=(2,), name="later")), None),  # no value
    ]
    for target, seed in refused:
        with pytest.raises((WengertError, ValueError)):
            g.backward(target, seed)
        np.testing.assert_array_equal(g.gradient(w), line)
    g.backward(loss)
    np.testing.assert_array_equal(g.gradient(w), 2 * line)


def test_a_graph_stays_when_its_gradient_is_refused():
    g, _x, w, _loss = small()
    unused = g.parameter(np.ones(2), name="unused")
    before = g.to_text()
    with pytest.raises(MissingGradient):
        wg.grad_with_loss(g, [w, unused])
    assert g.to_text() == before
    np.testing.assert_array_equal(wg.grad_with_loss(g, [w]).run()[1], line)


@pytest.mark.parametrize("fault", ["few", "size", "dtype", "read-only", "loss", "infinite"])
def test_no_buffer_is_written_when_backward_is_refused(fault):
    tape = wg.GradientTape()
    a = tape.input(np.array([1e200, 2.0]))
    tape.record_mul(a, None, a, None)
    tape.record_add(1, 0)
    buffers = [np.full(2, 7.0) for _ in range(tape.num_tensors)]
    seed = np.array([1e200, 1.0]) if fault == "infinite" else np.ones(2)
    if fault == "few":
        buffers.pop()
    elif fault == "size":
        buffers[2] = np.full(3, 7.0)
    elif fault == "dtype":
        buffers[2] = np.full(2, 7)
    elif fault == "read-only":
        buffers[2].flags.writeable = False
    elif fault == "loss":
        seed = np.ones(5)
    with pytest.raises((ShapeError, ValueError, NonFiniteError)):
        tape.backward(seed, buffers)
    assert all((buffer == 7).all() for buffer in buffers)


def test_a_refused_step_takes_no_slot():
    tape = wg.GradientTape()
    a, b = tape.input(line), tape.input(np.ones((4, 4)))
    for step in (
        lambda: tape.record_matmul(a, None, b, None),
        lambda: tape.record_add(a, b),
        lambda: tape.record_silu(a, np.ones(9)),
        lambda: tape.record_layer_norm(a, mean=9.0),
        lambda: tape.record_mul(a, None, 9, None),
    ):
        with pytest.raises((ShapeError, ValueError, IndexError)):
            step()
        assert tape.num_tensors == 2
    out = tape.record_mul(a, None, a, None)
    gradients = [np.zeros(3), np.zeros((4, 4)), np.zeros(3)]
    tape.backward(np.ones(3), gradients)
    assert out == 2
    np.testing.assert_array_equal(gradients[a], 2 * line)


def test_a_tape_goes_on_after_an_error():
    with wg.GradientTape() as tape:
        x = tape.watch(line)
        with pytest.raises(ShapeError):
            x + np.ones(4)
        with pytest.raises(TraceError):
            x[0] = 1.0
        with pytest.raises(DTypeError):
            tape.watch(np.arange(3))
        loss = wg.sum(x * x)
        root = wg.sum(wg.sqrt(x - 1.0))
    with pytest.raises(NonFiniteError):
        tape.gradient(root, x)
    with pytest.raises(ShapeError):
        tape.gradient(loss, x, seed=np.ones(2))
    with pytest.raises(MissingGradient):
        tape.gradient(loss, [x, line])
    np.testing.assert_array_equal(tape.gradient(loss, x), 2 * line)


@pytest.mark.parametrize("transform", [wg.grad, wg.jacobian, wg.hessian, wg.checkpoint])
def test_a_transformation_works_again_after_an_error(transform):
    def function(x, fails):
        y = wg.sum(x * x)
        return y + (np.ones(2) @ np.ones(3) if fails else 0.0)

    with pytest.raises(ValueError, match="matmul"):
        transform(function)(line, True)
    np.testing.assert_array_equal(wg.grad(function)(line, False), 2 * line)


@pytest.mark.parametrize(
    "write",
    [
        lambda out, x: np.add(x, x, out=out),
        lambda out, x: out.__iadd__(x),
        lambda out, x: np.sum(x, axis=0, out=out[0]),
        lambda out, x: np.cumsum(x, out=out),
        lambda out, x: out.__setitem__(slice(None), x),
        lambda out, x: out.__setitem__(0, x[0]),
    ],
)
def test_an_array_is_not_written(write):
    out = np.zeros(3)
    with pytest.raises((TraceError, ValueError)):
        wg.grad(lambda x: write(out, x))(line)
    np.testing.assert_array_equal(out, np.zeros(3))


def test_a_refused_op_does_not_enter_the_table():
    names = {op.name for op in wg.op}

    def half(x, /):
        """Half of each element."""

    with pytest.raises(ValueError, match="exactly one"):
        wg.op.elementwise(numpy=lambda x: x / 2)(half)
    half.__name__ = "add"
    with pytest.raises(ValueError, match="name of its own"):
        wg.op.elementwise(numpy=lambda x: x / 2, flat=True)(half)
    assert {op.name for op in wg.op} == names
    assert wg.op.add is wg.add
    assert not hasattr(wg.Tensor, "half")


def test_a_refused_draw_uses_up_no_site():
    rng, other = (wg.random.Generator(wg.random.key(0)) for _ in range(2))
    with pytest.raises(ValueError, match="low"):
        rng.uniform((3,), low=2.0, high=1.0)
    with pytest.raises(DTypeError):
        rng.normal((3,), dtype=int)
    with pytest.raises(ValueError, match="rate"):
        wg.dropout(line, 1.5, rng)
    assert rng.sites == 0
    np.testing.assert_array_equal(rng.normal((3,)), other.normal((3,)))
