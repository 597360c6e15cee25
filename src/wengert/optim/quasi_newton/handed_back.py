"""Starts that a search of L-BFGS hands back although the function falls from there on: its values,
in joules or farads, are so small that each gradient is within the tolerances, which are absolute.

Whether it falls is tried: the curvature along the gradient says how far away the minimum is, and
the value there is compared with that of the start. Places that a search has come to are no starts
of this kind, however small their values.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning
from wengert.optim.quasi_newton.lbfgs_problem import FlatVector, Problem, dot
from wengert.optim.quasi_newton.lbfgs_run import Iterate, RunEnding
from wengert.optim.quasi_newton.scaling_words import scaled

_NEAR = 1e-2  # beside the largest weight, or 1: a minimum as near as that has been met
_FALL = 1e-2  # of the value
_PROBE = 1e-4  # how far to go for a curvature
_TRIES = 4  # each at a fourth of the distance
_REMEMBERED = 64

_results: deque[int] = deque(maxlen=_REMEMBERED)  # marks of vectors that searches came to


class _Lower(NamedTuple):
    distance: float
    value: float


def note_result(vector: FlatVector) -> None:
    """Remember where a search ended."""
    _results.append(_mark(vector))


def ends_where_another_ended(ending: RunEnding) -> bool:
    """Whether a search ends where it began, and an earlier one has ended there."""
    return ending.last is ending.start and _mark(ending.start.x) in _results


def warn_if_handed_back(problem: Problem, ending: RunEnding) -> bool:
    """Warn where a search with the default tolerances ends where it began, and could go on; say
    whether it was told.
    """
    start = ending.start
    largest = float(np.abs(start.gradient).max())
    if ending.last is not start or largest == 0.0 or start.value == 0.0:
        return False
    lower = _lower(problem, start)
    if lower is not None:
        size = lower.distance if not start.x.any() else 1.0
        warn_user(
            f"{problem.by}: the start is returned as it is, for its gradient, {largest:.2g} at "
            f"most, is within the tolerances; but the value there, {start.value:.6g}, falls to "
            f"{lower.value:.6g} at a distance of {lower.distance:.2g}. Tolerances are for weights "
            f"and values around 1: {scaled('weights', size, start.value)}.",
            UnreachedWarning,
        )
    return lower is not None


def _lower(problem: Problem, start: Iterate) -> _Lower | None:
    """A place down the gradient that is much lower than the start, if there is one beyond what is
    near. Functions that cannot be computed there are not asked about.
    """
    scale = max(1.0, float(np.abs(start.x).max()))
    near = _NEAR * scale if start.x.any() else 0.0  # zeros do not say how large weights are
    largest = float(np.abs(start.gradient).max())
    down = -start.gradient / largest  # so that no square is below the floats
    down /= math.sqrt(dot(down, down))
    try:
        with np.errstate(all="ignore"):
            _, ahead = problem.evaluate(start.x + _PROBE * scale * down)
            slope, bend = dot(start.gradient, down), dot(ahead - start.gradient, down)
            distance = 0.1 * scale  # where it bends down
            if bend > 0:
                distance = min(scale, -slope / bend * _PROBE * scale)
            for _ in range(_TRIES):
                if distance <= near:
                    break
                value, _ = problem.evaluate(start.x + distance * down)
                if start.value - value > _FALL * abs(start.value):
                    return _Lower(distance, value) if math.isfinite(value) else None
                distance /= 4
    except Exception:
        return None
    return None


def _mark(vector: FlatVector) -> int:
    """Equal for a vector and the float32 weights that were made of it."""
    return hash(vector.astype(np.float32).tobytes())
