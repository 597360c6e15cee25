"""SkippedSteps: a run that skips all of its steps, as something is not finite in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import WengertWarning
from wengert.runtime.nonfinite_policies import SKIP
from wengert.train.nonfinite import first_nonfinite

FEW = 3  # steps in a row, that may be skipped in any run
Array = np.ndarray[Any, Any]
Named = Callable[[], Iterable[tuple[str, Array]]]  # the arrays of the data


class SkippedSteps:
    """Looks at the steps of runs where `nonfinite="skip"` was asked for. That single batches are
    skipped is meant; that a whole epoch is, and no step behind it is taken, is hardly.
    """

    def __init__(self, nonfinite: str) -> None:
        self.is_over = nonfinite != SKIP
        self._in_a_row = 0

    def begin(self) -> None:
        """Begin with a new run."""
        self._in_a_row = 0

    def look(self, by: str, skipped: Array, epoch: int, data: Named) -> None:
        """Look at the next steps of a run whose epochs have so many."""
        taken = np.flatnonzero(~skipped)
        self._in_a_row = (
            len(skipped) - 1 - int(taken[-1]) if len(taken) else self._in_a_row + len(skipped)
        )
        if self._in_a_row >= max(epoch, FEW):
            self.is_over = True
            reasons = [(name, x) for name, x in data() if _is_in_every_batch(x, epoch)]
            _warn(by, self._in_a_row, first_nonfinite(reasons))


def _is_in_every_batch(x: Array, batches: int) -> bool:
    """Whether as many rows as there are batches, or a number for all of them, are not finite."""
    if x.dtype.kind != "f":
        return False
    bad = ~np.isfinite(x)
    return bool(bad if x.ndim == 0 else bad.any(axis=tuple(range(1, x.ndim))).sum() >= batches)


def _warn(by: str, count: int, place: tuple[str, str, tuple[int, ...]] | None) -> None:
    why, repair = "", "Pass nonfinite='raise' to be told what is not finite"
    if place is not None:
        why, repair = f": {place[0]}", "Correct the argument, or leave such rows out"
    warn_user(
        f"{by}: the last {count} steps, a whole epoch or more, were all skipped, as "
        f"nonfinite='skip' asks for{why}; nothing is trained. {repair}.",
        WengertWarning,
    )
