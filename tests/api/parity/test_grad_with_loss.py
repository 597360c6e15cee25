"""grad_with_loss and its options: section 4, and what is wrong in the original."""

from __future__ import annotations

import dataclasses
import tracemalloc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import BY_DIFFERENCES, BY_JAX, gradients, require_all_close, require_close

import wengert as wg
from wengert.errors import MissingGradient, NotDifferentiable, ShapeError, WengertError

STRICT, TRAINING = wg.GradWithLossOptions.STRICT, wg.GradWithLossOptions.TRAINING

rng = np.random.default_rng(7)
X, W, B = rng.standard_normal((4, 3)), rng.standard_normal((3, 2)), rng.standard_normal(2)


class Network:
    """loss = Σ tanh(x w + b)², with the nodes by name."""

    def __init__(self) -> None:
        self.g = g = wg.Graph()
        self.x = g.input(X, name="x")
        self.w, self.b = g.parameter(W, name="w"), g.parameter(B, name="b")
        self.hidden = g.add(g.matmul(self.x, self.w), self.b)
        self.activation = g.tanh(self.hidden)
        self.loss = g.sum(g.mul(self.activation, self.activation))

    @staticmethod
    def formula(x: Any, w: Any, b: Any) -> Any:
        return np.sum(np.tanh(x @ w + b) ** 2)


# Options.


def test_options_are_a_frozen_dataclass():
    assert dataclasses.is_dataclass(wg.GradWithLossOptions)
    assert wg.GradWithLossOptions() == STRICT
    assert STRICT.zero_missing_wrt is False
    assert TRAINING.zero_missing_wrt is True
    assert wg.GradWithLossOptions(zero_missing_wrt=True) == TRAINING != STRICT
    assert len({STRICT, TRAINING, wg.GradWithLossOptions()}) == 2
    assert repr(TRAINING) == "GradWithLossOptions(zero_missing_wrt=True)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        STRICT.zero_missing_wrt = True


# Outputs.


def test_outputs_are_the_loss_and_a_gradient_for_each_wrt():
    n = Network()
    n.g.set_outputs(n.loss)
    loss, gw, gb = wg.grad_with_loss(n.g, [n.w, n.b]).run()
    _, expected_w, expected_b = gradients(n.formula, X, W, B)
    require_close(loss, n.formula(X, W, B), 1e-14)
    require_all_close([gw, gb], [expected_w, expected_b], BY_DIFFERENCES)


def test_gradients_come_in_the_order_of_wrt_and_may_repeat():
    n = Network()
    n.g.set_outputs(n.loss)
    _, gb, gw, gb_again = wg.grad_with_loss(n.g, [n.b, n.w, n.b]).run()
    assert (gb.shape, gw.shape) == (B.shape, W.shape)
    np.testing.assert_array_equal(gb, gb_again)


def test_wrt_may_be_empty():
    n = Network()
    n.g.set_outputs(n.loss)
    [loss] = wg.grad_with_loss(n.g, []).run()
    require_close(loss, n.formula(X, W, B), 1e-14)


def test_aux_outputs_are_mirrored_and_carry_no_gradient():
    n = Network()
    n.g.set_outputs(n.loss, n.activation, n.w)
    loss, activation, w, gw = wg.grad_with_loss(n.g, [n.w]).run()
    np.testing.assert_array_equal(activation, n.g.value(n.activation))
    np.testing.assert_array_equal(w, W)
    n.g.set_outputs(n.loss)
    alone = wg.grad_with_loss(n.g, [n.w]).run()
    np.testing.assert_array_equal(gw, alone[1])
    np.testing.assert_array_equal(loss, alone[0])


def test_wrt_that_only_an_aux_output_uses_is_missing():
    g = wg.Graph()
    w, v = g.parameter(np.ones(2), name="w"), g.parameter(np.ones(2), name="v")
    g.set_outputs(g.sum(w), g.sum(v))
    with pytest.raises(MissingGradient, match="v"):
        wg.grad_with_loss(g, [w, v])
    *_, gv = wg.grad_with_loss(g, [w, v], TRAINING).run()
    np.testing.assert_array_equal(gv, [0.0, 0.0])


