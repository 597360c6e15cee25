"""Wrapped originals: the optimizers that others were made around, as in `EMA(inner)`, which has a
copy. What is set of `inner` afterwards does not reach the copy, and whoever sets it should hear of
it at the next update.

Where the original has a use of its own it is let be: something else was made with it since, or it
has updated arrays itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from wengert.core.words.warn import warn_user
from wengert.errors import CopiedWarning
from wengert.optim.lifecycle.given_optimizers import (
    ByObject,
    last_told,
    original_of,
    tell_of_changes,
)
from wengert.optim.lifecycle.saving import OTHER_NAME
from wengert.optim.optimizer import Optimizer, has_updated


def parts_of(way: str, given: Any, own: Any) -> Sequence[tuple[str, Any, Any]]:
    """An optimizer that was given and those inside it, each with how its copy is reached from what
    has `own`, the copy, as `way`, and that copy.
    """
    parts = [(way, given, own)]
    if hasattr(given.lr, "observe") and given.lr is not own.lr:
        parts.append((f"{way}.lr", given.lr, own.lr))
    original = original_of(given)
    if original is not None:
        parts += parts_of(way, original, own)
    for name, x in vars(given).items():
        if isinstance(x, Optimizer):
            parts += parts_of(f"{way}.{name}", x, vars(own)[name])
    return parts


class _Original:
    """An original, and what was set of it."""

    def __init__(self, way: str, given: Any) -> None:
        self._way, self._given = way, weakref.ref(given)
        self._set: dict[str, tuple[Any, Any]] = {}  # values, and who was told of changes last
        self._told: set[str] = set()
        tell_of_changes(given, self.note)

    def note(self, name: str) -> None:
        given = self._given()
        if given is not None and name != OTHER_NAME:  # which is noted by its own name, too
            self._set[name] = getattr(given, name), last_told(given)

    def warn(self, wrapper: Optimizer) -> None:
        by = type(wrapper).__name__
        while self._set:
            name, (wanted, last) = self._set.popitem()
            # The copy is looked for: a wrapper that has loaded a state has another one.
            given, own = self._given(), attrgetter(f"{self._way}.{name}")(wrapper)
            if given is None or has_updated(given) or last_told(given) is not last:
                continue
            if wanted is not own and wanted != own and name not in self._told:
                self._told.add(name)
                warn_user(
                    f"{by}: {name} of the {type(given).__name__} that it was made with was set to "
                    f"{wanted!r}; it has a copy of that optimizer, whose {name} is {own!r}. Set "
                    f"optimizer.{self._way}.{name} = {wanted!r}, where optimizer is the {by}.",
                    CopiedWarning,
                )


# By the optimizer that was made around others. Copies of it have no originals.
_originals: ByObject[list[_Original]] = ByObject()


def watch_originals(wrapper: Optimizer, given: Optimizer, own: Optimizer) -> None:
    """Look from now on what is set of an optimizer that was given, of which `own` is the copy."""
    parts = parts_of("optimizer", given, own)
    found = [_Original(way, x) for way, x, _ in parts if isinstance(x, Optimizer)]
    _originals.set(wrapper, found)


def warn_of_originals(wrapper: Optimizer) -> None:
    """Warn, once for each setting, of what was set and does not hold here."""
    for each in _originals.get(wrapper) or ():
        each.warn(wrapper)
