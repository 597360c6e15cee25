"""Distributions: densities and entropies against SciPy, divergences against integrals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import wengert as wg
from wengert import distributions as d

KEY = wg.random.key(7)
X = np.array([-1.5, -0.2, 0.0, 0.3, 0.9, 1.0, 4.0])
MEAN = np.array([0.5, -1.0])
COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]])
FACTOR = np.linalg.cholesky(COVARIANCE)

CONTINUOUS = {
    "normal": (d.Normal(0.3, 1.7), scipy.stats.norm(0.3, 1.7)),
    "uniform": (d.Uniform(-0.5, 1.0), scipy.stats.uniform(-0.5, 1.5)),
    "gamma": (d.Gamma(2.5, 0.7), scipy.stats.gamma(2.5, scale=1 / 0.7)),
    "gamma of 1": (d.Gamma(1.0, 3.0), scipy.stats.gamma(1.0, scale=1 / 3)),
    "beta": (d.Beta(2.0, 0.6), scipy.stats.beta(2.0, 0.6)),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_entropies_and_draws(name):
    ours, theirs = CONTINUOUS[name]
    np.testing.assert_allclose(ours.log_prob(X), theirs.logpdf(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.entropy(), theirs.entropy(), rtol=1e-5)
    found = ours.sample(KEY, (5000,))
    assert found.dtype == np.float32
    assert scipy.stats.kstest(found, theirs.cdf).pvalue > 1e-3
    compiled = wg.compile(lambda p, x: p.log_prob(x))(ours, X)
    np.testing.assert_allclose(compiled, theirs.logpdf(X), rtol=1e-9, atol=1e-12)


def test_tanh_of_a_normal():
    p = d.TanhNormal(np.array(0.3), np.array(1.2))
    total = scipy.integrate.quad(lambda x: float(np.exp(p.log_prob(x))), -1, 1)[0]
    np.testing.assert_allclose(total, 1, rtol=1e-6)
    drawn, log_prob = p.sample_and_log_prob(KEY, (100,))
    np.testing.assert_allclose(p.log_prob(drawn), log_prob, rtol=1e-9)
    np.testing.assert_array_equal(p.sample(KEY, (100,)), drawn)
    far = d.TanhNormal(np.array(60.0), np.array(1.0)).sample_and_log_prob(KEY)
    assert far[0] == 1.0
    assert np.isfinite(far[1])
    np.testing.assert_array_equal(
        p.log_prob(np.array([-2.0, 1.0, np.nan])), [-np.inf, -np.inf, np.nan]
    )
    with pytest.raises(wg.errors.WengertError, match=r"TanhNormal\.entropy: .*Estimate it"):
        p.entropy()


def test_classes():
    logits = np.array([[0.5, -1.0, 2.0], [0.0, -np.inf, 0.0]])
    p = d.Categorical(logits)
    probabilities = np.exp(wg.log_softmax(logits))
    classes = np.array([2, 1])
    with np.errstate(divide="ignore"):
        expected = np.log(probabilities[[0, 1], classes])
    np.testing.assert_allclose(p.log_prob(classes), expected)
    np.testing.assert_allclose(p.entropy(), [scipy.stats.entropy(row) for row in probabilities])
    drawn = p.sample(KEY, (4000,))
    assert drawn.shape == (4000, 2)
    np.testing.assert_allclose(np.mean(drawn[:, 0] == 2), probabilities[0, 2], atol=0.03)
    assert p.log_prob(drawn).shape == (4000, 2)
    assert p.log_prob(np.array(0)).shape == (2,)
    gradient = wg.grad(lambda logits: wg.sum(d.Categorical(logits).entropy()))(logits)
    assert np.isfinite(gradient).all()
    with pytest.raises(wg.errors.DTypeError, match=r"Categorical\.log_prob: given float64"):
        p.log_prob(np.array([0.0]))


def test_true_and_false():
    p = d.Bernoulli(np.array([-800.0, 0.4, 800.0]))
    np.testing.assert_allclose(p.log_prob(1), [-800, np.log(wg.sigmoid(0.4)), 0])
    np.testing.assert_allclose(p.log_prob(np.array(False)), [0, np.log(wg.sigmoid(-0.4)), -800])
    share = 1 / (1 + np.exp(-0.4))
    np.testing.assert_allclose(
        p.entropy(), [0, scipy.stats.bernoulli(share).entropy(), 0], atol=1e-9
    )
    np.testing.assert_allclose(p.sample(KEY, (4000,)).mean(axis=0), [0, share, 1], atol=0.03)


def test_vectors():
    p, q = d.MultivariateNormal(MEAN, FACTOR), scipy.stats.multivariate_normal(MEAN, COVARIANCE)
    x = np.random.default_rng(0).normal(size=(7, 2))
    np.testing.assert_allclose(p.log_prob(x), q.logpdf(x), rtol=1e-10)
    np.testing.assert_allclose(p.entropy(), q.entropy(), rtol=1e-10)
    drawn = p.sample(KEY, (20000,))
    np.testing.assert_allclose(np.cov(drawn.T), COVARIANCE, atol=0.06)
    batch = d.MultivariateNormal(np.zeros((3, 2)), FACTOR)
    assert batch.sample(KEY, (5,)).shape == (5, 3, 2)
    assert batch.log_prob(x[:5, None]).shape == (5, 3)
    assert batch.entropy().shape == (3,)
    with pytest.raises(
        wg.errors.ShapeError, match=r"MultivariateNormal: given a mean of shape \(3,\)"
    ):
        d.MultivariateNormal(np.zeros(3), FACTOR).log_prob(np.zeros(3))


PAIRS = {
    "normal": (d.Normal(0.3, 1.2), d.Normal(-0.5, 0.8), (-12, 12)),
    "tanh": (d.TanhNormal(0.3, 0.7), d.TanhNormal(-0.2, 0.9), (-1, 1)),
    "uniform": (d.Uniform(0.2, 0.7), d.Uniform(-1.0, 1.0), (0.2, 0.7)),
    "gamma": (d.Gamma(2.5, 0.7), d.Gamma(1.5, 1.1), (0, 80)),
    "beta": (d.Beta(2.0, 3.0), d.Beta(1.5, 0.8), (0, 1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences_are_integrals(name):
    p, q, (low, high) = PAIRS[name]

    def integrand(x):
        first, second = float(p.log_prob(x)), float(q.log_prob(x))
        return np.exp(first) * (first - second) if first > -700 else 0.0

    expected = scipy.integrate.quad(integrand, low, high, limit=200)[0]
    np.testing.assert_allclose(float(d.kl(p, q)), expected, rtol=1e-6)
    np.testing.assert_allclose(d.kl(p, p), 0, atol=1e-6)


def test_divergences_of_the_others():
    p, q = np.array([0.2, 0.0, 0.8]), np.array([0.5, 0.0, 0.5])
    with np.errstate(divide="ignore"):
        first, second = d.Categorical(np.log(p)), d.Categorical(np.log(q))
    np.testing.assert_allclose(d.kl(first, second), scipy.stats.entropy(p, q))
    one, two = d.Bernoulli(np.array([0.3, 900.0])), d.Bernoulli(np.array([-1.0, 900.0]))
    share, other = 1 / (1 + np.exp(-0.3)), 1 / (1 + np.exp(1.0))
    expected = scipy.stats.entropy([share, 1 - share], [other, 1 - other])
    np.testing.assert_allclose(d.kl(one, two), [expected, 0], atol=1e-12)
    assert d.kl(d.Uniform(0.0, 2.0), d.Uniform(0.0, 1.0)) == np.inf
    wide = d.MultivariateNormal(np.zeros(2), 2 * np.eye(2))
    narrow = d.MultivariateNormal(MEAN, FACTOR)
    inverse = np.linalg.inv(4 * np.eye(2))
    expected = np.trace(inverse @ COVARIANCE) + MEAN @ inverse @ MEAN - 2
    expected = 0.5 * (expected + np.log(16 / np.linalg.det(COVARIANCE)))
    np.testing.assert_allclose(d.kl(narrow, wide), expected, rtol=1e-12)
    with pytest.raises(wg.errors.DTypeError, match=r"kl: given Normal and Gamma; .*estimate it"):
        d.kl(d.Normal(), d.Gamma(1.0))


def test_they_are_trees():
    p = d.Gamma(np.array([1.0, 2.0]), np.array(3.0))
    slopes = wg.grad(lambda p: wg.sum(p.log_prob(np.array([0.5, 0.7]))))(p)
    assert isinstance(slopes, d.Gamma)
    assert slopes.a.shape == (2,)
    drawn = wg.grad(lambda p, key: wg.sum(p.sample(key, (50,))))(p, KEY)
    assert (drawn.a > 0).all()
    assert (drawn.rate < 0).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: d.Normal(0.0, -1.0), "Normal: std=-1.0 was given; it must be a positive number"),
        (lambda: d.Gamma(0.0), "Gamma: a=0.0 was given"),
        (lambda: d.Uniform(1.0, 0.0), "Uniform: low=1.0 and high=0.0 were given"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ValueError, match=words):
        make()
