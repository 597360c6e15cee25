"""Initialisers: variances, bounds, seeds, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, ShapeError
from wengert.nn.init import INITIALISERS

SHAPE = (300, 200)  # (out, in)
VARIANCES = {
    "xavier_uniform": 2 / 500,
    "xavier_normal": 2 / 500,
    "he_uniform": 2 / 200,
    "he_normal": 2 / 200,
    "lecun_uniform": 1 / 200,
    "lecun_normal": 1 / 200,
    "normal": 1.0,
    "zeros": 0.0,
    "orthogonal": 1 / 300,
}


def test_every_initialiser_has_a_variance_here():
    assert VARIANCES.keys() == INITIALISERS.keys()


@pytest.mark.parametrize("name", VARIANCES)
def test_mean_and_variance(name):
    w = getattr(wg.nn.init, name)(SHAPE, seed=3, dtype=np.float64)
    assert w.shape == SHAPE
    variance = VARIANCES[name]
    # 60,000 numbers: standard errors are 1 / 245 of the deviation, and 1 / 170 of the variance
    assert abs(w.mean()) <= 4 * math.sqrt(variance / w.size)
    assert w.var() == pytest.approx(variance, rel=0.03)


@pytest.mark.parametrize("name", [name for name in VARIANCES if name.endswith("_uniform")])
def test_uniform_numbers_fill_their_range(name):
    limit = math.sqrt(3 * VARIANCES[name])
    w = INITIALISERS[name](SHAPE, dtype=np.float64)
    assert limit * 0.999 < np.abs(w).max() < limit


@pytest.mark.parametrize("name", [name for name in VARIANCES if name.endswith("normal")])
def test_normal_numbers_have_the_tails_of_the_normal_distribution(name):
    w = INITIALISERS[name](SHAPE, dtype=np.float64) / math.sqrt(VARIANCES[name])
    for k, outside in ((1, 0.3173), (2, 0.0455), (3, 0.0027)):
        assert np.mean(np.abs(w) > k) == pytest.approx(outside, rel=0.25)


@pytest.mark.parametrize("name", VARIANCES)
def test_seeds_and_dtypes(name):
    initialiser = INITIALISERS[name]
    single, double = (initialiser((5, 4), 7, dtype) for dtype in (np.float32, np.float64))
    assert single.dtype == np.float32
    assert np.array_equal(single, double.astype(np.float32))
    assert np.array_equal(initialiser((5, 4), seed=7), single)
    if name != "zeros":
        assert not np.array_equal(initialiser((5, 4), seed=8), single)
        rng = np.random.default_rng(7)
        assert np.array_equal(initialiser((5, 4), rng), single)
        assert not np.array_equal(initialiser((5, 4), rng), single)  # it has moved on


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (4, 2, 3), (1, 5)])
def test_orthogonal_rows_or_columns(shape):
    w = wg.nn.init.orthogonal(shape, seed=1, dtype=np.float64).reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-12)


def test_orthogonal_matrices_have_no_preferred_sign():
    """QR alone would give negative diagonals of R one sign only."""
    firsts = [wg.nn.init.orthogonal((3, 3), seed=s)[0, 0] for s in range(200)]
    assert 60 < sum(x > 0 for x in firsts) < 140


def test_fans_of_more_than_two_axes():
    """(out, in, k): fan_in = in · k, fan_out = out · k."""
    w = wg.nn.init.he_uniform((50, 20, 9), dtype=np.float64)
    assert math.sqrt(6 / 180) * 0.99 < np.abs(w).max() < math.sqrt(6 / 180)
    w = wg.nn.init.xavier_uniform((50, 20, 9), dtype=np.float64)
    assert math.sqrt(6 / 630) * 0.99 < np.abs(w).max() < math.sqrt(6 / 630)


def test_an_initialiser_of_ones_own():
    def halves(shape, seed, dtype):
        return np.full(shape, 0.5, dtype)

    assert np.all(wg.nn.Linear(3, 2, init=halves).weight == 0.5)
    assert np.all(wg.nn.Mlp((3, 2), init=halves).weights(0) == 0.5)


def test_what_is_refused():
    with pytest.raises(ShapeError, match=r"he_normal: given shape \(3,\)"):
        wg.nn.init.he_normal((3,))
    with pytest.raises(DTypeError, match="zeros: dtype="):
        wg.nn.init.zeros((3,), dtype=int)
    with pytest.raises(ValueError, match="Linear: init='glorot' was given; the initialisers are"):
        wg.nn.Linear(3, 2, init="glorot")
    with pytest.raises(ShapeError, match=r"returned shape \(1,\); shape \(2, 3\) was asked for"):
        wg.nn.Linear(3, 2, init=lambda shape, seed, dtype: np.zeros(1))


@pytest.mark.parametrize("name", VARIANCES)
def test_shapes_are_whole_numbers(name):
    initialiser = INITIALISERS[name]
    for shape in ((2, 3), [2, 3], np.array([2, 3])):
        assert initialiser(shape).shape == (2, 3)
    for shape in ((2.5, 3), (2, -1), "ab", None, (True, 2), ("a", 2), 2.0):
        with pytest.raises(ShapeError, match=f"{name}: shape=.* it must be a tuple of whole"):
            initialiser(shape)


def test_a_size_by_itself_is_a_shape_as_in_numpy():
    for size in (3, np.int64(3)):
        assert wg.nn.init.zeros(size).shape == wg.nn.init.normal(size).shape == (3,)
        with pytest.raises(ShapeError, match=r"orthogonal: given shape \(3,\); fans need"):
            wg.nn.init.orthogonal(size)


@pytest.mark.parametrize("seed", [-1, "a", 2.5])
def test_seeds_are_whole_numbers(seed):
    nn = wg.nn
    for make, by in (
        (lambda: nn.init.normal((2, 3), seed), "normal"),
        (lambda: nn.init.orthogonal((2, 3), seed), "orthogonal"),
        (lambda: nn.Linear(3, 2, init="he_uniform", seed=seed), "he_uniform"),
        (lambda: nn.Mlp((3, 2), seed=seed), "Mlp"),
        (lambda: nn.GRU(3, 2, seed=seed), "GRU"),
    ):
        with pytest.raises(ValueError, match=f"^{by}: seed={seed!r} was given; it must be a whole"):
            make()
