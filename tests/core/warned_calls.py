"""Calls whose warnings tests look at."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.errors import (
    WengertWarning,
)

X = np.ones((3, 4), np.float32)
W = np.ones(4, np.float32)


def warned(call: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """Our warnings in a call, however often they were shown before."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")  # also forgets what was shown
        call()
    return [each for each in found if issubclass(each.category, WengertWarning)]


def trained(loss: Callable[..., Any], model: Any = W, times: int = 1, **options: Any) -> None:
    step = wg.TrainStep(loss, model, wg.optim.SGD(0.1), **options)
    for _ in range(times):
        step(X)
