"""Stopping early: which epoch was the best one, and when it is time to stop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.train.fitting.fit_data import BY
from wengert.train.fitting.measures import VALIDATION_LOSS
from wengert.train.option_checks import whole

MODES = ("min", "max")


@worded_methods("__init__")
@dataclass(frozen=True)
class EarlyStopping:
    """Stop where `monitor`, a column of the history, has not become better by `min_delta` at least
    for `patience` epochs in a row. At the end the step is as it was after its best epoch, unless
    `restore_best` is False.

    `monitor` is the validation loss, or the loss where there are no validation data; `mode`, "min"
    or "max", has to be given for metrics of your own only.

    >>> rule = wg.train.EarlyStopping(patience=5, monitor="accuracy")
    >>> rule.restore_best
    True
    """

    patience: int = 10
    monitor: str | None = None
    mode: str | None = None
    min_delta: float = 0.0
    restore_best: bool = True

    def __post_init__(self) -> None:
        patience = whole(self.patience)
        if patience is None or patience < 1:
            raise ValueError(
                f"EarlyStopping: patience={self.patience!r} was given; it is a whole number of "
                "epochs, at least 1. Choose one."
            )
        if self.mode not in (None, *MODES):
            raise ValueError(
                f"EarlyStopping: mode={self.mode!r} was given; it is min, max or None. Choose one."
            )
        if not _is_distance(self.min_delta):
            raise ValueError(
                f"EarlyStopping: min_delta={self.min_delta!r} was given; it is a number, at least "
                "0. Choose one."
            )


def _is_distance(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(0 <= value < math.inf)


def early_stopping_of(given: Any) -> EarlyStopping | None:
    """The EarlyStopping that was given: as itself, as a patience, or as True; else None."""
    if given is None or given is False:
        return None
    if given is True:
        return EarlyStopping()
    if isinstance(given, EarlyStopping):
        return given
    if whole(given) is not None:
        return EarlyStopping(patience=given)
    raise TypeError(
        f"{BY}: early_stopping={given!r} was given; it is a number of epochs to wait for something "
        "better, a wg.train.EarlyStopping, or None. Pass one of these."
    )


class Best:
    """The best epoch so far, and for how long nothing better came."""

    def __init__(self, rule: EarlyStopping | None, directions: Mapping[str, str | None]) -> None:
        self.rule = rule
        default = list(directions)[1] if len(directions) > 1 else next(iter(directions))
        self.monitor = default if rule is None or rule.monitor is None else rule.monitor
        if self.monitor not in directions:
            meant = nearest(self.monitor, list(directions), ALIKE)
            repair = f"Write {meant!r}" if meant else "Choose one of them, or pass what is missing"
            raise ValueError(
                f"EarlyStopping: monitor={self.monitor!r} was given; this fit measures "
                f"{', '.join(directions)}. {repair}."
            )
        mode = None if rule is None else rule.mode
        known = directions[self.monitor]
        if None not in (mode, known) and mode != known and self.monitor != VALIDATION_LOSS:
            raise ValueError(
                f"EarlyStopping: mode={mode!r} was given for monitor={self.monitor!r}, of which "
                f"{'more' if known == 'max' else 'less'} is better; the worst epoch would be kept "
                "as the best one. Leave mode out."
            )
        self._mode = mode or known
        if self._mode is None:
            raise ValueError(
                f"EarlyStopping: monitor={self.monitor!r} is a metric of your own; whether more or "
                'less of it is better is not known. Pass mode="max" or mode="min".'
            )
        self.epoch: int | None = None
        self.value = math.inf if self._mode == "min" else -math.inf
        self.waited = 0

    def note(self, epoch: int, values: Mapping[str, float]) -> bool:
        """Take what was measured after an epoch, and say whether it is the best one."""
        value = values[self.monitor]
        gain = self.value - value if self._mode == "min" else value - self.value
        least = 0.0 if self.rule is None else self.rule.min_delta
        self.waited = 0 if gain > 0 and gain >= least else self.waited + 1
        if gain > 0:
            self.epoch, self.value = epoch, value
        return gain > 0

    @property
    def restores(self) -> bool:
        return self.rule is not None and self.rule.restore_best

    def reason_to_stop(self) -> str | None:
        """Why it is time to stop, if it is."""
        if self.rule is None or self.waited < self.rule.patience:
            return None
        return f"{self.monitor} was no better for {self.waited} epochs"
