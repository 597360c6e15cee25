"""GradientTape: the backward pass into buffers, non-finite gradients, and watched values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import BY_DIFFERENCES, gradients, require_all_close

import wengert as wg
from api.parity.taped import REFUSED, zeros
from wengert.errors import NonFiniteError, ShapeError

rng = np.random.default_rng(4)

# Backward.


def test_backward_accumulates_into_the_buffers():
    tape = wg.GradientTape()
    a = tape.input(np.array([1.0, 2.0]))
    tape.record_mul(a, None, a, None)
    buffers = [np.array([10.0, 20.0]), np.zeros(2)]
    tape.backward(np.ones(2), buffers)
    tape.backward(np.ones(2), buffers)
    np.testing.assert_array_equal(buffers[a], [14.0, 28.0])
    np.testing.assert_array_equal(buffers[1], [2.0, 2.0])


def test_loss_grad_belongs_to_the_last_recorded_output():
    tape = wg.GradientTape()
    a, b = tape.input(np.array([1.0, 2.0])), tape.input(np.array([3.0, 4.0]))
    first = tape.record_mul(a, None, b, None)
    tape.record_add(a, b)
    tape.input(np.ones(7))  # a slot made later is no output
    buffers = [np.zeros(2) for _ in range(4)] + [np.zeros(7)]
    tape.backward(np.array([1.0, 2.0]), buffers)
    np.testing.assert_array_equal(buffers[first], [0.0, 0.0])
    np.testing.assert_array_equal(buffers[a], [1.0, 2.0])


def test_loss_grad_and_buffers_may_be_flat_or_shaped():
    x, y, gy = rng.standard_normal((3, 2, 2))
    tape = wg.GradientTape()
    a, b = tape.input(x), tape.input(y)
    tape.record_matmul(a, None, b, None)
    shaped, flat = zeros(tape, [(2, 2)]), zeros(tape, [4])
    tape.backward(gy, shaped)
    tape.backward(gy.reshape(4), flat)
    for each, other in zip(shaped, flat, strict=True):
        np.testing.assert_array_equal(each.reshape(4), other)
    np.testing.assert_array_equal(shaped[a], gy @ y.T)


def test_buffers_may_be_views():
    """Gradients go into the caller's memory, also where it is strided."""
    memory = np.zeros((2, 6))
    tape = wg.GradientTape()
    a = tape.input(np.array([1.0, 2.0, 3.0]))
    tape.record_mul(a, None, a, None)
    tape.backward(np.ones(3), [memory[0, ::2], memory[1, ::2]])
    np.testing.assert_array_equal(memory[0], [2.0, 0.0, 4.0, 0.0, 6.0, 0.0])


def test_too_few_buffers_are_an_error_and_nothing_is_written():
    tape = wg.GradientTape()
    a, b = tape.input(np.ones(2)), tape.input(np.ones(2))
    tape.record_mul(a, None, b, None)
    buffers = [np.zeros(2), np.zeros(2)]
    with pytest.raises(REFUSED, match="3"):
        tape.backward(np.ones(2), buffers)
    assert not np.any(buffers)


def test_more_buffers_than_slots_are_left_alone():
    tape = wg.GradientTape()
    tape.record_silu(tape.input(np.ones(2)), None)
    buffers = [*zeros(tape, [2]), np.full(3, 9.0)]
    tape.backward(np.ones(2), buffers)
    np.testing.assert_array_equal(buffers[2], [9.0, 9.0, 9.0])


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_a_buffer_of_the_wrong_shape_is_an_error_and_nothing_is_written(wrong: int):
    """Theirs: shape errors are silent."""
    tape = wg.GradientTape()
    a, b = tape.input(np.ones(2)), tape.input(np.ones(2))
    tape.record_mul(a, None, b, None)
    buffers = [np.zeros(2) for _ in range(3)]
    buffers[wrong] = np.zeros(5)
    with pytest.raises(ShapeError):
        tape.backward(np.ones(2), buffers)
    assert not any(np.any(each) for each in buffers)


