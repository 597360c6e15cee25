"""What recording a function changes outside of it, and computes with: it would stay as it was when
the function was recorded.
"""

from __future__ import annotations

import reprlib
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from wengert.api.by_hand.graph import Graph
from wengert.core.tensor import Tensor
from wengert.core.values.iterators import position
from wengert.core.words.articles import a_kind
from wengert.core.words.warn import no_warnings, warn_user
from wengert.errors import FrozenValueWarning, TraceError
from wengert.runtime.caching.cache_key import graph_parts
from wengert.runtime.outside.captures import Captures
from wengert.runtime.outside.code_lines import line_of_change, line_of_decision
from wengert.runtime.outside.reads import only_added_to
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    CELL,
    DICT_SIZE,
    ELEMENT,
    ITEM,
    LIST_SIZE,
    SET_SIZE,
    Contents,
    Place,
    checksum,
    is_plain,
    is_unchanged,
)

Array: TypeAlias = np.ndarray[Any, Any]
_WRITTEN = (ITEM, CELL, ATTRIBUTE, ELEMENT)  # places that an assignment writes to
_SIZES = (LIST_SIZE, DICT_SIZE, SET_SIZE)
_DEPTH = 3  # of containers that are searched for Tensors


@dataclass(frozen=True)
class _Change:
    """What recording changed, in words, and how to have it again as it is now."""

    label: str
    told: str
    restore: Callable[[], object]
    place: Place | None = None
    read: bool = True  # whether something else is done with it than to add to it

    def goes_on(self, now: Any) -> bool:
        """Whether another recording has changed it again; `now` was there before that."""
        return self.place is not None and not is_unchanged(self.place.read(), now)


class Outside:
    """What a function could read beside its arguments, before it is recorded."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures
        self.is_told = False  # whether the loop that changes it has said so
        self._sums = {
            key: checksum(x)
            for key, (_, x) in captures.arrays.items()
            if x.flags.writeable and not x.dtype.hasobject
        }
        self._iterators = [(label, x, position(x)) for label, x in captures.iterators]

    def require_no_tensors(self, by: str) -> None:
        """Refuse that recording left a Tensor where the function reads: it would be used once."""
        for place in self._captures.places:
            now = place.read() if place.kind in _WRITTEN else None
            if now is place.value or isinstance(place.container, Contents):
                continue
            if _holds_tensor(now, _DEPTH):
                place.write(place.value)  # let the next try find what this one found
                line = line_of_change(self._captures, place)
                raise TraceError(
                    f"{by}: the function left a Tensor in {place.label}, which it reads; it is "
                    "recorded once, and every call would have what was there then. Make an object "
                    "that begins anew in each call inside of the function; what goes on from call "
                    "to call, pass as an argument and return the new one, or carry it: state= of a "
                    f"TrainStep, the carry of wg.scan.{'' if line is None else f' ({line})'}"
                )

    def settled(
        self,
        by: str,
        graph: Graph,
        record: Callable[[], Graph],
        walk_again: Callable[[], Captures],
    ) -> list[Place]:
        """The places to be compared in later calls, with what they are to have. What recording has
        changed is recorded with once more: what that leaves alone was made by the first recording
        (a lazy attribute, a default that was filled in), and is compared as it is now. What it
        changes again is a trace of recordings. Warns where the program would be another one: who
        merely counts how often a function is recorded means no harm, and has the right count.
        """
        for label, iterator, then in self._iterators:
            if position(iterator) != then:
                place = next((p for p in self._captures.places if p.value is iterator), None)
                self._say(by, f"took items from the iterator {label}", place, "each item")
                return self._captures.settled()
        changes = [*self._values(), *self._sizes(), *self._arrays()]
        first = next((each for each in changes if each.read), None)
        if first is None:
            self._warn_of_decisions(by, changes)
            return self._captures.settled()
        after = walk_again()
        now = [None if each.place is None else each.place.read() for each in changes]
        depends = self._depends(graph, record)
        going_on = [each for each, x in zip(changes, now, strict=True) if each.goes_on(x)]
        places = after.settled()
        for each in changes:
            each.restore()
        if depends:
            told = f"changed {first.label} {first.told}, and what it computes depends on that"
            self._say(by, told, first.place)
        else:
            self._warn_of_decisions(by, going_on)
        return places

    def _warn_of_decisions(self, by: str, changes: Sequence[_Change]) -> None:
        for each in changes:  # a later value may decide otherwise than these two
            line = each.place and line_of_decision(self._captures, each.place)
            if line:
                self._say(
                    by, f"changed {each.label} {each.told}, and decides by it ({line})", each.place
                )
                return

    def _say(self, by: str, done: str, place: Place | None, what: str = "it") -> None:
        if self.is_told:
            return
        warn_user(
            f"{by}: recording the function {done}; it is recorded once, and every call has the "
            f"value of then. Pass {what} as an argument (a Python number costs no compile), or "
            "carry it as state.",
            FrozenValueWarning,
            None if place is None else line_of_change(self._captures, place),
        )

    def _depends(self, graph: Graph, record: Callable[[], Graph]) -> bool:
        try:
            with no_warnings():  # the first recording has warned
                return graph_parts(record()) != graph_parts(graph)
        except TraceError:  # a Tensor that the first recording left in a list
            return True
        except Exception:  # it cannot be recorded twice, or not be compared
            return False

    def _values(self) -> Iterator[_Change]:
        for place in self._captures.places:
            if place.kind not in _WRITTEN or isinstance(place.container, Contents):
                continue
            if not place.renew():
                now = place.read()
                told = f"from {_shown(place.value)} to {_shown(now)}"
                yield _Change(place.label, told, partial(place.write, now), place)

    def _sizes(self) -> Iterator[_Change]:
        """Containers that have more or fewer items."""
        for place in self._captures.places:
            inside = isinstance(place.container, Contents)
            if not (inside or place.kind in _SIZES) or place.renew():
                continue
            label = place.label.removeprefix("len(").removesuffix(")")
            read = not only_added_to(self._captures.codes, label)
            x = place.container.x if inside else place.container
            told = f"from {place.value} to {len(x)}" if not inside else "while it ran"
            yield _Change(place.label, told, _refilling(x), place, read)

    def _arrays(self) -> Iterator[_Change]:
        for key, before in self._sums.items():
            name, x = self._captures.arrays[key]
            if checksum(x) != before:
                yield _Change(f"array {name!r}", "in place", _copying(x, x.copy()))


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape}"
    return reprlib.repr(x) if is_plain(x) else f"{a_kind(x)}"


def _copying(x: Array, content: Array) -> Callable[[], object]:
    return lambda: np.copyto(x, content)


def _refilling(x: Any) -> Callable[[], object]:
    """What makes a container hold again what it holds now."""
    if isinstance(x, ContextVar):
        return partial(x.set, x.get(None))
    if isinstance(x, np.ndarray):
        return _copying(x, x.copy())
    content = x[:] if isinstance(x, array) else x.copy()

    def refill() -> None:
        if isinstance(x, list | bytearray | array):
            x[:] = content
            return
        x.clear()
        (x.extend if isinstance(x, deque) else x.update)(content)

    return refill


def _holds_tensor(x: Any, depth: int) -> bool:
    if type(x) is Tensor:
        return True
    if depth == 0 or not isinstance(x, dict | list | tuple):
        return False
    inside = x.values() if isinstance(x, dict) else x
    return any(_holds_tensor(each, depth - 1) for each in inside)
