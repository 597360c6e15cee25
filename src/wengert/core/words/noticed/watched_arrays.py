"""Watched arrays: those that somebody wants to hear of where they are computed with, as the weights
that a step was made with, of which it trains a copy.

Calls that are evaluated at once are asked about, and the programs of `wg.compile`. A program does
not look at its arguments one by one; it is remembered as a reader, and asked again when there may
be something to tell.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


class Reader(Protocol):
    """A program that was called with a watched array, or has one as a constant."""

    def ask_again(self) -> None:
        """Let the next call take the slow path, which notes what it reads."""


class _WatchedArray:
    def __init__(self, x: Array) -> None:
        number = id(x)
        self.array = weakref.ref(x, lambda _: watched_arrays.pop(number, None))
        # What is called where it is read, by who watches; says whether nothing is left to tell.
        self.tells: dict[str, Callable[[], bool]] = {}
        self.readers: weakref.WeakSet[Any] = weakref.WeakSet()


watched_arrays: dict[int, _WatchedArray] = {}  # by id; mostly none, so asked first


def watch_reads(x: Array, who: str, tell: Callable[[], bool]) -> None:
    """Have something called where an array is read, until it says that nothing is left to tell, or
    the same one watches for something else.
    """
    watched = watched_arrays.get(id(x))
    if watched is None or watched.array() is not x:
        watched = watched_arrays[id(x)] = _WatchedArray(x)
    watched.tells[who] = tell


def forget_watches(values: Iterable[Any], who: str) -> None:
    """Let one watch these no longer."""
    for x in values if watched_arrays else ():
        watched = watched_arrays.get(id(x))
        if watched is not None and watched.array() is x:
            watched.tells.pop(who, None)
            _forget_if_done(x, watched)


def note_reads(values: Iterable[Any], reader: Reader | None = None) -> None:
    """Tell whoever watches some of these that they are read, by a program or at once."""
    for x in values:
        watched = watched_arrays.get(id(x))
        if watched is None or watched.array() is not x:
            continue
        if reader is not None:
            watched.readers.add(reader)
        for who, tell in list(watched.tells.items()):
            if tell():
                watched.tells.pop(who, None)
        _forget_if_done(x, watched)


def _forget_if_done(x: Any, watched: _WatchedArray) -> None:
    if not watched.tells:
        watched_arrays.pop(id(x), None)


def ask_readers_again(x: Array) -> None:
    """Let the programs that read an array say so in their next call."""
    watched = watched_arrays.get(id(x))
    for reader in [] if watched is None else list(watched.readers):
        reader.ask_again()
