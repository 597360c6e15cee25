"""Seeds of layers: those that are given, and one of its own for each layer that is given none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from wengert.core.words.arguments import worded

Seed: TypeAlias = int | np.random.Generator | None


class _Counter:
    """How many arrays were begun without a seed since `seed` was last called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._base, self._count = 0, 0

    def restart(self, base: int) -> None:
        with self._lock:
            self._base, self._count = base, 0

    @contextmanager
    def anew(self, base: int) -> Iterator[None]:
        """Begin anew, and go on afterwards where this process was."""
        with self._lock:
            before = self._base, self._count
            self._base, self._count = base, 0
        try:
            yield
        finally:
            with self._lock:
                self._base, self._count = before

    def advance(self) -> np.random.Generator:
        with self._lock:
            base, count = self._base, self._count
            self._count += 1
        # Spawned, not added: layer 1 without a seed differs from a layer with seed=1.
        return np.random.default_rng(np.random.SeedSequence(base, spawn_key=(count,)))


_counter = _Counter()
seeds_anew = _counter.anew


@worded
def seed(number: int = 0) -> None:
    """Begin anew the seeds of layers that are made without one.

    Each such layer differs from those before it, and the same program makes the same layers in
    every run. It is as if `seed(0)` were called at the start.

    >>> wg.nn.seed(7)
    >>> first, second = wg.nn.Linear(2, 2), wg.nn.Linear(2, 2)
    >>> bool((first.weight == second.weight).all())
    False
    >>> wg.nn.seed(7)
    >>> bool((first.weight == wg.nn.Linear(2, 2).weight).all())
    True
    """
    given: Any = number
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise ValueError(
            f"nn.seed: {number!r} was given; it must be a whole number of at least 0. Choose one."
        )
    _counter.restart(int(number))


def generator_of(by: str, seed: Any) -> np.random.Generator:
    """The NumPy generator that a seed begins, or that is given as one, or the worded error. For
    None it is the next one of the process.
    """
    if seed is None:
        return _counter.advance()
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(
            f"{by}: seed={seed!r} was given; it must be a whole number of at least 0, or a "
            "np.random.Generator. Choose one."
        ) from None
