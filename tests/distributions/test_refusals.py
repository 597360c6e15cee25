"""What cannot occur, what is no parameter, and names of other libraries."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import distributions as d

KEY = wg.random.key(0)
FACTOR = np.array([[1.4, 0.0], [0.5, 0.9]])


def test_what_cannot_occur_has_probability_zero():
    p = d.Bernoulli(0.0)
    half = -np.log(2)
    found = p.log_prob(np.array([0.0, 1.0, 0.3, 2.0, -1.0, np.nan]))
    np.testing.assert_allclose(found, [half, half, -np.inf, -np.inf, -np.inf, np.nan])
    np.testing.assert_allclose(p.log_prob(np.array([0, 1, 2, -1])), [half, half, -np.inf, -np.inf])
    np.testing.assert_allclose(p.log_prob(np.array([True, False])), [half, half])
    compiled = wg.compile(lambda x: p.log_prob(x))
    np.testing.assert_allclose(compiled(np.array([1.0, 0.3, np.nan])), [half, -np.inf, np.nan])
    np.testing.assert_array_equal(
        d.Uniform(0.0, 2.0).log_prob(np.array([np.nan, 3.0])), [np.nan, -np.inf]
    )


def test_a_negative_class_is_none():
    p = d.Categorical(np.zeros((2, 3)))
    with pytest.raises(IndexError, match=r"Categorical\.log_prob: class -1 .* position \(1,\)"):
        p.log_prob(np.array([0, -1]))
    with pytest.raises(IndexError, match="class 3 was given for logits of 3 classes"):
        p.log_prob(3)
    compiled = wg.compile(lambda p, x: p.log_prob(x))
    with pytest.raises(IndexError, match="index"):
        compiled(p, np.array([0, -1]))
    np.testing.assert_allclose(compiled(p, np.array([0, 2])), -np.log(3))


def test_arrays_are_checked_as_numbers_are():
    with pytest.raises(ValueError, match=r"Normal: std=-1\.0 was given at position \(1,\)"):
        d.Normal(np.zeros(2), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"Gamma: rate=0\.0 was given at position \(0,\)"):
        d.Gamma(1.0, np.zeros(2))
    with pytest.raises(ValueError, match=r"gamma: a=-2\.0 was given"):
        wg.random.gamma(KEY, np.array([-2.0]))
    with pytest.raises(ValueError, match="Uniform: low="):
        d.Uniform(np.zeros(2), np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match=r"numbers above its diagonal.*wg\.linalg\.cholesky"):
        d.MultivariateNormal(np.zeros(2), np.array([[2.0, 0.6], [0.6, 1.0]]))
    slopes = wg.grad(lambda p: p.log_prob(0.5))(d.Normal(np.array(0.0), np.array(0.1)))
    assert isinstance(slopes, d.Normal)  # whose std is a slope, and may be negative


COVARIANCE = np.array([[2.0, 0.6], [0.6, 1.0]])


def _density(factor):
    return d.MultivariateNormal(np.zeros(2), factor).log_prob(np.ones(2))


def test_a_covariance_is_no_factor_where_it_is_differentiated():
    for f in (wg.grad(_density), wg.hessian(_density), wg.grad(lambda a: _density(2.0 * a))):
        with pytest.raises(ValueError, match=r"numbers above its diagonal.*wg\.linalg\.cholesky"):
            f(COVARIANCE)
    found = wg.grad(_density)(FACTOR)
    np.testing.assert_allclose(found, wg.grad(lambda a: _density(wg.tril(a)))(FACTOR))


def test_a_covariance_is_no_factor_where_it_is_recorded():
    both = wg.compile(lambda a: (_density(a), d.MultivariateNormal(np.zeros(2), a).entropy()))
    assert np.isnan(both(COVARIANCE)).all()
    np.testing.assert_allclose(both(FACTOR)[0], _density(FACTOR))
    each = wg.vmap(_density)(np.stack([FACTOR, COVARIANCE]))
    np.testing.assert_allclose(each, [_density(FACTOR), np.nan])
    drawn = wg.compile(lambda a: d.MultivariateNormal(np.zeros(2), a).sample(KEY, (2,)))
    assert np.isnan(drawn(COVARIANCE)).all()
    assert np.isfinite(drawn(FACTOR)).all()


WRONG_DRAWS = {
    "Normal": lambda s: d.Normal(0.0, s).sample(KEY),
    "TanhNormal": lambda s: d.TanhNormal(0.0, s).sample(KEY),
    "Uniform": lambda s: d.Uniform(0.0, s).sample(KEY),
    "Gamma": lambda s: d.Gamma(s, 1.0).sample(KEY),
    "its rate": lambda s: d.Gamma(1.0, s).sample(KEY),
    "Beta": lambda s: d.Beta(s, 1.0).sample(KEY),
    "MultivariateNormal": lambda s: d.MultivariateNormal(
        np.zeros(1, np.float32), wg.reshape(s, (1, 1))
    ).sample(KEY)[0],
    "truncated_normal": lambda s: wg.random.truncated_normal(KEY, 0.0, s),
}


def test_draws_of_parameters_that_are_none_are_nan_where_they_are_recorded():
    drawn = wg.compile(lambda s: wg.stack([draw(s) for draw in WRONG_DRAWS.values()]))
    right = [draw(np.float32(1.5)) for draw in WRONG_DRAWS.values()]
    np.testing.assert_allclose(drawn(np.float32(1.5)), right, rtol=1e-5)
    for wrong in (0.0, -0.5):
        assert np.isnan(drawn(np.float32(wrong))).all()


RUN_TIME = {
    "Normal": lambda s: d.Normal(0.0, s).log_prob(0.3),
    "Uniform": lambda s: d.Uniform(0.0, s).log_prob(0.3),
    "Gamma": lambda s: d.Gamma(s, 2.0).log_prob(0.3),
    "random.gamma": lambda s: wg.random.gamma(KEY, s, dtype=np.float64),
    "truncated_normal": lambda s: wg.random.truncated_normal(KEY, 0.0, s, dtype=np.float64),
    "poisson": lambda s: wg.random.poisson(KEY, s),
}


@pytest.mark.parametrize("name", RUN_TIME)
@pytest.mark.filterwarnings("error")
def test_a_number_of_a_recording_is_not_asked_for(name):
    recordings = []

    @wg.compile
    def f(s):
        recordings.append(s)
        return RUN_TIME[name](s)

    for s in (1.0, 2.0, 3.5, 4.0):
        np.testing.assert_allclose(f(s), RUN_TIME[name](s), rtol=1e-9)
    assert len(recordings) == 1


@pytest.mark.filterwarnings("error")
def test_sizes_stay_open():
    n = wg.Dim("n")
    recordings = []

    def f(logits, x):
        recordings.append(1)
        p = d.Categorical(logits)
        return p.log_prob(x), wg.random.choice(KEY, logits, (5,)), p.entropy()

    compiled = wg.compile(f, dims={"logits": {0: n}, "x": {0: n}})
    for rows in (3, 4, 5):
        logits = np.random.default_rng(rows).normal(size=(rows, 3))
        found = compiled(logits, np.arange(rows) % 3)
        p = d.Categorical(logits)
        np.testing.assert_allclose(found[0], p.log_prob(np.arange(rows) % 3))
        np.testing.assert_array_equal(found[1], wg.random.choice(KEY, logits, (5,)))
    assert len(recordings) == 1


ARGUMENTS = {
    r"Normal: no parameter 'loc'.*Write mean= instead": lambda: d.Normal(loc=0.0, scale=1.0),
    r"Normal: no parameter 'scale'.*Write std= instead": lambda: d.Normal(0.0, scale=1.0),
    r"Gamma: no parameter 'scale'.*Write rate=1 / scale": lambda: d.Gamma(1.0, scale=2.0),
    r"Beta: no parameter 'concentration1'.*Write a=": lambda: d.Beta(concentration1=1.0, b=1.0),
    r"Categorical: no parameter 'probs'.*logits=wg\.log\(probs\)": lambda: d.Categorical(probs=1),
    r"Bernoulli: no parameter 'probs'.*wg\.logit\(probs\)": lambda: d.Bernoulli(probs=0.5),
    r"MultivariateNormal: .*factor=wg\.linalg\.cholesky\(covariance_matrix\)": (
        lambda: d.MultivariateNormal(np.zeros(2), covariance_matrix=np.eye(2))
    ),
    r"Normal\.sample: no parameter 'sample_shape'.*Write shape=": (
        lambda: d.Normal().sample(KEY, sample_shape=(2,))
    ),
}


@pytest.mark.parametrize("words", ARGUMENTS)
def test_parameters_of_other_libraries_are_named(words):
    with pytest.raises(TypeError, match=words):
        ARGUMENTS[words]()


ATTRIBUTES = {
    "rsample": r"p\.sample\(key, shape\)",
    "mode": r"p\.mean of a Normal",
    "kl_divergence": r"wg\.distributions\.kl\(p, q\)",
    "stddev": r"p\.std",
    "loc": r"p\.mean",
    "prob": r"wg\.exp\(p\.log_prob\(x\)\)",
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_other_libraries_are_named(name):
    with pytest.raises(wg.errors.MissingAttribute, match=ATTRIBUTES[name]):
        getattr(d.Normal(), name)


def test_kl_divergence_is_called_kl():
    with pytest.raises(ImportError, match=r"Write wg\.distributions\.kl\(p, q\)"):
        from wengert.distributions import kl_divergence  # noqa: F401
    with pytest.raises(AttributeError, match=r"Write wg\.distributions\.kl\(p, q\)"):
        d.kl_divergence  # noqa: B018
