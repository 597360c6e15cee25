"""Faded rates: schedules that have come to rates so small that updates change nothing any more, or
that will come to their last rate much too soon, since they count updates and were given epochs.

A rate of 0 has faded where two updates in a row have it. A small one may be among those that a
cosine or a polynomial comes by before its end: it has faded where a tenth of all updates have had
no other. A rate of 1 / count never fades: however many updates there were, it goes on training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import ScheduleWarning
from wengert.optim.optimizer import Optimizer
from wengert.optim.schedules import Chain, OneCycle, Schedule

# Beside the largest rate there was:
NOTHING = 1e-30  # is as good as 0
SMALL, SMALL_OF_FLOAT64 = 1e-6, 1e-9  # hardly change a parameter any more
SMALL_BY_ITSELF = 1e-12  # the same, where a metric or the user's object may have lowered it
ALL_SMALL = 1e-3  # is all that as many updates as there were would do together, at a small rate
AT_REST = 1e-4  # nobody goes on training with, at the end of a cycle

SHARE = 0.1  # of all updates, with small rates in a row
COUNTS = ("total_steps", "step_size", "milestones", "period", "gamma")  # settings of schedules
SEEN = 256  # first updates that are looked at for the largest rate

MANY = 5  # times as many updates as epochs, at least, where the two may be mistaken
LEAST = 0.25  # of the epochs of a run, at least, are what a schedule counts that is meant in epochs
LOWERED = 0.5  # of the largest rate, at most, is what such a schedule ends with

Rates = np.ndarray[Any, Any]


class FadedRates:
    """Watches the rates of one optimizer, and warns once where they have faded, or a OneCycle is
    over. A warm-up from 0 has not faded, nor has a cycle that touches 0. Of parameters that are
    `fine`, float64, smaller rates than of others still change something.
    """

    def __init__(self, optimizer: Optimizer, fine: bool) -> None:
        self._optimizer, self._fine = optimizer, fine
        self._told = False
        self._begin(None)

    def _begin(self, schedule: Any) -> None:
        """Forget what is known of another schedule."""
        self._schedule = schedule
        self._largest: float | None = None
        self._before = -1  # the update that was looked at last, if its rate was 0
        self._stretch, self._end = _Stretch(), _end_of(schedule)
        self._small = SMALL_BY_ITSELF
        if _follows_the_count(schedule):
            self._small = SMALL_OF_FLOAT64 if self._fine else SMALL

    def ready(self, count: int, rates: Rates, ahead: bool) -> int:
        """How many of the rates of updates from `count` on need no warning, after warning where
        that is none. They are known `ahead`, or may be others when their update comes.
        """
        schedule = self._optimizer.lr
        if self._told or not callable(schedule):
            return len(rates)
        if schedule is not self._schedule:
            self._begin(schedule)
        if self._largest is None:
            first = self._optimizer.table(1, min(count, SEEN))["lr"] if ahead else rates[:1]
            self._largest = float(first.max())
        if len(rates) == 1:  # as for every call of a schedule with state
            good = int(not self._has_faded(count, float(rates[0])))
        else:
            good = self._good_of_many(count, rates, ahead)
        if good == 0:
            self._told = True
            _warn(schedule, count, float(rates[0]), self._largest)
        return good or len(rates)

    def _has_faded(self, count: int, rate: float) -> bool:
        assert self._largest is not None
        largest = self._largest = max(self._largest, rate)
        small = rate < largest * min(self._small, ALL_SMALL / count)
        is_long = self._stretch.is_long(count, small)
        return self._is_second_zero(count, rate) or is_long or count > self._end

    def _good_of_many(self, count: int, rates: Rates, ahead: bool) -> int:
        assert self._largest is not None
        largest = np.maximum.accumulate(np.maximum(rates, self._largest))
        updates = np.arange(count, count + len(rates))
        faded = rates < NOTHING * largest
        if ahead:
            faded[:-1] &= faded[1:]
        else:
            faded[0] = self._is_second_zero(count, float(rates[0]))
        small = rates < largest * np.minimum(self._small, ALL_SMALL / updates)
        firsts = self._stretch.firsts(updates, small)
        faded |= _is_long(updates - firsts + 1, updates) | (updates > self._end)
        good = int(np.argmax(faded)) if faded.any() else len(rates)
        last = max(good - 1, 0)
        self._largest = float(largest[last])
        self._stretch.note(int(firsts[last]), int(updates[last]))
        return good

    def _is_second_zero(self, count: int, rate: float) -> bool:
        """Whether this update and the one before it have a rate of 0."""
        assert self._largest is not None
        zero, before = rate < NOTHING * self._largest, self._before
        self._before = count if zero else -1
        return zero and before == count - 1


class _Stretch:
    """The updates in a row with small rates, up to the last one that was looked at."""

    def __init__(self) -> None:
        self.note(0, -1)

    def note(self, first: int, last: int) -> None:
        """Remember the first of them, or the update behind the last where there are none."""
        self._first, self._last = first, last

    def is_long(self, count: int, small: bool) -> bool:
        """Look at one more update."""
        first = self._since(count) if small else count + 1
        self.note(first, count)
        return bool(_is_long(count - first + 1, count))

    def firsts(self, updates: Any, small: Any) -> Any:
        """Where the stretches begin that consecutive updates belong to; behind those in none."""
        begun = np.maximum.accumulate(np.where(small, 0, updates + 1))
        return np.maximum(begun, self._since(int(updates[0])))

    def _since(self, count: int) -> int:
        """Where the stretch begins that an update belongs to, if its rate is small."""
        return self._first if self._first <= count <= self._last + 1 else count


def _is_long(length: Any, updates: Any) -> Any:
    return (length > 1) & (length >= SHARE * updates)


def _follows_the_count(schedule: Any) -> bool:
    """Whether rates follow from the number of updates alone, as far as can be seen."""
    if isinstance(schedule, Schedule):
        return schedule.copy() is schedule
    return isinstance(schedule, FunctionType)


def _end_of(schedule: Any) -> float:
    """How many updates there are before a OneCycle is over and rests at a rate of next to nothing;
    other schedules tell by their rates.
    """
    if type(schedule) is Chain:
        return (0, *schedule.milestones)[-1] + _end_of(schedule.schedules[-1])
    if type(schedule) is not OneCycle:
        return math.inf
    rests = schedule.phases()[-1][2] < AT_REST * schedule.max_lr
    return schedule.total_steps if rests else math.inf


def warn_of_epochs_for_updates(
    by: str, schedules: Sequence[Schedule], epochs: int, updates: int, before: int
) -> None:
    """Warn of the first schedule that lowers the rate and is meant in epochs, as it seems: it ends
    behind as many updates as the run has epochs, or somewhat fewer. The run has so many `updates`,
    and there were some `before`. Rates of next to nothing are told when they are come to.
    """
    if updates < MANY * epochs:
        return
    for schedule in schedules:
        end = schedule.ends_at()
        if end is None or end <= before or not LEAST * epochs <= end <= epochs:
            continue
        last, largest = schedule(end), float(schedule.table(0, end).max())
        faded = last < NOTHING * largest or _end_of(schedule) < math.inf
        if faded or last > LOWERED * largest:
            continue
        warn_user(
            f"{by}: given {epochs} epochs, which have {updates} updates, and a schedule that has "
            f"its last rate, {last:g}, from update {end + 1} on; {schedule!r} counts updates, not "
            f"epochs. If epochs are meant, multiply its counts by {updates // epochs}, the "
            "updates of an epoch.",
            ScheduleWarning,
        )
        return


def _warn(schedule: Any, count: int, rate: float, largest: float) -> None:
    counts = [name for name in COUNTS if hasattr(schedule, name)]
    repair = f"Choose another {' or '.join(counts)}" if counts else "Correct it"
    shown = repr(schedule) if counts else getattr(schedule, "__name__", type(schedule).__name__)
    little = "next to nothing" if rate else "nothing"
    warn_user(
        f"TrainStep: update {count} has the learning rate {rate:g}, and there was one of "
        f"{largest:g}; {shown} counts updates, not epochs, and from here on {little} is trained. "
        f"{repair}: there are as many updates as epochs times batches.",
        ScheduleWarning,
    )
