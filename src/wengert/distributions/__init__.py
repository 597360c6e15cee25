"""Distributions as plain dataclasses: sample, log_prob and entropy, and kl of two of a kind."""

from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.distributions.continuous import Beta, Gamma, Normal, TanhNormal, Uniform
from wengert.distributions.discrete import Bernoulli, Categorical
from wengert.distributions.divergences import kl
from wengert.distributions.multivariate import MultivariateNormal

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Gamma",
    "MultivariateNormal",
    "Normal",
    "TanhNormal",
    "Uniform",
    "kl",
]

explain_missing_names(globals())
del explain_missing_names
