"""exp and tanh of a million numbers: our code beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.direct import into
from benchmarks.harness import OURS, Figure, Run, compare

COUNT = 1_000_000
FUNCTIONS: tuple[np.ufunc, ...] = (np.exp, np.tanh)
DTYPES = (np.float32, np.float64)


def operand(count: int, dtype: Any) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(count).astype(dtype)


def with_new_array(function: np.ufunc, dtype: Any, count: int = COUNT) -> dict[str, Run]:
    """Each call returns a new array."""
    x = operand(count, dtype)
    compiled = wg.compile(lambda x: function(x))
    return {OURS: lambda: compiled(x), "NumPy": lambda: function(x)}


def with_old_array(function: np.ufunc, dtype: Any, count: int = COUNT) -> dict[str, Run]:
    """Each call writes to the same array."""
    x = operand(count, dtype)
    out = np.empty_like(x)
    return {OURS: into(lambda x: function(x), x), "NumPy": lambda: function(x, out=out)}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    ways: dict[str, Callable[..., dict[str, Run]]] = {
        "into an array": with_old_array,
        "a new array": with_new_array,
    }
    for function in FUNCTIONS:
        for dtype in DTYPES:
            for way, contestants in ways.items():
                case = f"{function.__name__}, {np.dtype(dtype)}, {way}"
                yield case, contestants(function, dtype), [Figure(1, "NumPy")]


def main() -> None:
    compare(f"Elementwise functions of {COUNT:,} numbers", rows(), tolerance=1e-6)
