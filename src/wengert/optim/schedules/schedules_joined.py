"""Schedules made of more than a formula: one after the other, and one that follows a metric."""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wengert.core.words.arguments import worded, worded_methods
from wengert.errors import OptimError
from wengert.optim import settings
from wengert.optim.lifecycle.given_optimizers import OBSERVED, note_change
from wengert.optim.schedules.schedules_base import Schedule
from wengert.optim.schedules.schedules_rates import Constant, LinearWarmup


def _members(owner: str, name: str, value: Any) -> tuple[Schedule, ...]:
    plain = tuple(value) if isinstance(value, list | tuple) else None
    if plain is None or not all(isinstance(each, Schedule) for each in plain):
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it must be a list of schedules. "
            "Wrap a number in Constant and a function in Lambda."
        )
    return plain


@worded_methods("__init__")
@dataclass(frozen=True)
class Chain(Schedule):
    """Schedules one after the other: the next begins, at its own index 0, with the update whose
    index is the next milestone. There is one milestone less than there are schedules.

    >>> wg.optim.Chain([wg.optim.Constant(0.1), wg.optim.Exponential(1.0, 0.5)], [2]).table(0, 5)
    array([0.1 , 0.1 , 1.  , 0.5 , 0.25])
    """

    schedules: tuple[Schedule, ...]
    milestones: tuple[int, ...]

    def __post_init__(self) -> None:
        settings.check_fields(self, schedules=_members, milestones=settings.increasing)
        if len(self.schedules) != len(self.milestones) + 1:
            raise OptimError(
                f"Chain: given schedules, of length {len(self.schedules)}, and milestones, of "
                f"length {len(self.milestones)}; there must be one milestone less. Pass the index "
                "of the first update of every schedule but the first."
            )

    def values(self, indices: range) -> Sequence[float]:
        begins = (0, *self.milestones)
        rates: list[float] = []
        start, stop = indices.start, indices.stop
        while start < stop:
            which = bisect_right(self.milestones, start)
            end = self.milestones[which] if which < len(self.milestones) else stop
            end, offset = min(end, stop), begins[which]
            rates += self.schedules[which].values(range(start - offset, end - offset))
            start = end
        return rates

    def ends_at(self) -> int | None:
        end = self.schedules[-1].ends_at()
        return None if end is None else (0, *self.milestones)[-1] + end

    def state_dict(self) -> dict[str, Any]:
        """The states of those members that have one, by their position."""
        states = {str(i): each.state_dict() for i, each in enumerate(self.schedules)}
        return {position: state for position, state in states.items() if state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Give each member its state back; nothing is changed if they do not fit."""
        settings.require_state("Chain", state, self.state_dict())
        for position, part in state.items():  # copies first: a refusal must come before a change
            self.schedules[int(position)].copy().load_state_dict(part)
        for position, part in state.items():
            self.schedules[int(position)].load_state_dict(part)

    def copy(self) -> Chain:
        """A chain whose members go on alone; itself where none of them remembers anything."""
        copies = tuple(each.copy() for each in self.schedules)
        if all(a is b for a, b in zip(copies, self.schedules, strict=True)):
            return self
        twin = copy.copy(self)
        object.__setattr__(twin, "schedules", copies)
        return twin


@worded
def warmup_then(schedule: Schedule | float, steps: int, start_factor: float = 1 / 3) -> Chain:
    """`steps` updates of linear warm-up to the first rate of a schedule, then that schedule from
    its beginning.

    >>> wg.optim.warmup_then(wg.optim.Cosine(1.0, 2), steps=2, start_factor=0.5).table(0, 5)
    array([0.5 , 0.75, 1.  , 0.5 , 0.  ])
    """
    steps = settings.count("warmup_then", "steps", steps)
    if isinstance(schedule, Schedule):
        target, first = schedule, schedule(0)
    else:
        first = settings.not_negative("warmup_then", "schedule", schedule)
        target = Constant(first)
    return Chain((LinearWarmup(first, steps, start_factor), target), (steps,))


_STATE = ("rate", "best", "bad_count", "cooldown_left")


@worded_methods("__init__")
@dataclass
class ReduceOnPlateau(Schedule):
    """The rate times `factor` whenever a metric has not improved for more than `patience` calls of
    `observe`. Parameters and defaults are those of torch's ReduceLROnPlateau.

    The rate of an update is the one after the latest `observe`. An observation better than the best
    by `threshold` (relative: "rel", or "abs") is an improvement; a NaN never is. After a reduction
    `cooldown` observations are not counted. The rate never goes below `min_lr`, and a change
    smaller than `eps` is not made.

    >>> rate = wg.optim.ReduceOnPlateau(1.0, factor=0.5, patience=1)
    >>> [rate.observe(loss) for loss in (3.0, 2.0, 2.0, 2.0)]
    [1.0, 1.0, 1.0, 0.5]
    """

    lr: float
    mode: str = "min"
    factor: float = 0.1
    patience: int = 10
    threshold: float = 1e-4
    threshold_mode: str = "rel"
    cooldown: int = 0
    min_lr: float = 0.0
    eps: float = 1e-8
    rate: float = field(init=False)
    best: float = field(init=False)
    bad_count: int = field(init=False, default=0)
    cooldown_left: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        settings.check_fields(
            self,
            lr=settings.not_negative,
            mode=settings.one_of("min", "max"),
            factor=settings.below_one,
            patience=settings.index,
            threshold=settings.not_negative,
            threshold_mode=settings.one_of("rel", "abs"),
            cooldown=settings.index,
            min_lr=settings.not_negative,
            eps=settings.not_negative,
        )
        self.rate, self.best = self.lr, self._worst

    @property
    def _worst(self) -> float:
        return math.inf if self.mode == "min" else -math.inf

    def values(self, indices: range) -> Sequence[float]:
        return [self.rate] * len(indices)

    def observe(self, metric: Any) -> float:
        """Take one value of the metric and return the rate from now on."""
        try:
            value = float(metric)
        except (TypeError, ValueError):
            raise OptimError(
                f"ReduceOnPlateau.observe: given {metric!r}; it must be one number. "
                "Pass the loss or another metric as a float."
            ) from None
        note_change(self, OBSERVED)
        if self._improves(value):
            self.best, self.bad_count = value, 0
        else:
            self.bad_count += 1
        if self.cooldown_left > 0:
            self.cooldown_left -= 1
            self.bad_count = 0
        if self.bad_count > self.patience:
            reduced = max(self.rate * self.factor, self.min_lr)
            if self.rate - reduced > self.eps:
                self.rate = reduced
            self.cooldown_left, self.bad_count = self.cooldown, 0
        return self.rate

    def _improves(self, value: float) -> bool:
        """Whether the value is better than the best by more than the threshold.

        torch multiplies the best by 1 ∓ threshold. For negative metrics that moves the bar the
        wrong way, and a plateau below zero is taken for improvement; here the size of the best
        counts.
        """
        if not math.isfinite(self.best):
            return value < self.best if self.mode == "min" else value > self.best
        margin = self.threshold * (abs(self.best) if self.threshold_mode == "rel" else 1.0)
        return value < self.best - margin if self.mode == "min" else value > self.best + margin

    def state_dict(self) -> dict[str, Any]:
        """The rate, the best metric, and the two counters."""
        return {name: getattr(self, name) for name in _STATE}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave; nothing is changed if it does not fit."""
        name = "ReduceOnPlateau.load_state_dict"
        settings.require_state("ReduceOnPlateau", state, _STATE)
        rate = settings.not_negative(name, "rate", state["rate"])
        best = state["best"]
        if not isinstance(best, float) or math.isnan(best):
            raise OptimError(
                f"{name}: best={best!r} was given; it must be a float and not NaN. "
                "Load what state_dict() gave."
            )
        bad = settings.index(name, "bad_count", state["bad_count"])
        left = settings.index(name, "cooldown_left", state["cooldown_left"])
        self.rate, self.best, self.bad_count, self.cooldown_left = rate, best, bad, left

    def copy(self) -> ReduceOnPlateau:
        """One with the same state, which goes on alone."""
        return copy.copy(self)
