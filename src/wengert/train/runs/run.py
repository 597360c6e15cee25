"""Runs: many steps over batches of data, epoch by epoch."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import AccumulationWarning, NonFiniteError, UnusedWarning
from wengert.train.engine import Engine
from wengert.train.runs.auxes import Auxes
from wengert.train.runs.data import Data, shuffled
from wengert.train.runs.history import Epoch, History, Rates, Recorder, joined
from wengert.train.runs.native_loop import Drive


@dataclass(frozen=True)
class Run:
    """How a run goes through its data."""

    by: str  # what errors begin with
    data: Data
    epochs: int
    shuffle_seed: int | None
    drop_last: bool
    only_last_aux: bool

    def each_epoch(self, engine: Engine, rates: Rates) -> Iterator[Epoch]:
        """Take all steps of an epoch, then yield what came of it."""
        self._warn_without_update(engine)
        drive = self._drive(engine)
        for _ in range(self.epochs):
            auxes = Auxes(self.only_last_aux)
            index, history = self._epoch(engine, drive, rates, auxes)
            taken = history.loss[~history.skipped]
            loss = float(np.mean(taken)) if len(taken) else np.nan
            yield Epoch(index, loss, replace(history, aux=auxes.tree()))

    def whole(self, engine: Engine, rates: Rates) -> History:
        """Take all steps, and say what came of them."""
        self._warn_without_update(engine)
        drive, auxes = self._drive(engine), Auxes(self.only_last_aux)
        parts = [Recorder(0, rates, auxes).history()]  # there may be no epoch
        parts += [self._epoch(engine, drive, rates, auxes)[1] for _ in range(self.epochs)]
        return joined(parts, auxes.tree())

    def _drive(self, engine: Engine) -> Drive:
        return Drive(engine, self.data, self.shuffle_seed is not None)

    def _epoch(
        self, engine: Engine, drive: Drive, rates: Rates, auxes: Auxes
    ) -> tuple[int, History]:
        """The next epoch: its index, and its history without aux, which is collected."""
        taken = _Taken(self, engine, drive, rates, auxes)
        engine.guard.change_in_parts(self.by, taken.begin, taken.go_on)
        return taken.index, taken.recorder.history()

    def _warn_without_update(self, engine: Engine) -> None:
        """Calls that accumulate and do not suffice for an update change no parameter."""
        calls, length = self.epochs * self.data.steps(self.drop_last), engine.plan.accumulate
        if 0 < calls < length - engine.phase:
            warn_user(
                f"{self.by}: given {calls} batch{'es' * (calls > 1)} in all, and accumulate="
                f"{length} needs {length - engine.phase} more for an update; nothing is trained "
                "by this run. Choose smaller batches, more epochs, or a smaller accumulate.",
                AccumulationWarning,
            )


class Epochs(Iterator[Epoch]):
    """The epochs of a run, each of which trains when it is asked for. Whoever asks for none hears
    that nothing was trained.
    """

    def __init__(self, run: Run, engine: Engine, rates: Rates) -> None:
        self._run, self._begun = run, run.epochs == 0
        self._each, self._line = run.each_epoch(engine, rates), user_line()

    def __next__(self) -> Epoch:
        self._begun = True
        return next(self._each)

    def __del__(self) -> None:
        if getattr(self, "_begun", True) or sys.is_finalizing():
            return
        warn_user(
            f"{self._run.by}: given {self._run.epochs} epoch{'s' * (self._run.epochs > 1)}, and "
            "no loop went through them; each one trains when it is asked for, and nothing was "
            "trained. Write for epoch in step.epochs(…), or step.run(…).",
            UnusedWarning,
            self._line,
        )


class _Taken:
    """The steps of one epoch, while they are taken."""

    def __init__(self, run: Run, engine: Engine, drive: Drive, rates: Rates, auxes: Auxes) -> None:
        self._run, self._engine, self._drive = run, engine, drive
        self._rates, self._auxes = rates, auxes

    def begin(self) -> None:
        self._drive.look()
        data, seed = self._run.data, self._run.shuffle_seed
        self.index = self._engine.progress.epoch
        self._number = self._engine.begin_epoch(data.rows, data.size, seed, data.checksum())
        self._steps = data.steps(self._run.drop_last)
        self._order = shuffled(data.rows, seed, self.index)
        left = max(self._steps - self._number, 0)
        self.recorder = Recorder(left, self._rates, self._auxes)

    def go_on(self) -> bool:
        """Take some steps, and say whether there are more."""
        if self._number < self._steps:
            try:
                self._number += self._drive.advance(self._number, self._order, self.recorder)
            except NonFiniteError as error:
                error.add_note(self._place(error.row))
                raise
        if self._number < self._steps:
            return True
        self._engine.progress = self._engine.progress.after_epoch()
        return False

    def _place(self, row: int | None) -> str:
        """Where the data are that a step refused: of the batch that comes next."""
        data, order = self._run.data, self._order
        begin = self._number * data.size
        end = min(begin + data.size, data.rows)
        text = f"In epoch {self.index}, batch {self._number} of {self._steps}, both from 0: "
        if row is not None:
            found = begin + row if order is None else int(order[begin + row])
            return f"{text}row {row} of the batch is row {found} of the data."
        if order is None:
            return f"{text}the batch has rows {begin} to {end - 1} of the data."
        return f"{text}the batch has rows {reprlib.repr(order[begin:end].tolist())} of the data."


def require_shuffle_seed(by: str, shuffle_seed: Any) -> None:
    whole = isinstance(shuffle_seed, int | np.integer) and not isinstance(shuffle_seed, bool)
    if shuffle_seed is not None and not (whole and 0 <= shuffle_seed < 2**64):
        raise ValueError(
            f"{by}: shuffle_seed={shuffle_seed!r} was given; it is an integer from 0 to 2**64 - 1, "
            "or None for the order of the rows. Choose one."
        )
