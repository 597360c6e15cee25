"""Distributions of one real number; parameters broadcast against each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from wengert.core.table import op
from wengert.distributions.distribution_parameters import (
    arrays_of,
    drawn_shape,
    dtype_of,
    require_positive,
)
from wengert.errors import WengertError

_HALF_LOG_TURN = math.log(2 * math.pi) / 2


def log_beta(a: Any, b: Any) -> Any:
    """log B(a, b)."""
    return op.lgamma(a) + op.lgamma(b) - op.lgamma(a + b)


@dataclass
class Normal:
    """The normal distribution of this mean and standard deviation.

    >>> wg.distributions.Normal(0.0, 2.0).log_prob(np.array([0.0, 2.0]))
    array([-1.61208571, -2.11208571])
    """

    mean: Any = 0.0
    std: Any = 1.0

    def __post_init__(self) -> None:
        require_positive("Normal", std=self.std)

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Draws that can be differentiated by mean and std."""
        mean, std = arrays_of(self.mean, self.std)
        full = drawn_shape("Normal.sample", shape, mean, std)
        return mean + std * op.normal(key, full, mean.dtype)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x."""
        z = op.divide(op.subtract(x, self.mean), self.std)
        return op.subtract(op.square(z) * -0.5 - _HALF_LOG_TURN, op.log(self.std))

    def entropy(self) -> Any:
        mean, std = arrays_of(self.mean, self.std)
        return op.log(std) + (0.5 + _HALF_LOG_TURN) + op.zeros_like(mean)


@dataclass
class TanhNormal:
    """The hyperbolic tangent of a normal number: bounded actions of a policy.

    >>> policy = wg.distributions.TanhNormal(np.zeros(2), np.ones(2))
    >>> action, log_prob = policy.sample_and_log_prob(wg.random.key(0))
    >>> bool(np.allclose(policy.log_prob(action), log_prob))
    True
    """

    mean: Any = 0.0
    std: Any = 1.0

    def __post_init__(self) -> None:
        require_positive("TanhNormal", std=self.std)

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Draws that can be differentiated by mean and std."""
        return op.tanh(Normal(self.mean, self.std).sample(key, shape))

    def sample_and_log_prob(self, key: Any, shape: Any = ()) -> tuple[Any, Any]:
        """Draws, and the logarithms of their densities: also where tanh rounds to ±1."""
        before = Normal(self.mean, self.std)
        z = before.sample(key, shape)
        # log(1 - tanh² z)
        slope = 2 * (math.log(2) - z - op.softplus(-2 * z))
        return op.tanh(z), before.log_prob(z) - slope

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x, which lies between -1 and 1; -inf beyond."""
        x = op.asarray(x)
        inside = op.less(op.abs(x), 1)
        safe = op.where(inside, x, 0)
        density = Normal(self.mean, self.std).log_prob(op.atanh(safe))
        found = density - op.log1p(-safe) - op.log1p(safe)
        return op.where(op.logical_or(inside, op.isnan(x)), found, -math.inf) + 0 * x

    def entropy(self) -> NoReturn:
        raise WengertError(
            "TanhNormal.entropy: was asked for; there is no formula for it. Estimate it: draw with "
            "sample_and_log_prob, and take the mean of -log_prob."
        )


@dataclass
class Uniform:
    """Every number from low to high alike."""

    low: Any = 0.0
    high: Any = 1.0

    def __post_init__(self) -> None:
        numbers = isinstance(self.low, int | float) and isinstance(self.high, int | float)
        if numbers and not self.low < self.high:
            raise ValueError(
                f"Uniform: low={self.low} and high={self.high} were given; low must be less than "
                "high. Exchange or change them."
            )

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Draws that can be differentiated by low and high."""
        low, high = arrays_of(self.low, self.high)
        full = drawn_shape("Uniform.sample", shape, low, high)
        return low + (high - low) * op.uniform(key, full, low.dtype)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x; -inf outside."""
        inside = op.logical_and(op.greater_equal(x, self.low), op.less_equal(x, self.high))
        height = -op.log(op.subtract(self.high, self.low))
        return op.where(inside, height, -math.inf)

    def entropy(self) -> Any:
        low, high = arrays_of(self.low, self.high)
        return op.log(high - low)


@dataclass
class Gamma:
    """The gamma distribution of shape a; its mean is a / rate.

    >>> wg.distributions.Gamma(1.0, 2.0).log_prob(np.array([0.5, -1.0]))
    array([-0.30685282,        -inf])
    """

    a: Any
    rate: Any = 1.0

    def __post_init__(self) -> None:
        require_positive("Gamma", a=self.a, rate=self.rate)

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Draws that can be differentiated by a and rate."""
        a, rate = arrays_of(self.a, self.rate)
        full = drawn_shape("Gamma.sample", shape, a, rate)
        return op.gamma(key, a, full, dtype_of(self.a, self.rate)) / rate

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x; -inf for x below 0."""
        x = op.asarray(x)
        a, rate = (op.multiply(each, 1.0) for each in (self.a, self.rate))
        safe = op.where(op.less(x, 0), 1, x)
        power = op.xlogy(op.subtract(a, 1), safe) + op.xlogy(a, rate)
        found = power - op.multiply(rate, safe) - op.lgamma(a)
        return op.where(op.less(x, 0), -math.inf, found)

    def entropy(self) -> Any:
        a, rate = arrays_of(self.a, self.rate)
        return a - op.log(rate) + op.lgamma(a) + (1 - a) * op.digamma(a)


@dataclass
class Beta:
    """The beta distribution, of numbers between 0 and 1; its mean is a / (a + b)."""

    a: Any
    b: Any

    def __post_init__(self) -> None:
        require_positive("Beta", a=self.a, b=self.b)

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Draws that can be differentiated by a and b."""
        a, b = arrays_of(self.a, self.b)
        full = drawn_shape("Beta.sample", shape, a, b)
        return op.beta(key, a, b, full, a.dtype)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x; -inf outside of [0, 1]."""
        x = op.asarray(x)
        outside = op.logical_or(op.less(x, 0), op.greater(x, 1))
        safe = op.where(outside, 0.5, x)
        a, b = (op.multiply(each, 1.0) for each in (self.a, self.b))
        found = op.xlogy(op.subtract(a, 1), safe) + op.xlogy(op.subtract(b, 1), 1 - safe)
        return op.where(outside, -math.inf, found - log_beta(a, b))

    def entropy(self) -> Any:
        a, b = arrays_of(self.a, self.b)
        total = a + b
        ends = (a - 1) * op.digamma(a) + (b - 1) * op.digamma(b)
        return log_beta(a, b) - ends + (total - 2) * op.digamma(total)
