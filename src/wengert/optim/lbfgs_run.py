"""The iterations of L-BFGS, on one vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from wengert.optim.lbfgs_problem import Problem, Vector, dot
from wengert.optim.lbfgs_search import Point, Search
from wengert.optim.lbfgs_state import State


class Settings(Protocol):
    """What the iterations read of an LBFGS."""

    max_iter: int
    max_eval: int | None
    tolerance_grad: float
    tolerance_change: float
    history_size: int
    line_search_fn: str | None


@dataclass(frozen=True)
class Place:
    """A vector with value and gradient there."""

    x: Vector
    value: float
    gradient: Vector


@dataclass(frozen=True)
class Ending:
    """Where the iterations ended, the best place they saw, and why they ended."""

    start: Place
    last: Place
    best: Place
    iterations: int
    converged: bool
    message: str


class LbfgsRun:
    """One run of iterations from the parameters of a problem. It changes the state it is given."""

    def __init__(self, settings: Settings, rate: float, problem: Problem, state: State) -> None:
        self.settings, self.rate = settings, rate
        self.problem, self.state = problem, state
        x = problem.start()
        self.place = self.start = self.best = Place(x, *problem.evaluate_start(x))
        limit = settings.max_eval
        self.max_eval = settings.max_iter * 5 // 4 if limit is None else limit

    def to_the_end(self) -> Ending:
        """Iterate until there is a reason to stop."""
        with np.errstate(all="ignore"):  # what is not finite is backed away from
            return self._to_the_end()

    def _to_the_end(self) -> Ending:
        iterations, reason = 0, self._optimal()
        while reason is None:
            iterations += 1
            reason = self._iterate() or self._optimal() or self._stuck()
            if reason is None and iterations == self.settings.max_iter:
                reason = False, f"made {iterations} iterations, which is max_iter"
            if reason is None and self.problem.evaluations >= self.max_eval:
                reason = False, f"made {self.problem.evaluations} evaluations; max_eval is reached"
        self.state.evaluations += self.problem.evaluations
        converged, message = reason
        return Ending(self.start, self.place, self.best, iterations, converged, message)

    def _iterate(self) -> tuple[bool, str] | None:
        """Find a direction and go along it; the reason to stop if there is no such way."""
        state, place = self.state, self.place
        state.iterations += 1
        state.remember(place.gradient, self.settings.history_size)
        direction = state.downhill(place.gradient)
        slope = dot(place.gradient, direction)
        fresh = state.iterations == 1
        if state.pairs and not slope < 0:  # rounding has spoilt what the pairs say
            state.pairs.clear()
            direction, fresh = -place.gradient, True
            slope = dot(place.gradient, direction)
        # Nothing is known of the scale yet: go a distance of one at most.
        reach = float(np.abs(place.gradient).sum())
        step = min(1.0, 1.0 / reach) * self.rate if fresh else self.rate
        self.previous = place
        state.direction, state.gradient, state.rate = direction, place.gradient, step
        if not math.isfinite(slope):
            return False, "the gradient is too large to be squared; scale the value down"
        if slope > -self.settings.tolerance_change:
            return True, "the slope is within tolerance_change of zero"
        point = self._along(Point(0.0, place.value, slope, place.gradient), direction, step)
        state.rate = point.step
        self.place = Place(place.x + point.step * direction, point.value, point.gradient)
        if point.value < self.best.value:
            self.best = self.place
        if point.step == 0.0 and self.rate > 0.0:
            return False, "found no lower value along the direction"
        return None

    def _along(self, start: Point, direction: Vector, step: float) -> Point:
        """The point to go to."""

        self.met_nonfinite = False

        def evaluate(step: float) -> Point:
            value, gradient = self.problem.evaluate(self.previous.x + step * direction)
            slope = dot(gradient, direction)
            if not math.isfinite(value) or not math.isfinite(slope):
                self.met_nonfinite = True
                return Point(step, math.inf, math.inf, gradient)
            return Point(step, value, slope, gradient)

        left = self.max_eval - self.problem.evaluations
        if self.settings.line_search_fn is not None:
            shortest = self.settings.tolerance_change / float(np.abs(direction).max())
            return Search(evaluate, start, left, shortest).run(step)
        point = evaluate(step)
        while point.value == math.inf and left > 1:  # not finite: back, a tenth of the way
            left -= 1
            point = evaluate(point.step / 10)
        return start if point.value == math.inf else point

    def _optimal(self) -> tuple[bool, str] | None:
        if np.abs(self.place.gradient).max() <= self.settings.tolerance_grad:
            return True, "the gradient is within tolerance_grad of zero"
        return None

    def _stuck(self) -> tuple[bool, str] | None:
        tolerance = self.settings.tolerance_change
        direction = self.state.direction
        if direction is not None and np.abs(direction * self.state.rate).max() <= tolerance:
            message = "the weights changed by at most tolerance_change"
        elif abs(self.place.value - self.previous.value) < tolerance:
            message = "the value changed by less than tolerance_change"
        else:
            return None
        if self.met_nonfinite:  # held up, not arrived
            return False, f"{message}; further along, values or gradients are not finite"
        return True, message
