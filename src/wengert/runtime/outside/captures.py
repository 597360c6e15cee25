"""Captures: what a function could read beside its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from wengert.runtime.outside.watch import (
    DICT_SIZE,
    ITEM,
    LIST_SIZE,
    SAME_ITEMS,
    SET_SIZE,
    Place,
    owner_of,
)


@dataclass
class Captures:
    """All that some functions could read, as `capture_walk` finds it."""

    places: list[Place] = field(default_factory=list)  # with what they have now
    arrays: dict[int, tuple[str, np.ndarray[Any, Any]]] = field(default_factory=dict)  # by id
    generators: list[Any] = field(default_factory=list)  # of random numbers
    iterators: list[tuple[str, Any]] = field(default_factory=list)  # what messages call them
    left_out: list[str] = field(default_factory=list)  # what has more in it than is compared
    tables: list[tuple[str, Any]] = field(default_factory=list)  # data frames, and columns of them
    torch: list[str] = field(default_factory=list)  # tensors of torch and what has some: their
    # numbers are not compared
    codes: list[CodeType] = field(default_factory=list)  # of the user's functions
    wrapping: list[Any] = field(default_factory=list)  # objects around a function of the user's

    def name_of(self, x: np.ndarray[Any, Any]) -> str:
        """What the user calls an array, or the array that it is a part of; "" where that is not
        known.
        """
        if id(x) in self.arrays:
            return self.arrays[id(x)][0]
        owner = owner_of(x)
        return next((name for name, y in self.arrays.values() if owner_of(y) is owner), "")

    def keep_those_of(self, other: Captures) -> None:
        """Keep the places that another walk has found as well."""
        found = {place.which for place in other.places}
        self.places[:] = [place for place in self.places if place.which in found]

    def settled(self) -> list[Place]:
        """The places that recording has left as they were. What it changed itself (a counter, a
        list that it appends to) is a trace of the recording, and no part of the program.
        """
        grown = {
            id(place.container)
            for place in self.places
            if place.kind in (LIST_SIZE, SET_SIZE) and not place.renew()
        }
        whole = {id(p.container) for p in self.places if p.kind == SAME_ITEMS and p.renew()}
        return [
            place
            for place in self.places
            if id(place.container) not in grown
            and not (place.kind in (ITEM, DICT_SIZE) and id(place.container) in whole)
            and place.renew()
        ]
