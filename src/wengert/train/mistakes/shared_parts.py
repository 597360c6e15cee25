"""SharedParts: other steps that were made with some of the parameters of a step, each with
parameters of its own beside them: an actor and a critic with one encoder, or a generator and a
discriminator, each of which is frozen in the other's step. Each step has a copy.

That may be meant, where networks are compared that begin alike, one after the other. Steps that
take turns in their calls are parts of one training.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Collection, Iterable
from typing import Any, Protocol

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning


class Given(Protocol):
    """An array that was given: what messages call it, the array and the step's own copy."""

    name: str
    live: np.ndarray[Any, Any]

    @property
    def array(self) -> np.ndarray[Any, Any] | None: ...


class SharedParts:
    """The parameters that a step was given, and other steps that were given some of them."""

    _times = itertools.count(1)

    def __init__(self) -> None:
        self.given: dict[Any, Given] = {}
        self.trained: set[Any] = set()
        self._partners: weakref.WeakSet[SharedParts] = weakref.WeakSet()
        self._last = 0  # when it was looked last

    def meet(self, other: SharedParts) -> None:
        """Remember a step that was given what this one trains, or the other way round, if neither
        trains all that the other does.
        """
        mine, others = self.trained, other.trained
        shares = mine & other.given.keys() or others & self.given.keys()
        if shares and mine - others and others - mine:
            self._partners.add(other)
            other._partners.add(self)

    def look(self) -> None:
        """Warn, once, before a call that follows one of another step, which followed one of this
        step.
        """
        before, self._last = self._last, next(self._times)
        for other in [each for each in self._partners if before and each._last > before]:
            self._partners.discard(other)
            other._partners.discard(self)
            text = self._text(other)
            if text is not None:
                warn_user(text, CopiedWarning)

    def _text(self, other: SharedParts) -> str | None:
        """What is to be said; nothing where somebody writes what one has learned into the other."""
        both = self._names(self.trained & other.trained)
        if both:
            return (
                f"TrainStep: {both} are part of the model of another step as well, and the two "
                "take turns; each step has a copy of its own and trains that one, where torch "
                "would train one network. Train both losses in one step, or let one step train the "
                "part and give it to the other as an argument: other(step.model.encoder, …). For "
                "two networks on purpose, make one step with wg.tree.copy(model)."
            )
        here, there = other.trained & self.given.keys(), self.trained & other.given.keys()
        if not (self._are_as_given(here) and other._are_as_given(there)):
            return None
        frozen = self._names(here or there)
        whose = "are frozen here, and another step trains them"
        if not here:
            whose = "are frozen in another step, and trained by this one"
        return (
            f"TrainStep: {frozen} {whose}, and the two take turns; each step has "
            "a copy of its model, so that what one learns never reaches the other, where torch "
            "would train one network. Make each step with what it trains alone, and give it the "
            "rest as an argument, live: step(other.model, …), for a loss(model, rest, …). For two "
            "networks on purpose, make one step with wg.tree.copy(model)."
        )

    def _are_as_given(self, parts: Iterable[Any]) -> bool:
        """Whether the copies of the step have the numbers of the arrays that it was made with."""
        pairs = [(self.given[part].array, self.given[part].live) for part in parts]
        return all(x is None or np.array_equal(x.astype(live.dtype), live) for x, live in pairs)

    def _names(self, parts: Collection[Any]) -> str:
        """The name of one of these, and how many more there are."""
        names = [each.name for taken, each in self.given.items() if taken in parts]
        return f"{names[0]} that it was made with, and {len(names) - 1} more," if names else ""
