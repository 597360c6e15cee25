"""Plateaus: the learning rates of a step that follow a metric which somebody has to show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from wengert.core.words.warn import warn_user
from wengert.errors import ScheduleWarning
from wengert.optim.lifecycle.given_optimizers import OBSERVED, tell_of_changes
from wengert.optim.schedules import Chain, ReduceOnPlateau
from wengert.train.recorded.optimizer_groups import Group, parts_of

MANY = 10  # epochs after which somebody should have shown a metric


def plateaus_of(groups: Sequence[Group]) -> list[ReduceOnPlateau]:
    """The schedules of the optimizers that follow a metric, each of them once."""
    rates = [each.lr for group in groups for each in parts_of(group.optimizer)]
    return list({id(schedule): schedule for rate in rates for schedule in _inside(rate)}.values())


def _inside(rate: object) -> Iterator[ReduceOnPlateau]:
    if isinstance(rate, ReduceOnPlateau):
        yield rate
    elif isinstance(rate, Chain):
        for each in rate.schedules:
            yield from _inside(each)


OF_STEP = (
    "Call step.optimizer.lr.observe(loss) after each epoch, or train with wg.train.fit, which does."
)
OF_MEMBERS = (
    "In the body of a loop over ensemble.epochs(…), call "
    "ensemble.members[i].optimizer.lr.observe(epoch.loss[i]) for every member."
)


def warn_of_unobserved(
    by: str, groups: Sequence[Group], epochs: int, repair: str = OF_STEP
) -> bool:
    """Warn of a schedule that was shown nothing in so many epochs; whether there is one."""
    if epochs < MANY:
        return False
    unseen = [x for x in plateaus_of(groups) if not (math.isfinite(x.best) or x.bad_count)]
    if not unseen:
        return False
    warn_user(
        f"{by}: the learning rate is a ReduceOnPlateau, which was shown no metric in {epochs} "
        f"epochs; it only changes where observe is called. {repair}",
        ScheduleWarning,
    )
    return True


class PlateauWatch:
    """Shows the schedules of a step what was measured after an epoch, unless somebody else did."""

    def __init__(
        self, by: str, groups: Sequence[Group], directions: Mapping[str, str | None]
    ) -> None:
        """`directions`: whether "min" or "max" of each column is better that is measured, those
        that are rather shown first.
        """
        self._each = [_Watched(x, _column(by, x, directions)) for x in plateaus_of(groups)]

    def __bool__(self) -> bool:
        return bool(self._each)

    def show(self, values: Mapping[str, float]) -> None:
        """Show what an epoch has come to."""
        for each in self._each:
            each.show(values)


class _Watched:
    def __init__(self, schedule: ReduceOnPlateau, column: str) -> None:
        self._schedule, self._column, self._seen = schedule, column, False
        tell_of_changes(schedule, self._note)

    def _note(self, name: str) -> None:
        self._seen = self._seen or name == OBSERVED

    def show(self, values: Mapping[str, float]) -> None:
        if not self._seen:  # a callback may have shown it something
            self._schedule.observe(values[self._column])
        self._seen = False


def _column(by: str, schedule: ReduceOnPlateau, directions: Mapping[str, str | None]) -> str:
    names = [name for name, better in directions.items() if better == schedule.mode]
    if not names:
        raise ValueError(
            f"{by}: the learning rate is a ReduceOnPlateau with mode={schedule.mode!r}; what is "
            f"measured, {', '.join(directions)}, has nothing of which more is better. Pass such "
            'metrics, as in metrics=["accuracy"], or write mode="min".'
        )
    return names[0]
