"""Draws from distributions: the right distribution, derivatives, compiled and eager alike."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import wengert as wg

KEY = wg.random.key(2025)
N = 20000
random = wg.random

# A draw of N numbers, and the distribution they must have.
CONTINUOUS = {
    "exponential": (lambda k: random.exponential(k, (N,)), scipy.stats.expon()),
    "gumbel": (lambda k: random.gumbel(k, (N,)), scipy.stats.gumbel_r()),
    "gamma of 0.2": (lambda k: random.gamma(k, 0.2, (N,), np.float64), scipy.stats.gamma(0.2)),
    "gamma of 1": (lambda k: random.gamma(k, 1.0, (N,)), scipy.stats.gamma(1)),
    "gamma of 700": (lambda k: random.gamma(k, 700, (N,), np.float64), scipy.stats.gamma(700)),
    "loggamma": (lambda k: random.loggamma(k, 0.5, (N,)), scipy.stats.loggamma(0.5)),
    "beta": (lambda k: random.beta(k, 0.7, 3.0, (N,)), scipy.stats.beta(0.7, 3)),
    "dirichlet": (
        lambda k: random.dirichlet(k, np.array([1.0, 2.0, 3.0]), (N,))[:, 1],
        scipy.stats.beta(2, 4),
    ),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -0.5, 2.0, (N,)),
        scipy.stats.truncnorm(-0.5, 2),
    ),
    "truncated_normal, far out": (
        lambda k: random.truncated_normal(k, 9.0, 10.0, (N,), np.float64),
        scipy.stats.truncnorm(9, 10),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers_are_distributed_as_they_should_be(name):
    draw, distribution = CONTINUOUS[name]
    found = draw(KEY)
    assert np.isfinite(found).all()
    assert scipy.stats.kstest(found, distribution.cdf).pvalue > 1e-3
    compiled = wg.compile(draw)(KEY)
    tolerance = 1e-10 if found.dtype == np.float64 else 3e-5
    np.testing.assert_allclose(compiled, found, rtol=tolerance, atol=1e-6)


def frequencies(found, count):
    return np.bincount(found.ravel(), minlength=count)[:count]


@pytest.mark.parametrize("rate", [0.05, 3.0, 80.0])
def test_poisson(rate):
    found = random.poisson(KEY, rate, (N,))
    np.testing.assert_array_equal(wg.compile(lambda k: random.poisson(k, rate, (N,)))(KEY), found)
    quantiles = np.arange(int(rate + 12 * rate**0.5) + 10)
    expected = scipy.stats.poisson(rate).pmf(quantiles) * N
    counts = frequencies(found, len(quantiles))
    common = expected > 5
    statistic = np.sum((counts - expected)[common] ** 2 / expected[common])
    assert scipy.stats.chi2(common.sum()).sf(statistic) > 1e-3
    assert (random.poisson(KEY, 0.0, (5,)) == 0).all()
    assert random.poisson(KEY, np.array([1.0, 1e9]), (3, 2), np.int32).dtype == np.int32


def test_categorical_and_choice():
    p = np.array([0.1, 0.0, 0.6, 0.3])
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    for found in (
        random.categorical(KEY, logits, (N,)),
        random.choice(KEY, 4, (N,), p=p),
        random.choice(KEY, np.arange(4), (N,), p=p),
        random.categorical(KEY, logits[:, None] + np.zeros((4, N)), axis=0),
    ):
        counts = frequencies(found, 4)
        assert counts[1] == 0
        assert scipy.stats.chisquare(counts[p > 0], p[p > 0] * N).pvalue > 1e-3
    even = frequencies(random.choice(KEY, 5, (N,)), 5)
    assert scipy.stats.chisquare(even).pvalue > 1e-3
    for weights in (None, np.array([0.1, 0.5, 0.2, 0.2])):
        found = random.choice(KEY, np.arange(8.0).reshape(4, 2), (3,), replace=False, p=weights)
        assert found.shape == (3, 2)
        assert len(set(found[:, 0])) == 3
    first = [
        int(random.choice(wg.random.fold_in(KEY, i), 3, (2,), False, np.array([0.7, 0.2, 0.1]))[0])
        for i in range(400)
    ]
    assert abs(np.mean(np.array(first) == 0) - 0.7) < 0.08


def test_many_keys_are_one_loop():
    """Recorded one by one, a thousand keys took many seconds to compile."""
    one_by_one = np.stack([random.fold_in(KEY, i) for i in range(1000)])
    np.testing.assert_array_equal(random.split(KEY, 1000), one_by_one)
    np.testing.assert_array_equal(wg.compile(lambda k: random.split(k, 1000))(KEY), one_by_one)
    assert len(wg.trace(lambda k: random.split(k, 1000), KEY).nodes) < 10
    both = wg.vmap(lambda k: random.split(k, 20))(one_by_one[:2])
    np.testing.assert_array_equal(both[1], random.split(one_by_one[1], 20))


def test_splitting_and_permuting():
    keys = random.split(KEY, 5)
    assert keys.shape == (5, 2)
    assert keys.dtype == np.uint32
    assert len({tuple(row) for row in keys.tolist()}) == 5
    np.testing.assert_array_equal(keys[:2], random.split(KEY))
    np.testing.assert_array_equal(wg.compile(lambda k: random.split(k, 5))(KEY), keys)
    rows = np.arange(12.0).reshape(6, 2)
    found = random.permutation(KEY, rows)
    np.testing.assert_array_equal(found, rows[random.permutation(KEY, 6)])


@pytest.mark.parametrize("a", [0.01, 0.3, 1.0, 7.5, 500.0])
def test_gamma_has_its_derivative_by_a(a):
    def draw(a):
        return random.loggamma(KEY, a, (40,), np.float64)

    step = 1e-5 * a
    expected = (draw(a + step) - draw(a - step)) / (2 * step)
    found = wg.jvp(draw, (np.array(a),), (np.array(1.0),))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    g = np.random.default_rng(0).normal(size=40)
    gradient = wg.grad(lambda a: wg.sum(draw(a) * g))(a)
    np.testing.assert_allclose(gradient, np.sum(found * g), rtol=1e-10)
    compiled = wg.compile(wg.grad(lambda a: wg.sum(draw(a) * g)))(a)
    np.testing.assert_allclose(compiled, gradient, rtol=1e-8)


def test_other_draws_have_derivatives():
    draws = {
        "beta": (lambda x: random.beta(KEY, x[0], x[1], (9,), np.float64), [0.8, 2.0]),
        "dirichlet": (lambda x: random.dirichlet(KEY, x, (5,), np.float64), [0.8, 2.0, 1.0]),
        "truncated": (
            lambda x: random.truncated_normal(KEY, x[0], x[1], (9,), np.float64),
            [0.3, 2.0],
        ),
    }
    for draw, at in draws.values():
        wg.check_grads(draw, [np.array(at)])
    assert wg.grad(lambda x: wg.sum(random.poisson(KEY, x, (9,)) * 1.0))(3.0) == 0


def test_a_generator_draws_them_too():
    rng = random.Generator(KEY)
    rates = np.array([1.0, 2.0])
    shapes = [
        rng.exponential((3,)).shape,
        rng.gumbel((3,)).shape,
        rng.categorical(np.zeros((3, 4))).shape,
        rng.gamma(rates, (3, 2)).shape,
        rng.beta(rates, 1.0).shape,
        rng.dirichlet(rates, (3,)).shape,
        rng.poisson(rates).shape,
        rng.truncated_normal(-1.0, rates).shape,
        rng.choice(9, (3,)).shape,
        rng.permutation(np.zeros((3, 2))).shape,
    ]
    assert shapes == [(3,), (3,), (3,), (3, 2), (2,), (3, 2), (2,), (2,), (3,), (3, 2)]
    assert rng.sites == len(shapes)


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (lambda: random.gamma(KEY, -1.0), ValueError, "gamma: a=-1.0 was given; .*positive"),
        (lambda: random.beta(KEY, 1.0, 0.0), ValueError, "beta: b=0.0 was given"),
        (lambda: random.gamma(KEY, np.ones(3), (3, 2)), wg.errors.ShapeError, "loggamma"),
        (lambda: random.gamma(KEY, np.ones(3), (1,)), wg.errors.ShapeError, "loggamma: shape"),
        (lambda: random.gamma(KEY, 1.0, dtype=int), wg.errors.DTypeError, "loggamma: dtype int64"),
        (lambda: random.poisson(KEY, -1.0), ValueError, "poisson: rate=-1.0 was given"),
        (lambda: random.categorical(KEY, 1.0), wg.errors.ShapeError, "categorical: given one"),
        (lambda: random.dirichlet(KEY, 1.0), wg.errors.ShapeError, "dirichlet: given one number"),
        (lambda: random.choice(KEY, 3, (4,), False), ValueError, "choice: shape .*replace=False"),
        (lambda: random.choice(KEY, 3, p=np.ones(2)), wg.errors.ShapeError, "choice: given p of"),
        (lambda: random.choice(KEY, 3.5), wg.errors.DTypeError, "choice: given one number"),
        (lambda: random.truncated_normal(KEY, 2.0, 1.0), ValueError, "low=2.0 and high=1.0"),
        (lambda: random.split(KEY, 0), ValueError, "split: count=0 was given"),
        (lambda: random.split(KEY, 2.5), ValueError, "split: count=2.5 was given"),
        (lambda: random.split([7, 11], 2), wg.errors.DTypeError, "split:"),
    ],
)
def test_refusals(draw, error, words):
    with pytest.raises(error, match=words):
        draw()
