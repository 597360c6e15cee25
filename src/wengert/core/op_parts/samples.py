"""Where the generated tests look: example calls of an op, as descriptions from which operands are
drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Real(NamedTuple):
    """A float array with elements drawn from an open interval."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0

    def draw(self, rng: np.random.Generator, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
        return np.asarray(rng.uniform(self.low, self.high, self.shape), dtype)


class Integers(NamedTuple):
    """An integer array with elements from ``low`` up to but not including ``high``."""

    shape: tuple[int, ...]
    low: int = 0
    high: int = 5
    dtype: str = "int64"

    def draw(self, rng: np.random.Generator, dtype: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(rng.integers(self.low, self.high, self.shape), self.dtype)


class Booleans(NamedTuple):
    """A bool array."""

    shape: tuple[int, ...]

    def draw(self, rng: np.random.Generator, dtype: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(rng.integers(0, 2, self.shape), bool)


class Exactly(NamedTuple):
    """These very numbers."""

    value: Any

    def draw(self, rng: np.random.Generator, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
        array = np.asarray(self.value)
        return array.astype(dtype) if array.dtype.kind == "f" else array


class Sample(NamedTuple):
    """One call: a description (or None) per operand, and the parameters as a user writes them."""

    operands: tuple[Any, ...]
    params: dict[str, Any]

    def draw(self, rng: np.random.Generator, dtype: Any = np.float64) -> list[Any]:
        return [None if spec is None else spec.draw(rng, dtype) for spec in self.operands]


def sample(*operands: Any, **params: Any) -> Sample:
    """One example call; a bare shape stands for a float array in (-2, 2)."""
    return Sample(tuple(Real(x) if type(x) is tuple else x for x in operands), params)


def uniform(*intervals: tuple[float, float]) -> tuple[Sample, ...]:
    """Calls of an elementwise op with operands from these intervals: plain, broadcast, 0-d and
    empty.
    """
    count = len(intervals)
    shapes: list[Sequence[tuple[int, ...]]] = [
        [(3, 4)] * count,
        [()] * count,
        [(0, 3)] * count,
        [(2, 3, 1)] * count,
    ]
    if count > 1:
        shapes += [[(2, 1, 3), (4, 1), (3,)][:count], [(4,), (2, 3, 1), ()][:count]]
    return tuple(
        Sample(tuple(Real(s, low, high) for s, (low, high) in zip(row, intervals, strict=True)), {})
        for row in shapes
    )
