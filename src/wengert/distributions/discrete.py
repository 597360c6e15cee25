"""Distributions of whole numbers, by their logits: no probability rounds to 0 or 1 on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.table import op
from wengert.distributions.distribution_parameters import arrays_of, drawn_shape
from wengert.errors import DTypeError


@dataclass
class Categorical:
    """One of several classes, along the last axis of the logits.

    >>> coin = wg.distributions.Categorical(np.log(np.array([0.25, 0.75])))
    >>> np.exp(coin.log_prob(np.array([0, 1])))
    array([0.25, 0.75])
    """

    logits: Any

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Indices of classes."""
        (logits,) = arrays_of(self.logits)
        full = drawn_shape("Categorical.sample", shape, logits[..., 0])
        return op.categorical(key, logits, full)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the probability of each class in x."""
        x = op.asarray(x)
        if x.dtype.kind not in "iu":
            error = DTypeError(
                f"Categorical.log_prob: given {x.dtype}; classes are integers. Convert them with "
                "astype."
            )
            raise located(error, [x])
        (logits,) = arrays_of(self.logits)
        shape = np.broadcast_shapes(tuple(x.shape), tuple(logits.shape[:-1]))
        scores = op.broadcast_to(op.log_softmax(logits), (*shape, logits.shape[-1]))
        index = op.expand_dims(op.broadcast_to(x, shape), -1)
        return op.take_along_axis(scores, index, axis=-1)[..., 0]

    def entropy(self) -> Any:
        (logits,) = arrays_of(self.logits)
        scores = op.log_softmax(logits)
        known = op.where(op.equal(scores, -math.inf), 0, scores)  # what never comes counts nothing
        return -op.sum(op.exp(scores) * known, -1)


@dataclass
class Bernoulli:
    """True or False; the probability of True is the sigmoid of the logit."""

    logits: Any

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Bools."""
        (logits,) = arrays_of(self.logits)
        full = drawn_shape("Bernoulli.sample", shape, logits)
        return op.bernoulli(key, op.sigmoid(logits), full)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the probability of each x, which is 0 or 1."""
        (logits,) = arrays_of(self.logits)
        hit = op.astype(op.asarray(x), bool)
        return op.where(hit, op.log_sigmoid(logits), op.log_sigmoid(-logits))

    def entropy(self) -> Any:
        (logits,) = arrays_of(self.logits)
        return op.softplus(logits) - op.pull(op.sigmoid(logits), logits)
