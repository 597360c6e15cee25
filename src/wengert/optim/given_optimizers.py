"""Optimizers that training steps were made with. A step has copies of its own; where a setting of
the original changes afterwards, the step is told, since whoever did it most likely meant the step.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

Told = Callable[[str], None]  # given the name of the setting
_told: weakref.WeakKeyDictionary[Any, list[weakref.WeakMethod[Told]]] = weakref.WeakKeyDictionary()


def tell_of_changes(original: Any, told: Told) -> None:
    """Call a method whenever a setting of an optimizer changes, for as long as its object lives."""
    known = [each for each in _told.get(original, ()) if each() is not None]
    _told[original] = [*known, weakref.WeakMethod(told)]


def note_change(original: Any, name: str) -> None:
    """Tell those who asked."""
    for each in _told.get(original, ()):
        told = each()
        if told is not None:
            told(name)
