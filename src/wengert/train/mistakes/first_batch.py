"""What is looked at in the first batch of its kind: numbers that become equal in the dtype of the
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import DType
from wengert.core.words.warn import warn_user
from wengert.errors import RoundingWarning

COARSE = 2.0**-12  # how much of the spread of a column rounding may take
LARGE = 2.0**16  # below that, differences may be noise: of these rounding may take
COARSE_BELOW = 2.0**-8
NOISE = 1e-13  # differences of sums that are equal but for rounding in float64
LEAST = 2.0**-50  # differences that float64 itself has next to no digits for
NOISE_BELOW = 2.0**-20  # those of a constant that was computed in float32, beside its size
FEWEST_ROWS = 8  # of numbers below LARGE; two or three may be near each other by chance
MOST_ROWS = 4096  # that are looked at


def look_at_first_batch(
    by: str, names: Sequence[str], batch: Sequence[Any], dtype: DType | None
) -> None:
    """Warn of what the arrays of a batch show; `dtype` is that of the model, to which floats are
    converted.
    """
    for name, x in zip(names, batch, strict=True):
        for leaf in tree.leaves(x):
            _warn_of_rounding(by, name, leaf, dtype)


def _warn_of_rounding(by: str, name: str, x: Any, dtype: DType | None) -> None:
    """Warn where columns of float64 hardly differ beside their size, as times and coordinates do,
    and lose their differences in the dtype of the model.
    """
    if dtype != np.float32 or x.dtype != np.float64 or x.ndim == 0 or len(x) < 2:
        return
    columns = np.asarray(x[:MOST_ROWS]).reshape(min(len(x), MOST_ROWS), -1)
    with np.errstate(invalid="ignore", over="ignore"):
        highest, lowest = columns.max(axis=0), columns.min(axis=0)
        largest, spread = np.maximum(np.abs(highest), np.abs(lowest)), highest - lowest
        # Rounding takes 2**-24 of a number at most; where it is less than COARSE, all is well.
        near = np.flatnonzero((spread > LEAST * largest) & (spread < 2.0**-24 / COARSE * largest))
        rounded = [int(i) for i in near if _is_rounded_away(columns[:, i], largest[i], spread[i])]
    for i in rounded[:1]:
        lost = np.abs(columns[:, i] - columns[:, i].astype(np.float32)).max()
        warn_user(
            f"{by}: {name!r} has numbers up to {largest[i]:.6g} that differ by "
            f"{spread[i]:.6g} at most; as {dtype}, the dtype of the model, they are rounded "
            f"by up to {lost:.2g}. Subtract an origin before the call, x - x[0], or pass "
            "cast=False and compute with float64.",
            RoundingWarning,
        )


def _is_rounded_away(column: np.ndarray, largest: float, spread: float) -> bool:
    """Whether float32 has too few of the digits that this column differs in. They may be noise, of
    float64 in any numbers and of float32 in those that are no larger than LARGE, unless they are in
    order, as times are.
    """
    rounded = column.astype(np.float32)
    lost = np.abs(column - rounded).max()
    if not np.isfinite(lost):
        return False
    if largest >= LARGE and spread > NOISE * largest:
        return bool(lost > COARSE * spread)
    steps = np.diff(column)
    distinct = np.count_nonzero(steps) + 1  # of a column in order
    if len(column) < FEWEST_ROWS or distinct < FEWEST_ROWS:
        return False
    if (steps >= 0).all() or (steps <= 0).all():
        collapsed = 2 * (np.count_nonzero(np.diff(rounded)) + 1) < distinct
        return bool(collapsed or lost > COARSE_BELOW * spread)
    return bool(lost > COARSE_BELOW * spread and spread > NOISE_BELOW * largest)
