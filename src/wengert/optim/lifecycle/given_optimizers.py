"""Optimizers that training steps were made with. A step has copies of its own; where a setting of
the original changes afterwards, the step is told, since whoever did it most likely meant the step.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

Told = Callable[[str], None]  # given the name of the setting
T = TypeVar("T")
OBSERVED = "best"  # the attribute of a schedule that changes when it is told a metric


class ByObject(Generic[T]):
    """A value for each of some objects, for as long as these live. They need not be hashable, and
    equal ones are kept apart: schedules are equal where their settings are.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, thing: Any) -> T | None:
        known = self._entries.get(id(thing))
        return known[1] if known is not None and known[0]() is thing else None

    def set(self, thing: Any, value: T) -> None:
        forget = partial(self._forget, id(thing))
        self._entries[id(thing)] = (weakref.ref(thing, forget), value)

    def _forget(self, number: int, gone: weakref.ref[Any]) -> None:
        if number in self._entries and self._entries[number][0] is gone:
            del self._entries[number]


_told: ByObject[list[weakref.WeakMethod[Told]]] = ByObject()
_copied_from: ByObject[weakref.ref[Any]] = ByObject()


def tell_of_changes(original: Any, told: Told) -> None:
    """Call a method whenever a setting of an optimizer or of its schedule changes, for as long as
    the method's object lives.
    """
    known = [each for each in _told.get(original) or () if each() is not None]
    _told.set(original, [*known, weakref.WeakMethod(told)])


def last_told(original: Any) -> Any:
    """Who was the last to ask for changes of this optimizer: others where more was made with it."""
    return (_told.get(original) or (None,))[-1]


def note_change(original: Any, name: str) -> None:
    """Call the methods that `tell_of_changes` was given for this optimizer."""
    for each in _told.get(original) or ():
        told = each()
        if told is not None:
            told(name)


def note_copy(copy: Any, original: Any) -> None:
    """Remember what an optimizer inside another one was copied from."""
    _copied_from.set(copy, weakref.ref(original))


def original_of(copy: Any) -> Any:
    """What an optimizer was copied from, if that still lives; else None."""
    original = _copied_from.get(copy)
    return None if original is None else original()
