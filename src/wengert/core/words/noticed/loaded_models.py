"""Models that are read from files. `wg.load(path, like=model)` gives a new one: neither the old one
is changed, nor the copy that a step has of it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from dis import get_instructions
from types import FrameType
from typing import Any, Protocol

import numpy as np

from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.core.words.source import is_users


@dataclass(frozen=True)
class LoadedModel:
    """A model that took the name of the one it is like."""

    name: str  # model, or self.model
    call: str  # what gave it, with {} for what it is like
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
    name = _name_of_both(like) if made_with_it else ""
    if name:
        left = [weakref.ref(x) for x in loaded if isinstance(x, np.ndarray)]
        for each in made_with_it:
            each.note(LoadedModel(name, call, left))


def _name_of_both(like: Any) -> str:
    """The variable, or the attribute of one, that has this model, and that the user's line assigns
    the result of the call to; "" where there is none.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return ""
    listed = list(get_instructions(frame.f_code))
    after = sum(each.offset <= frame.f_lasti for each in listed)
    first, second = [*listed, None, None][after : after + 2]
    if first is None or not isinstance(first.argval, str | tuple):
        return ""
    # Newer Pythons store to a variable and load another one in one instruction.
    name = first.argval if isinstance(first.argval, str) else str(first.argval[0])
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    if first.opname.startswith("STORE") and first.opname != "STORE_ATTR":
        return name if value is like else ""
    if first.opname.startswith("LOAD") and second is not None and second.opname == "STORE_ATTR":
        held = getattr(value, "__dict__", {}).get(second.argval)
        return f"{name}.{second.argval}" if held is like else ""
    return ""
