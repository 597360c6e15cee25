"""Graphs built by hand: axes, broadcasting and awkward points, where the original is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import BY_DIFFERENCES, gradients, require_close

import wengert as wg
from api.parity.graphed import require_gradients
from api.parity.variants import cross_entropy, normalized, softmax

rng = np.random.default_rng(20)


# Broadcasting and axes.

SHAPES = [((2, 3), (3,)), ((2, 3), (2, 1)), ((1, 3), (2, 1)), ((2, 3), ()), ((), (2,))]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_broadcasting_is_reduced_in_backward(name: str, shapes: Any):
    """Theirs: the gradient has the shape of the result, not that of the operand."""
    values = [rng.uniform(0.5, 2.0, shape) for shape in shapes]
    g = wg.Graph()
    x, y = (g.parameter(value) for value in values)
    formula = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    require_gradients(g, getattr(g, name)(x, y), [x, y], formula, *values)


def test_broadcasting_in_where_is_reduced_in_backward():
    values = [rng.standard_normal((3,)), rng.standard_normal((2, 1))]
    g, mask = wg.Graph(), np.array([[True, False, True], [False, True, True]])
    x, y = (g.parameter(value) for value in values)
    require_gradients(g, g.where(mask, x, y), [x, y], lambda x, y: np.where(mask, x, y), *values)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, (0, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sum_and_mean_over_axes(name: str, axis: Any, keepdims: bool):
    x = rng.standard_normal((2, 3, 2))
    g = wg.Graph()
    p = g.parameter(x)
    y = getattr(g, name)(p, axis=axis, keepdims=keepdims)
    formula = {"sum": np.sum, "mean": np.mean}[name]
    require_gradients(g, y, [p], lambda x: formula(x, axis=axis, keepdims=keepdims), x)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_softmax_acts_per_axis(axis: int):
    """Theirs: softmax normalises the flattened tensor."""
    x = rng.standard_normal((2, 3, 2))
    g = wg.Graph()
    p = g.parameter(x)
    y = g.softmax(p, axis=axis)
    np.testing.assert_allclose(np.sum(g.value(y), axis=axis), 1.0, rtol=1e-14)
    require_gradients(g, y, [p], lambda x: softmax(np, x, axis), x)


def test_softmax_acts_on_the_last_axis_by_default():
    x = rng.standard_normal((2, 3))
    g = wg.Graph()
    require_close(g.value(g.softmax(g.input(x))), softmax(np, x, -1), 1e-14)


def test_softmax_and_cross_entropy_of_large_logits_are_finite():
    g = wg.Graph()
    x = g.parameter(np.array([[1000.0, 0.0, -1000.0]]))
    loss = g.cross_entropy(x, np.array([2]))
    np.testing.assert_array_equal(g.value(g.softmax(x)), [[1.0, 0.0, 0.0]])
    assert float(g.value(loss)) == 2000.0
    g.backward(loss)
    np.testing.assert_array_equal(g.gradient(x), [[1.0, 0.0, -1.0]])


REDUCTIONS = {"none": lambda losses: losses, "sum": np.sum, "mean": np.mean}


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_of_class_indices(reduction: str):
    """Theirs: cross-entropy flattens the batch into one distribution."""
    logits, classes = rng.standard_normal((2, 3, 4)), rng.integers(0, 4, (2, 3))
    g = wg.Graph()
    p = g.parameter(logits)
    y = g.cross_entropy(p, classes, reduction=reduction)
    reduce = REDUCTIONS[reduction]
    require_gradients(g, y, [p], lambda x: reduce(cross_entropy(np, x, np.eye(4)[classes])), logits)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_of_dense_targets(reduction: str):
    logits, dense = rng.standard_normal((2, 4)), softmax(np, rng.standard_normal((2, 4)))
    g = wg.Graph()
    p, q = g.parameter(logits), g.parameter(dense)
    y = g.cross_entropy(p, q, reduction=reduction)
    reduce = REDUCTIONS[reduction]
    require_gradients(g, y, [p, q], lambda x, t: reduce(cross_entropy(np, x, t)), logits, dense)


def test_layer_norm_acts_on_the_last_axis_with_scale_and_shift():
    """Theirs: the flattened tensor is normalised, and there is no scale."""
    values = [rng.standard_normal(shape) for shape in ((2, 3, 4), (4,), (4,))]
    g = wg.Graph()
    x, scale, shift = (g.parameter(value) for value in values)
    require_gradients(
        g,
        g.layer_norm(x, scale, shift, eps=1e-3),
        [x, scale, shift],
        lambda x, scale, shift: normalized(np, x, -1, 1e-3) * scale + shift,
        *values,
    )


@pytest.mark.parametrize("shape", [(5, 3), (4, 2, 3)], ids=str)
def test_batch_norm_acts_per_feature_over_the_first_axis(shape: Any):
    """Theirs: the flattened tensor is normalised."""
    values = [rng.standard_normal(shape), *rng.standard_normal((2, *shape[1:]))]
    g = wg.Graph()
    x, scale, shift = (g.parameter(value) for value in values)
    require_gradients(
        g,
        g.batch_norm(x, scale, shift, eps=1e-3),
        [x, scale, shift],
        lambda x, scale, shift: normalized(np, x, 0, 1e-3) * scale + shift,
        *values,
    )


def test_batch_statistics_are_aux_outputs():
    x, scale = rng.standard_normal((5, 3)), rng.standard_normal(3)

    def loss(scale: Any, x: Any) -> Any:
        y, mean, var = wg.batch_norm_with_statistics(x, scale)
        return wg.sum(wg.sin(y)), mean, var

    graph = wg.trace(loss, scale, x)
    _, mean, var, gradient = wg.grad_with_loss(graph, [graph.inputs[0]]).run(scale=scale, x=x)
    require_close(mean, np.mean(x, axis=0), 1e-14)
    require_close(var, np.var(x, axis=0), 1e-14)
    [expected] = gradients(lambda s: np.sum(np.sin(normalized(np, x, 0) * s)), scale)
    require_close(gradient, expected, BY_DIFFERENCES)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_cat_in_three_dimensions_on_every_axis(axis: int):
    """Theirs: right only in 1-D and 2-D on axis 0."""
    shapes = [[2, 3, 2], [2, 3, 2], [2, 3, 2]]
    for size, shape in zip((1, 3, 2), shapes, strict=True):
        shape[axis] = size
    values = [rng.standard_normal(shape) for shape in shapes]
    g = wg.Graph()
    nodes = [g.parameter(value) for value in values]
    y = g.cat(nodes, axis=axis)
    assert tuple(g.op(y)[2]["sizes"]) == (1, 3, 2)
    require_gradients(g, y, nodes, lambda *xs: np.concatenate(xs, axis=axis), *values)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("indices", [[1, 0, 1, 1], [[0, 1], [1, -1]]], ids=str)
def test_gather_in_three_dimensions_on_every_axis(axis: int, indices: Any):
    """Theirs: right only in 1-D and 2-D on axis 0. Repeated indices add up."""
    x, positions = rng.standard_normal((2, 3, 2)), np.array(indices)
    g = wg.Graph()
    p = g.parameter(x)
    y = g.gather(p, positions, axis=axis)
    require_gradients(g, y, [p], lambda x: np.take(x, positions, axis=axis), x)


def test_an_index_out_of_range_is_an_error():
    g = wg.Graph()
    x = g.parameter(np.ones((2, 3)))
    with pytest.raises(IndexError):
        g.value(g.gather(x, np.array([0, 3]), axis=1))


def test_matmul_of_batches():
    values = [rng.standard_normal(shape) for shape in ((2, 2, 3), (3, 2))]
    g = wg.Graph()
    x, y = (g.parameter(value) for value in values)
    require_gradients(g, g.matmul(x, y), [x, y], np.matmul, *values)


def test_transpose_swaps_the_last_two_axes():
    x = rng.standard_normal((2, 3, 4))
    g = wg.Graph()
    p = g.parameter(x)
    require_gradients(g, g.transpose(p), [p], lambda x: np.swapaxes(x, 1, 2), x)


# Points of convention.


@pytest.mark.parametrize(
    ("exponent", "value", "gradient"), [(0.0, 1.0, 0.0), (1.0, 0.0, 1.0), (2.0, 0.0, 0.0)]
)
def test_powers_of_zero(exponent: float, value: float, gradient: float):
    """Theirs: pow(0, 0) gives NaN."""
    g = wg.Graph()
    x = g.parameter(np.zeros(2))
    y = g.pow(x, exponent)
    np.testing.assert_array_equal(g.value(y), [value, value])
    g.backward(g.sum(y))
    np.testing.assert_array_equal(g.gradient(x), [gradient, gradient])


def test_powers_of_negative_numbers():
    g = wg.Graph()
    x = g.parameter(np.array([-2.0, -0.5]))
    require_gradients(g, g.pow(x, 3.0), [x], lambda x: x * x * x, g.value(x))


def test_relu_and_abs_at_zero_and_clamp_at_its_bounds():
    g = wg.Graph()
    x = g.parameter(np.array([0.0, -1.0, 1.0]))
    for y, expected in (
        (g.relu(x), [0.0, 0.0, 1.0]),
        (g.abs(x), [0.0, -1.0, 1.0]),
        (g.clamp(x, -1.0, 1.0), [1.0, 1.0, 1.0]),
        (g.clamp(x, 0.0, 0.5), [1.0, 0.0, 0.0]),
    ):
        g.zero_grad()
        g.backward(g.sum(y))
        np.testing.assert_array_equal(g.gradient(x), expected)


def test_a_masked_value_leaves_no_nan_in_the_gradient():
    """Zero cotangents win: what was not chosen cannot spoil what was."""
    g = wg.Graph()
    x = g.parameter(np.array([0.0, 2.0]))
    g.backward(g.sum(g.where(np.array([False, True]), g.mul(x, g.ln(x)), 0.0)))
    np.testing.assert_allclose(g.gradient(x), [0.0, 1 + np.log(2.0)], rtol=1e-15)


@pytest.mark.parametrize("dtype", [bool, np.float64, np.float32, np.int64])
def test_where_takes_a_bool_or_a_mask_of_zeros_and_ones(dtype: Any):
    g = wg.Graph()
    mask = g.input(np.array([1, 0, 1]).astype(dtype), name="mask")
    x, y = g.parameter(np.array([1.0, 2.0, 3.0])), g.parameter(np.array([4.0, 5.0, 6.0]))
    chosen = g.where(mask, x, y)
    np.testing.assert_array_equal(g.value(chosen), [1.0, 5.0, 3.0])
    g.backward(g.sum(chosen))
    np.testing.assert_array_equal(g.gradient(x), [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(g.gradient(y), [0.0, 1.0, 0.0])
    g.set(mask, np.array([0, 0, 1]).astype(dtype))
    np.testing.assert_array_equal(g.value(chosen), [4.0, 5.0, 3.0])
