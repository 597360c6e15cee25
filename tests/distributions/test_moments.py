"""Means, variances and distribution functions against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import wengert as wg
from wengert import distributions as d

X = np.array([-1.5, -0.2, 0.0, 0.3, 0.9, 1.0, 4.0])
PAIRS = {
    "Normal": (d.Normal(0.3, 1.7), scipy.stats.norm(0.3, 1.7)),
    "Uniform": (d.Uniform(-0.5, 1.0), scipy.stats.uniform(-0.5, 1.5)),
    "Gamma": (d.Gamma(2.5, 0.7), scipy.stats.gamma(2.5, scale=1 / 0.7)),
    "Beta": (d.Beta(2.0, 0.6), scipy.stats.beta(2.0, 0.6)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_moments_and_cdf(name):
    ours, theirs = PAIRS[name]
    for mine, scipys in ((ours.mean, theirs.mean()), (ours.variance, theirs.var())):
        np.testing.assert_allclose(mine, scipys, rtol=1e-12)
    np.testing.assert_allclose(ours.std, theirs.std(), rtol=1e-12)
    np.testing.assert_allclose(ours.cdf(X), theirs.cdf(X), rtol=1e-10, atol=1e-14)
    compiled = wg.compile(lambda p, x: (p.cdf(x), p.variance))(ours, X)
    np.testing.assert_allclose(compiled[0], theirs.cdf(X), rtol=1e-10, atol=1e-14)
    inside = X[(theirs.pdf(X) > 0) & np.isfinite(theirs.pdf(X)) & (X != 1.0)]
    slopes = wg.grad(lambda x: wg.sum(ours.cdf(x)))(inside)
    np.testing.assert_allclose(slopes, theirs.pdf(inside), rtol=1e-9)
    assert np.isnan(ours.cdf(np.nan))


def test_the_tanh_of_a_normal_number():
    p = d.TanhNormal(0.3, 0.8)
    x = np.array([-1.5, -1.0, -0.2, 0.9, 1.0, 2.0])
    with np.errstate(divide="ignore"):
        expected = scipy.stats.norm(0.3, 0.8).cdf(np.arctanh(np.clip(x, -1, 1)))
    np.testing.assert_allclose(p.cdf(x), expected, rtol=1e-12)
    assert np.isnan(p.cdf(np.nan))
    slopes = wg.grad(lambda x: wg.sum(p.cdf(x)))(x[[0, 2, 3, 5]])
    np.testing.assert_allclose(slopes, np.exp(p.log_prob(x[[0, 2, 3, 5]])), rtol=1e-12)


def test_moments_of_the_others():
    p = d.Bernoulli(np.array([0.4, -2.0]))
    share = 1 / (1 + np.exp([-0.4, 2.0]))
    np.testing.assert_allclose(p.probs, share)
    np.testing.assert_allclose(p.mean, share)
    np.testing.assert_allclose(p.variance, share * (1 - share))
    np.testing.assert_allclose(p.std, np.sqrt(share * (1 - share)))
    np.testing.assert_allclose(d.Categorical(np.log([0.2, 0.8])).probs, [0.2, 0.8])
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    q = d.MultivariateNormal(np.zeros(2), np.linalg.cholesky(covariance))
    np.testing.assert_allclose(q.covariance, covariance)
    np.testing.assert_allclose(q.variance, [2.0, 1.0])
    np.testing.assert_allclose(q.std, np.sqrt([2.0, 1.0]))