def test_the_result_is_a_graph_that_runs_with_new_inputs():
    n = Network()
    n.g.set_outputs(n.loss)
    result = wg.grad_with_loss(n.g, [n.w])
    result.check()
    x = rng.standard_normal(X.shape)
    loss, gw = result.run(x=x, w=2 * W)
    require_close(loss, n.formula(x, 2 * W, B), 1e-14)
    require_close(gw, gradients(n.formula, x, 2 * W, B)[1], BY_DIFFERENCES)


def test_the_graph_given_is_not_changed():
    n = Network()
    n.g.set_outputs(n.loss)
    before = n.g.to_text()
    wg.grad_with_loss(n.g, [n.w, n.hidden])
    assert n.g.to_text() == before


def test_the_text_of_the_result_reads_back():
    n = Network()
    n.g.set_outputs(n.loss)
    result = wg.grad_with_loss(n.g, [n.w, n.hidden])
    again = wg.Graph.from_text(result.to_text())
    inputs = {"x": X, "w": W, "b": B, "d_output": np.array(0.5)}
    for found, expected in zip(again.run(**inputs), result.run(**inputs), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_gradients_of_a_traced_function():
    graph = wg.trace(Network.formula, X, W, B)
    loss, gw = wg.grad_with_loss(graph, [graph.inputs[1]]).run(x=X, w=W, b=B)
    require_close(loss, Network.formula(X, W, B), 1e-14)
    require_close(gw, gradients(Network.formula, X, W, B)[1], BY_DIFFERENCES)


# d_output.


def test_d_output_is_an_input_and_scales_the_gradient():
    n = Network()
    n.g.set_outputs(n.loss)
    result = wg.grad_with_loss(n.g, [n.w])
    loss, gw = result.run()
    loss_again, scaled = result.run(d_output=np.array(-3.0))
    np.testing.assert_array_equal(loss, loss_again)
    require_close(scaled, -3.0 * gw, 1e-14)


def test_d_output_has_the_shape_of_the_loss():
    n = Network()
    n.g.set_outputs(n.activation)
    result = wg.grad_with_loss(n.g, [n.w])
    gy = rng.standard_normal((4, 2))
    value, gw = result.run(d_output=gy)
    require_close(value, np.tanh(X @ W + B), 1e-14)
    [expected] = gradients(lambda w: np.sum(gy * np.tanh(X @ w + B)), W)
    require_close(gw, expected, BY_DIFFERENCES)
    with pytest.raises(ShapeError, match="d_output"):
        result.run(d_output=np.ones(3))
    with pytest.raises(ValueError, match="d_output"):
        result.run()  # one is the default only where the loss is a scalar


# Missing gradients.


def test_strict_names_each_wrt_that_no_gradient_reaches():
    n = Network()
    one = n.g.parameter(np.ones(3), name="unused_scale")
    two = n.g.parameter(np.ones(5), name="unused_bias")
    n.g.set_outputs(n.loss)
    with pytest.raises(MissingGradient) as caught:
        wg.grad_with_loss(n.g, [n.w, one, n.b, two])
    message = str(caught.value)
    assert "unused_scale" in message
    assert "unused_bias" in message
    assert "'w'" not in message


def test_strict_is_the_default():
    n = Network()
    unused = n.g.parameter(np.ones(3), name="unused")
    n.g.set_outputs(n.loss)
    for options in ((), (STRICT,)):
        with pytest.raises(MissingGradient, match="unused"):
            wg.grad_with_loss(n.g, [unused], *options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)], ids=str)
def test_training_gives_zeros_of_own_shape_and_dtype(shape: Any, dtype: Any):
    """Theirs: zeros always take 4 bytes per element."""
    n = Network()
    unused = n.g.parameter(np.ones(shape, dtype), name="unused")
    n.g.set_outputs(n.loss)
    _, gw, zeros = wg.grad_with_loss(n.g, [n.w, unused], TRAINING).run()
    assert (zeros.shape, zeros.dtype) == (shape, dtype)
    assert not np.any(zeros)
    assert np.any(gw)


