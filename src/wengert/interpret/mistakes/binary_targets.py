"""Probabilities that losses are given: an error or a warning where they lie outside of [0, 1], or
stand where logarithms should. Of those that a program is given the first call is looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning, TargetsWarning
from wengert.interpret.mistakes.first_values import ask_first_value

_SLACK = 1e-3  # of targets that were mixed, smoothed or perturbed, and are rounded


def note_binary_targets(loss: str, targets: Value) -> None:
    """Refuse targets outside of [0, 1]; where they are known at call time only, have whoever
    records the program look at those of its first call.
    """
    targets = _without_levels(targets)
    if type(targets) is Tensor:
        ask_first_value(targets, loss, _told, TargetsWarning)
    elif (text := _told(loss, targets)) is not None:
        raise ValueError(text)


def note_class_targets(loss: str, targets: Value) -> None:
    """Warn of probabilities of classes outside of [0, 1]. They may be meant: a weight of each class
    in each row makes the loss a sum of these.
    """
    targets = _without_levels(targets)
    if type(targets) is Tensor:
        ask_first_value(targets, loss, _told_of_classes, TargetsWarning)
    elif (text := _told_of_classes(loss, targets)) is not None:
        warn_user(text, TargetsWarning, user_line())


def note_no_logarithms(loss: str, log_q: Value) -> None:
    """Warn of probabilities in the place of their logarithms: none of these is above 0."""
    log_q = _without_levels(log_q)
    if type(log_q) is Tensor:
        ask_first_value(log_q, loss, _told_of_logarithms, LogitsWarning)
    elif (text := _told_of_logarithms(loss, log_q)) is not None:
        warn_user(text, LogitsWarning, user_line())


def _told_of_logarithms(loss: str, log_q: Any, where: str = "") -> str | None:
    x = np.asarray(log_q)
    if x.dtype.kind != "f" or not x.size or not 0 <= np.min(x) <= np.max(x) != 0:
        return None
    return (
        f"{loss}: log_q from {np.min(x):g} to {np.max(x):g} was given{where}; the first operand "
        "holds logarithms of probabilities, which are not above 0, the second probabilities. "
        f"Write wg.{loss}(np.log(q), p), or wg.log_softmax(logits) for log_q."
    )


def _without_levels(x: Value) -> Value:
    """What derivatives compute with."""
    while type(x) is Tensor and not x.level.symbolic:
        x = x._value
    return x


def _told_of_classes(loss: str, targets: Any, where: str = "") -> str | None:
    extremes = _extremes(targets)
    if extremes is None:
        return None
    low, high = extremes
    return (
        f"{loss}: float targets from {low:g} to {high:g} were given{where}; they are a probability "
        "for each class, from 0 to 1. Pass class indices as integers, y.astype(int), or "
        'probabilities; weights go to the losses, of reduction="none".'
    )


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
