"""EpochRecord: what callbacks, loggers and the progress line get after each epoch of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wengert.train.runs.history import History
from wengert.train.step import TrainStep


@dataclass(frozen=True)
class EpochRecord:
    """One epoch of a fit, when it is over and its metrics are known."""

    epoch: int  # of all epochs that the step has had, from 0
    number: int  # of all epochs of the fit, from 1
    epochs: int  # how many the fit has, if nothing stops it
    loss: float  # the mean over its steps, each before its update, but those that were skipped
    metrics: Mapping[str, float]  # measured on the validation data, behind the epoch
    learning_rate: float | dict[str, float]  # of its last step
    seconds: float  # since the fit began, with the time before it was resumed
    rows_per_second: float  # of training, in this epoch
    is_best: bool  # whether no epoch before it was as good
    begins: bool  # whether it is the first of this call of fit; its number tells of a resumed one
    history: History = field(repr=False)  # of the steps of the epoch
    step: TrainStep = field(repr=False)

    def values(self) -> dict[str, float]:
        """Everything that is a number, by name: a row of a log."""
        rates = self.learning_rate
        if isinstance(rates, dict):
            named = {f"learning_rate {glob}": rate for glob, rate in rates.items()}
        else:
            named = {"learning_rate": rates}
        return {
            "epoch": self.epoch,
            "loss": self.loss,
            **self.metrics,
            **named,
            "seconds": self.seconds,
        }
