"""Gradients of an Mlp: every method of the reference system, and none of its faults."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as wg
from nn.reference import forward_backward
from nn.test_mlp import made, parameters_of, random
from wengert.codegen.kernel import THREADS
from wengert.errors import NonFiniteError, ShapeError
from wengert.runtime.workers import default_threads

DTYPES = [np.float32, np.float64]


def filled(dims=(3, 5, 2), dtype=np.float64, seed=0):
    """Gradients with random numbers in them."""
    grads = wg.nn.Mlp(dims, dtype=dtype).gradients()
    grads.params[...] = np.random.default_rng(seed).normal(size=grads.params.shape)
    return grads


# The methods.


def test_shapes_without_and_with_a_batch():
    mlp = wg.nn.Mlp((3, 5, 2))
    for grads in (mlp.gradients(), wg.nn.Gradients(mlp)):
        assert (grads.d_input.shape, grads.d_output.shape) == ((3,), (2,))
    for grads in (mlp.gradients(batch=6), wg.nn.Gradients(mlp, 6)):
        assert (grads.d_input.shape, grads.d_output.shape) == ((6, 3), (6, 2))
        assert [x.shape for x in parameters_of(grads)] == [(5, 3), (5,), (2, 5), (2,)]
    assert wg.nn.Scratch(mlp, 6).output.shape == mlp.scratch(6).output.shape == (6, 2)
    assert mlp.scratch().output.shape == (2,)


def test_views_are_writable_and_row_major():
    grads = filled()
    for x in (*parameters_of(grads), grads.d_output):
        assert x.flags.writeable
        assert x.flags.c_contiguous
        x[...] = 3
    assert np.all(grads.params == 3)
    assert np.shares_memory(grads.d_weights(1), grads.params)


def test_forward_returns_a_view_of_the_scratch():
    mlp, scratch, _ = made()
    x = random(3)
    y = mlp.forward(x, scratch)
    assert y is scratch.output
    assert not y.flags.writeable
    before = y.copy()
    mlp.forward(-x, scratch)
    assert not np.array_equal(y, before)


def test_parameter_gradients_sum_over_the_rows():
    mlp, scratch, grads = made(batch=5, dtype=np.float64)
    x, g = random((5, 3), 1, float), random((5, 2), 2, float)
    mlp.forward(x, scratch)
    grads.d_output[...] = g
    mlp.backward(x, scratch, grads)
    one, own = mlp.scratch(), mlp.gradients()
    for row, d in zip(x, g, strict=True):
        mlp.forward(row, one)
        own.d_output[...] = d
        mlp.backward(row, one, own, accumulate=True)
    np.testing.assert_allclose(own.params, grads.params, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_scale_and_norm(dtype):
    grads = filled(dtype=dtype)
    grads.d_output[...] = 5
    values = grads.params.astype(float)
    norm = math.sqrt(math.fsum(values**2))
    assert grads.global_l2_norm_params() == pytest.approx(norm, rel=1e-14)
    before = grads.params.copy()
    grads.scale_params(-0.5)
    assert np.array_equal(grads.params, before * dtype(-0.5))
    grads.zero_params()
    assert not grads.params.any()
    assert grads.global_l2_norm_params() == 0
    assert np.all(grads.d_output == 5)  # not a parameter


@pytest.mark.parametrize("dtype", DTYPES)
def test_clipping_returns_the_norm_before_and_keeps_the_direction(dtype):
    grads = filled(dtype=dtype)
    before, norm = grads.params.astype(float), grads.global_l2_norm_params()
    assert grads.clip_global_norm_params(2 * norm) == norm
    assert np.array_equal(grads.params, before)
    assert grads.clip_global_norm_params(norm) == norm
    assert np.array_equal(grads.params, before)
    assert grads.clip_global_norm_params(0.25) == norm
    np.testing.assert_allclose(grads.params, before * (0.25 / norm), rtol=1e-6)
    assert grads.global_l2_norm_params() == pytest.approx(0.25, rel=1e-6)


def test_copy_and_copy_from():
    mlp, scratch, grads = made(batch=2)
    x = random((2, 3))
    mlp.forward(x, scratch)
    grads.d_output[...] = 1
    mlp.backward(x, scratch, grads)
    other = grads.copy()
    assert np.array_equal(other.params, grads.params)
    assert np.array_equal(other.d_input, grads.d_input)
    assert np.array_equal(other.d_output, grads.d_output)
    grads.zero_params()
    assert other.params.any()
    grads.copy_from(other)
    assert np.array_equal(other.params, grads.params)
    assert not np.shares_memory(other.params, grads.params)


# Faults of the reference system.


def test_d_input_is_fresh_for_every_row_of_a_batch():
    """Theirs: a batched backward leaves d_input stale."""
    mlp, scratch, grads = made(batch=6, dtype=np.float64)
    grads.d_input[...] = np.nan
    for seed in (1, 2):
        x, g = random((6, 3), seed, float), random((6, 2), seed + 5, float)
        mlp.forward(x, scratch)
        grads.d_output[...] = g
        expected = forward_backward(mlp, x, g)[1]
        for accumulate in (False, True):
            found = mlp.backward(x, scratch, grads, accumulate=accumulate)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_not_finite_are_not_clipped_in_silence(bad):
    """Theirs: a NaN norm passes unclipped."""
    for dtype in DTYPES:
        grads = filled(dtype=dtype)
        grads.d_weights(1)[1, 2] = bad
        before = grads.params.copy()
        for call in (
            grads.global_l2_norm_params,
            lambda grads=grads: grads.clip_global_norm_params(1.0),
        ):
            with pytest.raises(NonFiniteError, match=r"d_weights\(1\) is .* at index \(1, 2\)"):
                call()
            assert np.array_equal(grads.params, before, equal_nan=True)
        norm = grads.clip_global_norm_params(1.0, nonfinite="ignore")
        assert not math.isfinite(norm)
        assert math.isnan(norm) == math.isnan(bad)
        assert np.array_equal(grads.params, before, equal_nan=True)
        assert not math.isfinite(grads.global_l2_norm_params(nonfinite="ignore"))


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e38), (np.float64, 1e307)])
def test_a_norm_whose_squares_overflow_is_exact(dtype, size):
    """Theirs: an overflowing norm turns finite gradients into zeros."""
    grads = filled(dtype=dtype)
    grads.params[...] = 0
    grads.d_biases(1)[...] = np.array([3 * size, 4 * size]) / 10
    norm = math.hypot(*map(float, grads.d_biases(1)))
    assert grads.global_l2_norm_params() == pytest.approx(norm, rel=1e-15)
    assert grads.clip_global_norm_params(10.0) == pytest.approx(norm, rel=1e-15)
    np.testing.assert_allclose(
        grads.d_biases(1), [6, 8], rtol=1e-6 if dtype is np.float32 else 1e-14
    )


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e-44), (np.float64, 1e-310)])
def test_a_norm_whose_squares_underflow_is_exact(dtype, size):
    grads = filled(dtype=dtype)
    grads.params[...] = 0
    grads.d_biases(1)[...] = np.array([3 * size, 4 * size])
    norm = math.hypot(*map(float, grads.d_biases(1)))
    assert norm > 0
    assert grads.global_l2_norm_params() == pytest.approx(norm, rel=1e-14, abs=0)
    before = grads.params.copy()
    assert grads.clip_global_norm_params(1.0) == pytest.approx(norm, rel=1e-14, abs=0)
    assert np.array_equal(grads.params, before)


def test_a_norm_beyond_the_largest_float():
    """Every gradient is finite, their norm is no float: that is an error, and never a zero."""
    grads = filled(dtype=np.float64)
    largest = np.finfo(float).max
    grads.params[...] = largest
    with pytest.raises(NonFiniteError, match="the norm is above the largest float"):
        grads.clip_global_norm_params(1.0)
    assert np.all(grads.params == largest)
    assert grads.clip_global_norm_params(1.0, nonfinite="ignore") == math.inf
    assert grads.global_l2_norm_params() == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("limit", [1e-300, 1e300])
def test_clipping_to_extreme_limits(limit):
    grads = filled(dtype=np.float64)
    grads.params[...] *= 1e5 * limit if limit > 1 else 1e10
    norm = grads.global_l2_norm_params()
    direction = grads.params / norm
    assert grads.clip_global_norm_params(limit) == norm
    np.testing.assert_allclose(grads.params / limit, direction, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "1", None])
def test_a_bad_limit_is_a_value_error(bad):
    """Theirs: it panics."""
    grads = filled()
    before = grads.params.copy()
    with pytest.raises(ValueError, match="max_norm="):
        grads.clip_global_norm_params(bad)
    assert np.array_equal(grads.params, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39, "2", None])
def test_a_bad_scale_is_a_value_error(bad):
    """Theirs: it panics. A number that is infinite as float32 is not finite."""
    grads = filled(dtype=np.float32)
    before = grads.params.copy()
    with pytest.raises(ValueError, match="scale="):
        grads.scale_params(bad)
    assert np.array_equal(grads.params, before)


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="raise, ignore"):
        filled().clip_global_norm_params(1.0, nonfinite="skip")


def test_float64_and_programs_that_threads_divide():
    """Theirs: f32 and one thread only."""
    for dtype in DTYPES:
        mlp, scratch, grads = made((32, 256, 256, 8), 512, dtype=dtype)
        for bound in (scratch.bound, grads.bound(False), grads.bound(True)):
            assert bound._bound.executable.recipe.divided
            assert bound._memory.frame[THREADS] == default_threads()
        x, g = random((512, 32), 1, dtype), random((512, 8), 2, dtype)
        mlp.forward(x, scratch)
        grads.d_output[...] = g
        mlp.backward(x, scratch, grads)
        assert grads.params.dtype == dtype
        expected = forward_backward(mlp, x, g)[2]
        tolerance = 1e-3 if dtype is np.float32 else 1e-11
        for a, b in zip(parameters_of(grads), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_backward_before_forward_shows():
    """Theirs: whatever is in the scratch counts."""
    mlp, scratch, grads = made()
    grads.d_output[...] = 1
    assert np.isnan(mlp.backward(random(3), scratch, grads)).all()


def test_scratch_or_gradients_of_another_mlp_or_batch_change_nothing():
    """Theirs: asserts."""
    mlp, scratch, grads = made((3, 5, 2), batch=4)
    x = random((4, 3))
    mlp.forward(x, scratch)
    grads.d_output[...] = 1
    mlp.backward(x, scratch, grads)
    before = [scratch.output.copy(), grads.params.copy(), grads.d_input.copy()]

    others = [wg.nn.Mlp((3, 6, 2)), wg.nn.Mlp((3, 5, 2), "relu"), wg.nn.Mlp((3, 5, 2), dtype=float)]
    for other in others:
        with pytest.raises(ShapeError, match="the Scratch is for 3-5-2, tanh, identity, float32"):
            other.forward(x, scratch)
        with pytest.raises(ShapeError, match="the Gradients is for"):
            other.backward(x, scratch, grads)
        with pytest.raises(ShapeError, match="they must be for the same"):
            mlp.backward(x, other.scratch(4), grads)
        with pytest.raises(ShapeError, match="both must be for the same"):
            grads.copy_from(other.gradients(4))
    for wrong in (mlp.scratch(5), mlp.scratch()):
        with pytest.raises(ShapeError, match="they must be for the same"):
            mlp.backward(x, wrong, grads)
    for bad in (x[:3], x[0], x[:, :2], x[None]):
        with pytest.raises(ShapeError, match=r"is for inputs of shape \(4, 3\)"):
            mlp.forward(bad, scratch)
        for accumulate in (False, True):
            with pytest.raises(ShapeError, match=r"is for inputs of shape \(4, 3\)"):
                mlp.backward(bad, scratch, grads, accumulate=accumulate)
    with pytest.raises(ShapeError, match="both must be for the same"):
        grads.copy_from(mlp.gradients(5))
    with pytest.raises(TypeError, match="copies from Gradients"):
        grads.copy_from(scratch)
    for a, b in zip(before, [scratch.output, grads.params, grads.d_input], strict=True):
        assert np.array_equal(a, b)
