"""Plateau: when an estimator stops, by scikit-learn's rules.

The loss of training, or the score of the validation data, has to become better by `tol`. Where it
has not for more than `n_iter_no_change` epochs, training stops, or the learning rate becomes
smaller (`learning_rate="adaptive"`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from wengert.train.fitting.epoch_record import EpochRecord

LEAST_RATE = 1e-6  # at which an adaptive rate stops
MANY = 2**31  # epochs
SCORE = "score"  # the metric of the validation data
CONSTANT, INVSCALING, ADAPTIVE = "constant", "invscaling", "adaptive"


@dataclass
class Plateau:
    """A callback of a fit. It also keeps the curves, which are there when a fit is interrupted."""

    rows: int  # of the training data
    batch_size: int
    tol: float
    patience: float
    rate: str = CONSTANT
    rate_init: float = 0.0
    power: float = 0.5
    seen: int = 0  # rows, in fits before this one too
    best: float = np.inf  # loss, or score times -1
    waited: int = 0
    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    converged: bool = False

    def __call__(self, record: EpochRecord) -> bool:
        """Take an epoch, and say whether it is time to stop."""
        self.seen += self.rows
        self.losses.append(self._mean_loss(record))
        if SCORE in record.metrics:
            self.scores.append(record.metrics[SCORE])
        value = -self.scores[-1] if self.scores else self.losses[-1]
        self.waited = self.waited + 1 if not value <= self.best - self.tol else 0
        self.best = min(self.best, value)
        if self.rate == INVSCALING:
            record.step.optimizer.learning_rate = self.rate_init / (self.seen + 1) ** self.power
        if self.waited <= self.patience:
            return False
        if self.rate == ADAPTIVE and record.step.optimizer.learning_rate > LEAST_RATE:
            record.step.optimizer.learning_rate /= 5
            self.waited = 0
            return False
        self.converged = True
        return True

    def epochs_ahead(self) -> int:
        """How many epochs there are at least until training can stop, or its rate change: a fit
        takes them at once.
        """
        if self.rate == INVSCALING:
            return 1
        return MANY if self.patience >= MANY else int(self.patience) + 1 - self.waited

    def _mean_loss(self, record: EpochRecord) -> float:
        """The mean over rows: the last batch may be smaller."""
        losses, size = record.history.loss, self.batch_size
        rest = min(self.rows - size * (len(losses) - 1), size)
        return float(
            (losses[:-1].sum() * size + losses[-1] * rest) / (size * (len(losses) - 1) + rest)
        )
