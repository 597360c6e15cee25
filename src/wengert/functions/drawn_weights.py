"""Drawn weights: the arrays that layers have drawn for their beginning, for as long as nobody has
changed them.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wengert.interpret.trace import recorded_program

Array: TypeAlias = np.ndarray[Any, Any]
COMPARED = 64  # numbers of an array that are compared


@dataclass(frozen=True)
class DrawnWeight:
    """An array as its layer has begun it."""

    layer: str  # which kind of layer
    in_recording: bool  # whether it was drawn while a function was being recorded
    array: weakref.ref[Array]
    numbers: Array  # some of those that were drawn


_drawn: dict[int, DrawnWeight] = {}  # by id of the array, for as long as it exists


def note_drawn(layer: str, x: Array) -> Array:
    """Note that a layer begins with this array, and return it."""
    number = id(x)
    reference = weakref.ref(x, lambda _: _drawn.pop(number, None))
    _drawn[number] = DrawnWeight(layer, recorded_program() is not None, reference, _some_of(x))
    return x


def note_drawn_rows(table: Any, rows: Any) -> None:
    """Note that rows were read of a table as a layer has drawn it, at once, while a function is
    being recorded: the program has them in the place of the table.
    """
    if recorded_program() is None or type(rows) is not np.ndarray:
        return
    known = drawn_weight(table)
    if known is not None:
        number = id(rows)
        reference = weakref.ref(rows, lambda _: _drawn.pop(number, None))
        _drawn[number] = replace(known, array=reference, numbers=_some_of(rows))


def drawn_weight(x: Array) -> DrawnWeight | None:
    """What is known of an array that has the numbers that a layer has drawn for it; None where it
    was changed or read from a file, and of any other array.
    """
    known = _drawn.get(id(x))
    if known is None or known.array() is not x:
        return None
    numbers: Any = _some_of(x)
    return known if np.array_equal(known.numbers, numbers) else None


def _some_of(x: Array) -> Array:
    flat = x.reshape(-1)
    return flat[:: max(1, flat.size // COMPARED)].copy()
