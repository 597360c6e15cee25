"""A run of an ensemble: how its members go through the data, epoch by epoch."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from wengert.train.ensemble.failures import Failures
from wengert.train.ensemble.reports import EnsembleEpoch, EnsembleHistory
from wengert.train.ensemble.runs.member_auxes import MemberAuxes
from wengert.train.ensemble.runs.member_loops import Members
from wengert.train.ensemble.runs.member_orders import MemberOrders
from wengert.train.ensemble.runs.member_runs import MemberSteps, ReportRoom
from wengert.train.ensemble.runs.run_data import RunData
from wengert.train.recorded.plateaus import OF_MEMBERS, warn_of_unobserved
from wengert.train.recorded.step_arrays import LOSS, NORM
from wengert.train.runs.history import Rates
from wengert.train.runs.run import look_at_counts

OTHERS = "The others went on to the end of this call; it stays where it failed."


class RunOptions(NamedTuple):
    """How a run goes through its data."""

    by: str  # what errors begin with
    epochs: int
    shuffle: Sequence[int] | None  # the seed of each member's order
    resample: Sequence[int] | None  # and that of its bootstrap
    drop_last: bool
    only_last_aux: bool


class MemberRun:
    """Steps of all members over batches of their data."""

    def __init__(self, members: Members, data: RunData, options: RunOptions, rates: Rates) -> None:
        self.engines, self.data, self.options, self.rates = members.engines, data, options, rates
        orders = None
        if options.shuffle is not None or options.resample is not None:
            order = data.first.rows, options.shuffle, options.resample, len(self.engines)
            orders = MemberOrders(*order)
        self.steps = data.first.steps(options.drop_last)
        rest, columns = data.first.rest(options.drop_last), list(rates.columns.values())
        self.native = MemberSteps(members, data, orders, rest, columns)
        look_at_counts(options.by, options.epochs, self.steps, self.engines)

    def whole(self) -> EnsembleHistory:
        """Take all steps, and say what came of them."""
        stretch = self._take(self.options.epochs)
        self._warn_of_plateau()
        return stretch.history()

    def each_epoch(self) -> Iterator[EnsembleEpoch]:
        """Take all steps of an epoch, then yield what came of it."""
        frames = self.data.first.frames
        for _ in range(self.options.epochs):
            if frames is not None:
                frames.look(self.options.by)
            stretch = self._take(1)
            history = stretch.history()
            counted = ~history.skipped
            total = np.where(counted, history.loss, 0.0).sum(axis=1)
            with np.errstate(invalid="ignore"):
                loss = total / counted.sum(axis=1)
            yield EnsembleEpoch(stretch.index, loss, history)
            self._warn_of_plateau()

    def _warn_of_plateau(self) -> None:
        first = self.engines[0]
        if not first.told_of_plateau:
            groups = [group for engine in self.engines for group in engine.plan.groups]
            first.told_of_plateau = warn_of_unobserved(
                self.options.by, groups, first.progress.epoch, OF_MEMBERS
            )

    def _take(self, epochs: int) -> _MemberStretch:
        stretch = _MemberStretch(self, epochs)
        guard = self.engines[0].guard
        guard.change_in_parts(self.options.by, stretch.begin, stretch.go_on)
        stretch.failures.raise_first(len(self.engines), OTHERS)
        if not self.engines[0].zero_gradients.is_over:
            stretch.look_at_gradients()
        self.engines[0].idle_parts.tell(self.options.by)
        return stretch

    def begun(self, member: int) -> tuple[int, int, int | None, int]:
        """What identifies an epoch of a member."""
        first, options = self.data.first, self.options
        seed = None if options.shuffle is None else options.shuffle[member]
        checksum = self._checksum
        if options.resample is not None:
            checksum = zlib.crc32(str(options.resample[member]).encode(), checksum)
        return first.rows, first.size, seed, checksum

    def look(self) -> None:
        self.native.look()
        self._checksum = self.data.first.checksum()


class _MemberStretch:
    """The steps of consecutive epochs, while they are taken."""

    def __init__(self, run: MemberRun, epochs: int) -> None:
        self._run, self._engines, self._epochs = run, run.engines, epochs
        self._steps = run.steps
        self._auxes = MemberAuxes(run.options.only_last_aux, len(run.engines))
        self.failures = Failures()

    def begin(self) -> None:
        run, engines = self._run, self._engines
        run.look()
        pairs = enumerate(engines)
        taken = [engine.begin_epoch(*run.begun(i)) for i, engine in pairs]
        # Batches since the first epoch of each member began: it goes on where it was interrupted.
        self._taken = np.minimum(np.array(taken, np.int64), self._steps)
        self._indices = [engine.progress.epoch for engine in engines]
        self.index = max(self._indices)
        calls = [engine.calls for engine in engines]
        self._first = [c - t for c, t in zip(calls, self._taken.tolist(), strict=True)]
        self._progress = [engine.progress for engine in engines]
        self._settle()  # all of an epoch had been taken, where it was interrupted at its end
        self._base = self._begin = int(self._taken.min())
        left, count = self._epochs * self._steps - self._begin, len(engines)
        self._room = ReportRoom(
            np.full((count, left, 2), np.nan),
            np.zeros((count, left), bool),
            np.full((count, left, len(run.rates.columns)), np.nan),
        )

    def go_on(self) -> bool:
        """Take some steps, and say whether there are more."""
        left = self._epochs * self._steps - self._base
        if left:
            self._take_some(left)
        total = self._epochs * self._steps
        return self._base < total and len(self.failures.errors) < len(self._engines)

    def _take_some(self, left: int) -> None:
        passed, number = divmod(self._base, self._steps)
        epochs = [index + passed for index in self._indices]
        ahead = np.maximum(self._taken - self._base, 0)
        room = self._room.since(self._base - self._begin)
        idle_parts = self._engines[0].idle_parts
        looks = not idle_parts.is_over
        left = 1 if looks else left  # the gradients are those of the last step
        self._base += self._run.native.advance(
            (epochs, number), ahead, left, room, self._auxes, self.failures, self._settle
        )
        if looks:
            batch = self._run.data.first.batch(number, None)
            idle_parts.look(self._engines, room.reports[:, 0], batch)

    def _settle(self) -> None:
        """Note how far the epochs have come, which follows from the numbers of calls."""
        for engine, first, before in zip(self._engines, self._first, self._progress, strict=True):
            calls = engine.calls
            engine.progress = before.after_batches(calls - first, self._steps, calls)

    def look_at_gradients(self) -> None:
        by = self._run.options.by
        self._engines[0].zero_gradients.look_at_members(by, self._room.reports)

    def history(self) -> EnsembleHistory:
        rates = self._run.rates
        by_column = np.moveaxis(self._room.rates, 2, 0).copy()
        numbers = dict(zip(rates.columns, by_column, strict=True))
        return EnsembleHistory(
            self._room.reports[:, :, LOSS].copy(),
            self._room.reports[:, :, NORM].copy(),
            numbers if rates.several else by_column[0],
            self._room.skipped,
            self._auxes.tree(),
        )
