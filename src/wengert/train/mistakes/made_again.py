"""Steps and bound functions that a loop makes anew in every turn, calls once and throws away: each
compiles again, and the optimizer of a step begins again.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Hashable, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

from wengert.api.compiling.making_places import is_run_again, making_place
from wengert.api.compiling.met import PATIENCE
from wengert.api.compiling.written_functions import users_function
from wengert.core.words.warn import warn_user
from wengert.errors import ProgramsWarning
from wengert.runtime.outside.users_code import is_users_file

REMEMBERED = 16  # places of programs where steps are made
_PACKAGE = __name__.partition(".")[0]
_CONSTRUCTING = (f"{_PACKAGE}.train.", f"{_PACKAGE}.core.")  # between a program and its new step
_RUNNERS = ("_pytest", "unittest")  # each test is a call of its own, and no turn of a loop

Counts = np.ndarray[Any, Any]
Calls = Callable[[], int]  # how often something was called, which outlives it


class _MadeAtPlaces:
    """The latest that were made at each place, with their calls. None where somebody was told."""

    def __init__(self) -> None:
        self._made: dict[Hashable, list[tuple[weakref.ref[Any], Calls]] | None] = {}

    def are_in_vain(self, key: Hashable, made: Any, calls: Calls) -> bool:
        """Note what was made; whether two before it were made at the same place and called once
        each, and the first is not there any more, for the first time. A cell of a notebook that a
        person runs again makes none in vain.
        """
        known = self._made.pop(key, [])
        before = (known or [])[1 - PATIENCE :]
        in_vain = (
            len(before) == PATIENCE - 1
            and all(count() == 1 for _, count in before)
            and before[0][0]() is None
            and is_run_again(making_place())
        )
        told = known is None or in_vain
        self._made[key] = None if told else [*before, (weakref.ref(made), calls)]
        for oldest in list(self._made)[:-REMEMBERED]:
            self._made.pop(oldest, None)
        return in_vain


_steps = _MadeAtPlaces()


def note_step(step: Any, loss: Any, calls: Counts, leaves: Sequence[Any], compiled: bool) -> None:
    """Note a new step, the array that its calls are counted in, the leaves of its model, and
    whether it compiles. Where those before it, which are alike, were made in vain, say so: once.
    """
    written, place = users_function(loss), _place()
    if written is None or place is None:
        return
    form = tuple((np.shape(x), getattr(x, "dtype", None)) for x in leaves)
    if _steps.are_in_vain((place, written.__code__, form), step, lambda: int(calls[0])):
        compiles = "each compiles again, and " if compiled else ""
        warn_user(
            "TrainStep: a third one alike is made at this line, and those before were called once; "
            f"{compiles}the states of its optimizer, as the moments of Adam, begin again. "
            "Make the step once, before the loop, and call it in the loop.",
            ProgramsWarning,
        )


class BoundAgain:
    """The functions with random numbers that one step has bound: each compiles by itself."""

    def __init__(self) -> None:
        self._bound = _MadeAtPlaces()

    def note(self, bound: Any, f: Any, calls: Calls) -> None:
        """Note a new one. Where those before it were bound in vain, say so: once."""
        written, place = users_function(f), _place()
        if written is None or place is None:
            return
        if self._bound.are_in_vain((place, written.__code__), bound, calls):
            name = getattr(written, "__name__", "f")
            warn_user(
                f"TrainStep.bind: {name} is bound a third time at this line, and what bind gave "
                "before was called once; a function with a parameter rng compiles again each time. "
                "Write bound = step.bind(…) once, before the loop, and call bound(…) in the loop.",
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
