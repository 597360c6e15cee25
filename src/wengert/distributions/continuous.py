"""Distributions of one real number; parameters broadcast against each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from wengert.core.table import op
from wengert.core.words.arguments import worded_methods
from wengert.distributions.distribution_parameters import (
    Distribution,
    computed,
    drawn_from,
    drawn_shape,
    or_nan,
)
from wengert.errors import WengertError
from wengert.ops.drawing.draws import is_known, require_positive

_HALF_LOG_TURN = math.log(2 * math.pi) / 2


def log_beta(a: Any, b: Any) -> Any:
    """log B(a, b)."""
    return op.lgamma(a) + op.lgamma(b) - op.lgamma(a + b)


@worded_methods("__init__", "sample")
@dataclass
class Normal(Distribution):
    """The normal distribution of this mean and standard deviation.

    >>> wg.distributions.Normal(0.0, 2.0).log_prob(np.array([0.0, 2.0]))
    array([-1.61208571, -2.11208571])
    """

    mean: Any = 0.0
    std: Any = 1.0

    def __post_init__(self) -> None:
        require_positive("Normal", std=self.std)

    @property
    def variance(self) -> Any:
        mean, std = computed(self.mean, self.std)
        return op.square(std) + op.zeros_like(mean)

    def sample(self, key: Any, shape: Any = (), dtype: Any = None) -> Any:
        """Draws that can be differentiated by mean and std."""
        mean, std = drawn_from("Normal.sample", dtype, self.mean, self.std)
        full = drawn_shape("Normal.sample", shape, mean, std)
        std = or_nan("Normal.sample", "std", op.greater(std, 0), std)
        return mean + std * op.normal(key, full, mean.dtype)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x."""
        x, mean, std = computed(x, self.mean, self.std)
        z = (x - mean) / std
        return op.square(z) * -0.5 - _HALF_LOG_TURN - op.log(std)

    def cdf(self, x: Any) -> Any:
        """The probability of at most x."""
        x, mean, std = computed(x, self.mean, self.std)
        return op.ndtr((x - mean) / std)

    def entropy(self) -> Any:
        mean, std = computed(self.mean, self.std)
        return op.log(std) + (0.5 + _HALF_LOG_TURN) + op.zeros_like(mean)


@worded_methods("__init__", "sample", "sample_and_log_prob")
@dataclass
class TanhNormal(Distribution):
    """The hyperbolic tangent of a normal number: bounded actions of a policy. `mean` and `std` are
    those of the normal number.

    >>> policy = wg.distributions.TanhNormal(np.zeros(2), np.ones(2))
    >>> action, log_prob = policy.sample_and_log_prob(wg.random.key(0))
    >>> bool(np.allclose(policy.log_prob(action), log_prob))
    True
    """

    mean: Any = 0.0
    std: Any = 1.0

    def __post_init__(self) -> None:
        require_positive("TanhNormal", std=self.std)

    def sample(self, key: Any, shape: Any = (), dtype: Any = None) -> Any:
        """Draws that can be differentiated by mean and std."""
        return op.tanh(Normal(self.mean, self.std).sample(key, shape, dtype))

    def sample_and_log_prob(self, key: Any, shape: Any = (), dtype: Any = None) -> tuple[Any, Any]:
        """Draws, and the logarithms of their densities: also where tanh rounds to ±1."""
        before = Normal(self.mean, self.std)
        z = before.sample(key, shape, dtype)
        # log(1 - tanh² z)
        slope = 2 * (math.log(2) - z - op.softplus(-2 * z))
        return op.tanh(z), before.log_prob(z) - slope

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x, which lies between -1 and 1; -inf beyond."""
        x, mean, std = computed(x, self.mean, self.std)
        inside = op.less(op.abs(x), 1)
        safe = op.where(inside, x, 0)
        density = Normal(mean, std).log_prob(op.atanh(safe))
        log_density = density - op.log1p(-safe) - op.log1p(safe)
        return op.where(op.logical_or(inside, op.isnan(x)), log_density, -math.inf) + 0 * x

    def cdf(self, x: Any) -> Any:
        """The probability of at most x."""
        x, mean, std = computed(x, self.mean, self.std)
        inside = op.less(op.abs(x), 1)
        probability = Normal(mean, std).cdf(op.atanh(op.where(inside, x, 0)))
        return op.where(inside, probability, op.clip(x, 0, 1))

    def entropy(self) -> NoReturn:
        raise WengertError(
            "TanhNormal.entropy: was asked for; there is no formula for it. Estimate it: draw with "
            "sample_and_log_prob, and take the mean of -log_prob."
        )


@worded_methods("__init__", "sample")
@dataclass
class Uniform(Distribution):
    """Every number from low to high alike.

    >>> wg.distributions.Uniform(0.0, 4.0).log_prob(np.array([1.0, 5.0]))
    array([-1.38629436,        -inf])
    """

    low: Any = 0.0
    high: Any = 1.0

    def __post_init__(self) -> None:
        if is_known(self.low) and is_known(self.high) and not np.all(np.less(self.low, self.high)):
            raise ValueError(
                f"Uniform: low={self.low} and high={self.high} were given; low must be less than "
                "high. Exchange or change them."
            )

    @property
    def mean(self) -> Any:
        low, high = computed(self.low, self.high)
        return (low + high) * 0.5

    @property
    def variance(self) -> Any:
        return op.square(self.std)

    @property
    def std(self) -> Any:
        low, high = computed(self.low, self.high)
        return (high - low) * math.sqrt(1 / 12)

    def sample(self, key: Any, shape: Any = (), dtype: Any = None) -> Any:
        """Draws that can be differentiated by low and high."""
        low, high = drawn_from("Uniform.sample", dtype, self.low, self.high)
        full = drawn_shape("Uniform.sample", shape, low, high)
        width = or_nan("Uniform.sample", "high - low", op.less(low, high), high - low)
        return low + width * op.uniform(key, full, low.dtype)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x; -inf outside."""
        x, low, high = computed(x, self.low, self.high)
        inside = op.logical_and(op.greater_equal(x, low), op.less_equal(x, high))
        log_density = op.where(inside, -op.log(high - low), -math.inf)
        return op.where(op.isnan(x), math.nan, log_density)

    def cdf(self, x: Any) -> Any:
        """The probability of at most x."""
        x, low, high = computed(x, self.low, self.high)
        return op.clip((x - low) / (high - low), 0, 1)

    def entropy(self) -> Any:
        low, high = computed(self.low, self.high)
        return op.log(high - low)


