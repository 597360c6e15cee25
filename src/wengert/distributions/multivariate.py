"""Distributions of vectors, along the last axis; axes before it are batches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.words.arguments import worded_methods
from wengert.distributions.distribution_parameters import (
    Distribution,
    computed,
    drawn_from,
    drawn_shape,
)
from wengert.errors import ShapeError
from wengert.ops.drawing.draws import is_known


@worded_methods("__init__", "sample")
@dataclass
class MultivariateNormal(Distribution):
    """The normal distribution of vectors; `factor` is the lower Cholesky factor of the covariance.

    >>> covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    >>> p = wg.distributions.MultivariateNormal(np.zeros(2), wg.linalg.cholesky(covariance))
    >>> p.sample(wg.random.key(0), (5,)).shape
    (5, 2)
    """

    mean: Any
    factor: Any

    def __post_init__(self) -> None:
        factor = _value(self.factor)
        shape = np.shape(factor)
        if is_known(factor) and (len(shape) < 2 or shape[-1] != shape[-2]):
            raise ShapeError(
                f"MultivariateNormal: a factor of shape {shape} was given; (…, n, n) is needed. "
                "Pass the lower Cholesky factor of the covariance; of standard deviations, "
                "np.diag(std)."
            )
        if is_known(factor) and not (np.diagonal(factor, 0, -2, -1) > 0).all():
            raise ValueError(
                "MultivariateNormal: a factor whose diagonal is not all above 0 was given; that of "
                "a Cholesky factor is. Pass wg.linalg.cholesky(covariance)."
            )
        if is_known(factor) and np.ndim(factor) >= 2 and np.triu(factor, 1).any():
            raise ValueError(
                "MultivariateNormal: a factor with numbers above its diagonal was given; it must "
                "be the lower Cholesky factor of the covariance. Of a covariance pass "
                "wg.linalg.cholesky(covariance); to leave those numbers out, wg.tril(factor)."
            )

    @property
    def covariance(self) -> Any:
        _, factor = self.arrays()
        lower = op.tril(factor)
        return lower @ op.matrix_transpose(lower)

    @property
    def variance(self) -> Any:
        mean, factor = self.arrays()
        return op.sum(op.square(op.tril(factor)), -1) + op.zeros_like(mean)

    @property
    def std(self) -> Any:
        return op.sqrt(self.variance)

    def arrays(self) -> tuple[Any, Any]:
        """Mean and factor as arrays that fit."""
        return self._fitting(computed(self.mean, self.factor))

    def _fitting(self, arrays: list[Any]) -> tuple[Any, Any]:
        mean, factor = arrays
        square = factor.ndim >= 2 and factor.shape[-1] == factor.shape[-2]
        if not mean.shape or not square or factor.shape[-1] != mean.shape[-1]:
            error = ShapeError(
                f"MultivariateNormal: given a mean of shape {tuple(mean.shape)} and a factor of "
                f"shape {tuple(factor.shape)}; (…, n) and (…, n, n) are needed. Pass the lower "
                "Cholesky factor of the covariance."
            )
            raise located(error, [mean, factor])
        return mean, _lower_or_nan(factor) if isinstance(factor, Tensor) else factor

    def sample(self, key: Any, shape: Any = (), dtype: Any = None) -> Any:
        """Draws that can be differentiated by mean and factor."""
        wanted = drawn_from("MultivariateNormal.sample", dtype, self.mean, self.factor)
        mean, factor = self._fitting(wanted)
        full = drawn_shape("MultivariateNormal.sample", shape, mean, factor[..., 0])
        noise = op.expand_dims(op.normal(key, full, mean.dtype), -1)
        return mean + (op.tril(factor) @ noise)[..., 0]

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at x."""
        x, *parameters = computed(x, self.mean, self.factor)
        mean, factor = self._fitting(parameters)
        away = op.expand_dims(x - mean, -1)
        z = op.triangular_solve(factor, away, lower=True)[..., 0]
        size = int(mean.shape[-1])
        constant = size * math.log(2 * math.pi) / 2
        return op.sum(op.square(z), -1) * -0.5 - log_determinant(factor) - constant

    def entropy(self) -> Any:
        mean, factor = self.arrays()
        size = int(mean.shape[-1])
        constant = size * (1 + math.log(2 * math.pi)) / 2
        return log_determinant(factor) + constant + op.zeros_like(mean[..., 0])


def _value(x: Any) -> Any:
    """What a Tensor that is only differentiated stands for; of one that is recorded, or is one of
    many examples, nothing is known.
    """
    shape = np.shape(x)
    while isinstance(x, Tensor) and not x.level.symbolic and np.shape(x._value) == shape:
        x = x._value
    return x


def _lower_or_nan(factor: Any) -> Any:
    """A factor that is known at call time only: NaN where it is none, such as a covariance."""
    above = op.any(op.triu(factor, 1) != 0, (-2, -1), keepdims=True)
    positive = op.all(op.diagonal(factor) > 0, -1)[..., None, None]
    return op.where(op.logical_or(above, op.logical_not(positive)), math.nan, factor)


def log_determinant(factor: Any) -> Any:
    """That of a triangular matrix with a positive diagonal."""
    return op.sum(op.log(op.diagonal(factor)), -1)
