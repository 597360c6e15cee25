"""Schedules that rise and fall: cosine with restarts, one cycle, cyclic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wengert.core.arguments import worded_methods
from wengert.optim import schedules_checks as checks
from wengert.optim import settings
from wengert.optim.schedules_base import Schedule


@worded_methods("__init__")
@dataclass(frozen=True)
class CosineRestarts(Schedule):
    """From `lr` down towards `min_lr` along half a cosine, again and again (SGDR, Loshchilov and
    Hutter 2017). The first cycle has `period` updates, each further one `growth` times as many.

    >>> wg.optim.CosineRestarts(1.0, period=2).table(0, 5)
    array([1. , 0.5, 1. , 0.5, 1. ])
    """

    lr: float
    period: int
    growth: int = 1
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        checks.fields(
            self,
            lr=settings.not_negative,
            period=checks.count,
            growth=checks.count,
            min_lr=settings.not_negative,
        )

    def values(self, indices: range) -> Sequence[float]:
        low, half = self.min_lr, (self.lr - self.min_lr) / 2
        cos, pi, period = math.cos, math.pi, self.period
        if self.growth == 1:
            return [low + half * (1 + cos(pi * (index % period) / period)) for index in indices]
        begin, length, found = 0, period, []
        for index in indices:
            while index >= begin + length:
                begin, length = begin + length, length * self.growth
            found.append(low + half * (1 + cos(pi * (index - begin) / length)))
        return found


@worded_methods("__init__")
@dataclass(frozen=True)
class OneCycle(Schedule):
    """One rise from max_lr / div_factor to `max_lr`, one fall to a rate `final_div_factor` times
    smaller than the first (Smith and Topin 2019). Numbers and defaults are those of torch's
    OneCycleLR; after the last of `total_steps` updates the rate stays at its end.

    With `three_phase` the fall has the length of the rise and ends at the first rate; the rest of
    the updates then goes down to the last one.
    """

    max_lr: float
    total_steps: int
    pct_start: float = 0.3
    anneal_strategy: str = "cos"
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    three_phase: bool = False

    def __post_init__(self) -> None:
        checks.fields(
            self,
            max_lr=settings.not_negative,
            total_steps=checks.count,
            pct_start=settings.fraction,
            anneal_strategy=checks.one_of("cos", "linear"),
            div_factor=settings.positive,
            final_div_factor=settings.positive,
            three_phase=settings.truth,
        )

    def phases(self) -> list[tuple[float, float, float]]:
        """(last index, rate at its beginning, rate at its end) of each phase.

        A phase of no length is left behind at once, so its rate is never divided by that length.
        """
        first = self.max_lr / self.div_factor
        last = first / self.final_div_factor
        end, rise = self.total_steps - 1, self.pct_start * self.total_steps
        if not self.three_phase:
            peak = min(max(rise - 1, 0.0), end)
            return [(peak, first, self.max_lr), (end, self.max_lr, last)]
        peak = min(max(rise - 1, 0.0), end)
        back = min(max(2 * rise - 2, peak), end)
        return [(peak, first, self.max_lr), (back, self.max_lr, first), (end, first, last)]

    def values(self, indices: range) -> Sequence[float]:
        phases, cosine = self.phases(), self.anneal_strategy == "cos"
        found = []
        for index in indices:
            begin = 0.0
            rate = phases[-1][2]
            for end, start, stop in phases:
                if index <= end and begin < end:
                    part = (index - begin) / (end - begin)
                    if cosine:
                        rate = stop + (start - stop) / 2 * (1 + math.cos(math.pi * part))
                    else:
                        rate = start + (stop - start) * part
                    break
                begin = end
            found.append(rate)
        return found


@worded_methods("__init__")
@dataclass(frozen=True)
class Cyclic(Schedule):
    """Straight up from `base_lr` to `max_lr` in `step_size_up` updates, straight down again in
    `step_size_down` (by default as many), without end (Smith 2017).

    `mode` says how the height changes: "triangular" not at all, "triangular2" by half each cycle,
    "exp_range" by `gamma` each update.

    >>> wg.optim.Cyclic(0.0, 1.0, step_size_up=2).table(0, 6)
    array([0. , 0.5, 1. , 0.5, 0. , 0.5])
    """

    base_lr: float
    max_lr: float
    step_size_up: int = 2000
    step_size_down: int | None = None
    mode: str = "triangular"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        checks.fields(
            self,
            base_lr=settings.not_negative,
            max_lr=settings.not_negative,
            step_size_up=checks.count,
            step_size_down=checks.optional(checks.count),
            mode=checks.one_of("triangular", "triangular2", "exp_range"),
            gamma=settings.not_negative,
        )

    def values(self, indices: range) -> Sequence[float]:
        low, height, up = self.base_lr, self.max_lr - self.base_lr, self.step_size_up
        down = up if self.step_size_down is None else self.step_size_down
        cycle = up + down
        found = []
        for index in indices:
            # The place in the cycle is taken in whole numbers: a fraction of a large index would
            # have lost its last digits.
            place = index % cycle
            part = place / up if place <= up else (cycle - place) / down
            found.append(low + height * part * self._scale(index, index // cycle))
        return found

    def _scale(self, index: int, cycle: int) -> float:
        """How much of the height is left."""
        if self.mode == "triangular":
            return 1.0
        return math.ldexp(1.0, -cycle) if self.mode == "triangular2" else self.gamma**index
