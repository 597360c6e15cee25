"""AttributeWalk: the attributes of objects, classes and modules that a function could read."""

from __future__ import annotations

import dataclasses
import functools
from array import array
from collections import UserDict, UserList, deque
from collections.abc import Iterator
from enum import Enum, EnumType
from itertools import islice
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from wengert.core.words.articles import a_kind
from wengert.interpret.randomness import is_generator
from wengert.runtime.outside.class_members import (
    attributes_of,
    attributes_of_class,
    function_of,
    is_method,
    slots_of,
    users_classes,
)
from wengert.runtime.outside.container_walk import MOST_ITEMS, AskedDict, ContainerWalk
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.unnamed_reads import ComputedName, looks_into_objects
from wengert.runtime.outside.users_code import is_users_class, is_users_module_object
from wengert.runtime.outside.watch import (
    ATTRIBUTE,
    DICT_SIZE,
    ITEM,
    MISSING,
    attribute_of,
    is_plain,
)

_FUNCTIONS = (FunctionType, MethodType, functools.partial)
_CONTAINERS = (list, tuple, dict, set, frozenset, deque, bytearray, array, UserDict, UserList)
# Ways to read all fields of a dataclass without a name of them.
READ_FIELDS = {"asdict", "astuple", "fields", "replace", "tree"}
# Classes by library: what the columns hold is that library's, and can be changed in place.
_TABLES = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series"),
    "xarray": ("DataArray", "Dataset"),
}
# The same of torch: what has numbers that an optimizer of torch changes in place.
_TORCH = ("Tensor", "Module", "Distribution")
# Special methods that no recorded computation calls, unless an object is made or shown in it.
_MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__"}
_SHOWING = {"__repr__", "__str__"}
_KEEPING = {"__del__", "__getstate__", "__setstate__", "__reduce__", "__reduce_ex__"}
# What every member of an Enum holds.
_OF_MEMBERS = {"_value_", "_name_", "__objclass__", "_sort_order_"}
# Where Python's classes are that hold nothing but what the user has put there: SimpleNamespace,
# argparse.Namespace and threading.local.
_OF_USERS = ("types", "argparse", "_thread")
# Where configparser keeps what was read.
_OF_CONFIGS = ("_sections", "_defaults", "_parser")


@dataclasses.dataclass(slots=True)
class Opened:
    """An object whose attributes code may read, and what was looked up in it."""

    thing: Any
    label: str
    named: set[str] = dataclasses.field(default_factory=set)
    missed: set[str] = dataclasses.field(default_factory=set)
    computed: set[ComputedName] = dataclasses.field(default_factory=set)


