"""Norms and clipping: exact at every scale, never silent about what is not finite."""

from __future__ import annotations

from functools import partial

import numpy as np
import optax
import pytest

import wengert as wg

o = wg.optim
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def grads(dtype=np.float64, scale=1.0):
    rng = np.random.default_rng(0)
    return {
        "a": (rng.normal(size=(3, 4)) * scale).astype(dtype),
        "b": [(rng.normal(size=5) * scale).astype(dtype), np.array([1, 2])],
        "c": None,
    }


def floats(tree):
    return [x for x in wg.tree.leaves(tree) if x.dtype.kind == "f"]


def long_norm(tree):
    flat = np.concatenate([x.ravel().astype(np.longdouble) for x in floats(tree)])
    return float(np.sqrt((flat * flat).sum()))


SCALES = [(np.float64, 10.0**k) for k in (-310, -200, -1, 0, 1, 200, 306)]
SCALES += [(np.float32, 10.0**k) for k in (-40, -30, 0, 30, 37)]


@pytest.mark.parametrize(("dtype", "scale"), SCALES)
def test_global_norm_is_exact_at_every_scale(dtype, scale):
    tree = grads(dtype, scale)
    found = o.global_norm(tree)
    assert found.dtype == np.float64
    for norm in (found, wg.compile(o.global_norm)(tree)):
        np.testing.assert_allclose(norm, long_norm(tree), rtol=1e-15, atol=1e-323)


def test_a_tied_leaf_counts_once():
    shared = np.array([3.0, 4.0])
    assert o.global_norm({"a": shared, "b": shared}) == 5
    clipped, norm = o.clip_by_global_norm({"a": shared, "b": shared}, 1.0)
    assert norm == 5
    assert clipped["a"] is clipped["b"]
    np.testing.assert_allclose(clipped["a"], [0.6, 0.8])


def test_trees_without_floats():
    assert o.global_norm({}) == 0
    assert o.global_norm({"n": np.array([3])}) == 0
    assert o.global_norm({"empty": np.zeros((0, 2))}) == 0
    tree, norm = o.clip_by_global_norm({"n": np.array([3]), "e": np.zeros(0)}, 1.0)
    assert (tree["n"], norm) == (3, 0)


@DTYPES
def test_clipping_equals_optax(dtype):
    tree = grads(dtype)
    jax_tree = {"a": tree["a"], "b": tree["b"][0]}
    cases = [
        (o.clip_by_global_norm(tree, 1.5)[0], optax.clip_by_global_norm(1.5)),
        (o.clip_by_value(tree, 0.5), optax.clip(0.5)),
    ]
    for found, transformation in cases:
        expected, _ = transformation.update(jax_tree, transformation.init(jax_tree))
        assert found["a"].dtype == dtype
        np.testing.assert_allclose(found["a"], expected["a"], rtol=1e-6)
        np.testing.assert_allclose(found["b"][0], expected["b"], rtol=1e-6)
        assert found["b"][1] is tree["b"][1]
        assert found["c"] is None


def test_each_leaf_by_its_own_norm():
    tree = grads()
    found = o.clip_by_norm(tree, 1.5)
    for one, other in zip(floats(found), floats(tree), strict=True):
        np.testing.assert_allclose(one, other * min(1, 1.5 / np.linalg.norm(other)), rtol=1e-15)


CLIPS = {
    "global": lambda t, most, **how: o.clip_by_global_norm(t, most, **how)[0],
    "each": o.clip_by_norm,
    "value": o.clip_by_value,
}


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
def test_what_is_short_enough_keeps_its_bits(clip):
    tree = grads()
    for one, other in zip(floats(clip(tree, 1e3)), floats(tree), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("dtype", "scale"), SCALES)
