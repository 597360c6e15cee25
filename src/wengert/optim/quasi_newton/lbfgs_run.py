"""The iterations of L-BFGS on one vector, and what they know of the curvature: the last moves, and
how the gradient changed with them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from wengert.errors import OptimError
from wengert.optim import settings
from wengert.optim.quasi_newton.lbfgs_problem import FlatVector, LineSearch, Point, Problem, dot

LEAST_CURVATURE = 1e-10  # below it a pair says nothing that rounding does not


@dataclass(frozen=True)
class Pair:
    """One move of the parameters, and the change of the gradient that came with it."""

    move: FlatVector
    change: FlatVector
    product: float

    @staticmethod
    def of(move: FlatVector, change: FlatVector) -> Pair:
        return Pair(move, change, dot(change, move))


@dataclass
class LbfgsState:
    """All that is carried from one iteration to the next, and from one step to the next."""

    steps: int = 0
    iterations: int = 0
    evaluations: int = 0
    rate: float = 0.0  # how far along the direction the last iteration went
    direction: FlatVector | None = None
    gradient: FlatVector | None = None  # where that iteration began
    pairs: deque[Pair] = field(default_factory=deque)

    def copy(self) -> LbfgsState:
        """One that goes on alone; vectors are never written to, and so are shared."""
        return replace(self, pairs=self.pairs.copy())

    def remember(self, gradient: FlatVector, history_size: int) -> None:
        """Take in what the last iteration showed, given the gradient where it ended."""
        if self.direction is None or self.gradient is None:
            return
        pair = Pair.of(self.direction * self.rate, gradient - self.gradient)
        if pair.product > LEAST_CURVATURE:
            self.pairs.append(pair)
        while len(self.pairs) > history_size:
            self.pairs.popleft()

    def downhill(self, gradient: FlatVector) -> FlatVector:
        """The direction −H·g, where H is the inverse Hessian that the pairs suggest.

        Two loops over the pairs instead of a matrix: Nocedal 1980, algorithm 7.4 in Nocedal and
        Wright 2006.
        """
        direction = -gradient
        if not self.pairs:
            return direction
        weights, scratch = [], np.empty_like(direction)  # one for all products: vectors may be long
        for pair in reversed(self.pairs):
            weight = dot(pair.move, direction, scratch) / pair.product
            weights.append(weight)
            direction -= np.multiply(pair.change, weight, out=scratch)
        latest = self.pairs[-1]
        direction *= latest.product / dot(latest.change, latest.change, scratch)
        for pair, weight in zip(self.pairs, reversed(weights), strict=True):
            part = weight - dot(pair.change, direction, scratch) / pair.product
            direction += np.multiply(pair.move, part, out=scratch)
        return direction

    def size(self) -> int | None:
        """How many numbers the vectors have; None before the first iteration."""
        return None if self.direction is None else self.direction.size

    def as_dict(self) -> dict[str, Any]:
        """Counters, and arrays: pairs are the rows of `moves` and `changes`, the latest last."""
        saved: dict[str, Any] = {
            "steps": self.steps,
            "iterations": self.iterations,
            "evaluations": self.evaluations,
            "rate": self.rate,
        }
        if self.direction is not None and self.gradient is not None:
            empty = np.zeros((0, self.direction.size))
            saved["direction"] = self.direction.copy()
            saved["gradient"] = self.gradient.copy()
            saved["moves"] = np.array([p.move for p in self.pairs]) if self.pairs else empty
            saved["changes"] = np.array([p.change for p in self.pairs]) if self.pairs else empty
        return saved

    @staticmethod
    def from_dict(by: str, saved: Mapping[str, Any]) -> LbfgsState:
        """The state that `as_dict` described."""
        names = {"steps", "iterations", "evaluations", "rate"}
        vectors = ("direction", "gradient", "moves", "changes")
        if set(saved) not in (names, names | set(vectors)):
            raise _refused(by, f"a state with {', '.join(map(str, saved)) or 'nothing in it'}")
        steps, iterations, evaluations = (
            settings.index(by, name, saved[name]) for name in ("steps", "iterations", "evaluations")
        )
        rate = saved["rate"]
        if not isinstance(rate, float) or not np.isfinite(rate):
            raise _refused(by, f"rate={rate!r}")
        state = LbfgsState(steps, iterations, evaluations, rate)
        if "direction" in saved:
            arrays = [np.array(saved[name]) for name in vectors]
            if not _fitting(*arrays):
                raise _refused(by, "arrays of other shapes or dtypes")
            state.direction, state.gradient, moves, changes = arrays
            state.pairs = deque(map(Pair.of, moves, changes))
        return state


def _fitting(
    direction: FlatVector, gradient: FlatVector, moves: FlatVector, changes: FlatVector
) -> bool:
    """Whether these are two vectors of one length, and two matrices with such rows."""
    if any(x.dtype != np.float64 for x in (direction, gradient, moves, changes)):
        return False
    alike = direction.shape == gradient.shape and moves.shape == changes.shape
    return alike and direction.ndim == 1 and moves.ndim == 2 and moves.shape[1:] == direction.shape


def _refused(by: str, given: str) -> OptimError:
    return OptimError(
        f"{by}: given {given}; what state_dict() of an LBFGS gave is needed. Pass that."
    )


class LbfgsSettings(Protocol):
    """What the iterations read of an LBFGS."""

    max_iter: int
    max_eval: int | None
    tolerance_grad: float
    tolerance_change: float
    history_size: int
    line_search_fn: str | None


@dataclass(frozen=True)
class Iterate:
    """A vector with value and gradient there."""

    x: FlatVector
    value: float
    gradient: FlatVector


@dataclass(frozen=True)
class RunEnding:
    """Where the iterations ended, the best place they saw, and why they ended."""

    start: Iterate
    last: Iterate
    best: Iterate
    iterations: int
    converged: bool
    message: str


class LbfgsRun:
    """One run of iterations from the parameters of a problem. It changes the state it is given."""

    def __init__(
        self, settings: LbfgsSettings, rate: float, problem: Problem, state: LbfgsState
    ) -> None:
        self.settings, self.rate = settings, rate
        self.problem, self.state = problem, state
        x = problem.start()
        self.place = self.start = self.best = Iterate(x, *problem.evaluate_start(x))
        limit = settings.max_eval
        self.max_eval = settings.max_iter * 5 // 4 if limit is None else limit

    def to_the_end(self) -> RunEnding:
        """Iterate until there is a reason to stop."""
        with np.errstate(all="ignore"):  # what is not finite is backed away from
            return self._to_the_end()

    def _to_the_end(self) -> RunEnding:
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
        return RunEnding(self.start, self.place, self.best, iterations, converged, message)

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
        self.place = Iterate(place.x + point.step * direction, point.value, point.gradient)
        if point.value < self.best.value:
            self.best = self.place
        if point.step == 0.0 and self.rate > 0.0:
            return False, "found no lower value along the direction"
        return None

    def _along(self, start: Point, direction: FlatVector, step: float) -> Point:
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
            return LineSearch(evaluate, start, left, shortest).run(step)
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
        if self.met_nonfinite:  # it was stopped there, and has not converged
            return False, f"{message}; further along, values or gradients are not finite"
        return True, message
