"""Rows that validate a fit after they have trained the same step in a fit before, as where one step
goes through all folds of a cross-validation.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from wengert.core import tree
from wengert.core.words.warn import warn_user
from wengert.errors import CheckpointWarning
from wengert.runtime.outside.live import is_live
from wengert.train.fitting.fit_data import BY
from wengert.train.step import TrainStep

Array: TypeAlias = np.ndarray[Any, Any]
SAMPLED = 512  # rows of a fit that are remembered
AT_ONCE = 4096  # rows whose marks are computed
WORDS = 64  # of a row, about, at equal distances
MOST = 0.5  # of the rows that validate
FEW = 0.03  # the share of rows that may have a like among others by chance
_FACTOR, _START = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


@dataclass(frozen=True)
class _Trained:
    """Some rows that a fit has trained on, by their marks; the share of them that rows which
    validated were like, by chance; and the checksum of the model as the fit has left it.
    """

    rows: Array
    alike: float
    model: int


_last: WeakKeyDictionary[TrainStep, _Trained] = WeakKeyDictionary()


class HeldRows:
    """The rows of a fit that train, and those that validate, if there are any."""

    def __init__(
        self, step: TrainStep, training: Sequence[Any], held_back: Sequence[Any] | None
    ) -> None:
        self._step, self._training, self._held_back = step, training, held_back

    def look(self) -> None:
        """Warn where the step goes on from a fit that trained on rows that validate now."""
        last = _last.get(self._step)
        if last is None or self._held_back is None:
            return
        share = _share(last.rows, self._held_back)
        if share <= 2 * last.alike + FEW or last.model != _model_checksum(self._step):
            return
        if _share(_marks(self._held_back, SAMPLED), self._training) > MOST:
            return  # they train in this fit as well, which is meant: nothing is held back
        warn_user(
            f"{BY}: the step goes on from a fit that has trained on rows which validate now; they "
            "look better than new ones. Make a new step for each fold or division, or go on with "
            "the one before: the same rows, or the same share and shuffle_seed.",
            CheckpointWarning,
        )

    def note(self) -> None:
        """Remember what the step was trained on, and how the fit has left it."""
        rows = _marks(self._training, SAMPLED)
        alike = 0.0 if self._held_back is None else _share(rows, self._held_back)
        _last[self._step] = _Trained(rows, alike, _model_checksum(self._step))


def _share(rows: Array, among: Sequence[Any]) -> float:
    """The share of rows, given by their marks, that have a like among others."""
    return float(np.mean(np.isin(rows, _marks(among)))) if rows.size else 0.0


def _marks(arguments: Sequence[Any], most: int | None = None) -> Array:
    """Numbers that tell rows from one another: of all, or of so many at equal distances."""
    leaves = [np.asarray(x) for x in tree.leaves(tuple(map(tree.with_numpy, arguments)))]
    leaves = [x for x in leaves if x.ndim and x.size and not is_live(x)]
    count = max(map(len, leaves), default=0)
    leaves = [x for x in leaves if len(x) == count]  # others are whole arrays, as of a network
    step = 1 if most is None else max(1, count // most)
    marks = [np.zeros(0, np.uint64)]
    for begin in range(0, count, AT_ONCE * step):
        parts = [x[begin : begin + AT_ONCE * step : step] for x in leaves]
        marks.append(_marks_of(parts))
    return np.concatenate(marks)


def _marks_of(parts: Sequence[Array]) -> Array:
    marks = np.full(len(parts[0]), _START)
    for x in parts:
        content = np.ascontiguousarray(x).reshape(len(x), -1).view(np.uint8)
        words = np.zeros((len(x), -(-content.shape[1] // 8) * 8), np.uint8)
        words[:, : content.shape[1]] = content
        columns = words.view(np.uint64).T
        for column in columns[:: max(1, len(columns) // WORDS)]:
            marks = (marks ^ column) * _FACTOR
            marks ^= marks >> np.uint64(29)
    return marks


def _model_checksum(step: TrainStep) -> int:
    checksum = 0
    for x in tree.leaves(step.model):
        checksum = zlib.crc32(np.ascontiguousarray(x).tobytes(), checksum)
    return checksum
