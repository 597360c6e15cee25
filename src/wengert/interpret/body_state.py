"""State that the body of a loop keeps outside of it: the body is recorded once, so that every step
would have what the first one found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dis import get_instructions
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import Tensor
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import FrozenValueWarning, TraceError

MOST_ITEMS = 64  # of a container that are compared
_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_NAMED_STORES = ("STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")
_STORES = ("STORE_SUBSCR", "STORE_ATTR")
_ADDS = ("append", "add", "extend", "update", "appendleft")
_NUMBERS = (int, float, complex, str, type(None), np.generic)
_COMPARED = (*_NUMBERS, bytes)
_NOTHING: Any = type("Nothing", (), {"__repr__": lambda _: "nothing"})()


class _Variable(NamedTuple):
    """A variable from outside that a body reads, and what it held."""

    name: str
    read: Callable[[], Any]
    before: dict[str, Any]


class BodyState:
    """The variables from outside that the body of a loop names, before it is recorded."""

    def __init__(self, function: Any) -> None:
        self._code = getattr(function, "__code__", None)
        self._known: list[_Variable] = []
        if isinstance(self._code, CodeType):
            self._known = [_Variable(*each, _content(each[1]())) for each in _variables(function)]

    def look(self, by: str) -> None:
        """Refuse Tensors that the body left outside, and warn of numbers that it changed, where it
        reads them, too.
        """
        for name, read, before in self._known:
            changed = _changed(before, _content(read()))
            line = _line_of_change(self._code, name) if changed else None
            if line is None:
                continue
            left = next((key for key, x in changed.items() if type(x) is Tensor), None)
            if left is not None:
                raise TraceError(
                    f"{by}: the body left a Tensor in {name}{left}, which it reads; it is recorded "
                    "once, and every step would have what was there at first. Make it part of the "
                    f"carry. ({line})"
                )
            key = next((key for key, x in changed.items() if isinstance(x, _COMPARED)), None)
            if key is not None:
                warn_user(
                    f"{by}: the body changed {name}{key}; it is recorded once, and every step has "
                    f"the same value. Make it part of the carry, or pass it as xs. ({line})",
                    FrozenValueWarning,
                    line,
                )


def _changed(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    found = ((key, x, before.get(key, _NOTHING)) for key, x in now.items())
    return {k: x for k, x, old in found if x is not old and not _equal(x, old)}


def _variables(function: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    known = function.__globals__
    for each in sorted({x.argval for x in get_instructions(function.__code__) if _is_load(x)}):
        if each in known:
            yield each, partial(known.get, each, _NOTHING)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, partial(_held, cell)


def _is_load(instruction: Any) -> bool:
    return instruction.opname in _LOADS


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _NOTHING


def _content(x: Any) -> dict[str, Any]:
    """A value, or what is in it, by what messages add to its name."""
    if isinstance(x, np.ndarray):
        few = x.size <= MOST_ITEMS and not x.dtype.hasobject
        return {"": x.tobytes()} if few else {}
    if isinstance(x, dict):
        return {f"[{key!r}]": value for key, value in list(x.items())[:MOST_ITEMS]}
    if isinstance(x, list):
        items = {f"[{i}]": value for i, value in enumerate(x[:MOST_ITEMS])}
        return {f" (its length is {len(x)} now)": len(x), **items}
    if isinstance(x, (*_NUMBERS, Tensor)):
        return {"": x}
    held = None if isinstance(x, type) or callable(x) else getattr(x, "__dict__", None)
    return {f".{name}": each for name, each in held.items()} if type(held) is dict else {}


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, _COMPARED) and type(a) is type(b) and repr(a) == repr(b)


def _line_of_change(code: Any, name: str) -> Line | None:
    """A line that writes to a variable or what is in it, where another line reads it."""
    reading: set[int] = set()
    writing: set[int] = set()
    for each in get_instructions(code):
        number = each.positions.lineno if each.positions else None
        if number is None:
            continue
        if _is_load(each) and each.argval == name:
            reading.add(number)
        stores = each.opname in _NAMED_STORES and each.argval == name
        if stores or each.opname in _STORES or each.argval in _ADDS:
            writing.add(number)
    written = writing & reading or writing
    return Line(code.co_filename, min(written)) if written and reading - writing else None
