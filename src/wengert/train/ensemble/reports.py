"""What an ensemble reports: the last call, the calls of a run, and its epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_HISTORIES
from wengert.train.runs.history import History
from wengert.train.storage import Array


@dataclass(frozen=True)
class EnsembleLast:
    """The last call of an ensemble, with an entry for each member."""

    loss: Array
    grad_norm: Array
    learning_rate: Array | dict[str, Array]  # by glob, where there are several optimizers
    index: Array  # of the call of each member, from 0
    skipped: Array


@dataclass(frozen=True)
class EnsembleHistory(Explained):
    """Loss, norm of the gradients and learning rate of every call of a run, (members, steps) in
    float64; and aux, with these two axes in front of each leaf, or of the last step with one.
    """

    _repairs = OF_HISTORIES
    _nature = "an EnsembleHistory has arrays of (members, steps)"

    loss: Array
    grad_norm: Array
    learning_rate: Array | dict[str, Array]  # by glob, where there are several optimizers
    skipped: Array
    aux: Any = None

    def __len__(self) -> int:
        return int(self.loss.shape[1])

    def of(self, member: int) -> History:
        """That of one member."""
        rates = self.learning_rate
        return History(
            self.loss[member],
            self.grad_norm[member],
            {glob: x[member] for glob, x in rates.items()}
            if isinstance(rates, dict)
            else rates[member],
            self.skipped[member],
        )

    def __repr__(self) -> str:
        text = f"{self.loss.shape[0]} members, {len(self)} steps"
        if len(self):
            first, last = np.nanmedian(self.loss[:, 0]), np.nanmedian(self.loss[:, -1])
            text += f", median loss {first:.6g} → {last:.6g}"
        return f"EnsembleHistory({text})"


@dataclass(frozen=True)
class EnsembleEpoch:
    """One pass of all members over the data."""

    index: int  # of all epochs, from 0
    loss: Array  # of each member: the mean over its steps, but those that were skipped
    history: EnsembleHistory

    def __repr__(self) -> str:
        low, high = np.nanmin(self.loss), np.nanmax(self.loss)
        return (
            f"EnsembleEpoch({self.index}: {len(self.history)} steps, loss {low:.6g} to {high:.6g})"
        )
