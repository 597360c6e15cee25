"""Ends of a search of L-BFGS that are no minimum: its tolerances are absolute, and where a weight
is a lifetime of 5e-9 s each step is within them.

Whether the function falls from there on is tried for each array alone, by parts of what its
elements are. A fall counts beside the value and beside what the search has gained: a fit that has
come down to rounding, and one that could be better in its last digits, are at their end.

Where changes were small, and the gradient is not, short ways down the gradient are tried as well:
the curvature of a start with a huge value makes all later steps short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import UnreachedWarning
from wengert.optim.quasi_newton.lbfgs_problem import FlatVector, Problem
from wengert.optim.quasi_newton.lbfgs_run import Iterate, RunEnding
from wengert.optim.quasi_newton.scaling_words import scaled

_FALL = 1e-3  # of the value
_GAIN = 1e-4  # of what the search has gained
_PARTS = 0.1, 0.01, 0.001  # of each weight
_FAR = 1e6
_SHRINKING = 0.5, 0.1, 0.0, -1.0, -_FAR  # factors
_GROWING = 1.2, 2.0, 10.0, 1e3, _FAR
_STEEP = 1e-3  # a gradient that no end has
_LENGTHS = 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6  # of ways down the gradient, beside 1
_STEEP_FALL = 1e-2  # of the value
_LEAST_FALL = 1e-6  # of a value around 1


class _Lower(NamedTuple):
    path: str
    weight: int  # in the vector, of the weight that promises most
    part: float  # of the weights, by which they were changed
    value: float


def warn_if_unscaled(problem: Problem, ending: RunEnding) -> bool:
    """Warn where a search with the default tolerances ends as converged, and one array of weights
    alone lowers the value; say whether it was told.
    """
    place = ending.best
    if place is not ending.last:
        return False
    try:
        with np.errstate(all="ignore"):
            lower = next(_falls(problem, ending), None)
            downhill = None if lower else _downhill(problem, place)
    except Exception:  # a function that cannot be computed there is not asked about
        return False
    if lower is not None:
        name = "the tree changes" if lower.path == "" else f"{lower.path!r} alone changes"
        warn_user(
            f"{problem.by}: the search ended where the value is {place.value:.6g}, as "
            f"{ending.message}; but it falls to {lower.value:.6g} if {name} by "
            f"{lower.part:.3g} of what it is. Tolerances are for weights and values around 1: "
            f"{_repair(problem, place, lower)}.",
            UnreachedWarning,
        )
    if downhill is not None:
        distance, value = downhill
        warn_user(
            f"{problem.by}: the search ended where the value is {place.value:.6g}, as "
            f"{ending.message}; but it falls to {value:.6g} at a distance of {distance:.2g} down "
            f"the gradient, which is {np.abs(place.gradient).max():.2g} at most. Search again from "
            "there, search.minimize(function, result.tree), or from a start with a smaller value: "
            f"that of this one was {ending.start.value:.6g}.",
            UnreachedWarning,
        )
    return lower is not None or downhill is not None


def _downhill(problem: Problem, place: Iterate) -> tuple[float, float] | None:
    """How far to go down a gradient that is not small, and the value there."""
    steepest = float(np.abs(place.gradient).max())
    if steepest < _STEEP:
        return None
    needed = max(_STEEP_FALL * abs(place.value), _LEAST_FALL)
    for length in _LENGTHS:
        distance = length * max(1.0, float(np.abs(place.x).max()))
        value, _ = problem.evaluate(place.x - distance / steepest * place.gradient)
        if math.isfinite(value) and place.value - value > needed:
            return distance, value
    return None


def _falls(problem: Problem, ending: RunEnding) -> Iterator[_Lower]:
    place = ending.best
    needed = max(_FALL * abs(place.value), _GAIN * abs(ending.start.value - place.value))
    # What each element promises, if it is changed by as much as it is. A convex function never
    # falls by more: at a minimum nothing is tried.
    promised = place.gradient * place.x
    if place.value == 0.0 == needed:
        needed = _FALL * float(np.abs(promised).sum())
    for path, where in problem.places.items():
        of_array = np.zeros_like(promised)
        of_array[where] = promised[where]
        for shrinks in (False, True):
            chosen = np.where((of_array > 0) == shrinks, of_array, 0.0)
            if float(np.abs(chosen).sum()) > needed:
                yield from _lower(problem, place, chosen, needed, path)


def _lower(
    problem: Problem, place: Iterate, promised: FlatVector, needed: float, path: str
) -> Iterator[_Lower]:
    """Go down in the logarithms of some weights."""
    largest = float(np.abs(promised).max())

    def value_at(part: float) -> float:
        return problem.evaluate(place.x * (1 - part * promised / largest))[0]

    for part in _PARTS:
        value = value_at(part)
        if math.isfinite(value) and place.value - value > needed:
            if _have_a_size(problem, place, promised):
                yield _Lower(path, int(np.abs(promised).argmax()), part, value)
            return


def _have_a_size(problem: Problem, place: Iterate, promised: FlatVector) -> bool:
    """Whether the minimum is at some multiple of the weights. What wants to be 0 is small beside 1,
    which is near enough; what falls for ever, as the logits of classes that are easy to tell apart,
    has no minimum.
    """
    far = problem.evaluate(_FAR * place.x)[0]
    factors = _SHRINKING if (promised > 0).any() else _GROWING
    values = {}
    for factor in factors:
        value, _ = problem.evaluate(np.where(promised == 0, place.x, factor * place.x))
        values[factor] = value if math.isfinite(value) else math.inf
    lowest = min(values.values())
    # An energy of atoms falls towards 0 with their distance, and is lower at some distance.
    if far < place.value and not lowest < far - _FALL * abs(lowest):
        return False
    return lowest not in (values.get(0.0), values[factors[-1]])


def _repair(problem: Problem, place: Iterate, lower: _Lower) -> str:
    """Scale what hides the rest: a weight with a huge gradient makes all steps short, one with a
    tiny gradient makes none.
    """
    steep = int(np.abs(place.gradient).argmax())
    sizes = np.abs(place.x)
    if sizes[steep] == 0.0 or _from_one(sizes[steep]) < _from_one(sizes[lower.weight]):
        steep = lower.weight
    path = next(path for path, where in problem.places.items() if steep < where.stop)
    weight, shape = path or "tree", problem.parameters[path].shape
    if shape:
        place_in_array = np.unravel_index(steep - problem.places[path].start, shape)
        weight += f"[{', '.join(map(str, place_in_array))}]"
    return scaled(weight, float(sizes[steep]), place.value or lower.value)


def _from_one(size: float) -> float:
    return abs(math.log10(size))
