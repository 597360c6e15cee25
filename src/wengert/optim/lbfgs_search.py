"""The line search of L-BFGS: a step along a direction that meets the strong Wolfe conditions.

Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6: go on until an interval
must hold such a step, then narrow the interval. Steps are tried, and intervals narrowed, by the
same rules as in torch.optim.LBFGS, so that both take the same steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from wengert.optim.lbfgs_problem import Vector

DECREASE = 1e-4  # a step must lower the value by this part of what the slope promises
FLATTENING = 0.9  # and leave at most this part of the slope


@dataclass(frozen=True)
class Point:
    """A place along the direction: how far, and value, slope and gradient there."""

    step: float
    value: float  # +inf where value or gradient are not finite
    slope: float
    gradient: Vector


@dataclass(frozen=True)
class Search:
    """A search along one direction, with what it may spend."""

    evaluate: Callable[[float], Point]
    start: Point
    budget: int  # evaluations after the first
    shortest: float  # an interval below this is not divided

    def run(self, first_step: float) -> Point:
        """The best point found; `start` itself if nothing lower was found."""
        previous, current = self.start, self.evaluate(first_step)
        for tries in range(self.budget):
            rises = tries > 1 and current.value >= previous.value
            if self._too_high(current) or rises:
                return self._narrow(previous, current, tries)
            if self._flat(current):
                return current
            if current.slope >= 0:
                return self._narrow(previous, current, tries)
            bounds = (current.step + 0.01 * (current.step - previous.step), current.step * 10)
            step = lowest_of_cubic(previous, current, bounds)
            previous, current = current, self.evaluate(step)
        return self.start if self.start.value <= current.value else current

    def _too_high(self, point: Point) -> bool:
        start = self.start
        return point.value > start.value + DECREASE * point.step * start.slope

    def _flat(self, point: Point) -> bool:
        return abs(point.slope) <= -FLATTENING * self.start.slope

    def _narrow(self, a: Point, b: Point, tries: int) -> Point:
        """Divide an interval that must hold a good step until one is found."""
        ends = [a, b]
        low = _lower(ends)
        stalled = False
        for _ in range(tries, self.budget):
            if abs(ends[1].step - ends[0].step) < self.shortest:
                break
            step, stalled = _inside(ends, stalled)
            new = self.evaluate(step)
            if self._too_high(new) or new.value >= ends[low].value:
                ends[1 - low] = new
                low = _lower(ends)
                continue
            if self._flat(new):
                return new
            if new.slope * (ends[1 - low].step - ends[low].step) >= 0:
                ends[1 - low] = ends[low]
            ends[low] = new
        return ends[low]


def _lower(ends: list[Point]) -> int:
    return 0 if ends[0].value <= ends[1].value else 1


def _inside(ends: list[Point], stalled: bool) -> tuple[float, bool]:
    """Where to divide an interval. Too near to an end twice in a row, or at it, the place is moved
    a tenth of the interval away; the flag says that it was near this time.
    """
    first, last = sorted(end.step for end in ends)
    step = lowest_of_cubic(ends[0], ends[1], (first, last))
    margin = 0.1 * (last - first)
    if min(last - step, step - first) >= margin:
        return step, False
    if not stalled and first < step < last:
        return step, True
    return (last - margin if abs(step - last) < abs(step - first) else first + margin), False


def lowest_of_cubic(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through the values and slopes of two points is lowest, kept within bounds.

    The middle where that cubic has no minimum; near the finite point where the other is not.
    """
    least, most = bounds
    if not (math.isfinite(a.value) and math.isfinite(b.value)):
        good, bad = (a, b) if math.isfinite(a.value) else (b, a)
        return good.step + 0.1 * (bad.step - good.step)
    left, right = (a, b) if a.step <= b.step else (b, a)
    # The same numbers from either side: d1 and d2 do not depend on which point is called a.
    d1 = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step)
    square = d1 * d1 - a.slope * b.slope
    if not 0 <= square < math.inf:
        return (least + most) / 2
    d2 = math.sqrt(square)
    bottom = right.slope - left.slope + 2 * d2
    if bottom == 0:
        return (least + most) / 2
    part = (right.slope + d2 - d1) / bottom
    lowest = right.step - (right.step - left.step) * part
    return min(max(lowest, least), most)
