"""Distributions of whole numbers, by their logits: no probability rounds to 0 or 1 on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.dims import Size
from wengert.core.dtypes import int64
from wengert.core.op_parts.broadcast import broadcast_shapes
from wengert.core.table import op
from wengert.core.words.arguments import worded_methods
from wengert.distributions.distribution_parameters import (
    Distribution,
    computed,
    drawn_from,
    drawn_shape,
)
from wengert.errors import DTypeError, ShapeError
from wengert.interpret.mistakes.column_values import note_column
from wengert.interpret.mistakes.probabilities import note_probabilities
from wengert.interpret.mistakes.rows_of_probabilities import (
    note_rows_of_probabilities,
    rows_are_noted,
)


def _require_classes(x: Any, count: Size) -> Any:
    """Integers of which each is a class: a negative one does not mean the last class."""
    if x.dtype.kind not in "iu":
        error = DTypeError(
            f"Categorical.log_prob: given {x.dtype}; classes are integers. Convert them with "
            "astype."
        )
        raise located(error, [x])
    if not isinstance(x, np.ndarray) or not isinstance(count, int):
        x = op.astype(x, int64)
        return op.where(op.less(x, 0), count, x)  # refused where it is read
    wrong = (x < 0) | (x >= count)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f" at position {place}" if place else ""
        raise IndexError(
            f"Categorical.log_prob: class {x[wrong][0]} was given{where} for logits of "
            f"{count} classes; a class lies between 0 and {count - 1}. Where there is none, "
            "give any class and mask what is found."
        )
    return x


@worded_methods("__init__", "sample")
@dataclass
class Categorical(Distribution):
    """One of several classes, along the last axis of the logits.

    >>> coin = wg.distributions.Categorical(np.log(np.array([0.25, 0.75])))
    >>> np.exp(coin.log_prob(np.array([0, 1])))
    array([0.25, 0.75])
    """

    logits: Any

    def _computed(self) -> Any:
        (logits,) = computed(self.logits)
        if not logits.shape:
            error = ShapeError(
                "Categorical: given one number; an axis of logits is needed. Pass an array."
            )
            raise located(error, [logits])
        note_rows_of_probabilities("Categorical", self.logits)
        return logits

    @property
    def probs(self) -> Any:
        """The probability of each class."""
        return op.softmax(self._computed())

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Indices of classes."""
        logits = self._computed()
        full = drawn_shape("Categorical.sample", shape, logits[..., 0])
        with rows_are_noted():
            return op.categorical(key, logits, full)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the probability of each class in x."""
        logits = self._computed()
        x = op.asarray(x)
        note_column("Categorical.log_prob", x, tuple(logits.shape[:-1]))
        x = _require_classes(x, logits.shape[-1])
        shape = broadcast_shapes("Categorical.log_prob", [tuple(x.shape), logits.shape[:-1]])
        scores = op.broadcast_to(op.log_softmax(logits), (*shape, logits.shape[-1]))
        index = op.expand_dims(op.broadcast_to(x, shape), -1)
        return op.take_along_axis(scores, index, axis=-1)[..., 0]

    def entropy(self) -> Any:
        scores = op.log_softmax(self._computed())
        known = op.where(op.equal(scores, -math.inf), 0, scores)  # what never comes counts nothing
        return -op.sum(op.exp(scores) * known, -1)


@worded_methods("__init__", "sample")
@dataclass
class Bernoulli(Distribution):
    """True or False; the probability of True is the sigmoid of the logit.

    >>> wg.distributions.Bernoulli(0.0).log_prob(np.array([1.0, 0.3]))
    array([-0.69314718,        -inf])
    """

    logits: Any

    def _computed(self) -> Any:
        (logits,) = computed(self.logits)
        note_probabilities("Bernoulli", self.logits)
        return logits

    @property
    def probs(self) -> Any:
        """The probability of True."""
        return op.sigmoid(self._computed())

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def variance(self) -> Any:
        logits = self._computed()
        return op.sigmoid(logits) * op.sigmoid(-logits)

    @property
    def std(self) -> Any:
        return op.sqrt(self.variance)

    def sample(self, key: Any, shape: Any = ()) -> Any:
        """Bools."""
        (logits,) = drawn_from("Bernoulli.sample", None, self.logits)
        note_probabilities("Bernoulli", self.logits)
        full = drawn_shape("Bernoulli.sample", shape, logits)
        return op.bernoulli(key, op.sigmoid(logits), full)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the probability of each x, which is False or True, 0 or 1; -inf of any
        other number.
        """
        logits = self._computed()
        x = op.asarray(x)
        missed = op.where(op.equal(x, 0), op.log_sigmoid(-logits), -math.inf)
        log_probability = op.where(op.equal(x, 1), op.log_sigmoid(logits), missed)
        return (
            op.where(op.isnan(x), math.nan, log_probability)
            if x.dtype.kind == "f"
            else log_probability
        )

    def entropy(self) -> Any:
        logits = self._computed()
        return op.softplus(logits) - op.pull(op.sigmoid(logits), logits)
