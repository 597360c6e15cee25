"""Arithmetic on the numbers of updates: of one update (Python numbers), of many at once (arrays,
with the same bits), or in recorded code (Tensors).
"""

from __future__ import annotations

import math
from itertools import repeat
from typing import Any

import numpy as np

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
    if isinstance(count, np.ndarray):  # one by one: NumPy's own power may round otherwise
        return np.array(list(map(math.pow, repeat(base), count.astype(float).tolist())))
    return base**count


def root(x: Any) -> Any:
    """The square root."""
    if isinstance(x, Tensor):
        return op.sqrt(x)
    return np.sqrt(x) if isinstance(x, np.ndarray) else math.sqrt(x)
