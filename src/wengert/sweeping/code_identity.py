"""What identifies code, and what it reads by name."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.users_code import is_users_module

_READS = {"LOAD_GLOBAL", "LOAD_NAME"}


def described(code: CodeType, documentation: str | None = None) -> Any:
    """What code does, without the place it stands at and without its docstring."""
    constants = [
        described(each)
        if isinstance(each, CodeType)
        else sorted(map(repr, each))
        if isinstance(each, frozenset)
        else repr(each)
        for each in code.co_consts
        if documentation is None or each != documentation
    ]
    return [code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars]


def read_outside(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function reads by name from its module, from the functions around it, and from other
    modules of the user's that it names.
    """
    for name in dict.fromkeys(_names_read(function.__code__)):
        if name in function.__globals__:
            yield from _with_members(name, function.__globals__[name], function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # nothing was assigned to it yet
            continue
        yield from _with_members(name, value, function.__code__)


def _with_members(name: str, value: Any, code: CodeType) -> Iterator[tuple[str, Any]]:
    """The value itself; for a module of the user's, what the code may read from it instead."""
    if not isinstance(value, ModuleType):
        yield name, value
    elif is_users_module(value.__name__):
        for member in sorted(reads_of(code).attributes & vars(value).keys()):
            yield f"{name}.{member}", vars(value)[member]


def _names_read(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in _READS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_read(constant)
