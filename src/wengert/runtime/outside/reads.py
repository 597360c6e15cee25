"""Reads: the names that code could read, found in its instructions."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dis import Instruction, get_instructions
from types import CodeType
from typing import Any, NamedTuple

from wengert.runtime.outside.unnamed_reads import (
    BY_NAME,
    ComputedName,
    guarded,
    name_call,
    reads_whole,
)

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM")
_KEYS = (str, int, bytes, type(None))  # that compare without the user's code
_ADDS = ("append", "add", "extend", "appendleft")  # and gives nothing back
_READS_ITEM = ("BINARY_SUBSCR", "COPY")  # x[key], and x[key] += 1


class Reads(NamedTuple):
    """The names that a code object, and those inside it, could read."""

    globals: frozenset[str]
    attributes: frozenset[str]
    # Of globals, cells and attributes: the keys that they are asked for, x["scale"], if nothing
    # else is done with them, and else None.
    keys: dict[str, frozenset[Any] | None]
    optional: frozenset[str]  # attributes that need not be there
    computed: frozenset[ComputedName]  # attributes whose names are computed


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """The names of globals and attributes in a code object and those inside it. Texts count as
    attributes too: `getattr(config, "scale")`.
    """
    taken: set[str] = set()
    attributes = set(_texts(code.co_consts))
    optional: set[str] = set()
    computed: set[ComputedName] = set()
    keys: dict[str, frozenset[Any] | None] = {}
    steps = list(get_instructions(code))
    for i, each in enumerate(steps):
        if each.opname in _GLOBALS:
            taken.add(each.argval)
        elif each.opname in _ATTRIBUTES:
            attributes.add(each.argval)
        elif each.opname == "MATCH_CLASS" and each.arg:  # case Point(x, y)
            attributes.add("__match_args__")
            continue
        elif each.opname not in _CELLS:
            continue
        asked = _asked(steps[i + 1 : i + 4])
        _note(keys, each.argval, asked)
        if each.argval in BY_NAME:
            call = name_call(steps, i)
            computed |= set() if call.computed is None else {call.computed}
            optional |= set() if call.optional is None else {call.optional}
        elif reads_whole(steps, i, asked is not None):
            computed.add(ComputedName(None, ()))
    optional |= {x.argval for x in guarded(code, steps) if x.opname in _ATTRIBUTES}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            inside = reads_of(inner)
            taken |= inside.globals
            attributes |= inside.attributes
            optional |= inside.optional
            computed |= inside.computed
            for name, asked in inside.keys.items():
                _note(keys, name, asked)
    return Reads(
        frozenset(taken), frozenset(attributes), keys, frozenset(optional), frozenset(computed)
    )


def _texts(constants: Iterable[Any]) -> Iterator[str]:
    """Texts that can be names, in tuples and sets, too: attrgetter("settings.scale")."""
    for x in constants:
        if isinstance(x, str) and x.replace(".", "_").isidentifier():
            yield from x.split(".")
        elif isinstance(x, tuple | frozenset):
            yield from _texts(x)


def _note(keys: dict[str, frozenset[Any] | None], name: str, asked: frozenset[Any] | None) -> None:
    before = keys.get(name, frozenset())
    keys[name] = None if asked is None or before is None else before | asked


def _asked(following: list[Instruction]) -> frozenset[Any] | None:
    """The key that the instructions after a load ask a value for, where they do nothing else with
    it and the key is a constant: x["scale"], x["count"] += 1, x.get("scale").
    """
    gets = bool(following) and following[0].opname in _ATTRIBUTES and following[0].argval == "get"
    following = following[gets:]
    if len(following) < 2 or following[0].opname != "LOAD_CONST":
        return None
    key, use = following[0].argval, following[1]
    if type(key) not in _KEYS:
        return None
    if use.opname == "STORE_SUBSCR":
        return frozenset()
    is_item = (
        gets or use.opname in _READS_ITEM or (use.opname == "BINARY_OP" and use.argrepr == "[]")
    )
    return frozenset([key]) if is_item else None


def only_added_to(codes: Iterable[CodeType], label: str) -> bool:
    """Whether some code does nothing else with a container of this name than to add to it. Of what
    has no name of its own (an item, an argument) that is not known.
    """
    if not re.fullmatch(r"[\w.]+", label):
        return False
    name = label.rpartition(".")[2]
    uses = [adds for code in codes for adds in _uses(code, name)]
    return bool(uses) and all(uses)


def _uses(code: CodeType, name: str) -> Iterator[bool]:
    """For each time that code reads a name: whether it only adds to what it finds."""
    steps = list(get_instructions(code))
    for each, following in itertools.pairwise(steps):
        if each.opname.startswith("LOAD_FAST"):
            loads = each.argval == name or (isinstance(each.argval, tuple) and name in each.argval)
        else:
            loads = each.opname in (*_GLOBALS, *_CELLS, *_ATTRIBUTES) and each.argval == name
        if loads:
            yield following.opname in _ATTRIBUTES and following.argval in _ADDS
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _uses(inner, name)
