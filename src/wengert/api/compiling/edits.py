"""Functions that were written anew: a person edits one that a program reads from outside, as in a
notebook, and goes on. Functions that a loop makes have the code of before.
"""

from __future__ import annotations

from typing import Any

from wengert.api.compiling.differences import FORM, PLACES, REPAIRS, ReadValue

REMEMBERED = 64  # codes


class Edits:
    """The functions that the programs of a function read from outside."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Any], Any] = {}  # which one it is, by its name and code

    def note(self, described: dict[str, Any]) -> None:
        """Note those that a new program reads."""
        for name, x in described.items():
            if isinstance(x, ReadValue) and x.code is not None:
                self._known[name, x.code] = x.which
        for oldest in list(self._known)[:-REMEMBERED]:
            self._known.pop(oldest, None)

    def is_one(self, before: dict[str, Any], now: dict[str, Any]) -> bool:
        """Whether a program was made because functions have code that there was not before, and
        because of nothing else. What such a function reads may be new as well.
        """
        if any(before[each] != now[each] for each in (FORM, PLACES, REPAIRS)):
            return False
        changed = [name for name in now if name in before and before[name] != now[name]]
        return bool(changed) and all(self.is_new(name, before[name], now[name]) for name in changed)

    def is_new(self, name: str, before: Any, now: Any) -> bool:
        """Whether a place had a function, and has one whose code it did not have before."""
        if not isinstance(now, ReadValue) or not isinstance(before, ReadValue):
            return False
        if now.code is None or before.code is None or now.code == before.code:
            return False
        return bool(self._known.get((name, now.code), now.which) == now.which)