def test_clipped_gradients_have_the_norm_and_the_direction(dtype, scale):
    tree = grads(dtype, scale)
    most = max(float(long_norm(tree)) / 8, float(np.finfo(dtype).tiny))
    clipped, norm = o.clip_by_global_norm(tree, most)
    np.testing.assert_allclose(norm, o.global_norm(tree))
    if norm <= most:
        return
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(long_norm(clipped), most, rtol=8 * eps)
    for one, other in zip(floats(clipped), floats(tree), strict=True):
        np.testing.assert_allclose(one, other / 8, rtol=16 * eps)


@DTYPES
def test_a_norm_beyond_the_largest_float_still_clips(dtype):
    """Finite gradients must not become zeros because their norm is infinite."""
    top = np.finfo(dtype).max
    tree = {"a": np.full(4, top, dtype), "b": np.zeros(2, dtype)}
    clipped, norm = o.clip_by_global_norm(tree, 2.0)
    assert np.isinf(norm) if dtype == np.float64 else norm == 2 * float(top)
    np.testing.assert_allclose(clipped["a"], 1.0, rtol=1e-6)
    np.testing.assert_array_equal(clipped["b"], 0)
    np.testing.assert_allclose(o.clip_by_norm(tree, 2.0)["a"], 1.0, rtol=1e-6)
    np.testing.assert_allclose(wg.compile(partial(CLIPS["global"], most=2.0))(tree)["a"], 1.0, 1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
def test_what_is_not_finite_is_never_clipped_into_silence(clip, bad):
    tree = {"a": np.array([5.0, 6.0]), "b": np.array([[1.0], [bad]])}
    with pytest.raises(wg.errors.NonFiniteError, match=r"'b' is .* at index \(1, 0\)"):
        clip(tree, 1.0)
    ways = [
        partial(clip, nonfinite="ignore"),
        wg.compile(lambda t: clip(t, 1.0)),
    ]
    for found in (ways[0](tree, 1.0), ways[1](tree)):
        np.testing.assert_array_equal(found["b"][1], bad)  # as it was
    found, norm = o.clip_by_global_norm(tree, 1.0, nonfinite="ignore")
    assert not np.isfinite(norm)
    np.testing.assert_array_equal(found["a"], tree["a"])


@pytest.mark.parametrize("most", [0.0, -1.0, np.nan, np.inf, "1", None, np.ones(2), True, 1j])
@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
def test_a_bad_bound_is_refused(clip, most):
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        clip(grads(), most)


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
def test_a_bad_policy_is_refused(clip):
    with pytest.raises(ValueError, match="nonfinite='stop' was given"):
        clip(grads(), 1.0, nonfinite="stop")


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
@DTYPES
def test_compiled_equals_eager_and_the_bound_may_be_an_argument(clip, dtype):
    tree = grads(dtype)
    compiled = wg.compile(lambda t, most: clip(t, most))
    for most in (0.1, 1.0, 1e6):
        found, expected = compiled(tree, np.array(most)), clip(tree, most)
        for one, other in zip(floats(found), floats(expected), strict=True):
            assert one.dtype == dtype
            np.testing.assert_allclose(one, other, rtol=8 * np.finfo(dtype).eps)


def test_dtypes_may_be_mixed():
    tree = {"a": np.full(2, 3e30, np.float32), "b": np.full(2, 4e30)}
    clipped, norm = o.clip_by_global_norm(tree, 1.0)
    np.testing.assert_allclose(norm, 5e30 * np.sqrt(2), rtol=1e-7)
    assert (clipped["a"].dtype, clipped["b"].dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(clipped["a"], 0.6 / np.sqrt(2), rtol=1e-6)


def test_clipping_can_be_differentiated():
    def length(x):
        clipped, _ = o.clip_by_global_norm({"x": x}, 1.0, nonfinite="ignore")
        return wg.sum(clipped["x"] * np.array([1.0, 2.0]))

    wg.check_grads(length, [np.array([3.0, 4.0])])
    wg.check_grads(length, [np.array([0.3, 0.4])])
