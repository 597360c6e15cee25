"""CaptureWalk: a walk over the code of functions, for what they could read from outside.

The walk begins with the user's function and follows the functions, objects, classes and modules
that it names, as far as they are the user's own: what libraries read is theirs. Attributes are
followed where some code of the walk names them.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import operator
import sys
from array import array
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from enum import Enum
from itertools import islice
from types import (
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from wengert.core.op import Op
from wengert.core.table import Table
from wengert.core.tensor import Tensor
from wengert.runtime.outside.captures import Captures
from wengert.runtime.outside.imported import imported_by
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.users_code import is_users_file, is_users_module
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    CELL,
    DICT_SIZE,
    ELEMENT,
    ITEM,
    LIST_SIZE,
    MEMBER,
    MISSING,
    SET_SIZE,
    Contents,
    Place,
    attribute_of,
    is_plain,
)

MOST_PLACES = 512
MOST_FUNCTIONS = 256
MOST_ITEMS = 64  # in a container that is compared item by item
_FUNCTIONS = (FunctionType, MethodType, functools.partial)
# Ways to read all attributes of an object without a name of them.
_READ_ALL = {"vars", "getattr", "__dict__", "asdict", "astuple", "fields", "replace", "tree"}
# Special methods that no recorded computation calls, unless an object is made or shown in it.
_MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__"}
_SHOWING = {"__repr__", "__str__", "__del__", "__getstate__", "__setstate__", "__reduce__"}
_KEYS = (str, int, float, bytes, type(None))  # that compare without the user's code


class CaptureWalk:
    """A walk, and what it has found so far."""

    def __init__(self) -> None:
        self.found = Captures()
        self._seen: dict[int, Any] = {}  # kept alive: an id must not be used again
        self._functions = 0
        self._names: set[str] = set()  # of attributes that some code reads
        self._opened: list[tuple[Any, str, set[str]]] = []  # objects, and names looked up in them
        self._classes: list[tuple[type, set[str]]] = []
        self._called: set[type] = set()  # classes that are known by name: objects may be made
        self._whole: list[tuple[Any, str]] = []  # objects of which all fields may be read
        self._asked: dict[int, _Asked] = {}  # by the id of the dict
        self._imports: set[str] = set()  # modules that code imports when it runs

    def follow(self, roots: Iterable[Any]) -> None:
        """Go on from these functions, or from what arguments hold."""
        for root in roots:
            name = attribute_of(root, "__name__")
            self._value(root, name if isinstance(name, str) else type(root).__name__)
        while self._open_more() or self._open_asked() or self._open_imports():
            pass

    def follow_imports(self) -> None:
        """Go on with modules that were imported for the first time while the functions ran."""
        if self._open_imports():
            self.follow(())

    def _open_more(self) -> bool:
        """Look up the names that came since; whether there were any."""
        if len(self.found.places) > MOST_PLACES or self._functions > MOST_FUNCTIONS:
            self.found.left_out.append("what it reads from outside")
            return False
        before = len(self._names), len(self._opened), len(self._classes)
        new = False
        for thing, label, done in list(self._opened):
            wanted = self._names - done
            done |= wanted
            new |= bool(wanted)
            for name in sorted(wanted):
                self._attribute(thing, name, f"{label}.{name}")
        for kind, done in list(self._classes):
            for name, member in list(vars(kind).items()):
                special = self._may_call(kind, name, member)
                if name not in done and (special or name in self._names):
                    done.add(name)
                    new = True
                    if isinstance(member, FunctionType):
                        self._place(ATTRIBUTE, kind, name, member, f"{kind.__name__}.{name}")
                    self._method(member)
        if self._whole and self._names & _READ_ALL:
            for thing, label in self._whole:
                for field in dataclasses.fields(thing):
                    self._attribute(thing, field.name, f"{label}.{field.name}")
            self._whole, new = [], True
        return new or before != (len(self._names), len(self._opened), len(self._classes))

    def _may_call(self, kind: type, name: str, member: Any) -> bool:
        """Whether a method of a class may be called although no code names it."""
        if not (name.startswith("__") and name.endswith("__")) or name in _SHOWING:
            return False
        code = attribute_of(member, "__code__")
        if isinstance(code, CodeType) and code.co_filename == "<string>":  # of a dataclass
            return False
        return name not in _MAKING or kind in self._called

    def _open_asked(self) -> bool:
        """Look up the keys of dicts that are asked for these alone; whether there were any."""
        new = False
        for each in [each for key, each in self._asked.items() if key not in self._seen]:
            x, label, wanted = each.x, each.label, set(each.keys)
            for name in each.attributes:  # code that came since may ask for more
                keys = self._keys_of(name)
                if keys is None:
                    self._value(x, label)
                    new = True
                    break
                wanted |= keys
            else:
                for key in sorted(wanted - each.done, key=repr):
                    each.done.add(key)
                    new = True
                    found = x.get(key, MISSING)
                    self._place(ITEM, x, key, found, f"{label}[{key!r}]")
                    self._value(found, f"{label}[{key!r}]")
        return new

    def _open_imports(self) -> bool:
        """Follow the modules that code imports and that are there; whether there were any."""
        there = self._imports & sys.modules.keys()
        self._imports -= there
        for name in sorted(there):
            self._value(sys.modules[name], name)
        return bool(there)

    def _named(self, x: Any, label: str, keys: frozenset[Any] | None, attribute: str = "") -> None:
        """Follow what code knows by a name; `keys` are all that it asks it for, if that is all."""
        if keys is None or type(x) is not dict:
            self._value(x, label)
            return
        asked = self._asked.setdefault(id(x), _Asked(x, label))
        asked.keys |= keys
        if attribute:
            asked.attributes.add(attribute)

    def _place(self, kind: int, container: Any, key: Any, value: Any, label: str) -> None:
        if not isinstance(value, ModuleType):  # nobody gives such a name to something else
            self.found.places.append(Place(kind, container, key, value, label))

    def _value(self, x: Any, label: str) -> None:
        """Follow what is found at a place."""
        if is_plain(x) or isinstance(x, Tensor | Enum | np.ufunc) or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        for kinds, follow in _FOLLOWED:
            if isinstance(x, kinds):
                follow(self, x, label)
                return
        self._instance(x, label)

    def _function(self, f: FunctionType, _label: str) -> None:
        users = is_users_file(f.__code__.co_filename)
        self._functions += 1
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                found = cell.cell_contents
            except ValueError:
                continue
            if users:
                self._place(CELL, cell, None, found, name)
            self._named(found, name, reads_of(f.__code__).keys.get(name) if users else None)
        for kind in ("__defaults__", "__kwdefaults__"):
            found, label = getattr(f, kind), f"default of {f.__name__}"
            if found and users:
                self._place(ATTRIBUTE, f, kind, found, label)
            elif isinstance(found, dict):
                found = tuple(found.values())
            self._value(found, label)
        self._value(getattr(f, "__wrapped__", None), f.__name__)
        if not users:
            return
        self.found.codes.append(f.__code__)
        self._opened.append((f, f.__name__, set()))
        reads = reads_of(f.__code__)
        self._names |= reads.attributes | (reads.globals & _READ_ALL)
        self._imports |= imported_by(f)
        by_text = reads.attributes if "globals" in reads.globals else frozenset()
        for name in sorted((reads.globals | by_text) & f.__globals__.keys()):
            found = f.__globals__[name]
            self._place(ITEM, f.__globals__, name, found, name)
            self._named(found, name, reads.keys.get(name))

    def _bound(self, x: MethodType, label: str) -> None:
        self._value(x.__self__, _label_of(x.__self__))
        self._value(x.__func__, label)

    def _partial(self, x: functools.partial[Any], label: str) -> None:
        for each in (x.func, *x.args, x.keywords):
            self._value(each, label)

    def _proxy(self, x: Any, label: str) -> None:
        """A view of a dict, which others can change."""
        for each in gc.get_referents(x):
            self._value(each, label)

    def _named_class(self, x: type, label: str) -> None:
        self._called |= set(x.__mro__)
        self._class(x, label)

    def _class(self, x: type, label: str) -> None:
        for kind in x.__mro__:
            if is_users_module(kind.__module__) and all(k is not kind for k, _ in self._classes):
                self._classes.append((kind, set()))
        if is_users_module(x.__module__):
            self._opened.append((x, label, set()))

    def _method(self, member: Any) -> None:
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, functools.cached_property):
            member = member.func
        elif isinstance(member, staticmethod | classmethod):
            member = member.__func__
        own = is_users_module(type(member).__module__)  # a descriptor that the user has written
        if callable(member) or (own and hasattr(type(member), "__get__")):
            self._value(member, str(attribute_of(member, "__name__")))

    def _op(self, x: Op, label: str) -> None:
        """An op is what it is; what a user's is composed of may read something."""
        self._value(x.body, label)

    def _table(self, x: Table, label: str) -> None:
        """The op table is ours, and what users enter there are ops: each is what it is."""

    def _module(self, x: ModuleType, label: str) -> None:
        if is_users_module(x.__name__):
            self._opened.append((x, label, set()))

    def _list(self, x: list[Any], label: str) -> None:
        self._place(LIST_SIZE, x, None, len(x), f"len({label})")
        self._note_size(x, label)
        for i, each in enumerate(x[:MOST_ITEMS]):
            self._place(ELEMENT, x, i, each, f"{label}[{i}]")
            self._value(each, f"{label}[{i}]")

    def _tuple(self, x: tuple[Any, ...], label: str) -> None:
        for i, each in enumerate(x[:MOST_ITEMS]):
            self._value(each, f"{label}[{i}]")

    def _dict(self, x: dict[Any, Any], label: str) -> None:
        self._place(DICT_SIZE, x, None, len(x), f"len({label})")
        self._note_size(x, label)
        for key in list(x)[:MOST_ITEMS]:
            if type(key) in _KEYS:
                self._place(ITEM, x, key, x[key], f"{label}[{key!r}]")
            self._value(x[key], f"{label}[{key!r}]")

    def _set(self, x: set[Any], label: str) -> None:
        self._place(SET_SIZE, x, None, len(x), f"len({label})")
        for each in list(x)[:MOST_ITEMS]:
            if type(each) in _KEYS:
                self._place(MEMBER, x, each, True, label)

    def _note_size(self, x: Any, label: str) -> None:
        if len(x) > MOST_ITEMS:
            self.found.left_out.append(label)
        if is_users_module(type(x).__module__):  # a class of the user's
            self._instance(x, label)

    def _contents(self, x: Any, label: str) -> None:
        """What machine code cannot open, but Python can look at."""
        contents = Contents(x, _beginning)
        if contents.held[0] > MOST_ITEMS:
            self.found.left_out.append(label)
        self._place(ATTRIBUTE, contents, "held", contents.held, label)
        for i, each in enumerate(contents.held[1:]):
            self._value(each, f"{label}[{i}]")

    def _context(self, x: ContextVar[Any], label: str) -> None:
        contents = Contents(x, lambda x: (x.get(MISSING),))
        self._place(ATTRIBUTE, contents, "held", contents.held, label)
        self._value(contents.held[0], label)

    def _wrapper(self, x: Any, label: str) -> None:
        """A container of Python's that keeps what it has in one of its own."""
        name = "maps" if isinstance(x, ChainMap) else "data"
        self._attribute(x, name, label)
        self._instance(x, label)

    def _attribute_getter(self, x: Any, _label: str) -> None:
        for name in x.__reduce__()[1]:
            self._names |= set(name.split("."))

    def _array(self, x: np.ndarray[Any, Any], label: str) -> None:
        if x.dtype == object:
            self._contents(x, label)
        else:
            self.found.arrays[id(x)] = label, x

    def _instance(self, x: Any, label: str) -> None:
        if type(x).__module__.startswith("numpy.random"):
            self.found.generators.append(x)
            return
        wrapped = _attributes_of(x).get("__wrapped__")
        if callable(wrapped):  # a function of the user's in something of a library
            self._value(wrapped, label)
            for name, other in _attributes_of(x).items():  # and more of them, as rules
                if isinstance(other, _FUNCTIONS) or hasattr(other, "__wrapped__"):
                    self._attribute(x, name, f"{label}.{name}")
            return
        self._class(type(x), type(x).__name__)
        self._opened.append((x, label, set()))
        if dataclasses.is_dataclass(x):
            own = all(is_users_module(kind.__module__) for kind in type.mro(type(x))[:-1])
            if own:
                self._whole.append((x, label))
            for field in () if own else dataclasses.fields(x):
                self._attribute(x, field.name, f"{label}.{field.name}")
        elif not is_users_module(type(x).__module__):
            for name, value in _attributes_of(x).items():
                if is_plain(value) or isinstance(value, np.ndarray) or callable(value):
                    self._attribute(x, name, f"{label}.{name}")

    def _attribute(self, x: Any, name: str, label: str) -> None:
        """Follow one attribute of an object, a class or a module, if it has it."""
        if isinstance(x, type):
            self._class_attribute(x, x, name, label)
            return
        held = _attributes_of(x)
        if name in held:
            self._place(ITEM, held, name, held[name], label)
            self._named(held[name], label, self._keys_of(name), name)
            return
        if isinstance(x, ModuleType):
            return
        if self._class_attribute(type(x), x, name, label) and held is attribute_of(x, "__dict__"):
            self._place(ITEM, held, name, MISSING, label)  # the object's own would go first

    def _keys_of(self, name: str) -> frozenset[Any] | None:
        """All that the code that is known asks an attribute of this name for, if that is all."""
        found: frozenset[Any] = frozenset()
        for code in self.found.codes:
            keys = reads_of(code).keys.get(name, frozenset())
            if keys is None:
                return None
            found |= keys
        return found or None

    def _class_attribute(self, kind: type, x: Any, name: str, label: str) -> bool:
        """Follow what an attribute is in a class, if it is a value there; whether one of the object
        itself would go first.
        """
        for each in kind.__mro__:
            if name not in vars(each):
                continue
            member = vars(each)[name]
            if isinstance(member, MemberDescriptorType) and x is not kind:  # a slot
                found = attribute_of(x, name)
                self._place(ATTRIBUTE, x, name, found, label)
                self._value(found, label)
                return False
            if hasattr(type(member), "__get__"):
                return isinstance(member, FunctionType) and x is not kind
            self._place(ATTRIBUTE, each, name, member, label)
            self._value(member, label)
            return True
        return False


