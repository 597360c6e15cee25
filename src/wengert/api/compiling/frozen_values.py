"""What recording a function changes outside of it, and computes with: it would stay as it was when
the function was recorded.
"""

from __future__ import annotations

import reprlib
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import count
from operator import length_hint
from types import GeneratorType
from typing import Any, TypeAlias

import numpy as np

from wengert.api.by_hand.graph import Graph
from wengert.core.tensor import Tensor
from wengert.core.words.warn import warn_user
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
    MISSING,
    SET_SIZE,
    Contents,
    Place,
    checksum,
    is_plain,
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


class Outside:
    """What a function could read beside its arguments, before it is recorded."""

    def __init__(self, captures: Captures) -> None:
        self._captures = captures
        self._sums = {
            key: checksum(x)
            for key, (_, x) in captures.arrays.items()
            if x.flags.writeable and not x.dtype.hasobject
        }
        found = [each for each in captures.places if isinstance(each.value, Iterator)]
        self._iterators = [(each, _position(each.value)) for each in found]

    def require_no_tensors(self, by: str) -> None:
        """Refuse that recording left a Tensor where the function reads: it would be used once."""
        for place in self._captures.places:
            now = place.read() if place.kind in _WRITTEN else None
            if now is place.value or isinstance(place.container, Contents):
                continue
            if _holds_tensor(now, _DEPTH):
                _put_back(place)  # let the next try find what this one found
                line = line_of_change(self._captures, place)
                raise TraceError(
                    f"{by}: the function left a Tensor in {place.label}, which it reads; it is "
                    "recorded once, and every call would have what was there then. Pass the value "
                    "as an argument and return the new one, or carry it: state= of a TrainStep, "
                    f"the carry of wg.scan.{'' if line is None else f' ({line})'}"
                )

    def warn(self, by: str, graph: Graph, record: Callable[[], Graph]) -> None:
        """Warn where the program would be another one with what recording has changed. Who merely
        counts how often a function is recorded means no harm, and has the right count.
        """
        for place, then in self._iterators:
            if _position(place.value) != then:
                self._say(by, f"took items from the iterator {place.label}", place)
                return
        changes = [*self._values(), *self._sizes(), *self._arrays()]
        first = next((each for each in changes if each.read), None)
        if first is not None and self._depends(graph, record, changes):
            told = f"changed {first.label} {first.told}, and what it computes depends on that"
            self._say(by, told, first.place)
            return
        for each in changes:  # a later value may decide otherwise than these two
            line = each.place and line_of_decision(self._captures, each.place)
            if line:
                self._say(
                    by, f"changed {each.label} {each.told}, and decides by it ({line})", each.place
                )
                return

    def _say(self, by: str, done: str, place: Place | None) -> None:
        warn_user(
            f"{by}: recording the function {done}; it is recorded once, and every call has the "
            "value of then. Pass it as an argument (a Python number costs no compile), or carry it "
            "as state.",
            FrozenValueWarning,
            None if place is None else line_of_change(self._captures, place),
        )

    def _depends(
        self, graph: Graph, record: Callable[[], Graph], changes: Sequence[_Change]
    ) -> bool:
        try:
            return graph_parts(record()) != graph_parts(graph)
        except TraceError:  # a Tensor that the first recording left in a list
            return True
        except Exception:  # it cannot be recorded twice, or not be compared
            return False
        finally:
            for each in changes:
                each.restore()

    def _values(self) -> Iterator[_Change]:
        for place in self._captures.places:
            if place.kind not in _WRITTEN or isinstance(place.container, Contents):
                continue
            now = place.read()
            values = _is_value(place.value) and _is_value(now) and now is not MISSING
            if values and not place.renew():
                told = f"from {_shown(place.value)} to {_shown(now)}"
                yield _Change(place.label, told, _writing(place, now), place)

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


def _put_back(place: Place) -> None:
    if place.value is not MISSING:
        place.write(place.value)
    elif place.kind == ITEM:
        place.container.pop(place.key, None)


def _is_value(x: Any) -> bool:
    return is_plain(x) or isinstance(x, np.ndarray)


def _shown(x: Any) -> str:
    return f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else reprlib.repr(x)


def _writing(place: Place, value: Any) -> Callable[[], object]:
    return lambda: place.write(value)


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


def _position(x: Any) -> Any:
    """Where an iterator stands, as far as Python tells."""
    if isinstance(x, GeneratorType):
        frame = x.gi_frame
        held = {} if frame is None else frame.f_locals
        return frame and frame.f_lasti, {name: id(value) for name, value in held.items()}
    if isinstance(x, count):
        return repr(x)
    if hasattr(x, "__length_hint__"):
        return length_hint(x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _mark(x.__reduce__()[1:])
    except Exception:  # it does not say
        return None


def _mark(x: Any) -> Any:
    """What stands for a part of an iterator: numbers by value, and others by what they are."""
    if isinstance(x, tuple):
        return tuple(map(_mark, x))
    if isinstance(x, Iterator):
        return _position(x)
    return x if isinstance(x, int | None) else id(x)
