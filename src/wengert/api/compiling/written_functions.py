"""What the user has written of a function that is compiled, and which functions that reads."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from wengert.core.op import Op
from wengert.runtime.outside.class_members import attributes_of
from wengert.runtime.outside.reads import reads_of
from wengert.runtime.outside.users_code import is_users
from wengert.runtime.outside.watch import is_plain

_MOST_INSIDE = 16  # functions, each in the next one
MOST_CHOICES = 64  # functions and texts that a function reads
_KEPT = str, Op, np.ufunc, type(np.mean)  # of which nothing is made anew in a loop
_CHOICES = *_KEPT, FunctionType, MethodType, functools.partial


def users_function(f: Any) -> FunctionType | None:
    """What the user has written of something that is called: the function inside of a partial or of
    what a transformation gave, the method by which an object is called.
    """
    return next((each for each in _inwards(f) if _is_written(each)), None)


def _inwards(f: Any) -> Iterator[Any]:
    """What is called, and what is inside of it, each in the one before."""
    for _ in range(_MOST_INSIDE):
        yield f
        if isinstance(f, functools.partial):
            f = f.func
        elif isinstance(f, MethodType):
            f = f.__func__
        else:
            inside = getattr(f, "__wrapped__", None)
            f = getattr(type(f), "__call__", None) if inside is None else inside  # noqa: B004 (the method itself)


def _is_written(f: Any) -> bool:
    return isinstance(f, FunctionType) and is_users(f)


def transformations_of(f: Any) -> list[Any]:
    """Which transformations are around what the user has written, and the plain values they were
    told: the gradient of a function is another program than its hessian.
    """
    around: list[Any] = []
    for each in _inwards(f):
        if _is_written(each):
            break
        if isinstance(each, FunctionType):
            cells = [cell.cell_contents for cell in each.__closure__ or () if not _is_empty(cell)]
            around += [each.__code__, *(reprlib.repr(x) for x in cells if is_plain(x))]
    return around


def choices_of(f: Any, written: FunctionType) -> list[Any]:
    """The code of what the user has written, and which functions and texts it reads by name, there
    and in those functions: each other one makes another program, as where a loop goes through
    models. A function that is made anew has the code of before.
    """
    found: dict[Any, None] = {}
    around = [each for each in _inwards(f) if isinstance(each, functools.partial)]
    pending: list[Any] = [written, *around]
    while pending and len(found) < MOST_CHOICES:
        first, *pending = pending
        x = users_function(first) or first
        if isinstance(first, functools.partial):
            inside = (first.func, *first.args, *first.keywords.values())
            pending += filter(_is_choice, inside)
        elif isinstance(x, FunctionType):
            if x.__code__ not in found and is_users(x):
                pending += _read_by_name(x)
            found[x.__code__] = None
        elif isinstance(x, _KEPT):
            found[x] = None
    return list(found)


def _read_by_name(function: FunctionType) -> list[Any]:
    """The functions and texts that a function has in its closure, as defaults, and among the
    globals that it reads.
    """
    cells = [cell.cell_contents for cell in function.__closure__ or () if not _is_empty(cell)]
    names = sorted(reads_of(function.__code__).globals)
    outside = [function.__globals__[name] for name in names if name in function.__globals__]
    return [x for x in (*cells, *(function.__defaults__ or ()), *outside) if _is_choice(x)]


def _is_choice(x: Any) -> bool:
    """Whether it is a text or a function, perhaps a compiled one; no other object is asked."""
    return isinstance(x, _CHOICES) or "__wrapped__" in attributes_of(x)


def code_of(x: Any) -> Any:
    """What was written of a function; of a function of NumPy or an op: itself. Else None."""
    if isinstance(x, str) or not _is_choice(x):
        return None
    inside = users_function(x) or x
    if isinstance(inside, FunctionType):
        return inside.__code__
    return inside if isinstance(inside, _KEPT) else None


def _is_empty(cell: CellType) -> bool:
    """Whether the name of a cell has no value yet."""
    try:
        cell.cell_contents  # noqa: B018 (this raises)
    except ValueError:
        return True
    return False
