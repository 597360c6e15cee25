"""Functions that a loop makes anew around another number from outside: each compiles a program of
its own, and where it is thrown away after a few calls, compiling is what takes the time.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.api.compiling.differences import ReadValue, is_silent
from wengert.api.compiling.making_places import MakingPlace, is_run_again

FEW_CALLS = 10  # after which a program was hardly worth to be made
REMEMBERED = 64  # places
Calls = Callable[[], int]  # how often something was called, which outlives it


class ProgramUse:
    """How something that has programs is used: whether it is still there, and how often it was
    called. It outlives that. Where nobody says more, it is gone and was not called.
    """

    def __init__(self, calls: Calls | None = None) -> None:
        self._owner: weakref.ref[Any] | None = None
        self._calls = [] if calls is None else [calls]

    def belong_to(self, owner: Any) -> None:
        self._owner = weakref.ref(owner)

    def add(self, calls: Calls) -> None:
        """Count these calls as well."""
        self._calls.append(calls)

    def is_gone(self) -> bool:
        return self._owner is None or self._owner() is None

    def is_short(self) -> bool:
        """Whether there were few calls."""
        return sum(calls() for calls in self._calls) <= FEW_CALLS


class _Latest(NamedTuple):
    """Of functions that were made at one place, each around another number."""

    described: dict[str, Any]  # what the first program of the latest was made for
    uses: list[ProgramUse]  # of the latest ones
    is_told: bool
    is_searched: bool  # whether Python was asked what of all that is garbage


class SweptNumbers:
    """The functions whose first programs differ in numbers from outside alone."""

    def __init__(self, patience: int) -> None:
        self._others = patience - 1  # that are made in vain before somebody is told
        self._latest: dict[Any, _Latest] = {}  # by place and code

    def note(
        self, place: MakingPlace, code: Any, described: dict[str, Any], use: ProgramUse
    ) -> tuple[str | None, Any, bool]:
        """Note the first program of a function. The name of the number by which it differs from the
        latest of the same code that was made at this place, if it does by nothing else, what the
        number was, and whether to tell: once, where those before it were thrown away after a few
        calls. Those that train for long compile once each, and so do those that somebody keeps.
        """
        before = self._latest.pop((place, code), _Latest({}, [], False, False))
        name = _swept_number(before.described, described)
        uses = before.uses[-self._others :] if name else []
        told, searched = bool(name) and before.is_told, before.is_searched
        is_short = len(uses) == self._others and all(each.is_short() for each in uses)
        tells = is_short and not told and is_run_again(place)
        if tells and not searched and not _are_gone(uses) and gc.isenabled():
            gc.collect()  # an object whose step has its method as the loss refers to itself
            searched = True
        tells = tells and _are_gone(uses)
        self._latest[place, code] = _Latest(described, [*uses, use], told or tells, searched)
        for oldest in list(self._latest)[:-REMEMBERED]:
            self._latest.pop(oldest, None)
        return name, before.described.get(name or ""), tells


def _are_gone(uses: list[ProgramUse]) -> bool:
    return all(each.is_gone() for each in uses)


def _swept_number(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """The name of a float from outside, where nothing but such numbers differs, as far as words can
    tell: functions and arrays around it may have been made anew, too.
    """
    if before.keys() != now.keys():
        return None
    others = [name for name in now if before[name] != now[name]]
    others = [name for name in others if not is_silent(before[name], now[name])]
    swept = all(isinstance(now[name], ReadValue) and now[name].is_float for name in others)
    return others[0] if others and swept else None
