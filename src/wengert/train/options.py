"""The options of a training step, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wengert.runtime.workers import LIMIT

NONFINITE = ("raise", "skip", "ignore")


def require_options(
    loss: Callable[..., Any], accumulate: Any, nonfinite: Any, threads: Any
) -> None:
    if not callable(loss):
        raise TypeError(
            f"TrainStep: given {type(loss).__name__} as the loss; it is a function of the model "
            "and a batch. Pass the function itself."
        )
    if type(accumulate) is not int or accumulate < 1:
        raise ValueError(
            f"TrainStep: accumulate={accumulate!r} was given; it is a whole number of calls, at "
            "least 1. Choose one."
        )
    if nonfinite not in NONFINITE:
        raise ValueError(
            f"TrainStep: nonfinite={nonfinite!r} was given; it is one of {', '.join(NONFINITE)}. "
            "Choose one."
        )
    if threads is not None and (type(threads) is not int or not 1 <= threads <= LIMIT):
        raise ValueError(
            f"TrainStep: threads={threads!r} was given; it is a whole number from 1 to {LIMIT}, or "
            "None for as many as there are CPUs. Choose one."
        )


def require_limit(name: str, value: Any) -> float | None:
    """A limit for clipping: None, or a number above 0."""
    if value is None:
        return None
    number = None if isinstance(value, bool) else _number(value)
    if number is None or not number > 0 or math.isnan(number):
        raise ValueError(
            f"TrainStep: {name}={value!r} was given; it is a number above 0, or None. Choose one."
        )
    return number


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
