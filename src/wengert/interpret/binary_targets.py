"""Targets of a binary loss that lie outside of [0, 1]: an error where they are known, a warning
where the program that is recorded is given them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.errors import TargetsWarning
from wengert.interpret.first_values import ask_first_value

_SLACK = 1e-3  # of targets that were mixed, smoothed or perturbed, and are rounded


def note_binary_targets(loss: str, targets: Value) -> None:
    """Refuse targets outside of [0, 1]; where they are known at call time only, have whoever
    records the program look at those of its first call.
    """
    while type(targets) is Tensor and not targets.level.symbolic:
        targets = targets.value
    if type(targets) is Tensor:
        ask_first_value(targets, loss, _told, TargetsWarning)
    elif (text := _told(loss, targets)) is not None:
        raise ValueError(text)


def _told(loss: str, targets: Any, where: str = "") -> str | None:
    extremes = _extremes(targets)
    if extremes is None:
        return None
    low, high = extremes
    return (
        f"{loss}: targets from {low:g} to {high:g} were given{where}; a target is a probability, "
        "from 0 to 1, and the loss has no minimum otherwise. Write y > 0 for labels of -1 and 1, "
        "y - 1 for labels of 1 and 2."
    )


def _extremes(targets: Any) -> tuple[float, float] | None:
    """The smallest and the largest, where one of them is no target. NaN is a matter of others."""
    try:
        x = np.asarray(targets)
    except ValueError:  # rows of different lengths: the loss refuses them
        return None
    if not x.size or x.dtype.kind not in "iuf":
        return None
    low, high = float(np.fmin.reduce(x, None)), float(np.fmax.reduce(x, None))
    return (low, high) if low < -_SLACK or high > 1 + _SLACK else None
