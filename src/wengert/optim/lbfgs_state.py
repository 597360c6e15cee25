"""What L-BFGS knows of the curvature: the last moves and how the gradient changed with them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wengert.errors import OptimError
from wengert.optim import schedules_checks as checks
from wengert.optim.lbfgs_problem import Vector, dot

LEAST_CURVATURE = 1e-10  # below it a pair says nothing that rounding does not


@dataclass(frozen=True)
class Pair:
    """One move of the parameters, and the change of the gradient that came with it."""

    move: Vector
    change: Vector
    product: float

    @staticmethod
    def of(move: Vector, change: Vector) -> Pair:
        return Pair(move, change, dot(change, move))


@dataclass
class State:
    """All that is carried from one iteration to the next, and from one step to the next."""

    steps: int = 0
    iterations: int = 0
    evaluations: int = 0
    rate: float = 0.0  # how far along the direction the last iteration went
    direction: Vector | None = None
    gradient: Vector | None = None  # where that iteration began
    pairs: deque[Pair] = field(default_factory=deque)

    def copy(self) -> State:
        """One that goes on alone; vectors are never written to, and so are shared."""
        return replace(self, pairs=self.pairs.copy())

    def remember(self, gradient: Vector, history_size: int) -> None:
        """Take in what the last iteration showed, given the gradient where it ended."""
        if self.direction is None or self.gradient is None:
            return
        pair = Pair.of(self.direction * self.rate, gradient - self.gradient)
        if pair.product > LEAST_CURVATURE:
            self.pairs.append(pair)
        while len(self.pairs) > history_size:
            self.pairs.popleft()

    def downhill(self, gradient: Vector) -> Vector:
        """The direction −H·g, where H is the inverse Hessian that the pairs suggest.

        Two loops over the pairs instead of a matrix: Nocedal 1980, algorithm 7.4 in Nocedal and
        Wright 2006.
        """
        found = -gradient
        if not self.pairs:
            return found
        weights, scratch = [], np.empty_like(found)  # one for all products: vectors may be long
        for pair in reversed(self.pairs):
            weight = dot(pair.move, found, scratch) / pair.product
            weights.append(weight)
            found -= np.multiply(pair.change, weight, out=scratch)
        latest = self.pairs[-1]
        found *= latest.product / dot(latest.change, latest.change, scratch)
        for pair, weight in zip(self.pairs, reversed(weights), strict=True):
            part = weight - dot(pair.change, found, scratch) / pair.product
            found += np.multiply(pair.move, part, out=scratch)
        return found

    def size(self) -> int | None:
        """How many numbers the vectors have; None before the first iteration."""
        return None if self.direction is None else self.direction.size

    def as_dict(self) -> dict[str, Any]:
        """Counters, and arrays: pairs are the rows of `moves` and `changes`, the latest last."""
        found: dict[str, Any] = {
            "steps": self.steps,
            "iterations": self.iterations,
            "evaluations": self.evaluations,
            "rate": self.rate,
        }
        if self.direction is not None and self.gradient is not None:
            empty = np.zeros((0, self.direction.size))
            found["direction"] = self.direction.copy()
            found["gradient"] = self.gradient.copy()
            found["moves"] = np.array([p.move for p in self.pairs]) if self.pairs else empty
            found["changes"] = np.array([p.change for p in self.pairs]) if self.pairs else empty
        return found

    @staticmethod
    def from_dict(by: str, saved: Mapping[str, Any]) -> State:
        """The state that `as_dict` described."""
        names = {"steps", "iterations", "evaluations", "rate"}
        vectors = ("direction", "gradient", "moves", "changes")
        if set(saved) not in (names, names | set(vectors)):
            raise _refused(by, f"a state with {', '.join(map(str, saved)) or 'nothing in it'}")
        steps, iterations, evaluations = (
            checks.index(by, name, saved[name]) for name in ("steps", "iterations", "evaluations")
        )
        rate = saved["rate"]
        if not isinstance(rate, float) or not np.isfinite(rate):
            raise _refused(by, f"rate={rate!r}")
        state = State(steps, iterations, evaluations, rate)
        if "direction" in saved:
            arrays = [np.array(saved[name]) for name in vectors]
            if not _fitting(*arrays):
                raise _refused(by, "arrays of other shapes or dtypes")
            state.direction, state.gradient, moves, changes = arrays
            state.pairs = deque(map(Pair.of, moves, changes))
        return state


def _fitting(direction: Vector, gradient: Vector, moves: Vector, changes: Vector) -> bool:
    """Whether these are two vectors of one length, and two matrices with such rows."""
    if any(x.dtype != np.float64 for x in (direction, gradient, moves, changes)):
        return False
    alike = direction.shape == gradient.shape and moves.shape == changes.shape
    return alike and direction.ndim == 1 and moves.ndim == 2 and moves.shape[1:] == direction.shape


def _refused(by: str, given: str) -> OptimError:
    return OptimError(
        f"{by}: given {given}; what state_dict() of an LBFGS gave is needed. Pass that."
    )
