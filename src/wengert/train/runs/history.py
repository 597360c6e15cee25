"""What a training step reports: the last call, the calls of a run, and its epochs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.core.words.foreign_names.missing import Explained
from wengert.core.words.foreign_names.repairs_of_objects import OF_HISTORIES
from wengert.train.engine import Engine
from wengert.train.fitting.curves import Picture, picture_of
from wengert.train.recorded.scalars import RATE
from wengert.train.recorded.step_arrays import LOSS, NORM
from wengert.train.runs.auxes import Auxes

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Last:
    """The last call of a step."""

    loss: float
    grad_norm: float  # of all gradients as one vector, before clipping
    learning_rate: float | dict[str, float]  # by glob, where there are several optimizers
    index: int  # of the call, from 0
    skipped: bool  # whether something was not finite, so that nothing was changed


@dataclass(frozen=True)
class History(Explained):
    """Loss, norm of the gradients and learning rate of every call of a run, in float64; and aux,
    of all calls with an axis of them in front of each leaf, or of the last one. The history of a
    fit also has `epochs`, one value per epoch of everything that was measured.
    """

    _repairs = OF_HISTORIES
    _nature = "a History has an array with an entry for every step of each thing measured"

    loss: Array
    grad_norm: Array
    learning_rate: Array | dict[str, Array]  # by glob, where there are several optimizers
    skipped: Array
    aux: Any = None
    epochs: Mapping[str, Array] = field(default_factory=dict)  # "epoch", "loss", metrics by name
    best_epoch: int | None = None  # of a fit, counted as `epochs["epoch"]` counts
    stopped: str | None = None  # why a fit ended before its last epoch

    def __len__(self) -> int:
        return len(self.loss)

    def __repr__(self) -> str:
        if not len(self):
            return "History(0 steps)"
        text = f"{len(self)} steps, loss {self.loss[0]:.6g} → {self.loss[-1]:.6g}"
        if self.epochs:
            text += f"; {len(self.epochs['epoch'])} epochs, the best {self.best_epoch}"
        return f"History({text}{f'; {self.stopped}' if self.stopped else ''})"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Picture:
        """The curves over epochs, or over steps where there are none, as an SVG picture: notebooks
        show it, browsers open it, and `path` is where it is written, if one is given.
        """
        if not len(self):
            raise ValueError(
                "History.plot: the history has no steps, so there is no curve; it must have one at "
                "least. Train first."
            )
        picture = picture_of(self.epochs or {"step": np.arange(len(self)), "loss": self.loss})
        if path is not None:
            picture.save(path)
        return picture


@dataclass(frozen=True)
class Epoch:
    """One pass over the data."""

    index: int  # of all epochs this step has had, from 0
    loss: float  # the mean over its steps, each before its update, but those that were skipped
    history: History

    @property
    def skipped(self) -> int:
        """How many of its steps were skipped, because something was not finite."""
        return int(np.count_nonzero(self.history.skipped))

    @property
    def aux(self) -> Any:
        """The aux of its history."""
        return self.history.aux

    def __repr__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"Epoch({self.index}: {len(self.history)} steps{skipped}, loss {self.loss:.6g})"


class Rates:
    """Where learning rates stand in a row of scalars."""

    def __init__(self, engine: Engine, several: bool) -> None:
        groups = engine.plan.groups
        self.several = several
        self.columns = {
            groups[group].glob: column
            for (group, name), column in engine.scalars.columns.of_groups.items()
            if name == RATE
        }

    def of(self, row: Array) -> float | dict[str, float]:
        rates = {glob: float(row[column]) for glob, column in self.columns.items()}
        return rates if self.several else next(iter(rates.values()))


class Recorder:
    """Collects the reports of a number of calls."""

    def __init__(self, steps: int, rates: Rates, auxes: Auxes) -> None:
        self._rates, self.auxes = rates, auxes
        self._columns = list(rates.columns.values())
        self._reports = np.empty((steps, 2))
        self._numbers = np.empty((len(self._columns), steps))  # learning rates
        self._skipped = np.zeros(steps, bool)
        self._count = 0

    def note(self, engine: Engine, aux: Any) -> None:
        """Take the report and the aux of the call that was made last."""
        i = self._count
        row, self._reports[i], _, self._skipped[i] = engine.noted
        self._numbers[:, i] = row[self._columns]
        self._count = i + 1
        self.auxes.note(aux)

    def room(self) -> tuple[Array, Array]:
        """Where machine code writes for the calls that it makes: their reports, and which were
        skipped.
        """
        return self._reports[self._count :], self._skipped[self._count :]

    def note_many(self, table: Array, rows: Array | slice, count: int) -> None:
        """Take the reports of so many calls, which have used these rows of the table."""
        end = self._count + count
        for k, column in enumerate(self._columns):
            self._numbers[k, self._count : end] = table[rows, column]
        self._count = end

    @property
    def reports(self) -> Array:
        """Loss and norm of the gradients of each call so far."""
        return self._reports[: self._count]

    @property
    def skipped(self) -> Array:
        """Whether each call so far was skipped."""
        return self._skipped[: self._count]

    def history(self, aux: Any = None) -> History:
        """What was collected. The aux is given: several recorders may share it."""
        n = self._count
        reports, numbers = self._reports[:n].T.copy(), self._numbers[:, :n]
        rates = dict(zip(self._rates.columns, numbers, strict=True))
        return History(
            reports[LOSS],
            reports[NORM],
            rates if self._rates.several else numbers[0],
            self._skipped[:n],
            aux,
        )


def part_of(history: History, begin: int, end: int, has_aux: bool) -> History:
    """The history of some consecutive calls; with the aux that there is, or without."""
    rates = history.learning_rate
    return History(
        history.loss[begin:end],
        history.grad_norm[begin:end],
        {glob: rate[begin:end] for glob, rate in rates.items()}
        if isinstance(rates, dict)
        else rates[begin:end],
        history.skipped[begin:end],
        history.aux if has_aux else None,
    )


def joined(parts: list[History], aux: Any) -> History:
    """Several histories as one, with the aux of all of them."""
    if isinstance(parts[0].learning_rate, dict):
        rates: Any = {
            glob: np.concatenate([part.learning_rate[glob] for part in parts])
            for glob in parts[0].learning_rate
        }
    else:
        rates = np.concatenate([part.learning_rate for part in parts])
    return History(
        np.concatenate([part.loss for part in parts]),
        np.concatenate([part.grad_norm for part in parts]),
        rates,
        np.concatenate([part.skipped for part in parts]),
        aux,
    )