@worded_methods("__init__", "sample")
@dataclass
class Gamma(Distribution):
    """The gamma distribution of shape a; its mean is a / rate.

    >>> wg.distributions.Gamma(1.0, 2.0).log_prob(np.array([0.5, -1.0]))
    array([-0.30685282,        -inf])
    """

    a: Any
    rate: Any = 1.0

    def __post_init__(self) -> None:
        require_positive("Gamma", a=self.a, rate=self.rate)

    @property
    def mean(self) -> Any:
        a, rate = computed(self.a, self.rate)
        return a / rate

    @property
    def variance(self) -> Any:
        a, rate = computed(self.a, self.rate)
        return a / op.square(rate)

    @property
    def std(self) -> Any:
        a, rate = computed(self.a, self.rate)
        return op.sqrt(a) / rate

    def sample(self, key: Any, shape: Any = (), dtype: Any = None) -> Any:
        """Draws that can be differentiated by a and rate."""
        a, rate = drawn_from("Gamma.sample", dtype, self.a, self.rate)
        full = drawn_shape("Gamma.sample", shape, a, rate)
        positive = or_nan("Gamma.sample", "rate", op.greater(rate, 0), rate)
        return op.gamma(key, a, full, rate.dtype) / positive

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x; -inf for x below 0."""
        x, a, rate = computed(x, self.a, self.rate)
        safe = op.where(op.less(x, 0), 1, x)
        power = op.xlogy(a - 1, safe) + op.xlogy(a, rate)
        log_density = power - rate * safe - op.lgamma(a)
        return op.where(op.less(x, 0), -math.inf, log_density)

    def cdf(self, x: Any) -> Any:
        """The probability of at most x."""
        x, a, rate = computed(x, self.a, self.rate)
        return op.gammainc(a, op.where(op.less(x, 0), 0, x) * rate)

    def entropy(self) -> Any:
        a, rate = computed(self.a, self.rate)
        return a - op.log(rate) + op.lgamma(a) + (1 - a) * op.digamma(a)


@worded_methods("__init__", "sample")
@dataclass
class Beta(Distribution):
    """The beta distribution, of numbers between 0 and 1; its mean is a / (a + b).

    >>> wg.distributions.Beta(2.0, 3.0).log_prob(0.5)
    array(0.40546511)
    """

    a: Any
    b: Any

    def __post_init__(self) -> None:
        require_positive("Beta", a=self.a, b=self.b)

    @property
    def mean(self) -> Any:
        a, b = computed(self.a, self.b)
        return a / (a + b)

    @property
    def variance(self) -> Any:
        a, b = computed(self.a, self.b)
        total = a + b
        return (a / total) * (b / total) / (total + 1)

    @property
    def std(self) -> Any:
        return op.sqrt(self.variance)

    def sample(self, key: Any, shape: Any = (), dtype: Any = None) -> Any:
        """Draws that can be differentiated by a and b."""
        a, b = drawn_from("Beta.sample", dtype, self.a, self.b)
        full = drawn_shape("Beta.sample", shape, a, b)
        return op.beta(key, a, b, full, a.dtype)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x; -inf outside of [0, 1]."""
        x, a, b = computed(x, self.a, self.b)
        outside = op.logical_or(op.less(x, 0), op.greater(x, 1))
        safe = op.where(outside, 0.5, x)
        powers = op.xlogy(a - 1, safe) + op.xlogy(b - 1, 1 - safe)
        return op.where(outside, -math.inf, powers - log_beta(a, b))

    def cdf(self, x: Any) -> Any:
        """The probability of at most x."""
        x, a, b = computed(x, self.a, self.b)
        return op.betainc(a, b, op.clip(x, 0, 1))

    def entropy(self) -> Any:
        a, b = computed(self.a, self.b)
        total = a + b
        ends = (a - 1) * op.digamma(a) + (b - 1) * op.digamma(b)
        return log_beta(a, b) - ends + (total - 2) * op.digamma(total)
