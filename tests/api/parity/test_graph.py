"""Graphs built by hand: the interface of section 3, and what is wrong in the original."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from api.parity.graphed import Layer, Pair, require_gradients
from wengert.errors import DTypeError, MissingGradient, ShapeError, WengertError

rng = np.random.default_rng(20)


# Backward, accumulation and seeds.


def test_backward_accumulates_until_zero_grad():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, -2.0]), name="w")
    loss = g.sum(g.mul(w, w))
    g.backward(loss)
    g.backward(loss)
    np.testing.assert_array_equal(g.gradient(w), [4.0, -8.0])
    g.zero_grad()
    np.testing.assert_array_equal(g.gradient(w), [0.0, 0.0])
    g.backward(loss)
    np.testing.assert_array_equal(g.gradient(w), [2.0, -4.0])


def test_gradients_of_two_losses_add_up():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, -2.0]))
    g.backward(g.sum(g.scalar_mul(w, 3.0)))
    g.backward(g.sum(g.mul(w, w)))
    np.testing.assert_array_equal(g.gradient(w), [5.0, -1.0])


def test_seed_scales_the_gradient():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, -2.0]))
    g.backward(g.sum(g.mul(w, w)), seed=0.5)
    np.testing.assert_array_equal(g.gradient(w), [1.0, -2.0])


def test_a_loss_that_is_no_scalar_needs_a_seed():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, -2.0]))
    y = g.mul(w, w)
    with pytest.raises(ShapeError):
        g.backward(y)
    with pytest.raises(ShapeError):
        g.backward(y, seed=np.ones(3))
    g.backward(y, seed=np.array([1.0, 10.0]))
    np.testing.assert_array_equal(g.gradient(w), [2.0, -40.0])


def test_a_node_used_twice_receives_both_gradients():
    g = wg.Graph()
    w = g.parameter(np.array([0.3, 0.7]))
    y = g.add(g.sin(w), g.mul(w, g.exp(w)))
    require_gradients(g, y, [w], lambda w: np.sin(w) + w * np.exp(w), g.value(w))


def test_the_gradient_of_an_input_is_missing():
    g = wg.Graph()
    x, w = g.input(np.ones(2), name="x"), g.parameter(np.ones(2), name="w")
    g.backward(g.sum(g.mul(x, w)))
    with pytest.raises(MissingGradient):
        g.gradient(x)


def test_same_graph_same_bits():
    def bits() -> tuple[bytes, ...]:
        g, data = wg.Graph(), np.random.default_rng(0).standard_normal((50, 40))
        x, w = g.input(data), g.parameter(data.T[:, :8].copy())
        g.backward(g.mean(g.tanh(g.layer_norm(g.matmul(x, w)))))
        return g.gradient(w).tobytes(), g.value(g.matmul(x, w)).tobytes()

    assert bits() == bits()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients_keep_their_dtype(dtype: Any):
    g = wg.Graph()
    x, w = g.input(np.ones((2, 3), dtype)), g.parameter(np.ones((3, 2), dtype))
    y = g.scalar_mul(g.softmax(g.matmul(x, w)), 2.0)
    loss = g.cross_entropy(g.pow(y, 2.0), np.array([0, 1]))
    g.backward(loss)
    assert g.value(loss).dtype == dtype
    assert g.gradient(w).dtype == dtype


# Inputs, outputs and running.


def test_an_input_of_a_shape_gets_its_value_later():
    g = wg.Graph()
    x, w = g.input(shape=(2,), name="x"), g.parameter(np.array([3.0, 4.0]), name="w")
    y = g.mul(x, w)
    g.set_outputs(y)
    with pytest.raises(ValueError, match="x"):
        g.value(y)
    with pytest.raises(ValueError, match="x"):
        g.run()
    np.testing.assert_array_equal(g.run(x=np.array([1.0, 2.0]))[0], [3.0, 8.0])
    g.set(x, np.array([2.0, 2.0]))
    np.testing.assert_array_equal(g.value(y), [6.0, 8.0])


def test_outputs_come_in_order_and_are_nodes():
    g = wg.Graph()
    x = g.input(np.array([1.0, 2.0]), name="x")
    loss, doubled = g.sum(x), g.scalar_mul(x, 2.0)
    g.set_outputs(loss, doubled)
    assert [g.value(each).tolist() for each in g.outputs] == [3.0, [2.0, 4.0]]
    found = g.run(x=np.array([5.0, 6.0]))
    assert isinstance(found, list)
    assert [each.tolist() for each in found] == [11.0, [10.0, 12.0]]


def test_an_output_can_be_an_operand():
    g = wg.Graph()
    g.set_outputs(g.neg(g.input(np.array([1.0, 2.0]), name="x")))
    np.testing.assert_array_equal(g.value(g.scalar_mul(g.outputs[0], 10.0)), [-10.0, -20.0])


def test_full_sums_and_means_are_0d():
    g = wg.Graph()
    x = g.input(np.ones((2, 3)))
    assert g.value(g.sum(x)).shape == () == g.value(g.mean(x)).shape


def test_a_plain_array_is_a_constant_and_copied():
    g = wg.Graph()
    x, constant = g.parameter(np.ones(2)), np.array([1.0, 2.0])
    y = g.mul(x, constant)
    constant[:] = 99.0
    np.testing.assert_array_equal(g.value(y), [1.0, 2.0])
    g.backward(g.sum(y))
    np.testing.assert_array_equal(g.gradient(x), [1.0, 2.0])


def test_operands_may_all_be_constants():
    g = wg.Graph()
    np.testing.assert_array_equal(g.value(g.neg(np.array([1.0, 2.0]))), [-1.0, -2.0])
    np.testing.assert_array_equal(g.value(g.mul(np.array([1.0, 2.0]), 3.0)), [3.0, 6.0])


def test_given_values_are_copied():
    g, data, weights = wg.Graph(), np.ones(2), np.ones(2)
    x, w = g.input(data, name="x"), g.parameter(weights, name="w")
    y = g.add(x, w)
    data[:] = weights[:] = 99.0
    np.testing.assert_array_equal(g.value(y), [2.0, 2.0])
    g.set(x, data)
    data[:] = 0.0
    np.testing.assert_array_equal(g.value(y), [100.0, 100.0])


def test_an_array_that_was_returned_is_not_a_way_to_change_the_graph():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, 2.0]))
    y = g.scalar_mul(w, 2.0)
    g.backward(g.sum(y))
    for found in (g.value(w), g.value(y), g.gradient(w)):
        if found.flags.writeable:
            found[:] = 99.0
    np.testing.assert_array_equal(g.value(w), [1.0, 2.0])
    np.testing.assert_array_equal(g.value(y), [2.0, 4.0])
    np.testing.assert_array_equal(g.gradient(w), [2.0, 2.0])


# Trees.


def test_struct_field_gives_the_gradient_to_the_named_field_only():
    """Theirs: the index is ignored and the parent receives the whole gradient."""
    g = wg.Graph()
    layer = g.parameter(Layer(w=np.ones((2, 2)), b=np.array([1.0, 2.0])), name="layer")
    b = g.struct_field(layer, "b")
    g.backward(g.sum(g.mul(b, b)))
    gradient = g.gradient(layer)
    assert isinstance(gradient, Layer)
    np.testing.assert_array_equal(gradient.w, np.zeros((2, 2)))
    np.testing.assert_array_equal(gradient.b, [2.0, 4.0])


def test_map_lookup_gives_the_gradient_to_the_named_key_only():
    """Theirs: the index is ignored and the parent receives the whole gradient."""
    g = wg.Graph()
    table = g.parameter({"z": np.array(2.0), "a": np.array(3.0), "m": np.ones(2)}, name="table")
    g.backward(g.mul(g.map_lookup(table, "z"), g.map_lookup(table, "a")))
    gradient = g.gradient(table)
    assert list(gradient) == ["z", "a", "m"]
    assert (float(gradient["z"]), float(gradient["a"])) == (3.0, 2.0)
    np.testing.assert_array_equal(gradient["m"], [0.0, 0.0])


@pytest.mark.parametrize("pick", ["bias", 1])
def test_map_lookup_by_key_and_by_index_in_insertion_order(pick: Any):
    g = wg.Graph()
    table = g.parameter({"weight": np.ones(3), "bias": np.array([5.0])})
    found = g.map_lookup(table, pick)
    np.testing.assert_array_equal(g.value(found), [5.0])
    assert g.op(found)[2] == {"key_index": 1, "total_keys": 2}


@pytest.mark.parametrize("pick", ["b", 1])
def test_struct_field_by_name_and_by_index(pick: Any):
    g = wg.Graph()
    found = g.struct_field(g.parameter(Layer(np.ones(3), np.array([5.0]))), pick)
    np.testing.assert_array_equal(g.value(found), [5.0])
    assert g.op(found)[2] == {"field_index": 1, "total_fields": 2}


def test_trees_inside_trees():
    g = wg.Graph()
    model = {"layers": [Layer(np.ones((2, 2)), np.ones(2)), Layer(np.ones(2), np.array(4.0))]}
    p = g.parameter(model, name="model")
    second = g.map_lookup(g.map_lookup(p, "layers"), 1)
    b = g.struct_field(second, "b")
    g.backward(g.mul(b, b))
    gradient = g.gradient(p)
    assert float(gradient["layers"][1].b) == 8.0
    others = [gradient["layers"][0].w, gradient["layers"][0].b, gradient["layers"][1].w]
    assert all(not np.any(each) for each in others)
    assert [each.shape for each in others] == [(2, 2), (2,), (2,)]


def test_inputs_may_be_trees_too():
    g = wg.Graph()
    pair = g.input(Pair(np.array([1.0, 2.0]), np.array([3.0, 4.0])), name="pair")
    y = g.mul(g.struct_field(pair, "first"), g.struct_field(pair, "second"))
    np.testing.assert_array_equal(g.value(y), [3.0, 8.0])
    assert isinstance(g.value(pair), Pair)
    g.set(pair, Pair(np.ones(2), np.full(2, 7.0)))
    np.testing.assert_array_equal(g.value(y), [7.0, 7.0])
    with pytest.raises(MissingGradient):
        g.gradient(pair)


@pytest.mark.parametrize("pick", ["missing", 2, 17])
def test_an_unknown_field_or_key_is_an_error(pick: Any):
    g = wg.Graph()
    struct, table = g.parameter(Layer(np.ones(1), np.ones(1))), g.parameter({"a": np.ones(1)})
    with pytest.raises((WengertError, LookupError), match=str(pick)):
        g.struct_field(struct, pick)
    with pytest.raises((WengertError, LookupError), match=str(pick)):
        g.map_lookup(table, pick)


# Fields of `g.op` beside those of the table of variants.


@pytest.mark.parametrize("name", ["scalar_mul", "pow"])
def test_the_constant_of_scalar_mul_and_pow_is_a_field(name: str):
    g = wg.Graph()
    y = getattr(g, name)(g.parameter(np.array([1.0, 2.0])), 3.0)
    kind, operands, fields = g.op(y)
    assert (kind, len(operands), list(fields.values())) == (name, 1, [3.0])


def test_axes_in_fields_are_canonical():
    g = wg.Graph()
    x = g.parameter(np.ones((2, 3)))
    assert g.op(g.cat([x, x], axis=-1))[2]["axis"] == 1
    assert g.op(g.gather(x, np.array([0]), axis=-2))[2]["axis"] == 0


# Refusals: named, worded, and nothing half-changed.


def test_shapes_that_do_not_fit_are_an_error_and_add_no_node():
    g = wg.Graph()
    x, y = g.parameter(np.ones((2, 3))), g.parameter(np.ones((4, 5)))
    g.set_outputs(x)
    before = g.to_text()
    for build in (
        lambda: g.add(x, y),
        lambda: g.matmul(x, y),
        lambda: g.reshape(x, (4, 2)),
        lambda: g.cat([x, y], axis=0),
        lambda: g.softmax(x, axis=2),
        lambda: g.sum(x, axis=5),
        lambda: g.cross_entropy(x, np.array([0, 1, 2])),
    ):
        with pytest.raises(ShapeError):
            build()
        assert g.to_text() == before


def test_a_node_of_another_graph_is_refused():
    g, h = wg.Graph(), wg.Graph()
    x, y = g.parameter(np.ones(2)), h.parameter(np.ones(2))
    for call in (
        lambda: g.add(x, y),
        lambda: g.value(y),
        lambda: g.backward(y),
        lambda: g.gradient(y),
        lambda: g.set(y, np.ones(2)),
        lambda: g.set_outputs(y),
        lambda: g.op(y),
    ):
        with pytest.raises(WengertError, match="graph"):
            call()


def test_an_unknown_node_is_refused():
    g = wg.Graph()
    g.parameter(np.ones(2))
    for unknown in (7, -1, "w", None):
        with pytest.raises(ValueError, match=re.escape(repr(unknown))):
            g.value(unknown)


def test_set_refuses_a_wrong_shape_and_keeps_the_value():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, 2.0]), name="w")
    with pytest.raises(ShapeError, match="w"):
        g.set(w, np.ones(3))
    np.testing.assert_array_equal(g.value(w), [1.0, 2.0])


def test_set_refuses_a_wrong_dtype_and_keeps_the_value():
    g = wg.Graph()
    w = g.parameter(np.array([1.0, 2.0]), name="w")
    with pytest.raises(DTypeError, match="w"):
        g.set(w, np.array([1j, 2j]))
    np.testing.assert_array_equal(g.value(w), [1.0, 2.0])


def test_only_inputs_and_parameters_can_be_set():
    g = wg.Graph()
    w = g.parameter(np.ones(2))
    y = g.neg(w)
    with pytest.raises(ValueError, match="set"):
        g.set(y, np.ones(2))
    np.testing.assert_array_equal(g.value(y), [-1.0, -1.0])


def test_run_refuses_unknown_names_and_wrong_shapes():
    g = wg.Graph()
    x = g.input(np.ones(2), name="x")
    g.set_outputs(g.neg(x))
    with pytest.raises(ValueError, match="unknown"):
        g.run(unknown=np.ones(2))
    with pytest.raises(ShapeError, match="x"):
        g.run(x=np.ones(3))


def test_a_failed_backward_changes_no_gradient():
    g = wg.Graph()
    w = g.parameter(np.ones(2))
    y = g.mul(w, w)
    g.backward(y, seed=np.ones(2))
    with pytest.raises(ShapeError):
        g.backward(y, seed=np.ones((2, 2)))
    np.testing.assert_array_equal(g.gradient(w), [2.0, 2.0])