def test_a_path_that_is_cut_is_missing_too():
    g = wg.Graph()
    w = g.parameter(np.ones(2), name="w")
    g.set_outputs(g.sum(wg.stop_gradient(w)))
    with pytest.raises(MissingGradient, match="w"):
        wg.grad_with_loss(g, [w])


def test_an_intermediate_after_the_loss_is_missing():
    n = Network()
    after = n.g.exp(n.loss)
    n.g.set_outputs(n.loss)
    with pytest.raises(MissingGradient):
        wg.grad_with_loss(n.g, [after])
    assert float(wg.grad_with_loss(n.g, [after], TRAINING).run()[1]) == 0.0


# wrt.


def test_intermediate_wrt_stays_valid():
    """Theirs: the number of an intermediate node means another node in the result."""
    n = Network()
    n.g.set_outputs(n.loss)
    result = wg.grad_with_loss(n.g, [n.hidden, n.w, n.activation])
    _, g_hidden, _, g_activation = result.run()
    hidden = X @ W + B
    require_close(g_activation, 2 * np.tanh(hidden), 1e-14)
    require_close(g_hidden, 2 * np.tanh(hidden) * (1 - np.tanh(hidden) ** 2), 1e-14)
    require_close(result.value(n.hidden), hidden, 1e-14)
    require_close(result.value(n.activation), np.tanh(hidden), 1e-14)


def test_the_gradient_with_respect_to_an_input_and_to_the_loss_itself():
    n = Network()
    n.g.set_outputs(n.loss)
    _, gx, g_loss = wg.grad_with_loss(n.g, [n.x, n.loss]).run()
    require_close(gx, gradients(n.formula, X, W, B)[0], BY_DIFFERENCES)
    assert float(g_loss) == 1.0


def test_handles_can_be_used_to_build_on_the_result():
    n = Network()
    n.g.set_outputs(n.loss)
    result = wg.grad_with_loss(n.g, [n.w])
    result.set_outputs(result.sum(result.mul(n.activation, n.activation)))
    require_close(result.run()[0], n.formula(X, W, B), 1e-14)


def test_second_order_by_differentiating_the_result():
    """The gradient graph is a graph like any other: H v = ∂⟨∂loss/∂w, v⟩/∂w."""
    n = Network()
    n.g.set_outputs(n.loss)
    first, v = wg.grad_with_loss(n.g, [n.w]), rng.standard_normal(W.shape)
    first.set_outputs(first.sum(first.mul(first.outputs[1], v)))
    _, found = wg.grad_with_loss(first, [n.w]).run()

    def along(w: Any) -> Any:
        return jnp.sum(jax.grad(lambda w: jnp.sum(jnp.tanh(X @ w + B) ** 2))(w) * v)

    require_close(found, jax.grad(along)(W), BY_JAX)


# Errors are errors.


def test_no_outputs_is_a_clear_error():
    g = wg.Graph()
    w = g.parameter(np.ones(2))
    with pytest.raises((WengertError, ValueError), match="output"):
        wg.grad_with_loss(g, [w])


def test_an_op_without_a_derivative_is_a_clear_error():
    """Theirs: a panic."""

    @wg.op.elementwise(numpy=np.cbrt, opaque="nobody has derived it yet")
    def underived(x: Any, /) -> None:
        """The cube root, here without a derivative."""

    g = wg.Graph()
    w = g.parameter(np.ones(2), name="w")
    g.set_outputs(g.sum(underived(w)))
    for options in (STRICT, TRAINING):
        with pytest.raises(NotDifferentiable, match=r"underived.*nobody has derived it yet"):
            wg.grad_with_loss(g, [w], options)


def test_a_node_of_another_graph_is_refused():
    n, stranger = Network(), wg.Graph().parameter(np.ones(2))
    n.g.set_outputs(n.loss)
    with pytest.raises(WengertError, match="graph"):
        wg.grad_with_loss(n.g, [stranger])


