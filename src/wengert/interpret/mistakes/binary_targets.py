"""Probabilities that losses are given: an error or a warning where they lie outside of [0, 1], or
stand where logarithms should. Of those that a program is given the first call is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import user_line
from wengert.core.words.warn import warn_user
from wengert.errors import LogitsWarning, TargetsWarning
from wengert.interpret.mistakes.first_values import ask_first_value

Array = np.ndarray[Any, Any]
_UNEVEN = 0.05  # how far from 1 the sum of probabilities may be that are rounded
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


def note_class_targets(loss: str, targets: Value, axis: int) -> None:
    """Warn of probabilities of classes outside of [0, 1], and of those that do not add up to 1
    along an axis, which counts from the end. They may be meant: a weight of each class in each row
    makes the loss a sum of these.
    """
    targets = _without_levels(targets)
    if type(targets) is Tensor:
        classes = targets.shape[axis]
        told = _ClassesTold(axis, classes if isinstance(classes, int) else 0)
        ask_first_value(targets, loss, told, TargetsWarning)
    elif (text := _ClassesTold(axis, None)(loss, targets)) is not None:
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


@dataclass(frozen=True)
class _ClassesTold:
    """What is wrong with probabilities of classes along an axis."""

    axis: int
    classes: int | None  # how many there are in a program, 0 if that is open

    def __call__(self, loss: str, targets: Any, where: str = "") -> str | None:
        extremes = _extremes(targets)
        if extremes is not None:
            low, high = extremes
            return (
                f"{loss}: float targets from {low:g} to {high:g} were given{where}; they are a "
                "probability for each class, from 0 to 1. Pass class indices as integers, "
                'y.astype(int), or probabilities; weights go to the losses, of reduction="none".'
            )
        if not self._are_uneven(targets):
            return None
        return (
            f"{loss}: float targets with rows that do not add up to 1 were given{where}; they are "
            "a probability for each class. Where a row may have several classes, or none, write "
            "wg.bce_with_logits(logits, y); for shares of classes divide each row by its sum; "
            'weights go to the losses, of reduction="none".'
        )

    def _are_uneven(self, targets: Any) -> bool:
        """Whether rows of targets do not add up to 1. Rows of zeros are left out, and rows with one
        class, whose probability may be a weight.
        """
        try:
            x = np.asarray(targets)
        except ValueError:  # rows of different lengths: the loss refuses them
            return False
        if not x.size or x.dtype.kind not in "biuf" or x.ndim < -self.axis:
            return False
        axes = [self.axis]
        if self.classes is not None:  # a program may take the axes of an argument in another order
            axes = [axis for axis in range(x.ndim) if x.shape[axis] == self.classes]
        return bool(axes) and all(_is_uneven(x, axis) for axis in axes)


def _is_uneven(x: Array, axis: int) -> bool:
    """Whether some of several numbers along an axis do not add up to 1; NaN is let pass."""
    several = np.count_nonzero(x, axis) > 1
    return bool((several & (np.abs(np.sum(x, axis, dtype=np.float64) - 1) > _UNEVEN)).any())


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
