"""Zeros, NaN, infinities, and gradients whose squares leave the range of floats."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg
from optim.all_optimizers import EVERY

o = wg.optim
EACH = pytest.mark.parametrize("name", EVERY)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def bits(optimizer, weights):
    """Everything a refused step must leave as it was."""
    found = {"weights": weights.tobytes(), "settings": repr(optimizer)}
    for key, state in optimizer.state_dict()["parameters"].items():
        found |= {(key, name): np.asarray(x).tobytes() for name, x in state.items()}
    return found


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@EACH
@DTYPES
def test_zero_gradients_and_zero_weights_stay_finite(name, dtype):
    for start in (0.0, 1.0):
        for slope in (0.0, 1.0):
            optimizer, weights = EVERY[name](), np.full(3, start, dtype)
            for _ in range(4):
                optimizer.step("w", weights, np.full(3, slope, dtype))
            assert np.isfinite(weights).all()
            if slope == 0 and start == 0:
                np.testing.assert_array_equal(weights, 0)
            if slope == 1:
                assert (weights < start).all()


@EACH
@DTYPES
def test_tiny_gradients(name, dtype):
    optimizer, weights = EVERY[name](), np.ones(3, dtype)
    for _ in range(3):
        optimizer.step("w", weights, np.full(3, 1e-30, dtype))
    assert np.isfinite(weights).all()


@EACH
def test_huge_gradients_in_double(name):
    optimizer, weights = EVERY[name](), np.ones(3)
    for _ in range(3):
        optimizer.step("w", weights, np.full(3, 1e30))
    assert np.isfinite(weights).all()
    assert (weights < 1).all()


@EACH
def test_huge_gradients_in_single_are_taken_or_refused_as_a_whole(name):
    """1e30 squared is beyond float32: who keeps squares cannot go on, and says so."""
    optimizer, weights = EVERY[name](), np.ones(3, np.float32)
    optimizer.step("w", weights, np.ones(3, np.float32))
    before = bits(optimizer, weights)
    kept = repr(optimizer.init({"w": weights, "b": weights}))
    if "square" not in kept and "total" not in kept:
        optimizer.step("w", weights, np.full(3, 1e30, np.float32))
        assert np.isfinite(weights).all()
        return
    with pytest.raises(wg.errors.NonFiniteError, match=r"of 'w' is (inf|nan) at index"):
        optimizer.step("w", weights, np.full(3, 1e30, np.float32))
    assert bits(optimizer, weights) == before


@EACH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(name, bad):
    optimizer, weights = EVERY[name](), np.ones((2, 2))
    optimizer.step("w", weights, np.ones((2, 2)))
    before = bits(optimizer, weights)
    grad = np.array([[1.0, 2.0], [bad, 3.0]])
    with pytest.raises(wg.errors.NonFiniteError, match=r"gradient of 'w' is .* at index \(1, 0\)"):
        optimizer.step("w", weights, grad)
    assert bits(optimizer, weights) == before
    optimizer.step("w", weights, grad, nonfinite="skip")
    assert bits(optimizer, weights) == before
    with pytest.raises(wg.errors.NonFiniteError):
        optimizer.step("fresh", weights, grad)
    assert bits(optimizer, weights) == before  # no state appears either


@EACH
def test_ignored_means_done(name):
    optimizer, weights = EVERY[name](), np.ones(2)
    optimizer.step("w", weights, np.array([np.nan, 1.0]), nonfinite="ignore")
    assert np.isnan(weights[0])


@EACH
def test_a_non_finite_gradient_of_a_node_changes_nothing(name):
    g = wg.Graph()
    pair = g.parameter({"a": np.ones(2), "b": np.zeros(2)}, name="pair")
    a, b = g.struct_field(pair, "a"), g.struct_field(pair, "b")
    g.backward(g.add(g.sum(a), g.sum(g.sqrt(b))))  # the slope of sqrt at 0 is infinite
    optimizer = EVERY[name]()
    with pytest.raises(wg.errors.NonFiniteError, match=r"'pair\.b'"):
        optimizer.step_graph_node(g, pair)
    optimizer.step_graph_node(g, pair, nonfinite="skip")
    np.testing.assert_array_equal(g.value(pair)["a"], 1)
    assert optimizer.state_dict()["parameters"] == {}


@pytest.mark.parametrize("variant", ["paper", "optax"])
@pytest.mark.parametrize(
    ("dtype", "size"), [(np.float64, 1e-200), (np.float64, 1e200), (np.float32, 1e30)]
)
def test_norms_of_lars_are_exact_where_squares_are_not(variant, dtype, size):
    """A direction of length 1 is the same at every scale of the gradient."""
    expected = np.array([3.0, 4.0]) - 0.1 * 5 * np.array([0.6, 0.8])
    weights = np.array([3.0, 4.0], dtype)
    optimizer = o.Lars(1.0, trust_coefficient=0.1, variant=variant)
    optimizer.step("w", weights, (np.array([0.6, 0.8]) * size).astype(dtype))
    np.testing.assert_allclose(weights, expected, rtol=1e-6 if dtype == np.float32 else 1e-14)


def test_a_nan_does_not_make_the_rate_of_lars_silently_one():
    weights = np.ones(2)
    o.Lars(0.1).step("w", weights, np.array([np.nan, 1.0]), nonfinite="ignore")
    assert np.isnan(weights).all()


def test_a_centered_variance_does_not_go_below_zero_by_rounding():
    """Of a constant gradient the variance is 0 up to rounding, of either sign."""
    optimizer, weights = o.RMSProp(0.1, centered=True, alpha=0.5), np.zeros(50, np.float32)
    grad = np.linspace(0.1, 1, 50, dtype=np.float32)
    for _ in range(60):
        optimizer.step("w", weights, grad, nonfinite="ignore")
    assert not np.isnan(weights).any()


def test_a_step_that_leads_out_of_the_floats_is_refused():
    weights = np.full(2, 3e38, np.float32)
    with pytest.raises(wg.errors.NonFiniteError, match="the new value of 'w' is inf"):
        o.SGD(2.0).step("w", weights, np.full(2, -3e38, np.float32))
    np.testing.assert_array_equal(weights, np.float32(3e38))
    with pytest.raises(wg.errors.NonFiniteError, match="the gradient of 'w' is inf"):
        o.SGD(1e-300).step("w", weights, np.full(2, 1e300))  # beyond the weights' dtype


def test_empty_and_zero_dimensional_parameters():
    for make in EVERY.values():
        optimizer, number, none = make(), np.array(2.0), np.zeros((0, 3))
        optimizer.step("number", number, np.array(1.0))
        optimizer.step("none", none, np.zeros((0, 3)))
        assert number < 2
