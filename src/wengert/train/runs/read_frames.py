"""Frames that were read when a run began, and are changed while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.trees.foreign import NUMBERS, as_numpy, foreign_arrays, is_table
from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.train.storage import Array

SEEN = 64  # rows that are compared, about


class _Read(NamedTuple):
    """A frame, its columns when it was read, and the array that was made of it."""

    name: str
    given: Any
    columns: list[Any] | None  # None for a series
    array: Array

    def is_changed(self) -> bool:
        """Whether some of its rows are not those of the array any more. A frame whose numbers the
        array shares has the same ones.
        """
        rows = slice(0, len(self.array), max(len(self.array) // SEEN, 1))
        try:
            now = self.given if self.columns is None else self.given[self.columns]
            now = as_numpy(now.iloc[rows] if hasattr(now, "iloc") else now[rows])
        except Exception:  # a column that is gone, in the words of any library
            return True
        if now.dtype.kind not in NUMBERS:
            return True
        return not np.array_equal(now, self.array[rows], equal_nan=True)


class ReadFrames:
    """The frames among the data of a run."""

    def __init__(
        self, names: Sequence[str], arguments: Sequence[Any], arrays: Sequence[Array]
    ) -> None:
        self._read = [
            _Read(name, x, list(x.columns) if is_table(x) else None, arrays[place])
            for name, x, place in foreign_arrays(names, arguments)
            if _can_be_read_again(x)
        ]
        self._epochs = 0

    def look(self, by: str) -> None:
        """Warn, once, of a frame that was changed. Called before each epoch; looks before the
        second one, the third, the fifth, and so on.
        """
        epoch, self._epochs = self._epochs, self._epochs + 1
        if not self._read or epoch == 0 or epoch & (epoch - 1):
            return
        for each in self._read:
            if each.is_changed():
                self._read = []
                warn_user(
                    f"{by}: {each.name} was changed between two epochs; a frame is read once, when "
                    "the run begins, and training goes on with what it was. Pass an array, "
                    f"{each.name}.to_numpy(copy=True), and write into that; or begin a new run.",
                    CopiedWarning,
                )
                return


def _can_be_read_again(x: Any) -> bool:
    """Whether it is a series, or a frame each column of which has a name of its own."""
    return len(set(x.columns)) == len(x.columns) if is_table(x) else hasattr(x, "iloc")
