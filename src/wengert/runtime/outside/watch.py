"""Watch: what a program took from outside its arguments when it was recorded, to be compared with
what is there now.

Places (a global, a variable of a closure, an attribute, an item) are compared in every call, by
machine code and by identity; where another object is found, Python compares by value. So are a few
words of each array. The whole of arrays have checksums, which are compared in calls 1, 2, 4, 8, …,
from then on about every tenth of a second, or in every 65536th call, and where somebody asks; those
of live arrays in every call, and all from the one on in which one of them was found changed.
"""

from __future__ import annotations

import reprlib
import time
import weakref
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.lib.array_utils import byte_bounds

from wengert.core.trees.same import same
from wengert.core.words.source import Line
from wengert.errors import TraceError
from wengert.runtime.outside.live import is_rewritten
from wengert.runtime.outside.sampled_words import PER_PROGRAM, SampledWord, sampled_words

# Kinds of places: the value of a key in a dict, what a cell holds, an attribute, an element of a
# list, and how many there are in a dict, a list or a set; whether something is in a set.
ITEM, CELL, ATTRIBUTE, ELEMENT, DICT_SIZE, LIST_SIZE, SET_SIZE, MEMBER = range(8)
# Of gates alone, which Python does not look at: what an object has so many bytes from its
# beginning.
FIELD = 8
# Whether a dict has the same objects as another one, under the same keys and in the same order. No
# key is hashed for that, so that keys may be of any type.
SAME_ITEMS = 9
Array: TypeAlias = np.ndarray[Any, Any]
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "nothing"})()
MOST_CALLS = 2**16  # from one look at the arrays to the next
MOST_SECONDS = 0.1  # the same, where looks take next to no time beside that
LEAST_WORK = 200  # how much longer than a look the time between two is, at least
_PLAIN = (int, float, str, bytes, complex, type(None), np.generic, np.dtype)


@dataclass(slots=True)
class Place:
    """Where a function can read a value, and what was there."""

    kind: int
    container: Any
    key: Any
    value: Any  # of SAME_ITEMS: a dict that is this place's own
    label: str  # what messages call it
    owner: type | None = None  # the class whose attributes are in `container`
    repair: str = ""  # what to do about many values, where the class of an object says so

    @property
    def which(self) -> tuple[int, int, int]:
        """The same of two places that two walks have found, where these are one."""
        inside = isinstance(self.container, Contents)
        return self.kind, id(self.container.x if inside else self.container), id(self.key)

    def read(self) -> Any:
        """What is there now."""
        container, key = self.container, self.key
        if self.kind == ITEM:
            return dict.get(container, key, MISSING)
        if self.kind == CELL:
            try:
                return container.cell_contents
            except ValueError:
                return MISSING
        if self.kind == ATTRIBUTE:
            return attribute_of(container, key)
        if self.kind == ELEMENT:
            return container[key] if key < len(container) else MISSING
        if self.kind == SAME_ITEMS:
            return dict(dict.items(container))
        return key in container if self.kind == MEMBER else len(container)

    def write(self, value: Any) -> None:
        """Assign to the place, or let nothing be there; not to one that says how many there are."""
        if value is MISSING:
            self._remove()
        elif self.kind == CELL:
            self.container.cell_contents = value
        elif self.kind == ATTRIBUTE or self.owner is not None:
            setattr(self.owner or self.container, self.key, value)
        else:
            self.container[self.key] = value

    def _remove(self) -> None:
        if self.read() is MISSING:
            return
        if self.kind == CELL:
            del self.container.cell_contents
        elif self.kind == ATTRIBUTE or self.owner is not None:
            delattr(self.owner or self.container, self.key)
        elif self.kind == ITEM:
            del self.container[self.key]

    def renew(self) -> bool:
        """Whether the place has what it had. A plain value that is equal, but another object, is
        remembered in its stead.
        """
        now = self.read()
        if self.kind == SAME_ITEMS:
            return self._renew_items(now)
        if now is self.value:
            return True
        if not is_plain(now) or not same(now, self.value):
            return False
        self.value = now
        return True

    def _renew_items(self, now: dict[Any, Any]) -> bool:
        if self.first_difference(now) is not MISSING:
            return False
        self.value.clear()  # and no new dict: machine code has the address of this one
        self.value.update(now)
        return True

    def first_difference(self, now: dict[Any, Any]) -> Any:
        """The first key by which items are others than they were, or MISSING."""
        for (key, value), (key_then, then) in zip(now.items(), self.value.items(), strict=False):
            if not (is_unchanged(key, key_then) and is_unchanged(value, then)):
                return key
        more = len(now) - len(self.value)
        longer = now if more > 0 else self.value
        return list(longer)[-abs(more)] if more else MISSING


