"""Products of square matrices: a compiled function beside NumPy's matmul.

A compiled function returns a new array, as NumPy's `a @ b` does. `into` is the same program without
that: it writes to an array that is there already, as `matmul(out=c)` does. The product of 1 × 1
shows what the calls themselves take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.direct import into
from benchmarks.harness import OURS, Figure, Run, compare

SIZES = (1, 16, 32, 64, 128, 256, 512, 1024, 2048)
DTYPES = (np.float32, np.float64)
FIGURES = [Figure(0.9, "NumPy out=")]


def operands(size: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
    return a, b


def contestants(size: int, dtype: Any) -> dict[str, Run]:
    a, b = operands(size, dtype)
    out = np.empty_like(a)
    compiled = wg.compile(lambda a, b: a @ b)
    return {
        OURS: lambda: compiled(a, b),
        "wengert into": into(lambda a, b: a @ b, a, b),
        "NumPy out=": lambda: np.matmul(a, b, out=out),
        "NumPy a @ b": lambda: a @ b,
    }


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for dtype in DTYPES:
        for size in SIZES:
            figures = FIGURES if size > 1 else []
            yield f"{np.dtype(dtype)}, {size} × {size}", contestants(size, dtype), figures


def main() -> None:
    compare("Products of square matrices", rows(), tolerance=1e-5)
