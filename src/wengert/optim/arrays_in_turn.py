"""Arrays in turn: two arrays that are updated under one id have one state between them, and each
moves with the other's momentum.

An array that takes the place of another is no reason to warn: weights were loaded or copied. Two
arrays are known to share an id where the first one comes again.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import TiedWarning

MOST = 64  # arrays that are remembered of one id


class _Place(NamedTuple):
    """Where an array lies: `w[0]` is a new array each time, at the same place of its owner."""

    owner: weakref.ref[Any]
    address: int

    @classmethod
    def of(cls, x: Any) -> _Place:
        owner = x
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return cls(weakref.ref(owner), x.ctypes.data)

    def is_that_of(self, other: _Place) -> bool:
        return self.address == other.address and self.owner() is other.owner()


class ArraysInTurn:
    """The arrays that were updated under each id, as long as they live."""

    def __init__(self) -> None:
        self._last: dict[Hashable, weakref.ref[Any]] = {}  # looked up in every step
        self._places: dict[Hashable, list[_Place] | None] = {}  # None once the user was warned

    def note(self, by: str, parameter_id: Hashable, x: Any) -> None:
        """Note an array that is updated. Warn, once for an id, where it takes turns with others."""
        last = self._last.get(parameter_id)
        if last is not None and last() is x:
            return
        self._last[parameter_id] = weakref.ref(x)
        known = self._places.get(parameter_id, [])
        if known is None:
            return
        place = _Place.of(x)
        before = [each for each in known if each.owner() is not None]
        if any(place.is_that_of(each) for each in before[:-1]):
            self._places[parameter_id] = None
            _warn(by, parameter_id)
        elif not (before and place.is_that_of(before[-1])):
            self._places[parameter_id] = [*before, place][-MOST:]

    def __reduce__(self) -> tuple[type[ArraysInTurn], tuple[()]]:
        """A copy of an optimizer, or one from a pickle, has seen none."""
        return ArraysInTurn, ()


def _warn(by: str, parameter_id: Hashable) -> None:
    warn_user(
        f"{by}.step: two arrays take turns under the id {parameter_id!r}; what is kept of a "
        "parameter, such as moments and the number of its updates, is kept under its id, and they "
        'share it. Give each array an id of its own, as in step(f"{name}.w", w, grad). If it is '
        "one parameter that moves in memory, write into one array.",
        TiedWarning,
    )
