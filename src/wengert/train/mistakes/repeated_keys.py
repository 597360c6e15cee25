"""RepeatedKeys: a random key that a step is called with again and again, as by those who know JAX
and have forgotten to split it. What the loss draws under it is the same in every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import RandomnessWarning
from wengert.optim.parameters import leaves_in
from wengert.train.recorded.layers.drawn_keys import drawn_under, is_key

LOOKS = 3  # before calls 1, 2 and 3


class RepeatedKeys:
    """Looks at the keys among the arguments of the first calls, if the first one has such."""

    def __init__(self) -> None:
        self.is_over, self._looks = False, 0
        self._numbers: Sequence[bytes] = ()  # of the keys, as they were in all calls so far
        self._lines: Sequence[Line | None] = ()  # where the loss draws under each

    def note_draws(self, batch: Sequence[Any]) -> None:
        """Note which keys the loss draws under that is being recorded with this batch."""
        if not self.is_over:
            self._lines = drawn_under([x for _, x in _keys_in(batch)])

    def look(self, arguments: Sequence[Any]) -> None:
        """Look before a call."""
        self._looks += 1
        keys = _keys_in(arguments)
        numbers = [np.asarray(x).tobytes() for _, x in keys]
        if self._looks == 1:
            self._numbers = numbers
        known = zip(numbers, self._numbers, strict=False)
        self.is_over = self._looks == LOOKS or not any(a == b for a, b in known)
        self._numbers = [b if a == b else b"" for a, b in zip(numbers, self._numbers, strict=False)]
        if self._looks == LOOKS:
            told = zip(keys, self._numbers, self._lines, strict=False)
            places = [(place, line) for (place, _), same, line in told if same and line is not None]
            for place, line in places[:1]:
                _warn(place, line)


def _keys_in(arguments: Sequence[Any]) -> list[tuple[int, Any]]:
    """The keys among the leaves of arguments, and the places of these."""
    return [
        (place, x) for place, each in enumerate(arguments) for x in leaves_in(each) if is_key(x)
    ]


def _warn(place: int, line: Line) -> None:
    warn_user(
        f"TrainStep: argument {place + 1} of the call, a random key, was the same in the first "
        f"{LOOKS} calls; so are the numbers that the loss draws under it. Give the loss a "
        "parameter rng and draw from that, which has others in every call; or pass another key "
        "each time, wg.random.fold_in(key, i). For the same numbers in every call, draw them "
        f"before, and pass these. ({line})",
        RandomnessWarning,
    )
