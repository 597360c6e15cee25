"""Steps that a train function reads from outside: it goes on with them from setting to setting."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from wengert.core.words.warn import warn_user
from wengert.errors import SweepWarning
from wengert.sweeping.code_identity import read_outside
from wengert.sweeping.grid import BY
from wengert.train.ensemble.ensemble import Ensemble
from wengert.train.step import TrainStep


class OutsideSteps:
    """The steps and ensembles outside of a train function, and how many calls they had."""

    def __init__(self, train: Any) -> None:
        self._steps = dict(_steps_of(train, set()))
        self._counts = [self._counted()]

    def look(self) -> None:
        """To be called after each call of train. Warns once, where the second call went on from
        where the first ended. A step that train resets first has no more calls than before.
        """
        if not self._steps or len(self._counts) > 2:
            return
        self._counts.append(self._counted())
        if len(self._counts) < 3:
            return
        for name, *counts in zip(self._steps, *self._counts, strict=True):
            if counts[0] < counts[1] < counts[2]:
                warn_user(
                    f"{BY}: train trained {name!r}, which was made outside of it; the second "
                    "setting has gone on from where the first ended, and what is found for a "
                    "setting depends on those before it. Make it inside train, or begin train "
                    f"with {name}.load_state_dict(…) of a state that was taken before.",
                    SweepWarning,
                )

    def _counted(self) -> list[int]:
        return [sum(each._engine.calls for each in _members(step)) for step in self._steps.values()]


def _members(step: TrainStep | Ensemble) -> tuple[TrainStep, ...]:
    return step.members if isinstance(step, Ensemble) else (step,)


def _steps_of(function: Any, met: set[int]) -> Iterator[tuple[str, TrainStep | Ensemble]]:
    """All that a function, and the functions of the same file that it calls, read by name."""
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    if not isinstance(function, FunctionType) or id(function) in met:
        return
    met.add(id(function))
    for name, value in read_outside(function):
        if isinstance(value, TrainStep | Ensemble):
            yield name, value
        elif getattr(value, "__module__", None) == function.__module__:
            yield from _steps_of(value, met)
