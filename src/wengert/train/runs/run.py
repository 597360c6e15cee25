"""Runs: many steps over batches of data, epoch by epoch."""

from __future__ import annotations

import reprlib
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import (
    AccumulationWarning,
    DTypeError,
    NonFiniteError,
    ShapeError,
    UnusedWarning,
)
from wengert.optim.schedules import Schedule
from wengert.optim.schedules.held_rates import is_known_ahead
from wengert.train.engine import Engine
from wengert.train.recorded.faded_rates import warn_of_epochs_for_updates
from wengert.train.recorded.optimizer_groups import parts_of
from wengert.train.recorded.plateaus import warn_of_unobserved
from wengert.train.runs.auxes import Auxes
from wengert.train.runs.data import Data
from wengert.train.runs.history import Epoch, History, Rates, Recorder, joined, part_of
from wengert.train.runs.native_loop import BatchPlace, NativeSteps

PATIENCE = 0.05  # seconds that others wait for their turn, beside the epoch that goes on then
EpochKind = TypeVar("EpochKind")
MOST_STEPS = 2**14  # that are taken in one turn, beside those of one epoch


class Run(NamedTuple):
    """How a run goes through its data."""

    by: str  # what errors begin with
    data: Data
    epochs: int
    shuffle_seed: int | None
    drop_last: bool
    only_last_aux: bool

    def each_epoch(self, engine: Engine, rates: Rates) -> Iterator[Epoch]:
        """Take all steps of an epoch, then yield what came of it."""
        stretches = self.stretches(engine, rates)
        for _ in range(self.epochs):
            if self.data.frames is not None:
                self.data.frames.look(self.by)
            stretches.take(1)
            yield from stretches.complete()
            self._warn_of_plateau(engine)

    def stretches(self, engine: Engine, rates: Rates) -> Stretches:
        """The epochs one after the other, as many at once as whoever takes them asks for."""
        return Stretches(self, engine, self._begun(engine), rates)

    def whole(self, engine: Engine, rates: Rates) -> History:
        """Take all steps, and say what came of them."""
        native, auxes = self._begun(engine), Auxes(self.only_last_aux)
        parts: list[History] = []
        left = self.epochs
        while left:
            stretch = self._stretch(engine, native, rates, auxes, left)
            left -= stretch.epochs
            if not left:
                self._warn_of_plateau(engine)
            if not (left or parts):
                return stretch.recorder.history(auxes.tree())
            parts.append(stretch.recorder.history())
        if not parts:  # there may be no epoch
            return Recorder(0, rates, auxes).history()
        return joined(parts, auxes.tree())

    def _warn_of_plateau(self, engine: Engine) -> None:
        if not engine.told_of_plateau:
            engine.told_of_plateau = warn_of_unobserved(
                self.by, engine.plan.groups, engine.progress.epoch
            )

    def _begun(self, engine: Engine) -> NativeSteps:
        look_at_counts(self.by, self.epochs, self.data.steps(self.drop_last), [engine])
        engine.skipped_steps.begin()
        engine.given.late_loads.look(self.data.leaves)
        return NativeSteps(engine, self.data, self.shuffle_seed, self.data.rest(self.drop_last))

    def _stretch(
        self, engine: Engine, native: NativeSteps, rates: Rates, auxes: Auxes, epochs: int
    ) -> _Stretch:
        """The next epochs, as many as are taken at once. Its recorder knows all but their aux,
        which is collected.
        """
        taken = _Stretch(self, engine, native, rates, auxes, epochs)
        taken.take()
        return taken


class Stretches:
    """The epochs of a run, some at once."""

    def __init__(self, run: Run, engine: Engine, native: NativeSteps, rates: Rates) -> None:
        self._run, self._engine, self._native, self._rates = run, engine, native, rates
        self._last: _Stretch | None = None

    def take(self, epochs: int) -> None:
        """Take so many epochs; fewer where others wait for their turn at the step."""
        auxes = Auxes(self._run.only_last_aux)
        self._last = _Stretch(self._run, self._engine, self._native, self._rates, auxes, epochs)
        self._last.take()

    def complete(self) -> list[Epoch]:
        """The epochs of the last `take`: all of them, or after an error those that are known to be
        complete. Only the last one has an aux.
        """
        return [] if self._last is None else self._last.complete_epochs()