class AttributeWalk(ContainerWalk):
    """A walk over containers and the attributes of objects, and what it has found so far."""

    def __init__(self) -> None:
        super().__init__()
        self._names: set[str] = set()  # of attributes that some code reads
        self._optional: set[str] = set()  # those of them that need not be there
        self._computed: set[ComputedName] = set()
        self._opened: list[Opened] = []
        self._classes: list[tuple[type, set[str]]] = []  # and the names looked up in them
        self._shown: set[str] = set()  # names of objects that some code makes texts of
        self._called: set[type] = set()  # classes that are known by name: objects may be made
        self._whole: list[tuple[Any, str]] = []  # objects of which all fields may be read
        self._namespaces: list[tuple[Any, str]] = []  # whose attributes are found by their names
        self._asked: dict[int, AskedDict] = {}  # by the id of the dict

    def _extent(self) -> tuple[int, ...]:
        sets = len(self._names), len(self._optional), len(self._computed)
        return *sets, len(self._opened), len(self._classes), len(self._shown)

    def _open_names(self) -> bool:
        """Look up attributes of objects; whether there were any that are new."""
        new = False
        for each in list(self._opened):
            named = self._names - each.named
            missed = self._optional - each.missed
            computed = self._computed - each.computed
            each.named |= named
            each.missed |= missed
            each.computed |= computed
            new |= bool(named or missed or computed)
            for name in sorted(named):
                self._attribute(each.thing, name, f"{each.label}.{name}")
            for name in sorted(missed):
                self._absence(each.thing, name, f"{each.label}.{name}")
            for wanted in sorted(computed, key=repr):
                self._fitting(each.thing, each.label, wanted)
        return new

    def _open_methods(self) -> bool:
        """Look up methods in classes; whether there were any that are new."""
        new = False
        for kind, done in list(self._classes):
            if "__match_args__" in self._names:  # which a class pattern reads by position
                self._names |= {x for x in vars(kind).get("__match_args__", ()) if x}
            for name, member in list(vars(kind).items()):
                special = self._may_call(kind, name, member)
                if name not in done and (special or name in self._names):
                    done.add(name)
                    new = True
                    if is_method(member):
                        self._method_places(kind, name, member)
                    self._method(member)
        return new

    def _open_fields(self) -> bool:
        """Look up the fields of dataclasses, where all of them may be read at once."""
        if not self._whole or self._names.isdisjoint(READ_FIELDS):
            return False
        for thing, label in self._whole:
            for field in dataclasses.fields(thing):
                self._attribute(thing, field.name, f"{label}.{field.name}")
        self._whole = []
        return True

    def _open_namespaces(self) -> bool:
        """Look up all that namespaces hold of which texts may be made, or which may be compared."""
        looked_into = any(map(looks_into_objects, self.captures.codes))
        waiting, self._namespaces = self._namespaces, []
        for thing, label in waiting:
            if looked_into or label.rpartition(".")[2] in self._shown:
                self._values_in(thing, label)
            else:
                self._namespaces.append((thing, label))
        return len(self._namespaces) < len(waiting)

    def _may_call(self, kind: type, name: str, member: Any) -> bool:
        """Whether a method of a class may be called although no code names it."""
        if not (name.startswith("__") and name.endswith("__")) or name in _KEEPING:
            return False
        if name in _SHOWING and not self._is_shown(kind):
            return False
        code = attribute_of(member, "__code__")
        if isinstance(code, CodeType) and code.co_filename == "<string>":  # of a dataclass
            return False
        return name not in _MAKING or kind in self._called

    def _is_shown(self, kind: type) -> bool:
        """Whether code makes texts of an object of this class."""
        return bool(self._shown) and any(
            each.label.rpartition(".")[2] in self._shown and isinstance(each.thing, kind)
            for each in self._opened
        )

    # Dicts that are asked for constant keys alone.

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
                    item = x.get(key, MISSING)
                    self._place(ITEM, x, key, item, f"{label}[{key!r}]")
                    self._value(item, f"{label}[{key!r}]")
        return new

    def _named(self, x: Any, label: str, keys: frozenset[Any] | None, attribute: str = "") -> None:
        """Follow what code knows by a name; `keys` are all that it asks it for, if that is all."""
        if keys is None or type(x) is not dict:
            self._value(x, label)
            return
        asked = self._asked.setdefault(id(x), AskedDict(x, label))
        asked.keys |= keys
        if attribute:
            asked.attributes.add(attribute)

    def _keys_of(self, name: str) -> frozenset[Any] | None:
        """All that the code that is known asks an attribute of this name for, if that is all."""
        asked: frozenset[Any] = frozenset()
        for code in self.captures.codes:
            keys = reads_of(code).keys.get(name, frozenset())
            if keys is None:
                return None
            asked |= keys
        return asked or None

    # Classes and modules.

    def _named_class(self, x: type, label: str) -> None:
        self._called |= set(x.__mro__)
        self._class(x, label)

    def _class(self, x: type, label: str) -> None:
        for kind in users_classes(x):
            if all(k is not kind for k, _ in self._classes):
                self._classes.append((kind, set()))
        if is_users_class(x):
            self._opened.append(Opened(x, label))
        if isinstance(x, EnumType):
            members: dict[str, Any] = dict(x.__members__)
            for name in islice(members, MOST_ITEMS):
                self._value(members[name], f"{label}.{name}")
        if type(x) is not type:  # what a metaclass does when the class is called or asked
            self._class(type(x), type(x).__name__)

    def _enum(self, x: Enum, label: str) -> None:
        """A member, which may hold what can change: as its value, or as attributes."""
        held = attributes_of(x)
        if not is_plain(x._value_):
            self._place(ITEM, held, "_value_", x._value_, label)
            self._value(x._value_, label)
        if held.keys() - _OF_MEMBERS:
            self._class(type(x), type(x).__name__)
            self._opened.append(Opened(x, label))

    def _method(self, member: Any) -> None:
        member = function_of(member)
        own = is_users_class(type(member))  # a descriptor that the user has written
        if callable(member) or (own and hasattr(type(member), "__get__")):
            self._value(member, str(attribute_of(member, "__name__")))

    def _method_places(self, kind: type, name: str, member: Any) -> None:
        """Note which method a class has, and that classes below it have no other one."""
        label = f"{kind.__name__}.{name}"
        self._class_place(kind, name, member, label)
        if name not in self._names and name != "__call__":
            return
        for each, _ in list(self._classes):
            if issubclass(each, kind) and name not in vars(each):
                self._class_place(each, name, MISSING, label)

    def _class_place(self, kind: type, name: str, member: Any, label: str) -> None:
        self._place(ITEM, attributes_of_class(kind), name, member, label, kind)

    def _module(self, x: ModuleType, label: str) -> None:
        if is_users_module_object(x):
            self._opened.append(Opened(x, label))

    # Objects and their attributes.

    def _instance(self, x: Any, label: str) -> None:
        if is_generator(x):
            self.captures.generators.append(x)
            return
        if _is_of_torch(x):
            self.captures.torch.append(f"{label!r}, {a_kind(x)} of torch")
            return
        if _is_table(x):
            self.captures.tables.append((label, x))
            return
        if type(x).__module__ == "configparser":
            for name in _OF_CONFIGS:
                self._value(attribute_of(x, name), label)
        if _is_array_of_c(x):
            self._contents(x, label)
            return
        if isinstance(x, Iterator):
            self.captures.iterators.append((label, x))
        wrapped = attributes_of(x).get("__wrapped__")
        if callable(wrapped):  # a function of the user's in something of a library
            self.captures.wrapping.append(x)
            self._value(wrapped, label)
            for name, other in attributes_of(x).items():  # and more of them, as rules
                if isinstance(other, _FUNCTIONS) or hasattr(other, "__wrapped__"):
                    self._attribute(x, name, f"{label}.{name}")
            return
        self._class(type(x), type(x).__name__)
        self._opened.append(Opened(x, label))
        if dataclasses.is_dataclass(x):
            own = all(is_users_class(kind) for kind in type.mro(type(x))[:-1])
            if own:
                self._whole.append((x, label))
            for field in () if own else dataclasses.fields(x):
                self._attribute(x, field.name, f"{label}.{field.name}")
        elif not is_users_class(type(x)) and _is_users(x):
            self._namespaces.append((x, label))
        elif not _is_users(x):
            self._values_in(x, label)
            self._slots(x, label)

    def _values_in(self, x: Any, label: str) -> None:
        for name, value in attributes_of(x).items():
            if is_plain(value) or isinstance(value, np.ndarray) or callable(value):
                self._attribute(x, name, f"{label}.{name}")

    def _slots(self, x: Any, label: str) -> None:
        """Follow the arrays that an object of a library has in slots, as splines of SciPy do."""
        for name in (name for kind in type(x).__mro__ for name in slots_of(kind)):
            value = attribute_of(x, name)
            if isinstance(value, np.ndarray):
                self._place(ATTRIBUTE, x, name, value, f"{label}.{name}")
                self._value(value, f"{label}.{name}")

    def _attribute(self, x: Any, name: str, label: str) -> None:
        """Follow one attribute of an object, a class or a module, if it has it."""
        if isinstance(x, type):
            self._class_attribute(x, x, name, label)
            return
        held = attributes_of(x)
        if name in held:
            self._place(ITEM, held, name, held[name], label)
            self._named(held[name], label, self._keys_of(name), name)
            return
        if isinstance(x, ModuleType):
            return
        if self._class_attribute(type(x), x, name, label) and held is attribute_of(x, "__dict__"):
            self._place(ITEM, held, name, MISSING, label)  # the object's own would go first

    def _class_attribute(self, kind: type, x: Any, name: str, label: str) -> bool:
        """Follow what an attribute is in a class, if it is a value there; whether one of the object
        itself would go first.
        """
        for i, each in enumerate(kind.__mro__):
            if name not in vars(each):
                continue
            member = vars(each)[name]
            if isinstance(member, MemberDescriptorType) and x is not kind:  # a slot
                value = attribute_of(x, name)
                self._place(ATTRIBUTE, x, name, value, label)
                self._value(value, label)
                return False
            if hasattr(type(member), "__get__"):
                replaced = isinstance(member, FunctionType | functools.cached_property)
                return replaced and x is not kind
            if is_users_class(each):
                self._class_place(each, name, member, label)
            else:
                self._place(ATTRIBUTE, each, name, member, label)
            for nearer in filter(_is_users, kind.__mro__[:i]):
                self._class_place(nearer, name, MISSING, label)
            self._value(member, label)
            return True
        if x is kind and type(kind) is not type and isinstance(x, type):
            return self._class_attribute(type(kind), x, name, label)
        return False

    def _absence(self, x: Any, name: str, label: str) -> None:
        """Note that an object and its class do not have what code can do without."""
        kind = x if isinstance(x, type) else type(x)
        held = {} if x is kind else attributes_of(x)
        if name in held or any(name in vars(each) for each in kind.__mro__):
            return
        if x is not kind and held is attribute_of(x, "__dict__"):
            self._place(ITEM, held, name, MISSING, label)
        for each in users_classes(kind):
            self._class_place(each, name, MISSING, label)

    def _fitting(self, x: Any, label: str, computed: ComputedName) -> None:
        """Follow the attributes of the user's objects, classes and modules whose names code could
        have put together. Methods are followed where a part of their name is known.
        """
        if isinstance(x, FunctionType) or not _is_users(x):
            return
        if isinstance(x, type):
            for kind in users_classes(x):
                self._fitting_in(kind, attributes_of_class(kind), label, computed)
            return
        if attributes_of(x) is attribute_of(x, "__dict__"):
            self._fitting_in(x, attributes_of(x), label, computed)
        slots = [name for kind in users_classes(type(x)) for name in slots_of(kind)]
        for name in filter(computed.fits, slots):
            self._attribute(x, name, f"{label}.{name}")

    def _fitting_in(self, x: Any, held: dict[str, Any], label: str, computed: ComputedName) -> None:
        names = [name for name in list(held) if computed.fits(name) and name[:2] != "__"]
        by_name = isinstance(x, type) and computed.texts
        shared = isinstance(x, type | ModuleType)
        if not isinstance(x, ModuleType):
            self._place(DICT_SIZE, held, None, len(held), f"attributes of {label}")
        if len(names) > MOST_ITEMS:
            self.captures.left_out.append(label)
        for name in names[:MOST_ITEMS]:
            if by_name:
                self._names.add(name)
            elif _is_value(held[name]) or (not shared and _is_followed(held[name])):
                self._attribute(x, name, f"{label}.{name}")
            elif not shared:
                self._place(ITEM, held, name, held[name], f"{label}.{name}")


