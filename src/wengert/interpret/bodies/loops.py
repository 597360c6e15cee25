"""Which loops are being recorded or run: what is drawn inside one must differ from step to step.

A generator that is older than a loop folds the loop's index into its keys. The loop then has its
index as one more of its xs; loops in which nothing is drawn have none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wengert.core.bind import recording_level
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.words.source import is_users
from wengert.interpret.mistakes.widening import place_of


class IndexNeeded(BaseException):
    """Something inside a loop needs its index; the loop catches this and begins again with one.

    A BaseException so that a user's ``except Exception`` cannot swallow it.
    """

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop)
        self.loop = loop


class Loop:
    """A loop whose body runs, or is recorded, now."""

    def __init__(self, steps_of: Callable[..., Any] | None = None) -> None:
        """`steps_of` is the function of a loop over time, where keys should differ."""
        self.index: Any = None  # of the step, where the loop has it
        code = getattr(steps_of, "__code__", None)
        self._is_watched = code is not None and is_users(code)  # one of ours knows what it does
        self._around, self._body = recording_level(), recording_level()
        self._starts: dict[int, tuple[Any, int]] = {}  # sites of generators before the body
        self._ends: dict[int, int] = {}  # and behind all that they drew in it
        self._begun: set[int] = set()  # generators that have drawn in this run of the body

    def body(self, function: Callable[..., Any], indexed: bool) -> Callable[[Any, Any], Any]:
        """The function of a loop, with this loop around it."""

        def run(carry: Any, x: Any) -> Any:
            x, self.index = x if indexed else (x, None)
            self._begun.clear()
            self._body = recording_level()
            _open.loops.append(self)
            try:
                return function(carry, x)
            finally:
                _open.loops.remove(self)

        return run

    def is_same_in_steps(self, key: Any) -> bool:
        """Whether a key from outside is used directly in the body while that is recorded, once for
        all steps. Says so once.
        """
        body = self._body
        if not self._is_watched or body is None or body is self._around:
            return False
        place = place_of(key)
        if place is not None and place[0].number >= body.number:
            return False
        self._is_watched = False
        return True

    def site(self, generator: Any, sites: int) -> int:
        """The site a generator goes on from: every run of the body begins with the same one."""
        if _before.value is not None:
            _before.value.setdefault(id(generator), (generator, generator.sites))
        if id(generator) not in self._begun:
            self._begun.add(id(generator))
            sites = self._starts.setdefault(id(generator), (generator, sites))[1]
        self._ends[id(generator)] = max(self._ends.get(id(generator), 0), sites + 1)
        return sites

    def leave_behind(self) -> None:
        """Let generators go on behind all that was drawn, whichever function drew last."""
        for generator, _ in self._starts.values():
            generator.sites = max(generator.sites, self._ends[id(generator)])


class _Open(threading.local):
    def __init__(self) -> None:
        self.loops: list[Loop] = []


_open = _Open()
_before = Meanwhile[dict[int, tuple[Any, int]]]()  # sites of generators that draw in loops


@contextmanager
def sites_put_back() -> Iterator[None]:
    """Let generators go on behind this as if they had not drawn inside of loops meanwhile."""
    with _before.said({}) as drawn:
        try:
            yield
        finally:
            for generator, sites in drawn.values():
                generator.sites = sites


def open_loops() -> list[Loop]:
    """The loops around this place, the outermost first."""
    return list(_open.loops)


def indices(loops: list[Loop]) -> list[Any]:
    """Their indices; a loop that has none begins again."""
    for loop in loops:
        if loop.index is None:
            raise IndexNeeded(loop)
    return [loop.index for loop in loops]