def test_a_loss_of_integers_is_refused():
    g = wg.Graph()
    w = g.parameter(np.ones(2))
    g.set_outputs(g.sum(g.input(np.array([1, 2]), name="counts")), g.sum(w))
    with pytest.raises(WengertError):
        wg.grad_with_loss(g, [w], STRICT)


# Awkward points.


@pytest.mark.parametrize(
    ("exponent", "first", "second"),
    [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (2.0, 0.0, 2.0), (3.0, 0.0, 0.0)],
)
def test_pow_at_zero_is_not_nan(exponent: float, first: float, second: float):
    """Theirs: NaN."""

    def loss(x: Any) -> Any:
        return wg.sum(x**exponent)

    graph = wg.trace(loss, np.zeros(2))
    gradient = wg.grad_with_loss(graph, [graph.inputs[0]], TRAINING).run(x=np.zeros(2))[1]
    np.testing.assert_array_equal(gradient, [first, first])
    np.testing.assert_array_equal(wg.hessian(loss)(np.zeros(2)), np.diag([second, second]))


def test_pow_with_an_exponent_that_is_differentiated_too():
    """d(x^y)/dy = x^y log x is 0 at x = 0, y > 0."""
    gx, gy = wg.grad(lambda x, y: x**y, argnums=(0, 1))(np.array(0.0), np.array(2.0))
    assert (float(gx), float(gy)) == (0.0, 0.0)


@pytest.mark.parametrize("zeros", [[], [1], [1, 3], [0, 1, 2, 3]], ids=str)
def test_prod_at_zero_is_not_nan(zeros: Any):
    """Theirs: NaN. The gradient of each factor is the product of the others."""
    x = np.array([2.0, -3.0, 5.0, 0.5])
    x[zeros] = 0.0
    graph = wg.trace(lambda x: wg.prod(x), x)
    _, gradient = wg.grad_with_loss(graph, [graph.inputs[0]]).run(x=x)
    require_close(gradient, [np.prod(np.delete(x, i)) for i in range(4)], 1e-14)
    others = [[np.prod(np.delete(x, [i, j])) * (i != j) for j in range(4)] for i in range(4)]
    require_close(wg.hessian(wg.prod)(x), others, 1e-14)


@pytest.mark.parametrize("sign", [1, -1], ids=["max", "min"])
def test_tied_maxima_share_the_gradient(sign: int):
    """Theirs: every tied maximum receives the full gradient."""
    x = sign * np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    fold = wg.max if sign > 0 else wg.min
    graph = wg.trace(lambda x: wg.sum(fold(x, axis=1)), x)
    _, gradient = wg.grad_with_loss(graph, [graph.inputs[0]]).run(x=x)
    np.testing.assert_allclose(gradient, [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)
    both = wg.grad(lambda x, y: wg.sum(wg.maximum(x, y)), argnums=(0, 1))
    np.testing.assert_array_equal(both(np.ones(2), np.array([1.0, 2.0])), [[0.5, 0], [0.5, 1]])


def test_grad_behaves_as_training():
    gw, gb = wg.grad(lambda w, b: wg.sum(w), argnums=(0, 1))(np.ones(2), np.ones(3, np.float32))
    np.testing.assert_array_equal(gw, [1.0, 1.0])
    assert (gb.shape, gb.dtype, np.any(gb)) == ((3,), np.float32, False)


# Checkpointing.


def test_checkpointing_saves_memory():
    """Theirs: it can cost more than it saves."""
    steps, x = 10, np.full(50_000, 0.3)

    def segment(x: Any) -> Any:
        for _ in range(steps):
            x = wg.sin(x)
        return x

    def loss(segment: Any) -> Any:
        def function(x: Any) -> Any:
            for _ in range(steps):
                x = segment(x)
            return wg.sum(x)

        return function

    def peak(segment: Any) -> tuple[int, Any]:
        tracemalloc.start()
        gradient = wg.grad(loss(segment))(x)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size, gradient

    full, expected = peak(segment)
    small, found = peak(wg.checkpoint(segment))
    np.testing.assert_array_equal(found, expected)
    assert small < full / 2