def _is_users(x: Any) -> bool:
    """Whether an object holds what the user has put there."""
    if isinstance(x, ModuleType):
        return is_users_module_object(x)
    kind = x if isinstance(x, type) else type(x)
    return is_users_class(kind) or kind.__module__ in _OF_USERS


def _is_value(x: Any) -> bool:
    return is_plain(x) or isinstance(x, (np.ndarray, *_CONTAINERS))


def _is_followed(x: Any) -> bool:
    """Whether an attribute that code does not name is looked into; what libraries make is not."""
    return isinstance(x, _FUNCTIONS) or _is_users(x)


def _is_array_of_c(x: Any) -> bool:
    """Whether it is an array of ctypes, which code in C may write to."""
    return ("_ctypes", "Array") in _kinds(x)


def _is_table(x: Any) -> bool:
    """Whether it is a data frame or a column of one, or of a class that is made of these."""
    return any(name in _TABLES.get(library, ()) for library, name in _kinds(x))


def _is_of_torch(x: Any) -> bool:
    """Whether it is a tensor of torch, or a network or a distribution that has some."""
    return any(library == "torch" and name in _TORCH for library, name in _kinds(x))


def _kinds(x: Any) -> Iterator[tuple[str, str]]:
    """The classes that an object is of, each with the library it is from."""
    return ((kind.__module__.partition(".")[0], kind.__name__) for kind in type.mro(type(x)))
