"""ContainerWalk: what is in containers that a function could read."""

from __future__ import annotations

import dataclasses
import gc
from abc import ABC, abstractmethod
from collections import ChainMap, OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from itertools import islice
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from wengert.runtime.outside.captures import Captures
from wengert.runtime.outside.noted_reads import repair_of
from wengert.runtime.outside.users_code import is_users_class
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    DICT_SIZE,
    ELEMENT,
    ITEM,
    LIST_SIZE,
    MEMBER,
    MISSING,
    SAME_ITEMS,
    SET_SIZE,
    Contents,
    Place,
    is_plain,
    item_label,
)

MOST_ITEMS = 64  # in a container that is compared item by item
_QUIET = (str, int, float, bool, complex, bytes, type(None))


class ContainerWalk(ABC):
    """A walk over containers, and what it has found so far."""

    followed: ClassVar[tuple[tuple[Any, Callable[[Any, Any, str], None]], ...]] = ()

    def __init__(self) -> None:
        self.captures = Captures()
        self._seen: dict[int, Any] = {}  # kept alive: an id must not be used again
        self._placed: set[tuple[int, int, int]] = set()

    def _place(
        self,
        kind: int,
        container: Any,
        key: Any,
        value: Any,
        label: str,
        owner: type | None = None,
        repair: str = "",
    ) -> None:
        if isinstance(value, ModuleType):  # nobody gives such a name to something else
            return
        which = kind, id(container), id(key)
        if which not in self._placed:
            self._placed.add(which)
            repair = repair or repair_of(value, label)
            self.captures.places.append(Place(kind, container, key, value, label, owner, repair))

    @abstractmethod
    def _value(self, x: Any, label: str) -> None:
        """Follow what is found at a place."""

    @abstractmethod
    def _instance(self, x: Any, label: str) -> None:
        """Follow an object by its attributes."""

    def _list(self, x: list[Any], label: str) -> None:
        self._place(LIST_SIZE, x, None, len(x), f"len({label})")
        self._note_size(x, label)
        for i, each in enumerate(x[:MOST_ITEMS]):
            self._place(ELEMENT, x, i, each, f"{label}[{i}]")
            self._value(each, f"{label}[{i}]")

    def _tuple(self, x: tuple[Any, ...] | frozenset[Any], label: str) -> None:
        """What cannot be exchanged, but may change in itself."""
        for i, each in enumerate(islice(x, MOST_ITEMS)):
            self._value(each, f"{label}[{i}]")
        if not all(map(is_plain, islice(x, MOST_ITEMS, None))):
            self.captures.left_out.append(label)

    def _dict(self, x: dict[Any, Any], label: str) -> None:
        few = len(x) <= MOST_ITEMS
        if few:
            self._place(SAME_ITEMS, x, None, dict(dict.items(x)), label)
        self._place(DICT_SIZE, x, None, len(x), f"len({label})")
        if isinstance(x, OrderedDict):  # it keeps its order in another place
            self._hold(Contents(x, _beginning), label)
        self._note_size(x, label)
        for key, value in list(dict.items(x))[:MOST_ITEMS]:
            name = item_label(label, key)
            if _is_quiet(key):
                self._place(ITEM, x, key, value, name)
            self._value(key, name)
            self._value(value, name)

    def _set(self, x: set[Any], label: str) -> None:
        self._place(SET_SIZE, x, None, len(x), f"len({label})")
        self._note_size(x, label)
        members = list(islice(x, MOST_ITEMS))
        for each in members:
            if _is_quiet(each):
                self._place(MEMBER, x, each, True, label)
            self._value(each, label)
        if not all(map(_is_quiet, members)):
            self._hold(Contents(x, _beginning), label)

    def _note_size(self, x: Any, label: str) -> None:
        if len(x) > MOST_ITEMS:
            self.captures.left_out.append(label)
        if is_users_class(type(x)):  # a class of the user's
            self._instance(x, label)

    def _contents(self, x: Any, label: str) -> None:
        """What machine code cannot open, but Python can look at."""
        contents = Contents(x, _beginning)
        if contents.held[0] > MOST_ITEMS:
            self.captures.left_out.append(label)
        self._hold(contents, label)
        for i, each in enumerate(contents.held[1:]):
            self._value(each, f"{label}[{i}]")

    def _context(self, x: ContextVar[Any], label: str) -> None:
        contents = Contents(x, lambda x: (x.get(MISSING),))
        self._hold(contents, label)
        self._value(contents.held[0], label)

    def _hold(self, contents: Contents, label: str) -> None:
        self._place(ATTRIBUTE, contents, "held", contents.held, label)

    def _proxy(self, x: Any, label: str) -> None:
        """A view of a dict, which others can change."""
        for each in gc.get_referents(x):
            self._value(each, label)

    def _wrapper(self, x: Any, label: str) -> None:
        """A container of Python's that keeps what it has in one of its own."""
        name = "maps" if isinstance(x, ChainMap) else "data"
        held = vars(x)
        if name in held:
            self._place(ITEM, held, name, held[name], label)
            self._value(held[name], label)
        self._instance(x, label)

    def _array(self, x: np.ndarray[Any, Any], label: str) -> None:
        if x.dtype == object:
            self._contents(x, label)
        else:
            self.captures.arrays[id(x)] = label, x
        if is_users_class(type(x)):  # which may carry attributes
            self._instance(x, label)

    def _memory(self, x: memoryview, label: str) -> None:
        """Memory that others can write to."""
        if x.ndim == 1:
            self._contents(x, label)


@dataclasses.dataclass(slots=True)
class AskedDict:
    """A dict that code asks for known keys and does nothing else with."""

    x: dict[Any, Any]
    label: str
    keys: set[Any] = dataclasses.field(default_factory=set)
    attributes: set[str] = dataclasses.field(default_factory=set)  # by which it is known
    done: set[Any] = dataclasses.field(default_factory=set)


def _is_quiet(key: Any) -> bool:
    """Whether a key is hashed and compared without any code in Python."""
    if isinstance(key, tuple | frozenset):
        return type(key) in (tuple, frozenset) and all(map(_is_quiet, key))
    kind: Any = type(key)
    return kind in _QUIET or (kind.__hash__, kind.__eq__) == (object.__hash__, object.__eq__)


def _beginning(x: Any) -> tuple[Any, ...]:
    """How much there is, and the first items."""
    if isinstance(x, np.ndarray):
        return x.size, *islice(x.flat, MOST_ITEMS)
    return len(x), *islice(x, MOST_ITEMS)
