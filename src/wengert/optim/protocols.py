"""What an optimizer can be asked for; code that takes any optimizer needs no more than these."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class LearningRate(Protocol):
    """Something with a learning rate that can be read and set; a bad one is refused."""

    @property
    def learning_rate(self) -> float: ...
    @learning_rate.setter
    def learning_rate(self, value: Any) -> None: ...


@runtime_checkable
class StepOptimizer(Protocol):
    """Something that updates one parameter at a time, in place, and knows it by any hashable id."""

    def step(self, parameter_id: Hashable, weights: Any, grad: Any) -> None: ...
