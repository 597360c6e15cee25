"""Generators of random numbers that Wengert does not know of, and whether they have moved."""

from __future__ import annotations

import pickle
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

Positions = list[tuple[str, Callable[[], Any], Any]]  # what messages call it, its position, then


class _Handle(NamedTuple):
    """A generator: what messages call it, and what reads and writes its state."""

    name: str
    get: Callable[[], Any]
    set: Callable[[Any], object]
    marked: Callable[[Any], Any] = pickle.dumps  # a state as what can be compared

    def position(self) -> Any:
        return self.marked(self.get())


def positions(captured: Iterable[Any]) -> Positions:
    """Where the generators that a function could use stand: the global ones and these."""
    return [(each.name, each.position, each.position()) for each in _handles(captured)]


def put_back_later(captured: Iterable[Any]) -> Callable[[], None]:
    """What puts the global generators and these to where they stand now."""
    before = [(each.set, each.get()) for each in _handles(captured)]

    def put_back() -> None:
        for write, state in before:
            write(state)

    return put_back


def _handles(captured: Iterable[Any]) -> Iterator[_Handle]:
    yield _Handle("random", random.getstate, random.setstate, tuple)
    # NumPy imports it here, before the function does.
    yield _Handle("np.random", np.random.get_state, np.random.set_state)
    torch = getattr(sys.modules.get("torch"), "random", None)  # if somebody has imported it
    if torch is not None and hasattr(torch, "get_rng_state"):
        write = partial(_set_by, torch, "set_rng_state")
        yield _Handle("the generator of torch", torch.get_rng_state, write, _bytes_of)
    for each in captured:
        bits = each if hasattr(each, "state") else getattr(each, "_bit_generator", None)
        if type(each).__module__.startswith("torch"):
            write = partial(_set_by, each, "set_state")
            yield _Handle("a generator of torch", each.get_state, write, _bytes_of)
        elif isinstance(each, random.Random):
            if not isinstance(each, random.SystemRandom):  # it has no position
                yield _Handle("a generator of random", each.getstate, each.setstate, tuple)
        elif bits is not None:
            read, write = partial(getattr, bits, "state"), partial(setattr, bits, "state")
            yield _Handle("a generator of NumPy", read, write)


def _set_by(owner: Any, name: str, state: Any) -> None:
    """Write a state by a method that is looked for only then: few states are put back."""
    getattr(owner, name)(state)


def _bytes_of(state: Any) -> bytes:
    return bytes(state.numpy().tobytes())


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
