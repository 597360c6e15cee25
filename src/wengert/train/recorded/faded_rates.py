"""Faded rates: schedules that have come to rates so small that updates change nothing any more."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import ScheduleWarning
from wengert.optim.optimizer import Optimizer

FADED = 1e-12  # of the largest rate there was
COUNTS = ("total_steps", "step_size", "milestones", "period", "gamma")  # settings of schedules
SEEN = 256  # first updates that are looked at for the largest rate

Rates = np.ndarray[Any, Any]


class FadedRates:
    """Watches the rates of one optimizer, and warns once where two updates that follow one another
    have next to none. A warm-up from 0 has not faded, nor has a cycle that touches 0.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._largest: float | None = None
        self._before = -1  # the update that was looked at last, if its rate had faded
        self._told = False

    def ready(self, count: int, rates: Rates, ahead: bool) -> int:
        """How many of the rates of updates from `count` on need no warning, after warning where
        that is none. They are known `ahead`, or may be others when their update comes.
        """
        schedule = self._optimizer.lr
        if self._told or not callable(schedule):
            return len(rates)
        if self._largest is None:
            first = self._optimizer.table(1, min(count, SEEN))["lr"] if ahead else rates[:1]
            self._largest = float(first.max())
        if len(rates) == 1:  # as for every call of a schedule with state
            rate = float(rates[0])
            self._largest = max(self._largest, rate)
            good = int(not self._fades(count, rate))
        else:
            largest = np.maximum.accumulate(np.maximum(rates, self._largest))
            faded = rates < FADED * largest
            if ahead:
                faded[:-1] &= faded[1:]
            else:
                faded[0] = self._fades(count, float(rates[0]))
            good = int(np.argmax(faded)) if faded.any() else len(rates)
            self._largest = float(largest[max(good - 1, 0)])
        if good == 0:
            self._told = True
            _warn(schedule, count, float(rates[0]), self._largest)
        return good or len(rates)

    def _fades(self, count: int, rate: float) -> bool:
        """Whether this update and the one before it have next to no rate."""
        assert self._largest is not None
        faded, before = rate < FADED * self._largest, self._before
        self._before = count if faded else -1
        return faded and before == count - 1


def _warn(schedule: Any, count: int, rate: float, largest: float) -> None:
    counts = [name for name in COUNTS if hasattr(schedule, name)]
    repair = f"Choose another {' or '.join(counts)}" if counts else "Correct it"
    shown = repr(schedule) if counts else getattr(schedule, "__name__", type(schedule).__name__)
    warn_user(
        f"TrainStep: update {count} has the learning rate {rate:g}, and there was one of "
        f"{largest:g}; {shown} counts updates, not epochs, and from here on nothing is trained. "
        f"{repair}: there are as many updates as epochs times batches.",
        ScheduleWarning,
    )
