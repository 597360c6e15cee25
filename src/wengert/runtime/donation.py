"""Donation: which outputs go to the memory of arguments, and which arguments can be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.types import ArrayType

Array: TypeAlias = np.ndarray[Any, Any]


def matched(
    donated: Sequence[int], inputs: Sequence[ArrayType], outputs: Sequence[ArrayType]
) -> dict[int, int]:
    """Which outputs go into donated arrays: each into the first of its type that is left."""
    donors: dict[int, int] = {}
    for i in donated:
        for j, t in enumerate(outputs):
            if j not in donors and t == inputs[i]:
                donors[j] = i
                break
    return donors


def require_donatable(
    names: Sequence[str], donated: Sequence[int], arrays: Sequence[Array]
) -> None:
    """Refuse donated arrays that cannot be written to, or that share memory with another one."""
    for i in donated:
        if not arrays[i].flags.writeable:
            raise ValueError(
                f"compile: argument {names[i]!r} was donated and is read-only; a donated array "
                "is written to. Pass a copy, or do not donate it."
            )
    for i, j in _overlapping(arrays) if donated else ():
        if i == j and i in donated:
            raise ValueError(
                f"compile: argument {names[i]!r} was donated and overlaps itself; a donated "
                "array is written to, and each element needs its own place. Pass a copy."
            )
        if i in donated or j in donated:
            i, j = (i, j) if i in donated else (j, i)
            raise ValueError(
                f"compile: argument {names[i]!r} was donated and shares memory with "
                f"{names[j]!r}; a donated array is written to, and must be alone. Pass a copy "
                "of one of them."
            )


def _overlapping(arrays: Sequence[Array]) -> Iterator[tuple[int, int]]:
    """Pairs of arrays that share memory. An array whose own elements overlap is a pair
    with itself.
    """
    bounds = ((*np.lib.array_utils.byte_bounds(x), i) for i, x in enumerate(arrays) if x.size)
    open_until: list[tuple[int, int]] = []  # (end, array) of those that reach this far
    for begin, end, j in sorted(bounds):
        if not _simple(arrays[j]):
            yield j, j
        open_until = [(e, i) for e, i in open_until if e > begin]
        for _, i in open_until:
            if np.shares_memory(arrays[i], arrays[j]):
                yield i, j
        open_until.append((end, j))


def _simple(x: Array) -> bool:
    """Whether no two elements lie in the same place: each stride steps over all that the smaller
    ones reach.
    """
    reach = x.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True)):
        if size > 1 and stride < reach:
            return False
        reach += stride * (size - 1)
    return True