def attribute_of(x: Any, name: str) -> Any:
    """An attribute, or MISSING; a `__getattr__` of the user's may raise anything."""
    try:
        return getattr(x, name, MISSING)
    except Exception:
        return MISSING


def is_plain(x: Any) -> bool:
    """Whether a value can never change, and neither can anything inside it."""
    if isinstance(x, tuple | frozenset):
        return all(map(is_plain, x))
    return isinstance(x, _PLAIN) or x is MISSING


def item_label(label: str, key: Any) -> str:
    """What messages call an item; none of the user's code is called for that."""
    if isinstance(key, Enum):
        return f"{label}[{type(key).__name__}.{key._name_}]"
    if isinstance(key, type):
        return f"{label}[{key.__name__}]"
    return f"{label}[{reprlib.repr(key) if is_plain(key) else type(key).__name__}]"


class Contents:
    """Something that machine code cannot look into, and a tuple of what was in it."""

    def __init__(self, x: Any, read: Callable[[Any], tuple[Any, ...]]) -> None:
        self.x, self._read = x, read
        self._known = read(x)

    @property
    def held(self) -> tuple[Any, ...]:
        """What is in it, as a tuple: the very tuple of the beginning for as long as nothing has
        changed.
        """
        now = self._read(self.x)
        alike = len(now) == len(self._known) and all(map(is_unchanged, now, self._known))
        return self._known if alike else now


def is_unchanged(now: Any, before: Any) -> bool:
    """Whether a place that had one object and has another one has the same value."""
    return now is before or (is_plain(now) and same(now, before))


class Captured:
    """An array that a program may depend on, and what was in it. The array is not kept alive."""

    _what = "array"

    def __init__(self, x: Array, name: str, line: Line | None, by: str, certain: bool) -> None:
        self.name, self.line, self._by = name, line, by
        self.live = is_rewritten(x)
        self.certain = certain  # whether it is a constant of the program
        self._owner = weakref.ref(owner_of(x))
        self._place = _Memory(x.__array_interface__)
        self._checksum = checksum(x)
        self.sample: Sequence[SampledWord] = () if self.live else sampled_words(x)

    @property
    def is_there(self) -> bool:
        """Whether the array still exists."""
        return self._owner() is not None

    @property
    def owner(self) -> Array | None:
        """The array whose memory it is, if it still exists."""
        return self._owner()

    def is_part_of(self, arrays: Sequence[Array]) -> bool:
        """Whether its memory is that of one of these."""
        owner = self._owner()
        return owner is not None and any(owner is x for x in arrays)

    @property
    def changed(self) -> bool:
        owner = self._owner()  # nothing is freed meanwhile
        return owner is not None and checksum(np.asarray(self._place)) != self._checksum

    @property
    def touched(self) -> bool:
        """Whether the words that are compared in every call are others than they were."""
        owner = self._owner()
        return owner is not None and any(word.changed for word in self.sample)

    def when_gone(self, call: Callable[[Any], None]) -> weakref.ref[Array] | None:
        """Have something called when the array ceases to exist, if the reference still does; None
        where it has.
        """
        owner = self._owner()
        return None if owner is None else weakref.ref(owner, call)

    def refuse(self) -> NoReturn:
        name = f"{self._what} {self.name!r}" if self.name else f"an {self._what}"
        line = "" if self.line is None else f" ({self.line})"
        raise TraceError(
            f"{self._by}: {name} was changed after the function that uses it was recorded; the "
            f"program has its old numbers. Pass it as an argument.{line}"
        )


