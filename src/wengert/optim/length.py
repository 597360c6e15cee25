"""The Euclidean length of one array, exact where its squares would overflow or underflow."""

from __future__ import annotations

from typing import Any

from wengert.core.dtypes import float32, float64
from wengert.core.table import op


def length(x: Any) -> Any:
    """The length of all elements as one vector, in float64."""
    if x.dtype != float32:
        return op.vector_norm(x)
    wide = op.astype(x, float64)  # in which the square of any float32 fits: one sweep is enough
    return op.sqrt(op.sum(wide * wide))