@dataclasses.dataclass(slots=True)
class _Asked:
    """A dict that code asks for known keys and does nothing else with."""

    x: dict[Any, Any]
    label: str
    keys: set[Any] = dataclasses.field(default_factory=set)
    attributes: set[str] = dataclasses.field(default_factory=set)  # by which it is known
    done: set[Any] = dataclasses.field(default_factory=set)


_Follow = Callable[[CaptureWalk, Any, str], None]
_FOLLOWED: tuple[tuple[Any, _Follow], ...] = (
    (FunctionType, CaptureWalk._function),
    (MethodType, CaptureWalk._bound),
    (functools.partial, CaptureWalk._partial),
    (Op, CaptureWalk._op),
    (Table, CaptureWalk._table),
    (type, CaptureWalk._named_class),
    (ModuleType, CaptureWalk._module),
    (list, CaptureWalk._list),
    (tuple, CaptureWalk._tuple),
    (dict, CaptureWalk._dict),
    (set, CaptureWalk._set),
    (np.ndarray, CaptureWalk._array),
    ((deque, bytearray, array), CaptureWalk._contents),
    ((UserDict, UserList, ChainMap), CaptureWalk._wrapper),
    (ContextVar, CaptureWalk._context),
    (MappingProxyType, CaptureWalk._proxy),
    ((operator.attrgetter, operator.methodcaller), CaptureWalk._attribute_getter),
)


def _beginning(x: Any) -> tuple[Any, ...]:
    """How much there is, and the first items."""
    if isinstance(x, np.ndarray):
        return x.size, *islice(x.flat, MOST_ITEMS)
    return len(x), *islice(x, MOST_ITEMS)


def _attributes_of(x: Any) -> dict[str, Any]:
    found = attribute_of(x, "__dict__")
    return found if type(found) is dict else {}


def _label_of(x: Any) -> str:
    return "self" if not isinstance(x, type) else x.__name__
