"""Rows that validate a fit after they have trained the same step in a fit before."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from wengert.core import tree
from wengert.core.words.warn import warn_user
from wengert.errors import WengertWarning
from wengert.train.fitting.fit_data import BY, rows_checksum
from wengert.train.step import TrainStep


@dataclass(frozen=True)
class _Divided:
    """How the data of a fit were divided, and the model as the fit has left it: checksums."""

    rows: int
    held_back: int
    model: int


_last: WeakKeyDictionary[TrainStep, _Divided] = WeakKeyDictionary()


class HeldRows:
    """The rows that a fit was asked to hold back as a share of its data."""

    def __init__(self, step: TrainStep, data: tuple[Any, ...], held_back: tuple[Any, ...]) -> None:
        self._step, self._data, self._held_back = step, data, held_back

    @cached_property
    def _sums(self) -> tuple[int, int]:
        return rows_checksum(self._data), rows_checksum(self._held_back)

    def look(self) -> None:
        """Warn where the step goes on from a fit that trained on some of these rows."""
        last = _last.get(self._step)
        if last is None or last.rows != self._sums[0] or last.held_back == self._sums[1]:
            return
        if last.model == _model_checksum(self._step):  # it was not set back in between
            warn_user(
                f"{BY}: the step goes on from a fit on the same data, which held back other rows; "
                "some of those that validate now were trained on, and look better than new ones. "
                "Pass the same share and shuffle_seed, or validation=(x, y).",
                WengertWarning,
            )

    def note(self) -> None:
        """Remember how the fit has left the step."""
        _last[self._step] = _Divided(*self._sums, _model_checksum(self._step))


def _model_checksum(step: TrainStep) -> int:
    checksum = 0
    for x in tree.leaves(step.model):
        checksum = zlib.crc32(np.ascontiguousarray(x).tobytes(), checksum)
    return checksum
