"""Generators of random numbers that Wengert does not know of, and whether they have moved."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

Positions = list[tuple[str, Callable[[], Any], Any]]  # what messages call it, its position, then


def positions(captured: Iterable[Any]) -> Positions:
    """Where the generators that a function could use stand: the global ones and these."""
    reads: list[tuple[str, Callable[[], Any]]] = [
        ("random", random.getstate),
        ("np.random", _global_state),  # NumPy imports it here, before the function does
    ]
    if _torch_state() is not None:
        reads.append(("the generator of torch", _torch_state))
    for each in captured:
        if type(each).__module__.startswith("torch"):
            reads.append(("a generator of torch", partial(_bytes_of, each.get_state)))
            continue
        if isinstance(each, random.Random):
            if not isinstance(each, random.SystemRandom):  # it has no position
                reads.append(("a generator of random", each.getstate))
            continue
        bits = each if hasattr(each, "state") else getattr(each, "_bit_generator", None)
        if bits is not None:
            reads.append(("a generator of NumPy", partial(_state, bits)))
    return [(name, read, read()) for name, read in reads]


def put_back_later(captured: Iterable[Any]) -> Callable[[], None]:
    """What puts the global generators, but for torch's, and these to where they stand now."""
    numpys, pythons = np.random.get_state(), random.getstate()
    sets: list[Callable[[], object]] = [
        partial(np.random.set_state, numpys),
        partial(random.setstate, pythons),
    ]
    for each in captured:
        bits = each if hasattr(each, "state") else getattr(each, "_bit_generator", None)
        if type(each).__module__.startswith("torch"):
            sets.append(partial(each.set_state, each.get_state()))
        elif isinstance(each, random.Random):
            if not isinstance(each, random.SystemRandom):
                sets.append(partial(each.setstate, each.getstate()))
        elif bits is not None:
            sets.append(partial(setattr, bits, "state", bits.state))

    def put_back() -> None:
        for each in sets:
            each()

    return put_back


def _global_state() -> bytes:
    return pickle.dumps(np.random.get_state())


def _torch_state() -> bytes | None:
    """Where torch's own generator stands, if torch has been imported."""
    read = getattr(getattr(sys.modules.get("torch"), "random", None), "get_rng_state", None)
    return None if read is None else _bytes_of(read)


def _bytes_of(read: Callable[[], Any]) -> bytes:
    return bytes(read().numpy().tobytes())


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
    return [x for x in (*names, *cells) if is_generator(x)]


def is_generator(x: Any) -> bool:
    """Whether it draws random numbers: a generator of Python, NumPy or torch."""
    kind = type(x)
    torch = kind.__module__.startswith("torch") and kind.__name__ == "Generator"
    return torch or kind.__module__.startswith("numpy.random") or isinstance(x, random.Random)


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
