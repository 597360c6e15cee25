"""Schedules by a formula: constant, down in steps or smoothly, up, or rising and falling."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wengert.core.words.arguments import worded_methods
from wengert.errors import OptimError
from wengert.optim import settings
from wengert.optim.schedules.schedules_base import Schedule


@worded_methods("__init__")
@dataclass(frozen=True)
class Constant(Schedule):
    """The same rate always.

    >>> wg.optim.Constant(0.1)(1000)
    0.1
    """

    lr: float

    def __post_init__(self) -> None:
        settings.check_fields(self, lr=settings.not_negative)

    def ends_at(self) -> int:
        return 0

    def values(self, indices: range) -> Sequence[float]:
        return [self.lr] * len(indices)


@worded_methods("__init__")
@dataclass(frozen=True)
class StepDecay(Schedule):
    """Times `gamma` after every `step_size` updates: lr · gamma ** (index // step_size).

    >>> wg.optim.StepDecay(1.0, step_size=2, gamma=0.5).table(0, 5)
    array([1.  , 1.  , 0.5 , 0.5 , 0.25])
    """

    lr: float
    step_size: int
    gamma: float = 0.1

    def __post_init__(self) -> None:
        settings.check_fields(
            self, lr=settings.not_negative, step_size=settings.count, gamma=settings.not_negative
        )

    def values(self, indices: range) -> Sequence[float]:
        lr, gamma, size = self.lr, self.gamma, self.step_size
        return [lr * gamma ** (index // size) for index in indices]


@worded_methods("__init__")
@dataclass(frozen=True)
class MultiStep(Schedule):
    """Times `gamma` at each milestone, from the update with that index on.

    >>> wg.optim.MultiStep(1.0, milestones=(1, 3), gamma=0.5).table(0, 5)
    array([1.  , 0.5 , 0.5 , 0.25, 0.25])
    """

    lr: float
    milestones: tuple[int, ...]
    gamma: float = 0.1

    def __post_init__(self) -> None:
        settings.check_fields(
            self,
            lr=settings.not_negative,
            milestones=settings.increasing,
            gamma=settings.not_negative,
        )

    def ends_at(self) -> int:
        return self.milestones[-1] if self.milestones else 0

    def values(self, indices: range) -> Sequence[float]:
        lr, gamma, milestones = self.lr, self.gamma, self.milestones
        return [lr * gamma ** bisect_right(milestones, index) for index in indices]


@worded_methods("__init__")
@dataclass(frozen=True)
class Exponential(Schedule):
    """Times `gamma` after every update: lr · gamma ** index. A gamma above 1 rises.

    >>> wg.optim.Exponential(0.1, gamma=0.5)(2)
    0.025
    """

    lr: float
    gamma: float

    def __post_init__(self) -> None:
        settings.check_fields(self, lr=settings.not_negative, gamma=settings.not_negative)

    def values(self, indices: range) -> Sequence[float]:
        lr, gamma = self.lr, self.gamma
        return [lr * gamma**index for index in indices]


@worded_methods("__init__")
@dataclass(frozen=True)
class Cosine(Schedule):
    """From `lr` down to `min_lr` along half a cosine (Loshchilov and Hutter 2017).

    Update `total_steps` is the first with `min_lr`, and it stays there: the curve does not rise
    again as torch's CosineAnnealingLR does.

    >>> wg.optim.Cosine(1.0, total_steps=2).table(0, 4)
    array([1. , 0.5, 0. , 0. ])
    """

    lr: float
    total_steps: int
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        settings.check_fields(
            self, lr=settings.not_negative, total_steps=settings.count, min_lr=settings.not_negative
        )

    def ends_at(self) -> int:
        return self.total_steps

    def values(self, indices: range) -> Sequence[float]:
        low, half, total = self.min_lr, (self.lr - self.min_lr) / 2, self.total_steps
        cos, pi = math.cos, math.pi
        return [
            low + half * (1 + cos(pi * index / total)) if index < total else low
            for index in indices
        ]


@worded_methods("__init__")
@dataclass(frozen=True)
class Polynomial(Schedule):
    """From `lr` down to `min_lr` as (1 − index / total_steps) ** power; then it stays there.

    >>> [wg.optim.Polynomial(0.1, total_steps=10)(index) for index in (0, 5, 20)]
    [0.1, 0.05, 0.0]
    """

    lr: float
    total_steps: int
    power: float = 1.0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        settings.check_fields(
            self,
            lr=settings.not_negative,
            total_steps=settings.count,
            power=settings.positive,
            min_lr=settings.not_negative,
        )

    def ends_at(self) -> int:
        return self.total_steps

    def values(self, indices: range) -> Sequence[float]:
        low, height, total, power = self.min_lr, self.lr - self.min_lr, self.total_steps, self.power
        return [
            low + height * (1 - index / total) ** power if index < total else low
            for index in indices
        ]


@worded_methods("__init__")
@dataclass(frozen=True)
class LinearWarmup(Schedule):
    """From `start_factor` · lr up to `lr` in equal parts; update `total_steps` is the first with
    `lr`, which it keeps.

    >>> wg.optim.LinearWarmup(1.0, total_steps=4, start_factor=0.2).table(0, 6)
    array([0.2, 0.4, 0.6, 0.8, 1. , 1. ])
    """

    lr: float
    total_steps: int
    start_factor: float = 1 / 3

    def __post_init__(self) -> None:
        settings.check_fields(
            self,
            lr=settings.not_negative,
            total_steps=settings.count,
            start_factor=settings.fraction,
        )

    def ends_at(self) -> int:
        return self.total_steps

    def values(self, indices: range) -> Sequence[float]:
        lr, total, factor = self.lr, self.total_steps, self.start_factor
        rise = 1 - factor
        return [
            lr * (factor + rise * (index / total)) if index < total else lr for index in indices
        ]


@worded_methods("__init__")
@dataclass(frozen=True)
class Lambda(Schedule):
    """lr · function(index), for a curve of one's own.

    >>> wg.optim.Lambda(0.1, lambda index: 1 / (1 + index))(3)
    0.025
    """

    lr: float
    function: Callable[[int], float]

    def __post_init__(self) -> None:
        settings.check_fields(self, lr=settings.not_negative)
        if not callable(self.function):
            raise OptimError(
                f"Lambda: function={self.function!r} was given; it must take an index and return "
                "a factor. Pass a function such as lambda index: 0.99 ** index."
            )

    def values(self, indices: range) -> Sequence[float]:
        lr, function = self.lr, self.function
        return [lr * float(function(index)) for index in indices]


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
        settings.check_fields(
            self,
            lr=settings.not_negative,
            period=settings.count,
            growth=settings.count,
            min_lr=settings.not_negative,
        )

    def values(self, indices: range) -> Sequence[float]:
        low, half = self.min_lr, (self.lr - self.min_lr) / 2
        cos, pi, period = math.cos, math.pi, self.period
        if self.growth == 1:
            return [low + half * (1 + cos(pi * (index % period) / period)) for index in indices]
        begin, length, rates = 0, period, []
        for index in indices:
            while index >= begin + length:
                begin, length = begin + length, length * self.growth
            rates.append(low + half * (1 + cos(pi * (index - begin) / length)))
        return rates


@worded_methods("__init__")
@dataclass(frozen=True)
class OneCycle(Schedule):
    """One rise from max_lr / div_factor to `max_lr`, one fall to a rate `final_div_factor` times
    smaller than the first (Smith and Topin 2019). Numbers and defaults are those of torch's
    OneCycleLR; after the last of `total_steps` updates the rate stays at its end.

    With `three_phase` the fall has the length of the rise and ends at the first rate; the rest of
    the updates then goes down to the last one.

    >>> rate = wg.optim.OneCycle(1.0, total_steps=100)
    >>> [round(rate(index), 3) for index in (0, 30, 100)]
    [0.04, 0.999, 0.0]
    """

    max_lr: float
    total_steps: int
    pct_start: float = 0.3
    anneal_strategy: str = "cos"
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    three_phase: bool = False

    def __post_init__(self) -> None:
        settings.check_fields(
            self,
            max_lr=settings.not_negative,
            total_steps=settings.count,
            pct_start=settings.fraction,
            anneal_strategy=settings.one_of("cos", "linear"),
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

    def ends_at(self) -> int:
        return self.total_steps

    def values(self, indices: range) -> Sequence[float]:
        phases, cosine = self.phases(), self.anneal_strategy == "cos"
        rates = []
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
            rates.append(rate)
        return rates


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
        settings.check_fields(
            self,
            base_lr=settings.not_negative,
            max_lr=settings.not_negative,
            step_size_up=settings.count,
            step_size_down=settings.optional(settings.count),
            mode=settings.one_of("triangular", "triangular2", "exp_range"),
            gamma=settings.not_negative,
        )

    def values(self, indices: range) -> Sequence[float]:
        low, height, up = self.base_lr, self.max_lr - self.base_lr, self.step_size_up
        down = up if self.step_size_down is None else self.step_size_down
        cycle = up + down
        rates = []
        for index in indices:
            # The place in the cycle is taken in whole numbers: a fraction of a large index would
            # have lost its last digits.
            place = index % cycle
            part = place / up if place <= up else (cycle - place) / down
            rates.append(low + height * part * self._scale(index, index // cycle))
        return rates

    def _scale(self, index: int, cycle: int) -> float:
        """How much of the height is left."""
        if self.mode == "triangular":
            return 1.0
        return math.ldexp(1.0, -cycle) if self.mode == "triangular2" else self.gamma**index