UNFIT = {
    "integers": np.zeros(2, np.int64),
    "list": [0.0, 0.0],
    "read-only": np.broadcast_to(0.0, 2),
}


@pytest.mark.parametrize("buffer", UNFIT.values(), ids=UNFIT)
def test_a_buffer_that_cannot_hold_a_gradient_is_an_error_and_nothing_is_written(buffer: Any):
    tape = wg.GradientTape()
    a, b = tape.input(np.ones(2)), tape.input(np.ones(2))
    tape.record_mul(a, None, b, None)
    buffers = [np.zeros(2), buffer, np.zeros(2)]
    with pytest.raises(REFUSED):
        tape.backward(np.ones(2), buffers)
    assert not any(np.any(each) for each in buffers)


def test_a_loss_grad_of_the_wrong_shape_is_an_error_and_nothing_is_written():
    tape = wg.GradientTape()
    tape.record_silu(tape.input(np.ones(2)), None)
    buffers = zeros(tape, [2])
    with pytest.raises(ShapeError):
        tape.backward(np.ones(3), buffers)
    assert not np.any(buffers)


def test_nothing_recorded_is_an_error():
    tape = wg.GradientTape()
    tape.input(np.ones(2))
    with pytest.raises(REFUSED):
        tape.backward(np.ones(2), [np.zeros(2)])


@pytest.mark.parametrize("index", [2, 99, -1])
def test_an_index_that_is_no_slot_is_an_error(index: int):
    """Theirs: index errors are silent."""
    tape = wg.GradientTape()
    a = tape.input(np.ones(3))
    tape.input(np.ones((3, 3)))
    for record in (
        lambda: tape.record_add(a, index),
        lambda: tape.record_add(index, a),
        lambda: tape.record_mul(a, None, index, None),
        lambda: tape.record_matmul(index, None, 1, None),
        lambda: tape.record_silu(index, None),
        lambda: tape.record_layer_norm(index, None, None, np.ones(3)),
        lambda: tape.record_layer_norm(a, None, None, index),
        lambda: tape.record_ssm_scan(index, np.ones(3), np.ones(3)),
        lambda: tape.record_ssm_scan(a, index, np.ones(3)),
        lambda: tape.value(index),
    ):
        with pytest.raises(REFUSED, match=str(index)):
            record()
    assert tape.num_tensors == 2


def test_shapes_that_do_not_fit_are_an_error_and_add_no_slot():
    """Theirs: shape errors are silent."""
    tape = wg.GradientTape()
    a, b, m = tape.input(np.ones(3)), tape.input(np.ones(2)), tape.input(np.ones((2, 2)))
    before = tape.num_tensors
    for record in (
        lambda: tape.record_add(a, b),
        lambda: tape.record_mul(a, None, b, None),
        lambda: tape.record_mul(a, np.ones(2), a, np.ones(2)),
        lambda: tape.record_matmul(m, None, tape.input(np.ones((3, 2))), None),
        lambda: tape.record_silu(a, np.ones(2)),
        lambda: tape.record_layer_norm(a, None, None, np.ones(2)),
        lambda: tape.record_layer_norm(a, None, None, np.ones(3), bias=np.ones(2)),
        lambda: tape.record_ssm_scan(a, np.ones(2), np.ones(3)),
        lambda: tape.record_ssm_scan(a, np.ones(3), np.ones(4)),
        lambda: tape.record_ssm_scan(a, np.ones(3), np.ones(3), h0=np.ones(5)),
    ):
        with pytest.raises(ShapeError):
            record()
    assert tape.num_tensors == before + 1  # the one input made above


# Non-finite gradients.


def test_a_non_finite_gradient_names_op_and_slot_and_nothing_is_written():
    tape = wg.GradientTape()
    a, b = tape.input(np.array([1.0, 1e308])), tape.input(np.array([1.0, 1e308]))
    with np.errstate(over="ignore"):
        y = tape.record_mul(a, None, b, None)
        tape.record_mul(y, None, y, None)
        buffers = zeros(tape, [2])
        with pytest.raises(NonFiniteError, match=r"mul.*slot \d"):
            tape.backward(np.ones(2), buffers)
    assert not np.any(buffers)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_non_finite_loss_grad_is_an_error(bad: float):
    tape = wg.GradientTape()
    tape.record_silu(tape.input(np.ones(2)), None)
    buffers = zeros(tape, [2])
    with pytest.raises(NonFiniteError):
        tape.backward(np.array([1.0, bad]), buffers)
    assert not np.any(buffers)