class _Memory:
    """Where an array lies, without the array."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


def owner_of(x: Array) -> Array:
    """The array whose memory it is."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def lies_in(part: Array, whole: Array) -> bool:
    """Whether an array is another one, or a part of its memory."""
    if owner_of(part) is not owner_of(whole) or not part.size:
        return False
    (low, high), (begin, end) = byte_bounds(part), byte_bounds(whole)
    return begin <= low and high <= end


def checksum(x: Array) -> int:
    """What tells whether the numbers of an array are others than before."""
    return zlib.crc32(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)


class Watch:
    """What one program took from outside its arguments."""

    def __init__(self, places: Sequence[Place] = (), arrays: Sequence[Captured] = ()) -> None:
        self.places, self.arrays = places, arrays
        self.calls = 1  # calls from the last look at the arrays to the next
        self._distrusted = False  # whether an array was once found changed
        self._found_changed = False  # whether one was in the last look
        self._taken = 0.0  # seconds of the last look
        self._looked = time.perf_counter()  # when a look was due
        self.sampled = _first_samples(arrays)  # those of which words are compared in every call

    def owners(self) -> list[Array]:
        """The arrays whose memory the constants of the program are, as far as they exist."""
        owners = [each.owner for each in self.arrays if each.certain]
        return [x for x in owners if x is not None]

    def holds(self) -> bool:
        """Whether all places have what they had."""
        return all(place.renew() for place in self.places)

    def held_in_last_look(self) -> bool:
        """Whether all places have what they had, and the arrays had it when they were last looked
        at.
        """
        return not self._found_changed and self.holds()

    def broken_place(self) -> Place | None:
        """A place that has something else now."""
        return next((place for place in self.places if not place.renew()), None)

    def broken(self) -> str | None:
        """What messages call a place, or an array, that has something else now."""
        place = self.broken_place()
        if place is None:
            return next((each.name for each in self.arrays if each.changed), None)
        if place.kind == SAME_ITEMS:
            return item_label(place.label, place.first_difference(place.read()))
        return place.label

    def look(self) -> bool:
        """Whether the captured arrays have what they had. Raises where an array that is certainly
        part of the program was changed.
        """
        begin = time.perf_counter()
        self.arrays = [each for each in self.arrays if each.is_there]
        changed = [each for each in self.arrays if each.changed]
        self._taken = time.perf_counter() - begin
        self._found_changed = bool(changed)
        if changed:  # somebody writes to it: from now on it is looked at in every call
            self._distrusted, self.calls = True, 1
        for each in changed:
            if each.certain:
                each.refuse()
        return not changed

    def wait_longer(self) -> None:
        """Let more calls pass before the next look: this one was due, and found nothing changed.
        After some time there is one in any case.
        """
        since, self._looked = self._looked, time.perf_counter()
        if not (self._distrusted or any(each.live for each in self.arrays)):
            wanted = max(MOST_SECONDS, LEAST_WORK * self._taken)
            in_time = self.calls * wanted / max(self._looked - since, 1e-9)
            self.calls = max(1, int(min(2 * self.calls, in_time, MOST_CALLS)))

    @property
    def touched(self) -> bool:
        """Whether an array has other words than it had, among those compared in every call."""
        return any(each.touched for each in self.sampled)

    def require_unchanged(self) -> None:
        """Recording again has given another program. Where that is because a captured array was
        changed some time ago, refuse to go on: results since then may be wrong.
        """
        for each in self.arrays:
            if each.changed:
                each.refuse()


def _first_samples(arrays: Sequence[Captured]) -> list[Captured]:
    """The arrays whose words are compared in every call: constants of the program come first, and
    there are not too many.
    """
    sampled: list[Captured] = []
    words = 0
    for each in sorted(arrays, key=lambda each: not each.certain):
        words += len(each.sample)
        if words > PER_PROGRAM:
            break
        sampled.append(each)
    return sampled
