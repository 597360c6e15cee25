"""The Euclidean length of a vector, exact where its squares would overflow or underflow."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from wengert.api.compile import compile
from wengert.core.dims import Dim
from wengert.core.table import op
from wengert.core.types import Value

Array: TypeAlias = np.ndarray[Any, Any]
LEAST = 2.0**-900  # of a sum of squares beside which those that underflow are nothing
RANGE = 1000  # exponents of powers of two that have an inverse
TINY = 2.0**-900  # factors below lose digits, or are zero
_ONE = np.ones(())


def _sum_of_squares(x: Value, factor: Value) -> Value:
    return op.sum(op.square(op.astype(x, np.float64) * factor))


_squares = compile(_sum_of_squares, dims={"x": {0: Dim("count")}})


def euclidean_length(x: Array) -> tuple[float, int]:
    """(m, e): the length is m · 2^e. Where elements are not finite, neither is m."""
    squares = float(_squares(x, _ONE))
    if LEAST <= squares < math.inf:
        return math.sqrt(squares), 0
    ends = float(x.min(initial=0)), float(x.max(initial=0))
    if not all(map(math.isfinite, ends)):
        return (math.nan if any(map(math.isnan, ends)) else math.inf), 0
    exponent = max(-RANGE, min(RANGE, math.frexp(max(-ends[0], ends[1]))[1]))
    return math.sqrt(float(_squares(x, np.array(2.0**-exponent)))), exponent


def as_number(m: float, e: int) -> float:
    """m · 2^e, infinite where that is more than the largest float."""
    try:
        return math.ldexp(m, e)
    except OverflowError:
        return math.inf


def bring_to_length(x: Array, length: tuple[float, int], wanted: float) -> None:
    """Scale a vector of this length in place, so that it has the wanted one."""
    m, e = length
    factor = math.ldexp(wanted / m, -e) if e >= 0 else wanted / math.ldexp(m, e)
    for each in (factor,) if factor >= TINY else (math.ldexp(1.0, -e), 1 / m, wanted):
        np.multiply(x, np.float64(each), out=x, casting="same_kind")  # in float64, rounded once
