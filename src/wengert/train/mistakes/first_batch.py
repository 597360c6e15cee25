"""What is looked at in the first batch of its kind: the order of rows, and numbers that become
equal in the dtype of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import DType
from wengert.core.words.warn import warn_user
from wengert.errors import RoundingWarning
from wengert.train.runs.frames import warn_of_row_order

LARGE = 2.0**16  # below that, small differences of data are mostly noise
COARSE = 2.0**-12  # how much of the spread of a column rounding may take
NOISE = 1e-10  # differences that float64 itself has next to no digits for
MOST_ROWS = 4096  # that are looked at


def look_at_first_batch(
    by: str, names: Sequence[str], given: Sequence[Any], made: Sequence[Any], dtype: DType | None
) -> None:
    """Warn of what a batch shows; `made` are the trees of arrays that were made of its arguments,
    and `dtype` is that of the model, to which floats are converted.
    """
    if any(type(x) is not np.ndarray for x in given):
        warn_of_row_order(by, names, given)
    for name, x in zip(names, made, strict=True):
        for leaf in tree.leaves(x):
            _warn_of_rounding(by, name, leaf, dtype)


def _warn_of_rounding(by: str, name: str, x: Any, dtype: DType | None) -> None:
    """Warn where columns of float64 are large numbers that hardly differ, as times and coordinates
    do, and lose their differences in the dtype of the model.
    """
    if dtype != np.float32 or x.dtype != np.float64 or x.ndim == 0 or len(x) < 2:
        return
    columns = np.asarray(x[:MOST_ROWS]).reshape(min(len(x), MOST_ROWS), -1)
    largest = np.abs(columns).max(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        spread = columns.max(axis=0) - columns.min(axis=0)
        if not np.any((largest >= LARGE) & (spread > 0)):
            return
        lost = np.abs(columns - columns.astype(np.float32)).max(axis=0)
        known = (largest >= LARGE) & np.isfinite(lost) & (spread > NOISE * largest)
        rounded = np.flatnonzero(known & (lost > COARSE * spread))
    if rounded.size:
        column = int(rounded[0])
        warn_user(
            f"{by}: {name!r} has numbers up to {largest[column]:.6g} that differ by "
            f"{spread[column]:.6g} at most; as {dtype}, the dtype of the model, they are rounded "
            f"by up to {lost[column]:.2g}. Subtract an origin before the call, x - x[0], or pass "
            "cast=False and compute with float64.",
            RoundingWarning,
        )
