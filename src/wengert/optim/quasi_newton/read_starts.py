"""Functions that read the start of a search from outside in the place of their argument: what they
read stays as it is, whatever the search changes.

A function may well compare the two, as a penalty of the distance from the start does, or the
results of both for the same data. There the gradient depends on the start, or on data. So it is
told only where the gradient by a leaf depends on nothing but the tree itself, as that of a penalty
does, or where the function does not use the leaf at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.core import tree
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.types import Value
from wengert.core.words.warn import warn_user
from wengert.errors import UntrainedWarning
from wengert.interpret.mistakes.used_values import used_by, used_constants
from wengert.interpret.trace import recorded_constants
from wengert.optim.parameters import leaf_name
from wengert.runtime.outside.watch import lies_in

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass
class SearchStart:
    """The float arrays that a search begins with, by path."""

    arrays: Mapping[str, Any]
    is_read: bool = False  # whether it was told that the function reads some of them


_start = Meanwhile[SearchStart]()


def searching_from(arrays: Mapping[str, Any]) -> AbstractContextManager[SearchStart]:
    """Look at functions that are recorded meanwhile for what they read of this start, whose float
    arrays are given by path.
    """
    return _start.said(SearchStart(arrays))


def warn_of_read_start(
    by: str,
    args: Sequence[Any],
    value: Value,
    leaves: Sequence[Value],
    gradients: Sequence[Value | None],
) -> None:
    """Warn where a function that is being recorded has computed with arrays of the start, and has
    no use for its own: given are its arguments, its value, and the distinct leaves of the first
    argument with their gradients.
    """
    start = _start.value
    constants = used_constants([value])
    if start is None or not constants:
        return
    by_leaf = dict(zip(map(id, leaves), gradients, strict=True))
    data = tree.leaves(tuple(args[1:]))
    read: dict[str, list[Array]] = {}
    for path, x in zip(tree.paths(args[0]), tree.leaves(args[0]), strict=True):
        given, gradient = start.arrays.get(path), by_leaf.get(id(x))
        parts = [c for c in constants if isinstance(given, np.ndarray) and lies_in(c, given)]
        unused = not used_by([value], [x])[0]
        if parts and (unused if gradient is None else _is_of_penalty(gradient, parts, data)):
            read[path] = parts
    if read:
        start.is_read = True
        _warn(by, read)


def _is_of_penalty(gradient: Value, parts: Sequence[Array], data: Sequence[Value]) -> bool:
    """Whether a gradient depends on no data, and not on these parts of the start. Other arrays from
    outside may be data; one of equal numbers is a factor, or made by the derivative of a sum.
    """
    if any(used_by([gradient], data)):
        return False
    constants = [c for c in used_constants([gradient]) if c.size]
    return not any(any(c is x for x in parts) or (c != c.flat[0]).any() for c in constants)


def _warn(by: str, read: Mapping[str, Sequence[Array]]) -> None:
    (path, parts), more = next(iter(read.items())), len(read) - 1
    lines = [line for x, line in recorded_constants() if any(x is part for part in parts)]
    line = lines[0] if lines else None
    where = "" if line is None else f" ({line})"
    warn_user(
        f"{by}: the function reads {leaf_name(path, 'tree')}{f' and {more} more' if more else ''} "
        "that the search begins with, from outside; the search changes what the function is called "
        "with, and what it reads stays as it is. Take it from the first argument; if it is to "
        f"stay, pass it as an argument behind the tree.{where}",
        UntrainedWarning,
        line,
    )
