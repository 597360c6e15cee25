"""Schedules that begin at a rate and go one way: constant, down in steps or smoothly, or up."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wengert.core.arguments import worded_methods
from wengert.errors import OptimError
from wengert.optim import schedules_checks as checks
from wengert.optim import settings
from wengert.optim.schedules_base import Schedule


@worded_methods("__init__")
@dataclass(frozen=True)
class Constant(Schedule):
    """The same rate always."""

    lr: float

    def __post_init__(self) -> None:
        checks.fields(self, lr=settings.not_negative)

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
        checks.fields(
            self, lr=settings.not_negative, step_size=checks.count, gamma=settings.not_negative
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
        checks.fields(
            self,
            lr=settings.not_negative,
            milestones=checks.increasing,
            gamma=settings.not_negative,
        )

    def values(self, indices: range) -> Sequence[float]:
        lr, gamma, milestones = self.lr, self.gamma, self.milestones
        return [lr * gamma ** bisect_right(milestones, index) for index in indices]


@worded_methods("__init__")
@dataclass(frozen=True)
class Exponential(Schedule):
    """Times `gamma` after every update: lr · gamma ** index. A gamma above 1 rises."""

    lr: float
    gamma: float

    def __post_init__(self) -> None:
        checks.fields(self, lr=settings.not_negative, gamma=settings.not_negative)

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
        checks.fields(
            self, lr=settings.not_negative, total_steps=checks.count, min_lr=settings.not_negative
        )

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
    """From `lr` down to `min_lr` as (1 − index / total_steps) ** power; then it stays there."""

    lr: float
    total_steps: int
    power: float = 1.0
    min_lr: float = 0.0

    def __post_init__(self) -> None:
        checks.fields(
            self,
            lr=settings.not_negative,
            total_steps=checks.count,
            power=settings.positive,
            min_lr=settings.not_negative,
        )

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
        checks.fields(
            self, lr=settings.not_negative, total_steps=checks.count, start_factor=settings.fraction
        )

    def values(self, indices: range) -> Sequence[float]:
        lr, total, factor = self.lr, self.total_steps, self.start_factor
        rise = 1 - factor
        return [
            lr * (factor + rise * (index / total)) if index < total else lr for index in indices
        ]


@worded_methods("__init__")
@dataclass(frozen=True)
class Lambda(Schedule):
    """lr · function(index), for a curve of one's own."""

    lr: float
    function: Callable[[int], float]

    def __post_init__(self) -> None:
        checks.fields(self, lr=settings.not_negative)
        if not callable(self.function):
            raise OptimError(
                f"Lambda: function={self.function!r} was given; it must take an index and return "
                "a factor. Pass a function such as lambda index: 0.99 ** index."
            )

    def values(self, indices: range) -> Sequence[float]:
        lr, function = self.lr, self.function
        return [lr * float(function(index)) for index in indices]
