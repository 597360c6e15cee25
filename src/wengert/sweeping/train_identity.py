"""What a train function is known by, so that a folder can say that it is another one by now.

That is its code, the code of the functions and classes of the same file that it calls, and the
numbers, strings and arrays that any of them reads from outside. What they import is not looked at.
"""

from __future__ import annotations

import dis
import functools
import platform
from collections.abc import Iterator
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from wengert.sweeping.value_identity import described, identity_of_value

_READS = {"LOAD_GLOBAL", "LOAD_NAME"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic)


def train_identity(train: Any) -> dict[str, str]:
    """A short digest of each part of a train function, by its name in the program."""
    found = _Parts()
    found.take(getattr(train, "__name__", "train"), train, getattr(train, "__module__", None))
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python} | {name: _digest(text) for name, text in found.texts.items()}


def what_differs(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """The names of the parts that are others, in order."""
    return [name for name in {**before, **now} if before.get(name) != now.get(name)]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


class _Parts:
    """Collects the parts of a function, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._met: set[int] = set()

    def take(self, name: str, value: Any, module: Any) -> None:
        if isinstance(value, functools.partial):
            self.take(name, value.func, module or getattr(value.func, "__module__", None))
            self._plain(f"{name}, its arguments", [list(value.args), value.keywords])
        elif isinstance(value, MethodType):
            self.take(name, value.__func__, module)
            self._fields(name, value.__self__)
        elif isinstance(value, FunctionType):
            if getattr(value, "__module__", None) == module:
                self._function(name, value)
        elif isinstance(value, type):
            if value.__module__ == module:
                self._class(name, value)
        elif not self._plain(name, value) and type(value).__module__ == module:
            self._class(name, type(value))
            self._fields(name, value)

    def _plain(self, name: str, value: Any) -> bool:
        if not _is_plain(value):
            return False
        self.texts.setdefault(name, identity_of_value(value))
        return True

    def _fields(self, name: str, thing: Any) -> None:
        for field, value in getattr(thing, "__dict__", {}).items():
            self._plain(f"{name}.{field}", value)

    def _class(self, name: str, value: type) -> None:
        if id(value) in self._met:
            return
        self._met.add(id(value))
        for field, inside in vars(value).items():
            if isinstance(inside, FunctionType):
                self.take(f"{name}.{field}", inside, value.__module__)
            elif not field.startswith("__"):
                self._plain(f"{name}.{field}", inside)

    def _function(self, name: str, function: FunctionType) -> None:
        if id(function) in self._met:
            return
        self._met.add(id(function))
        defaults = [*(function.__defaults__ or ()), function.__kwdefaults__]
        known = identity_of_value([each for each in defaults if _is_plain(each)])
        text = f"{described(function.__code__, function.__doc__)} {known}"
        self.texts.setdefault(name, text)
        module = function.__module__
        for read, value in read_outside(function):
            self.take(read, value, module)


def read_outside(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function reads by name from its module and from the functions around it."""
    for name in dict.fromkeys(_names_read(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # nothing was assigned to it yet
            continue
        yield name, value


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


def _names_read(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_read(constant)