def test_float32_stays_float32():
    x = rng.standard_normal(4).astype(np.float32)
    tape = wg.GradientTape()
    i = tape.input(x)
    y = tape.record_layer_norm(i, None, None, np.ones(4, np.float32))
    assert tape.value(y).dtype == np.float32
    buffers = [np.zeros(4, np.float32) for _ in range(2)]
    tape.backward(np.ones(4, np.float32), buffers)
    assert buffers[i].dtype == np.float32


# Watched values.


def test_watched_values_and_a_loss_in_plain_numpy():
    x, w = rng.standard_normal((2, 3)), rng.standard_normal((3, 2))
    with wg.GradientTape() as tape:
        a, b = tape.watch(x), tape.watch(w)
        loss = np.sum(np.tanh(a @ b) ** 2)
    found = tape.gradient(loss, [a, b])
    expected = gradients(lambda x, w: np.sum(np.tanh(x @ w) ** 2), x, w)
    assert isinstance(found, list)
    require_all_close(found, expected, BY_DIFFERENCES)


def test_sources_may_be_trees():
    model = {"w": np.array([1.0, 2.0]), "inner": (np.array(3.0), np.ones(2))}
    with wg.GradientTape() as tape:
        watched = tape.watch(model)
        loss = wg.sum(watched["w"] ** 2) * watched["inner"][0]
    gradient = tape.gradient(loss, watched)
    assert list(gradient) == ["w", "inner"]
    np.testing.assert_array_equal(gradient["w"], [6.0, 12.0])
    assert float(gradient["inner"][0]) == 5.0
    np.testing.assert_array_equal(gradient["inner"][1], [0.0, 0.0])


def test_python_sees_values_while_the_tape_records():
    with wg.GradientTape() as tape:
        x = tape.watch(np.array(3.0))
        loss = x * x if x > 2 else -x
    assert float(tape.gradient(loss, x)) == 6.0


def test_the_seed_is_the_cotangent_of_the_loss():
    with wg.GradientTape() as tape:
        x = tape.watch(np.array([1.0, 2.0]))
        y = x**2
    np.testing.assert_array_equal(tape.gradient(y, x, seed=np.array([1.0, 10.0])), [2.0, 40.0])
    with pytest.raises(ShapeError):
        tape.gradient(y, x)


def test_gradients_of_several_losses_from_one_tape():
    with wg.GradientTape() as tape:
        x = tape.watch(np.array([1.0, 2.0]))
        first, second = wg.sum(x**2), wg.sum(3 * x)
    np.testing.assert_array_equal(tape.gradient(first, x), [2.0, 4.0])
    np.testing.assert_array_equal(tape.gradient(second, x), [3.0, 3.0])


def test_tapes_inside_tapes_give_second_derivatives():
    with wg.GradientTape() as outer:
        x = outer.watch(np.array(2.0))
        with wg.GradientTape() as inner:
            y = inner.watch(x)
            loss = y**3
        slope = inner.gradient(loss, y)
    assert float(outer.gradient(slope, x)) == 12.0


def test_a_tape_inside_grad():
    def slope(x: Any) -> Any:
        with wg.GradientTape() as tape:
            y = tape.watch(x)
            loss = y**3
        return tape.gradient(loss, y)

    assert float(wg.grad(slope)(2.0)) == 12.0


def test_a_watched_non_finite_gradient_names_op_and_slot():
    with wg.GradientTape() as tape:
        x = tape.watch(np.array([1.0, 0.0]))
        loss = wg.sum(wg.sqrt(x))
    with pytest.raises(NonFiniteError, match=r"sqrt.*slot \d"):
        tape.gradient(loss, x)
