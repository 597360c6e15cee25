"""The callbacks of a fit, checked before it begins."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from wengert.optim.schedules.schedules_base import Schedule
from wengert.train.fitting.epoch_record import EpochRecord
from wengert.train.fitting.fit_data import BY
from wengert.train.fitting.stopping import EarlyStopping

Callback = Callable[[EpochRecord], bool | None]


def callbacks_of(given: Any) -> Sequence[Callback]:
    """The callbacks that were given: one, or several."""
    single = callable(given) or isinstance(given, EarlyStopping | Schedule)
    callbacks = [given] if single else list(given)
    for each in callbacks:
        repair = _repair(each)
        if repair is not None:
            named = isinstance(each, type | FunctionType)
            given = each.__name__ if named else type(each).__name__
            raise TypeError(
                f"{BY}: given {given} as a callback; it is a function of an EpochRecord. {repair}."
            )
    return callbacks


def _repair(given: Any) -> str | None:
    """What to write in the place of something that is no callback."""
    kind = given if isinstance(given, type) else type(given)
    if issubclass(kind, EarlyStopping):
        return "Write early_stopping=wg.train.EarlyStopping(patience=3)"
    if issubclass(kind, Schedule):
        return (
            "A schedule is the learning rate of the optimizer: write "
            f"wg.optim.Adam(wg.optim.{kind.__name__}(…)), and no callback"
        )
    if isinstance(given, type):
        return "Pass an object of it, which can be called"
    if not callable(given):
        return "Pass the function itself"
    return None if _takes_one(given) else "Let it take one argument, the record"


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one argument, as far as it says."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # some callables do not say
        return True
    return True
