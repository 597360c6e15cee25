"""Distributions of vectors, along the last axis; axes before it are batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from wengert.core.bind import located
from wengert.core.table import op
from wengert.distributions.distribution_parameters import arrays_of, drawn_shape
from wengert.errors import ShapeError


@dataclass
class MultivariateNormal:
    """The normal distribution of vectors; `factor` is the lower Cholesky factor of the covariance.

    >>> covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    >>> p = wg.distributions.MultivariateNormal(np.zeros(2), wg.linalg.cholesky(covariance))
    >>> p.sample(wg.random.key(0), (5,)).shape
    (5, 2)
    """

    mean: Any
    factor: Any

    def arrays(self) -> tuple[Any, Any]:
        """Mean and factor as arrays that fit."""
        mean, factor = arrays_of(self.mean, self.factor)
        square = factor.ndim >= 2 and factor.shape[-1] == factor.shape[-2]
        if not mean.shape or not square or factor.shape[-1] != mean.shape[-1]:
            error = ShapeError(
                f"MultivariateNormal: given a mean of shape {tuple(mean.shape)} and a factor of "
                f"shape {tuple(factor.shape)}; (…, n) and (…, n, n) are needed. Pass the lower "
                "Cholesky factor of the covariance."
            )
            raise located(error, [mean, factor])
        return mean, factor

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Draws that can be differentiated by mean and factor."""
        mean, factor = self.arrays()
        full = drawn_shape("MultivariateNormal.sample", shape, mean, factor[..., 0])
        noise = op.expand_dims(op.normal(key, full, mean.dtype), -1)
        return mean + (op.tril(factor) @ noise)[..., 0]

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x."""
        mean, factor = self.arrays()
        away = op.expand_dims(op.subtract(x, mean), -1)
        z = op.triangular_solve(factor, away, lower=True)[..., 0]
        size = int(mean.shape[-1])
        constant = size * math.log(2 * math.pi) / 2
        return op.sum(op.square(z), -1) * -0.5 - log_determinant(factor) - constant

    def entropy(self) -> Any:
        mean, factor = self.arrays()
        size = int(mean.shape[-1])
        constant = size * (1 + math.log(2 * math.pi)) / 2
        return log_determinant(factor) + constant + op.zeros_like(mean[..., 0])


def log_determinant(factor: Any) -> Any:
    """That of a triangular matrix with a positive diagonal."""
    return op.sum(op.log(op.diagonal(factor)), -1)
