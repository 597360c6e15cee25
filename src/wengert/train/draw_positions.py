"""Positions of draws: how often each bound function that draws random numbers was called."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

MOST_SAVED = 64  # functions of a step: a program with more binds new ones all the time


class Draws:
    """Positions by the number of the function. What a call draws depends on its position; several
    threads may ask at once.
    """

    def __init__(self) -> None:
        self._counts: dict[int, itertools.count[int]] = {}
        # Of the next calls: `itertools.count` does not show its own.
        self.positions: dict[int, int] = {}

    def begin(self, number: int) -> None:
        """Let a function draw, from where it was if a state that was loaded has said so."""
        if number not in self._counts:
            self.go_on({number: 0})

    def go_on(self, positions: Mapping[int, int]) -> None:
        """Let functions draw from these positions on; others stay where they are."""
        for number, position in positions.items():
            self._counts[number] = itertools.count(position)
            self.positions[number] = position

    def take(self, number: int) -> int:
        """The position of the next call of a function."""
        position = next(self._counts[number])
        self.positions[number] = position + 1
        return position