def look_at_counts(by: str, epochs: int, steps: int, engines: Sequence[Engine]) -> None:
    """Warn where the calls of a run, so many steps an epoch, do not suffice for an update: they
    change no parameter. And where a schedule is over after a few of its updates. The engines are
    those of a step, or of all members of an ensemble.
    """
    first, calls = engines[0], epochs * steps
    length = first.plan.accumulate
    if 0 < calls < length - first.phase:
        warn_user(
            f"{by}: given {calls} batch{'es' * (calls > 1)} in all, and accumulate="
            f"{length} needs {length - first.phase} more for an update; nothing is trained "
            "by this run. Choose smaller batches, more epochs, or a smaller accumulate.",
            AccumulationWarning,
        )
    groups = [group for engine in engines for group in engine.plan.groups]
    rates = [each.lr for group in groups for each in parts_of(group.optimizer)]
    schedules = [rate for rate in rates if isinstance(rate, Schedule) and is_known_ahead(rate)]
    if schedules:
        before = first.calls // length
        warn_of_epochs_for_updates(by, schedules, epochs, calls // length, before)


class Epochs(Iterator[EpochKind]):
    """The epochs of a run, each of which trains when it is asked for. If none is asked
    for, a warning says that nothing was trained.
    """

    def __init__(self, by: str, epochs: int, each: Iterator[EpochKind]) -> None:
        self._by, self._count, self._begun = by, epochs, epochs == 0
        self._each, self._line = each, user_line()

    def __next__(self) -> EpochKind:
        self._begun = True
        return next(self._each)

    def __del__(self) -> None:
        if getattr(self, "_begun", True) or sys.is_finalizing():
            return
        warn_user(
            f"{self._by}: given {self._count} epoch{'s' * (self._count > 1)}, and "
            "no loop went through them; each one trains when it is asked for, and nothing was "
            "trained. Write for epoch in step.epochs(…), or step.run(…).",
            UnusedWarning,
            self._line,
        )


class _Stretch:
    """The steps of consecutive epochs, while they are taken. Others that wait for a turn at the
    step get it after a short time, or after the epoch that goes on then.
    """

    def __init__(
        self,
        run: Run,
        engine: Engine,
        native: NativeSteps,
        rates: Rates,
        auxes: Auxes,
        epochs: int,  # at most
    ) -> None:
        self._run, self._engine, self._native = run, engine, native
        self._rates, self._auxes = rates, auxes
        self._missing: int | None = None
        self._steps = run.data.steps(run.drop_last)  # of an epoch
        self.epochs = min(epochs, max(MOST_STEPS // self._steps, 1))

    def take(self) -> None:
        """Take all steps."""
        self._engine.guard.change_in_parts(self._run.by, self._begin, self._go_on)
        if not self._engine.zero_gradients.is_over:
            reports, data = self.recorder.reports, self._run.data.leaves
            self._engine.zero_gradients.look(self._run.by, reports, data)
        if not self._engine.skipped_steps.is_over:
            skipped, named = self.recorder.skipped, self._run.data.named_arrays
            self._engine.skipped_steps.look(self._run.by, skipped, self._steps, named)
        if not self._engine.twins.is_over:
            self._engine.twins.look(self._run.by)
        self._engine.given.look_after_run()
        self._engine.idle_parts.tell(self._run.by)

    def complete_epochs(self) -> list[Epoch]:
        """The epochs whose steps have all been taken, as far as that was noted."""
        if self._missing is None:  # it has not begun
            return []
        history = self.recorder.history(self._auxes.tree())
        count = (len(history) + self._missing) // self._steps
        if count == 1 and len(history) + self._missing == self._steps:
            return [_epoch(self.index, history)]
        ends = [k * self._steps - self._missing for k in range(1, count + 1)]
        return [
            _epoch(self.index + k, part_of(history, begin, end, end == len(history)))
            for k, (begin, end) in enumerate(pairwise([0, *ends]))
        ]

    def _begin(self) -> None:
        self._native.look()
        engine, data, seed = self._engine, self._run.data, self._run.shuffle_seed
        self.index = engine.progress.epoch  # of the first epoch
        self._begun = data.rows, data.size, seed, data.checksum()
        if engine.ranked is not None:
            engine.ranked.agree(self._run.by, self._facts())
        taken = engine.begin_epoch(*self._begun)
        self._taken = min(taken, self._steps)  # batches since the first epoch began
        self._first = engine.calls - self._taken  # calls that were made before it
        self._first_progress = engine.progress
        if self._taken == self._steps:  # all of it had been taken when it was interrupted
            self._settle()
        left = self.epochs * self._steps - self._taken
        self.recorder = Recorder(left, self._rates, self._auxes)
        self._missing = self._taken  # steps of the first epoch that an earlier run has taken
        self._end = time.monotonic() + PATIENCE

    def _facts(self) -> dict[str, str]:
        """What ranks must have in common that share these epochs."""
        rows, size, seed, checksum = self._begun
        return {
            "the number of rows of the data": str(rows),
            "batch_size": str(size),
            "shuffle_seed": str(seed),
            "epochs": str(self._run.epochs),
            "drop_last": str(self._run.drop_last),
            "the form of the data": str([(str(t), shape) for t, shape in self._run.data.kind[1]]),
            "the data": f"checksum {checksum}",
        }

    def _go_on(self) -> bool:
        """Take some steps, and say whether there are more."""
        left = self.epochs * self._steps - self._taken
        if left:
            self._take_some(left)
        if time.monotonic() > self._end and self._engine.ranked is None:
            self.epochs = -(-self._taken // self._steps)
        return self._taken < self.epochs * self._steps

    def _take_some(self, left: int) -> None:
        passed, number = divmod(self._taken, self._steps)
        if not number and passed:
            self._engine.begin_epoch(*self._begun)
        place = BatchPlace(self.index + passed, number)
        looks = not self._engine.idle_parts.is_over and self._engine.ranked is None
        left = 1 if looks else left  # the gradients are those of the last step
        try:
            self._taken += self._native.advance(place, left, self.recorder, self._settle)
            if looks:
                self._look_at_gradients(place)
        except NonFiniteError as error:
            error.add_note(self._place(place, error.row))
            raise
        except (IndexError, ShapeError, DTypeError) as error:
            self._run.data.note_missing(error)
            raise

    def _look_at_gradients(self, place: BatchPlace) -> None:
        engine, report = self._engine, self._engine.noted[1]
        batch = self._run.data.batch(place.number, self._native.order(place.epoch))
        engine.idle_parts.look([engine], report[np.newaxis], batch)

    def _settle(self) -> None:
        """Note how far the epochs have come, which follows from the number of calls."""
        engine, calls = self._engine, self._engine.calls
        taken = calls - self._first
        engine.progress = self._first_progress.after_batches(taken, self._steps, calls)

    def _place(self, place: BatchPlace, row: int | None) -> str:
        """Where the data are that a step refused."""
        data, order = self._run.data, self._native.order(place.epoch)
        begin = place.number * data.size
        end = min(begin + data.size, data.rows)
        text = f"In epoch {place.epoch}, batch {place.number} of {self._steps}, both from 0: "
        if row is not None:
            row_of_data = begin + row if order is None else int(order[begin + row])
            return f"{text}row {row} of the batch is row {row_of_data} of the data."
        if order is None:
            return f"{text}the batch has rows {begin} to {end - 1} of the data."
        return f"{text}the batch has rows {reprlib.repr(order[begin:end].tolist())} of the data."


def _epoch(index: int, history: History) -> Epoch:
    taken = history.loss[~history.skipped] if history.skipped.any() else history.loss
    loss = float(np.add.reduce(taken) / len(taken)) if len(taken) else np.nan
    return Epoch(index, loss, history)


def require_shuffle_seed(by: str, shuffle_seed: Any) -> None:
    whole = isinstance(shuffle_seed, int | np.integer) and not isinstance(shuffle_seed, bool)
    if shuffle_seed is not None and not (whole and 0 <= shuffle_seed < 2**64):
        raise ValueError(
            f"{by}: shuffle_seed={shuffle_seed!r} was given; it is an integer from 0 to 2**64 - 1, "
            "or None for the order of the rows. Choose one."
        )
