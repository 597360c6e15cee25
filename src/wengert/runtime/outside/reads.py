"""Reads: the names that code could read, found in its instructions."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from dis import Instruction, get_instructions
from types import CodeType
from typing import Any, NamedTuple

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


@functools.lru_cache(maxsize=4096)
def reads_of(code: CodeType) -> Reads:
    """The names of globals and attributes in a code object and those inside it. Texts count as
    attributes too: `getattr(config, "scale")`.
    """
    taken: set[str] = set()
    attributes = {x for x in code.co_consts if isinstance(x, str) and x.isidentifier()}
    keys: dict[str, frozenset[Any] | None] = {}
    steps = list(get_instructions(code))
    for i, each in enumerate(steps):
        if each.opname in _GLOBALS:
            taken.add(each.argval)
        elif each.opname in _ATTRIBUTES:
            attributes.add(each.argval)
        elif each.opname not in _CELLS:
            continue
        _note(keys, each.argval, _asked(steps[i + 1 : i + 4]))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found = reads_of(inner)
            taken |= found.globals
            attributes |= found.attributes
            for name, asked in found.keys.items():
                _note(keys, name, asked)
    return Reads(frozenset(taken), frozenset(attributes), keys)


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
    """Whether some code does nothing else with a container of this name than to add to it."""
    names = re.findall(r"[A-Za-z_]\w*", label)
    return bool(names) and not any(_asks(code, names[-1]) for code in codes)


def _asks(code: CodeType, name: str) -> bool:
    steps = list(get_instructions(code))
    for each, following in itertools.pairwise(steps):
        loads = each.opname in (*_GLOBALS, *_CELLS, *_ATTRIBUTES) and each.argval == name
        if loads and (following.opname not in _ATTRIBUTES or following.argval not in _ADDS):
            return True
    return any(isinstance(inner, CodeType) and _asks(inner, name) for inner in code.co_consts)
