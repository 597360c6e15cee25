"""Taken parts: the dataclasses in the models that steps were made with, as a user may still have
them when the model itself is gone. One with other settings when a further step was made with it, or
that is an argument of a call, has a use of its own, and is let be.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

_SETTINGS = (bool, int, float, str)


class TakenPart:
    """A dataclass that steps were made with, and the settings that they found in it."""

    def __init__(self, x: Any) -> None:
        self.object = weakref.ref(x)
        self.settings = _settings_of(x)
        self.has_other_use = False


_taken: weakref.WeakValueDictionary[int, TakenPart] = weakref.WeakValueDictionary()


def take_parts(x: Any) -> list[tuple[str, TakenPart]]:
    """Note that a step is made with a dataclass: itself and those in it, outer ones first, each
    with its path.
    """
    return [(path, _take(each)) for path, each in _parts_in(x, "")]


def let_parts_be(argument: Any) -> None:
    """Note that the dataclasses in an argument of a call have a use of their own."""
    for _, x in _parts_in(argument, ""):
        known = _taken_part(x)
        if known is not None:
            known.has_other_use = True


def outermost_dataclasses(x: Any) -> Iterator[Any]:
    """Those of a tree that are in no other one, and may be watched."""
    if isinstance(x, dict | list | tuple):
        for _, each in _items_of(x):
            yield from outermost_dataclasses(each)
    elif _is_watched(x):
        yield x


def _take(x: Any) -> TakenPart:
    known = _taken_part(x)
    if known is None:
        known = _taken[id(x)] = TakenPart(x)
    elif known.settings != _settings_of(x):
        known.has_other_use = True
    return known


def _taken_part(x: Any) -> TakenPart | None:
    known = _taken.get(id(x))
    return known if known is not None and known.object() is x else None


def _parts_in(x: Any, path: str) -> Iterator[tuple[str, Any]]:
    if _is_watched(x):
        yield path, x
    for key, each in _items_of(x):
        yield from _parts_in(each, f"{path}.{key}" if path else str(key))


def _items_of(x: Any) -> Iterator[tuple[Any, Any]]:
    """What a node of a tree holds, by the keys that paths have."""
    if isinstance(x, dict):
        yield from x.items()
    elif isinstance(x, list | tuple):
        yield from zip(getattr(x, "_fields", range(len(x))), x, strict=True)
    elif is_dataclass(x) and not isinstance(x, type):
        yield from ((field.name, getattr(x, field.name, None)) for field in fields(x))


def _is_watched(x: Any) -> bool:
    return is_dataclass(x) and not isinstance(x, type) and bool(type(x).__weakrefoffset__)


def _settings_of(x: Any) -> dict[str, Any]:
    return {name: each for name, each in _items_of(x) if type(each) in _SETTINGS}
