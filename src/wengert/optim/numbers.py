"""Arithmetic on the numbers of updates: of one update (Python numbers), of many at once (arrays,
with the same bits), or in recorded code (Tensors). And the zeros that states begin as.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from wengert.core.dtypes import FLOATS
from wengert.core.table import op
from wengert.core.tensor import Tensor


def choice(condition: Any, yes: Any, no: Any) -> Any:
    """One of two numbers, as a condition says."""
    if isinstance(condition, Tensor):
        return op.where(condition, yes, no)
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def power(base: float, count: Any) -> Any:
    """base to the number of an update."""
    if isinstance(count, np.ndarray):
        return _powers(base, count.astype(np.float64).tobytes())
    return base**count


@lru_cache(2)  # of two betas: the members of an ensemble ask for the same ones, one after another
def _powers(base: float, counts: bytes) -> Any:
    """One by one: NumPy's own power may round otherwise."""
    powers = np.array(list(map(math.pow, repeat(base), np.frombuffer(counts).tolist())))
    powers.flags.writeable = False
    return powers


def zeros_like(weights: Any) -> Any:
    """Zeros of the shape and dtype of weights, as states begin."""
    if type(weights) is np.ndarray and weights.dtype in FLOATS:
        return np.zeros(weights.shape, weights.dtype)
    return op.zeros_like(weights)


def root(x: Any) -> Any:
    """The square root."""
    if isinstance(x, Tensor):
        return op.sqrt(x)
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)
