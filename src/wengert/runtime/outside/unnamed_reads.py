"""Attributes that code reads without naming them, or that need not be there, found in its
instructions: `getattr(self, name + "_scale")`, `vars(config)`, `hasattr(config, "scale")`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dis import Bytecode, Instruction, get_instructions, stack_effect
from types import CodeType, SimpleNamespace
from typing import NamedTuple

_LONGEST = 64  # instructions of a call that are looked at
# Calls that take an object and the name of an attribute.
BY_NAME = ("getattr", "hasattr")
_CALLS = ("PRECALL", "CALL")
_READ_WHOLE = ("vars", "dir", "getmembers", "__dict__", "__getattribute__")
_GETTERS = ("attrgetter", "methodcaller")
_WRITES_WHOLE = ("update", "setdefault")  # self.__dict__.update(settings)
# What puts a name together of texts and other names, and nothing else.
_JOINING = re.compile(
    r"LOAD_(CONST|FAST|DEREF|GLOBAL|NAME|ATTR)|FORMAT_(VALUE|SIMPLE|WITH_SPEC)|CONVERT_VALUE|"
    r"BUILD_STRING|BINARY_OP"
)
_HOLES = re.compile(r"%[-+ #0]*\d*\w|\{[^}]*\}")  # of a text that is formatted
_MISSES = {"AttributeError", "NameError", "Exception", "BaseException"}

_SHOWING = {"str", "repr", "format"}
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD")
_FORMATS = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE")


class ComputedName(NamedTuple):
    """An attribute whose name is computed: of which global, if that is known, and the texts that
    are part of its name.
    """

    holder: str | None
    texts: tuple[str, ...]

    def fits(self, name: str) -> bool:
        """Whether an attribute of this name may be meant."""
        return all(text in name for text in self.texts)


class NameCall(NamedTuple):
    """What a call of `getattr` or `hasattr` asks for."""

    computed: ComputedName | None  # or a constant name
    optional: str | None  # a constant name that need not be there


def name_call(steps: Sequence[Instruction], i: int) -> NameCall:
    """What the call asks for whose function is loaded at this place. Where that cannot be told, any
    attribute is.
    """
    function = steps[i]
    arguments = _arguments(steps, i) if "NULL" in (function.argrepr or "") else None
    if arguments is None or len(arguments) < 2:
        return NameCall(ComputedName(None, ()), None)
    holder, name = arguments[0], arguments[1]
    if len(name) == 1 and name[0].opname == "LOAD_CONST" and isinstance(name[0].argval, str):
        optional = function.argval == "hasattr" or len(arguments) == 3
        return NameCall(None, name[0].argval if optional else None)
    known = len(holder) == 1 and holder[0].opname in ("LOAD_GLOBAL", "LOAD_NAME")
    computed = ComputedName(holder[0].argval if known else None, tuple(_texts(name)))
    return NameCall(computed, None)


def _arguments(steps: Sequence[Instruction], i: int) -> list[Sequence[Instruction]] | None:
    """The instructions of each argument of a call, where no jump is among them."""
    depth = 0
    depths: list[int] = []  # of the stack before each instruction
    for j in range(i + 1, min(i + _LONGEST, len(steps))):
        each = steps[j]
        if each.opname in _CALLS and each.arg == depth:
            begins = [i + 1 + _last(depths, k) for k in range(depth)]
            return [steps[a:b] for a, b in zip(begins, [*begins[1:], j], strict=True)]
        if "JUMP" in each.opname or each.opname.startswith(("RETURN", "YIELD", "SEND")):
            return None
        depths.append(depth)
        depth += stack_effect(each.opcode, each.arg)
        if depth < 0:
            return None
    return None


def _last(depths: Sequence[int], depth: int) -> int:
    """Where the last value begins that lies so deep."""
    return max((i for i, each in enumerate(depths) if each == depth), default=0)


def _texts(name: Sequence[Instruction]) -> Iterator[str]:
    if not all(_JOINING.match(each.opname) for each in name):
        return
    if any(each.opname == "BINARY_OP" and each.argrepr not in ("+", "%") for each in name):
        return
    for each in name:
        if each.opname == "LOAD_CONST" and isinstance(each.argval, str):
            yield from filter(None, _HOLES.split(each.argval))


def reads_whole(steps: Sequence[Instruction], i: int, asked: bool) -> bool:
    """Whether an instruction takes all attributes of an object. `asked`: it is asked for one key,
    and nothing else is done with it.
    """
    following = steps[i + 1] if i + 1 < len(steps) else None
    if steps[i].argval in _GETTERS:
        return following is None or following.opname != "LOAD_CONST"
    if steps[i].argval not in _READ_WHOLE or asked:
        return False
    return following is None or following.argval not in _WRITES_WHOLE


def guarded(code: CodeType, steps: Sequence[Instruction]) -> Iterator[Instruction]:
    """The instructions that may find nothing, as what follows then is written, too."""
    bare = any(
        a.opname == "PUSH_EXC_INFO" and b.opname == "POP_TOP" for a, b in itertools.pairwise(steps)
    )
    if not bare and _MISSES.isdisjoint(code.co_names):
        return
    everywhere = [SimpleNamespace(start=0, end=len(code.co_code))]
    ranges = getattr(Bytecode(code), "exception_entries", everywhere)
    for each in steps:
        if any(known.start <= each.offset < known.end for known in ranges):
            yield each


@functools.lru_cache(maxsize=4096)
def shown_names(code: CodeType) -> frozenset[str]:
    """The globals, variables of closures and attributes that code makes texts of: `str(unit)`,
    `f"{self.unit}"`, `"%s" % unit`. Of other variables, which are mostly numbers, nothing is known.
    """
    shown: set[str] = set()
    shows = False  # whether a function was loaded that makes a text
    for before, each in itertools.pairwise(get_instructions(code)):
        if before.argval in _SHOWING and before.opname in _LOADS:
            shows = True
        called = each.opname in _CALLS and shows
        joined = each.opname == "BINARY_OP" and each.argrepr == "%"
        if (called or joined or each.opname in _FORMATS) and before.opname in _LOADS:
            shown.add(before.argval)
        shows &= each.opname not in _CALLS
    for inner in code.co_consts:
        shown |= shown_names(inner) if isinstance(inner, CodeType) else set()
    return frozenset(shown)


@functools.lru_cache(maxsize=4096)
def looks_into_objects(code: CodeType) -> bool:
    """Whether code may make a text of an object that a variable of its own holds, or compares two
    things of which neither is a constant: a namespace answers both with all that it holds.
    """
    for before, each in itertools.pairwise(get_instructions(code)):
        if each.argval in _SHOWING and each.opname in _LOADS:
            return True
        makes_text = each.opname in _FORMATS or (each.opname, each.argrepr) == ("BINARY_OP", "%")
        if makes_text and before.opname.startswith("LOAD_FAST"):
            return True
        compared = each.opname == "COMPARE_OP" and ("==" in each.argrepr or "!=" in each.argrepr)
        if compared and before.opname != "LOAD_CONST":
            return True
    inner = (x for x in code.co_consts if isinstance(x, CodeType))
    return any(map(looks_into_objects, inner))
