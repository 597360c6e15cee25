"""Axes of charts: round ticks, and where numbers lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ChartAxis:
    """Numbers from `low` to `high` along a line of pixels from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float
    ticks: Sequence[float]
    log: bool = False

    def place(self, values: Any) -> Any:
        """Where a number lies, in pixels; one beyond an end of the axis lies at that end."""
        scale = np.log10 if self.log else np.asarray
        low, high = float(scale(self.low)), float(scale(self.high))
        clipped = np.clip(np.asarray(values, np.float64), self.low, self.high)
        return self.begin + (self.end - self.begin) * (scale(clipped) - low) / (high - low)


def linear_axis(
    values: Array, begin: float, end: float, count: int = 5, whole: bool = False
) -> ChartAxis:
    """An axis with room for these numbers, and with about so many ticks."""
    low, high = _ends(values)
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    width = max(1.0, math.ceil(width)) if whole else width
    first, last = math.floor(low / width + 1e-9), math.ceil(high / width - 1e-9)
    if whole:  # of epochs: no room beyond the last one
        ticks = [width * i for i in range(first, last + 1) if low <= width * i <= high]
        return ChartAxis(low, high, begin, end, ticks)
    ticks = [width * i for i in range(first, last + 1)]
    return ChartAxis(ticks[0], ticks[-1], begin, end, ticks)


def log_axis(values: Array, begin: float, end: float) -> ChartAxis:
    """An axis of powers of ten; with 2 and 5 between them where there are few."""
    given = values[np.isfinite(values) & (values > 0)]
    low, high = (float(given.min()), float(given.max())) if len(given) else (0.1, 1.0)
    low, high = (low / 1.5, high * 1.5) if high / low < 1.5 else (low, high)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    between = (1, 2, 5) if last - first <= 2 else (1,)
    marks = [m * 10.0**i for i in range(first, last + 1) for m in between]
    ends = [m for m in marks if m <= low * 1.001][-1:] or [low]
    ends += [m for m in marks if m >= high * 0.999][:1] or [high]
    every = max(1, math.ceil((last - first) / 6)) if between == (1,) else 1
    return ChartAxis(
        ends[0], ends[1], begin, end, [m for m in marks if ends[0] <= m <= ends[1]][::every], True
    )


def _ends(values: Array) -> tuple[float, float]:
    """The least and the largest finite number, apart from one another in any case."""
    given = values[np.isfinite(values)]
    low, high = (float(given.min()), float(given.max())) if len(given) else (0.0, 1.0)
    room = abs(low) * 1e-6 + 1e-12
    return (low, high) if high - low > room else (low - 0.5 - abs(low) / 2, high + 0.5 + abs(high))


def short(value: float) -> str:
    """A number for a tick or a cell, in few letters.

    >>> [short(x) for x in (0.0, 0.25, 1234567.0, 1e-05, 12.0)]
    ['0', '0.25', '1.23M', '1e-05', '12']
    """
    size = abs(value)
    if size >= 1e9 or (0 < size < 1e-3):
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if size >= max(unit, 1e4):
            return f"{value / unit:.3g}{letter}"
    return f"{value:.4g}"
