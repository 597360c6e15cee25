"""TwinParameters: two weights of one model that begin with the same numbers and are trained alike.
Twin critics that were made with one seed are one critic twice, for ever.

Weights that begin alike may be meant, as a copy that is not trained, or part in the first update,
as layers do that see other inputs. So it is told only where both have moved and are still the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import AlikeWarning
from wengert.train.mistakes.copied.taken_arrays import Mark
from wengert.train.storage import Storage

PATIENCE = 64  # calls in which they may have to move
Array = np.ndarray[Any, Any]


class TwinParameters:
    """Pairs of trained matrices of a step that have the same bits, as long as that tells
    something. Vectors and constants do not: biases and scales all begin alike.
    """

    def __init__(self, storage: Storage) -> None:
        self._calls = 0
        self._pairs: list[tuple[str, str, Array, Array, Array]] = []  # paths, live ones, the first
        trained = {p.place for segment in storage.trained for p in segment.parameters}
        live = {id(storage.leaves[place]): storage.paths[place][0] for place in trained}
        first: dict[tuple[tuple[int, ...], str, Mark], tuple[str, Array]] = {}
        for each in storage.given_arrays:
            x = each.live
            path = live.get(id(x))
            if path is None or x.ndim < 2:
                continue
            other, twin = first.setdefault((x.shape, x.dtype.str, each.mark), (path, x))
            if twin is not x and np.array_equal(twin, x) and not _is_plain(x):
                self._pairs.append((other, path, twin, x, x.copy()))

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to look at."""
        return not self._pairs

    def look(self, by: str) -> None:
        """Look at the pairs after a call, or after many; warn, once, of one that stays alike."""
        self._calls += 1
        alike = [pair for pair in self._pairs if np.array_equal(pair[2], pair[3])]
        moved = [pair for pair in alike if not np.array_equal(pair[3], pair[4])]
        self._pairs = [] if moved or self._calls == PATIENCE else alike
        if moved:
            one, other = moved[0][:2]
            warn_user(
                f"{by}: {one!r} and {other!r} of the model began with the same numbers, and have "
                "the same after an update; what is trained alike from the same beginning, as twin "
                "critics are, stays the same for ever. Make each with a seed of its own, or keep "
                "one of them and use it twice.",
                AlikeWarning,
            )


def _is_plain(x: Array) -> bool:
    """Whether a matrix has few numbers, as zeros, ones and an identity have: nobody drew them."""
    return bool(np.unique(x).size <= min(x.shape) + 1)
