"""The Kullback-Leibler divergence of two distributions of a kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.core.table import op
from wengert.distributions.continuous import Beta, Gamma, Normal, TanhNormal, Uniform, log_beta
from wengert.distributions.discrete import Bernoulli, Categorical
from wengert.distributions.distribution_parameters import computed
from wengert.distributions.multivariate import MultivariateNormal, log_determinant
from wengert.errors import DTypeError
from wengert.interpret.mistakes.probabilities import note_probabilities
from wengert.interpret.mistakes.rows_of_probabilities import note_rows_of_probabilities


def kl(p: Any, q: Any) -> Any:
    """The mean of log p(x) - log q(x) over draws x of p, by its formula.

    >>> p, q = wg.distributions.Normal(0.0, 1.0), wg.distributions.Normal(1.0, 1.0)
    >>> float(wg.distributions.kl(p, q))
    0.5
    """
    formula = _FORMULAS.get(type(p)) if type(p) is type(q) else None
    if formula is None:
        kinds = ", ".join(each.__name__ for each in _FORMULAS)
        raise DTypeError(
            f"kl: given {type(p).__name__} and {type(q).__name__}; there is a formula for two of "
            f"one kind: {kinds}. Else estimate it: the mean of p.log_prob(x) - q.log_prob(x) over "
            "draws x of p."
        )
    return formula(p, q)


def _normal(p: Any, q: Any) -> Any:
    mean, std, other, spread = computed(p.mean, p.std, q.mean, q.std)
    ratio = std / spread
    away = (mean - other) / spread
    return 0.5 * (ratio * ratio + away * away - 1) - op.log(ratio)


def _uniform(p: Uniform, q: Uniform) -> Any:
    low, high, q_low, q_high = computed(p.low, p.high, q.low, q.high)
    inside = op.logical_and(op.less_equal(q_low, low), op.less_equal(high, q_high))
    return op.where(inside, op.log((q_high - q_low) / (high - low)), math.inf)


def _gamma(p: Gamma, q: Gamma) -> Any:
    a, rate, b, other = computed(p.a, p.rate, q.a, q.rate)
    shapes = (a - b) * op.digamma(a) - op.lgamma(a) + op.lgamma(b)
    return shapes + b * op.log(rate / other) + a * (other / rate - 1)


def _beta(p: Beta, q: Beta) -> Any:
    a, b, c, d = computed(p.a, p.b, q.a, q.b)
    ends = (a - c) * op.digamma(a) + (b - d) * op.digamma(b)
    return log_beta(c, d) - log_beta(a, b) + ends + (c - a + d - b) * op.digamma(a + b)


def _categorical(p: Categorical, q: Categorical) -> Any:
    for each in (p, q):
        note_rows_of_probabilities("Categorical", each.logits)
    first, second = (op.log_softmax(each) for each in computed(p.logits, q.logits))
    never = op.equal(first, -math.inf)  # what p never draws counts nothing
    gap = op.where(never, 0, first) - op.where(never, 0, second)
    return op.sum(op.exp(first) * gap, -1)


def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    for each in (p, q):
        note_probabilities("Bernoulli", each.logits)
    first, second = computed(p.logits, q.logits)
    hit = op.log_sigmoid(first) - op.log_sigmoid(second)
    miss = op.log_sigmoid(-first) - op.log_sigmoid(-second)
    return op.pull(op.sigmoid(first), hit) + op.pull(op.sigmoid(-first), miss)


def _multivariate(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    (mean, factor), (other, spread) = p.arrays(), q.arrays()
    ratio = op.triangular_solve(spread, op.tril(factor), lower=True)
    away = op.triangular_solve(spread, op.expand_dims(mean - other, -1), lower=True)[..., 0]
    squares = op.sum(op.square(ratio), (-2, -1)) + op.sum(op.square(away), -1)
    size = int(mean.shape[-1])
    return 0.5 * (squares - size) + log_determinant(spread) - log_determinant(factor)


_FORMULAS: dict[type, Callable[..., Any]] = {
    Normal: _normal,
    TanhNormal: _normal,  # the same function of both changes nothing
    Uniform: _uniform,
    Gamma: _gamma,
    Beta: _beta,
    Categorical: _categorical,
    Bernoulli: _bernoulli,
    MultivariateNormal: _multivariate,
}
