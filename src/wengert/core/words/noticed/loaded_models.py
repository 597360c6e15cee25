"""Models that are read from files. `wg.load(path, like=model)`, or `wg.load(path)`, gives a new
one: neither the old one is changed, nor the copy that a step has of it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from dis import get_instructions
from types import FrameType
from typing import Any, NamedTuple, Protocol

import numpy as np

from wengert.core import tree
from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.core.words.source import is_users


@dataclass(frozen=True)
class LoadedModel:
    """A model that took the name of the one it is like."""

    name: str  # model, or self.model
    call: str  # what gave it
    repair: str  # what gives one for a step
    arrays: Sequence[weakref.ref[Any]]


class Keeper(Protocol):
    """What was made with arrays and has copies of them, as a step."""

    def has_copies_of(self, arrays: Collection[int]) -> bool:
        """Whether one of these arrays, given by their ids, is among those."""

    def note(self, loaded: LoadedModel) -> None:
        """Note that another model has taken the name of the one that it was made with."""


keepers: weakref.WeakSet[Keeper] = weakref.WeakSet()


def note_loaded(
    text: str, call: str, like: Any, given: Sequence[Any], loaded: Sequence[Any]
) -> None:
    """Warn with this text where a model that was loaded is dropped, given the call, the model it is
    like, and the arrays of both. Where it takes the name of that one, whoever has copies of that
    hears of it.
    """
    arrays = {id(x) for x in given}
    made_with_it = [each for each in list(keepers) if each.has_copies_of(arrays)]
    model = "step.model" if made_with_it else "model"
    warn_if_dropped(f"{text} Write {model} = {call.format(model)}.")
    assigned = _assigned_name() if made_with_it else None
    if assigned is not None and assigned.value is like:
        name = assigned.name
        found = LoadedModel(name, call.format(name), call.format("step.model"), _alive(loaded))
        for each in made_with_it:
            each.note(found)


def note_loaded_without_like(loaded: Sequence[Any]) -> None:
    """Where a tree with these arrays takes the name of another one with arrays of the same shapes,
    whoever has copies of that hears of it.
    """
    assigned = _assigned_name() if keepers else None
    if assigned is None:
        return
    try:
        before = tree.leaves(assigned.value)
    except Exception:  # what had the name was no tree
        return
    arrays = {id(x) for x in before}
    made_with_it = [each for each in list(keepers) if each.has_copies_of(arrays)]
    if made_with_it and sorted(map(np.shape, before)) == sorted(map(np.shape, loaded)):
        repair = "wg.load(path, like=step.model)"
        found = LoadedModel(assigned.name, "wg.load(path)", repair, _alive(loaded))
        for each in made_with_it:
            each.note(found)


def _alive(loaded: Sequence[Any]) -> list[weakref.ref[Any]]:
    return [weakref.ref(x) for x in loaded if isinstance(x, np.ndarray)]


class _Assigned(NamedTuple):
    """A variable, or the attribute of one, and what it holds until it is assigned to."""

    name: str
    value: Any


def _assigned_name() -> _Assigned | None:
    """What the user's line assigns the result of the call to."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return None
    listed = list(get_instructions(frame.f_code))
    after = sum(each.offset <= frame.f_lasti for each in listed)
    first, second = [*listed, None, None][after : after + 2]
    if first is None or not isinstance(first.argval, str | tuple):
        return None
    # Newer Pythons store to a variable and load another one in one instruction.
    name = first.argval if isinstance(first.argval, str) else str(first.argval[0])
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    if first.opname.startswith("STORE") and first.opname != "STORE_ATTR":
        return _Assigned(name, value)
    if first.opname.startswith("LOAD") and second is not None and second.opname == "STORE_ATTR":
        held = getattr(value, "__dict__", {}).get(second.argval)
        return _Assigned(f"{name}.{second.argval}", held)
    return None
