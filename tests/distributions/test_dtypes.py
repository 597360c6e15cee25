"""One rule of dtypes: Python numbers give way to arrays and NumPy's scalars; alone they compute in
float64, and draw float32.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert import distributions as d

KEY = wg.random.key(0)
H = np.array([0.3, 0.6], np.float32)
MADE = {
    "Normal": lambda a, b: d.Normal(a, b),
    "TanhNormal": lambda a, b: d.TanhNormal(a, b),
    "Uniform": lambda a, b: d.Uniform(a - 2, b + 2),
    "Gamma": lambda a, b: d.Gamma(a, b),
    "Beta": lambda a, b: d.Beta(a, b),
}
# Parameters, the dtype that formulas have, and that of draws.
PARAMETERS = {
    "Python numbers": (0.5, 1.5, None, np.float32),
    "float32 first": (H, 1.5, np.float32, np.float32),
    "float32 second": (0.5, H, np.float32, np.float32),
    "scalars of NumPy": (np.float64(0.5), np.float64(1.5), np.float64, np.float64),
    "one scalar of NumPy": (0.5, np.float64(1.5), np.float64, np.float64),
    "float32 scalars": (np.float32(0.5), 1.5, np.float32, np.float32),
    "float64": (H.astype(np.float64), 1.5, np.float64, np.float64),
    "both": (H, H.astype(np.float64), np.float64, np.float64),
}


@pytest.mark.parametrize("given", PARAMETERS)
@pytest.mark.parametrize("name", MADE)
def test_dtypes(name, given):
    first, second, formula, drawn = PARAMETERS[given]
    p = MADE[name](first, second)
    alone = formula or np.float64
    for x, dtype in ((H, np.float32), (H.astype(np.float64), np.float64), (0.5, None)):
        expected = (
            np.result_type(*(each for each in (formula, dtype) if each))
            if (formula or dtype)
            else np.float64
        )
        assert p.log_prob(x).dtype == expected
        assert p.cdf(x).dtype == expected
        assert wg.compile(lambda x, p=p: p.log_prob(x))(x).dtype == expected
    assert p.sample(KEY, (3,)).dtype == drawn
    assert p.sample(KEY, (3,), dtype=np.float64).dtype == np.float64
    assert d.kl(p, p).dtype == alone
    if name == "TanhNormal":
        action, log_prob = p.sample_and_log_prob(KEY)
        assert action.dtype == log_prob.dtype == drawn
    else:
        assert p.entropy().dtype == alone
        assert p.variance.dtype == alone


def test_draws_of_arrays_have_their_dtype():
    wide = H.astype(np.float64)
    rng = wg.random.Generator(KEY)
    for a, dtype in ((H, np.float32), (wide, np.float64), (0.5, np.float32), (wide[0], np.float64)):
        assert wg.random.gamma(KEY, a).dtype == rng.gamma(a).dtype == dtype
        assert wg.random.loggamma(KEY, a).dtype == dtype
        assert wg.random.beta(KEY, a, 2.0).dtype == rng.beta(2.0, a).dtype == dtype
        assert wg.random.truncated_normal(KEY, a, 3.0).dtype == dtype
        assert rng.truncated_normal(-1, a).dtype == dtype
        assert wg.random.gamma(KEY, a, dtype=np.float32).dtype == np.float32
    assert wg.random.dirichlet(KEY, H).dtype == rng.dirichlet(H).dtype == np.float32
    assert wg.random.dirichlet(KEY, wide).dtype == rng.dirichlet(wide).dtype == np.float64


def test_a_divergence_of_numbers_can_be_minimised():
    """In float32 the differences that an optimizer takes are rounding."""
    from scipy.optimize import minimize

    target = d.Normal(0.7, 1.3)
    found = minimize(lambda v: float(d.kl(d.Normal(v[0], np.exp(v[1])), target)), [0.0, 0.0])
    np.testing.assert_allclose(found.x, [0.7, np.log(1.3)], atol=1e-4)


def test_discrete_distributions_compute_in_the_dtype_of_their_logits():
    for logits in (H, H.astype(np.float64)):
        assert d.Bernoulli(logits).log_prob(np.ones(2)).dtype == logits.dtype
        assert d.Categorical(logits).log_prob(1).dtype == logits.dtype
        assert d.Categorical(logits).probs.dtype == d.Bernoulli(logits).probs.dtype == logits.dtype
