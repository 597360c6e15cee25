"""Generators of random numbers that Wengert does not know of, and whether they have moved."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

Positions = list[tuple[str, Callable[[], Any], Any]]  # what messages call it, its position, then


def positions(captured: Iterable[Any]) -> Positions:
    """Where the generators that a function could use stand: the global ones and these."""
    reads: list[tuple[str, Callable[[], Any]]] = [
        ("random", random.getstate),
        ("np.random", _global_state),  # NumPy imports it here, lest the function be the first
    ]
    for each in captured:
        if isinstance(each, random.Random):
            if not isinstance(each, random.SystemRandom):  # it has no position
                reads.append(("a generator of random", each.getstate))
            continue
        bits = each if hasattr(each, "state") else getattr(each, "_bit_generator", None)
        if bits is not None:
            reads.append(("a generator of NumPy", partial(_state, bits)))
    return [(name, read, read()) for name, read in reads]


def _global_state() -> bytes:
    return pickle.dumps(np.random.get_state())


def _state(bits: Any) -> bytes:
    return pickle.dumps(bits.state)


def moved(before: Positions) -> str | None:
    """A generator that has been used since."""
    return next((name for name, read, then in before if read() != then), None)


def used_by(function: Any) -> list[Any]:
    """The generators that a function of the user's names directly."""
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    names = (function.__globals__.get(name) for name in code.co_names)
    cells = (_held(cell) for cell in function.__closure__ or ())
    return [x for x in (*names, *cells) if _is_generator(x)]


def _is_generator(x: Any) -> bool:
    return type(x).__module__.startswith("numpy.random") or isinstance(x, random.Random)


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
