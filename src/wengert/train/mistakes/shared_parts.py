"""SharedParts: other steps that were made with some of the parameters of a step, each with
parameters of its own beside them: an actor and a critic with one encoder. Each step trains a copy.

That may be meant, where networks are compared that begin alike, one after the other. Steps that
take turns in their calls are parts of one training.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning


class SharedParts:
    """The parameters that a step was given, and other steps that were given some of them."""

    _times = itertools.count(1)

    def __init__(self) -> None:
        self.trained: dict[Any, str] = {}  # what messages call them
        self._partners: weakref.WeakSet[SharedParts] = weakref.WeakSet()
        self._last = 0  # when it was looked last

    def meet(self, other: SharedParts) -> None:
        """Remember a step that has some of the parameters, if neither has all of the other's."""
        mine, others = self.trained.keys(), other.trained.keys()
        if mine & others and mine - others and others - mine:
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
            names = [name for taken, name in self.trained.items() if taken in other.trained]
            warn_user(
                f"TrainStep: {names[0]} that it was made with, and {len(names) - 1} more, are part "
                "of the model of another step as well, and the two take turns; each step has a "
                "copy of its own and trains that one, where torch would train one network. Train "
                "both losses in one step, or let one step train the part and give it to the other "
                "as an argument: other(step.model.encoder, …). For two networks on purpose, make "
                "one step with wg.tree.copy(model).",
                CopiedWarning,
            )
