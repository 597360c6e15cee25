"""Restored models: `step.model = best` puts weights back that `wg.tree.copy(step.model)` has kept,
and the running statistics of a BatchNorm stay those of the last call, as `step.state` is assigned
apart.

That is told where the state is used before the step is called again, which would renew it. Weights
that the step never had, as an average of some, are let pass, and so are those that were kept when
the statistics were what they are now.
"""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from wengert.core.words.noticed.watched_arrays import forget_watches, watch_reads
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning

Array: TypeAlias = np.ndarray[Any, Any]
SOME = 64  # numbers of an array that are looked at, or nearly twice as many
REMEMBERED = 4096  # times at which the model was shown
_WATCHES = "restored"


class RestoredModels:
    """What a step that carries running statistics had when its model was shown: marks of some of
    its weights, and of the statistics.
    """

    def __init__(
        self, weights: Sequence[Array], carried: Sequence[Array], paths: Sequence[str], calls: Array
    ) -> None:
        """Given are the trained weights, the carried arrays and their paths, and the array that
        calls are counted in.
        """
        named = dict(zip(paths, carried, strict=True))
        self._weights, self._calls = weights, calls
        self._statistics = [
            x for path, x in named.items() if weights and _is_statistic(path, named)
        ]
        self._shown: dict[int, int] = {}  # marks of statistics by marks of weights
        self._kept, self._after = 0, 0  # statistics when the weights were shown; calls since
        self.waits = False  # whether a use of the state may be a mistake

    def note_shown(self) -> None:
        """Note that the model is shown: somebody may keep a copy."""
        if self._statistics and self._calls[0]:
            self._shown[_mark(self._weights)] = _mark(self._statistics)
            if len(self._shown) > REMEMBERED:
                self._shown.pop(next(iter(self._shown)), None)

    def mark_of_weights(self) -> int:
        return _mark(self._weights) if self._statistics else 0

    def note_model(self, before: int) -> None:
        """Look at a model that has been assigned; given is the mark of the weights before it."""
        if self._statistics:
            mark, now = _mark(self._weights), _mark(self._statistics)
            self._kept = self._shown.get(mark, now)
            self._wait(mark != before and self._kept != now)

    def note_state(self) -> None:
        """Note that a state was assigned, or that all was loaded."""
        self._wait(False)

    def _wait(self, waits: bool) -> None:
        if waits != self.waits:
            self.waits, self._after = waits, int(self._calls[0])
            for x in self._statistics:
                if waits:
                    watch_reads(x, _WATCHES, partial(_note_read, weakref.ref(self)))
                else:
                    forget_watches([x], _WATCHES)

    def look_at(self, arguments: Iterable[Any]) -> None:
        """Look at a call of a function, which may be given the state."""
        own = {id(x) for x in self._statistics}
        if any(id(x) in own for x in arguments):
            self.look()

    def look(self) -> None:
        """Warn, once, where the state is used and is not that of the weights."""
        if not self.waits:
            return
        is_mistake = self._calls[0] == self._after and _mark(self._statistics) != self._kept
        self._wait(False)
        if is_mistake:
            warn_user(
                "TrainStep: step.model was assigned weights that the step had before, and "
                "step.state has the running statistics of its last call; a BatchNorm needs those "
                "that belong with its weights. Keep both, best = wg.tree.copy((step.model, "
                "step.state)), and assign both, step.model, step.state = best.",
                BatchNormWarning,
            )


def _note_read(reference: weakref.ReferenceType[RestoredModels]) -> bool:
    """Look at a state that is read at once or saved; whether nothing is left to tell of it."""
    restored = reference()
    if restored is not None:
        restored.look()
    return True


def _is_statistic(path: str, named: dict[str, Array]) -> bool:
    """Whether an array is the mean or the variance of a BatchNorm: these stand side by side."""
    outside, _, name = path.rpartition(".")
    dot = f"{outside}." if outside else ""
    pair = [named.get(f"{dot}{each}") for each in ("mean", "var")]
    return name in ("mean", "var") and all(x is not None and x.ndim == 1 for x in pair)


def _mark(arrays: Sequence[Array]) -> int:
    """What tells arrays from others, in little time: a checksum of some of their numbers."""
    mark = 0
    for x in arrays:
        mark = zlib.crc32(x[:: max(x.size // SOME, 1)].tobytes(), mark)
    return mark
