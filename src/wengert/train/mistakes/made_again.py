"""Steps that a loop makes anew in every turn, calls once and throws away: each compiles again, and
the optimizer begins again.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Hashable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from wengert.api.compiling.met import PATIENCE, users_function
from wengert.core.words.warn import warn_user
from wengert.errors import ProgramsWarning
from wengert.runtime.outside.users_code import is_users_file

REMEMBERED = 16  # places of programs where steps are made
_PACKAGE = __name__.partition(".")[0]
_CONSTRUCTING = (f"{_PACKAGE}.train.", f"{_PACKAGE}.core.")  # between a program and its new step
_RUNNERS = ("_pytest", "unittest")  # each test is a call of its own, and no turn of a loop

Counts = np.ndarray[Any, Any]
# The latest steps that were made at a place, each with the number of its calls, which outlives it.
# None where somebody was told.
_made: dict[Hashable, list[tuple[weakref.ref[Any], Counts]] | None] = {}


def note_step(step: Any, loss: Any, calls: Counts, leaves: Sequence[Any]) -> None:
    """Note a new step, the array that its calls are counted in, and the leaves of its model. Where
    two before it are alike, were made at the same place and called once each, and the first is not
    there any more, say so: once.
    """
    written, place = users_function(loss), _place()
    if written is None or place is None:
        return
    form = tuple((np.shape(x), getattr(x, "dtype", None)) for x in leaves)
    key = (place, written.__code__, form)
    known = _made.pop(key, [])
    before = (known or [])[1 - PATIENCE :]
    in_vain = (
        len(before) == PATIENCE - 1
        and all(int(count[0]) == 1 for _, count in before)
        and before[0][0]() is None
    )
    told = known is None or in_vain
    _made[key] = None if told else [*before, (weakref.ref(step), calls)]
    for oldest in list(_made)[:-REMEMBERED]:
        _made.pop(oldest, None)
    if in_vain:
        warn_user(
            "TrainStep: a third one alike is made at this line, and those before were called once; "
            "each compiles again, and the states of its optimizer, as the moments of Adam, begin "
            "again. Make the step once, before the loop, and call it in the loop.",
            ProgramsWarning,
        )


def _place() -> tuple[tuple[CodeType, int], ...] | None:
    """The lines that are under way in the user's program; None where a part of Wengert, or another
    library, makes the step, and in tests, which make many for one call.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _module(frame).startswith(_CONSTRUCTING):
        frame = frame.f_back
    if frame is None or not is_users_file(frame.f_code.co_filename):
        return None
    lines = []
    while frame is not None:
        if _module(frame).partition(".")[0] in _RUNNERS:
            return None
        if is_users_file(frame.f_code.co_filename):
            lines.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(lines)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))
