"""What L-BFGS minimises, as a function of one vector, and the search along a line through it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wengert.core import tree
from wengert.core.words.numbers_in_trees import arrays_instead
from wengert.errors import NonFiniteError, OptimError
from wengert.optim.parameters import gradients_for, parameters_of, replaced, warn_of_floats

FlatVector: TypeAlias = NDArray[np.float64]


def dot(a: FlatVector, b: FlatVector, scratch: FlatVector | None = None) -> float:
    """The sum of products, which are written to `scratch`. NumPy's own sum adds in one order on
    every machine and with any number of threads; its dot leaves that to a library.
    """
    return float(np.add.reduce(np.multiply(a, b, out=scratch)))


class Problem:
    """A function that gives value and gradient of a tree, on vectors of float64.

    The arithmetic of L-BFGS is done in float64 for float32 parameters, too: the differences of
    gradients it lives on are small.
    """

    def __init__(
        self,
        by: str,
        value_and_grad: Callable[..., Any],
        weights: Any,
        data: Mapping[str, Any] | None = None,  # arguments behind the weights, for messages
    ) -> None:
        self.by, self._data = by, data or {}
        self.tree = weights
        self.parameters = parameters_of(by, weights)
        for first in list(self.parameters.values())[:1]:
            warn_of_floats(by, "tree", weights, first.dtype)
        self.places: dict[str, slice] = {}  # where the numbers of each stand in a vector
        self.size = 0
        for path, x in self.parameters.items():
            self.places[path] = slice(self.size, self.size + x.size)
            self.size += x.size
        self.evaluations = 0
        self._value_and_grad = value_and_grad
        if self.size == 0:
            raise _nothing_to_change(by, weights)

    def start(self) -> FlatVector:
        """The parameters of the tree as one vector."""
        return _joined(self.parameters)

    def at(self, vector: FlatVector) -> Any:
        """The tree with the numbers of a vector for its parameters."""
        return replaced(self.tree, self._parts(vector))

    def assign(self, vector: FlatVector) -> None:
        """Write the numbers of a vector into the parameters, in place."""
        for path, part in self._parts(vector).items():
            np.copyto(self.parameters[path], part)

    def evaluate(self, vector: FlatVector) -> tuple[float, FlatVector]:
        """Value and gradient at a vector; they need not be finite."""
        self.evaluations += 1
        returned = self._value_and_grad(self.at(vector))
        if not isinstance(returned, tuple) or len(returned) != 2 or np.ndim(returned[0]) != 0:
            raise OptimError(
                f"{self.by}: the function returned {_described(returned)}; it must return one "
                "number and the gradients, as wg.value_and_grad(loss) does. Wrap the loss with it."
            )
        value, grads = returned
        return float(value), _joined(gradients_for(self.by, self.parameters, grads))

    def evaluate_start(self, vector: FlatVector) -> tuple[float, FlatVector]:
        """Value and gradient where the search begins, which must be finite."""
        value, gradient = self.evaluate(vector)
        if not math.isfinite(value) or not np.isfinite(gradient).all():
            finite = math.isfinite(value)
            what = "the gradient is not finite" if finite else f"the value is {value}"
            place = _first_nonfinite(self._data)
            if place is not None:
                raise NonFiniteError(
                    f"{self.by}: {what} where the search begins, and {place}; value and gradient "
                    "must be finite there. Leave such rows out, or replace such numbers; nothing "
                    "was changed."
                )
            raise NonFiniteError(
                f"{self.by}: {what} at the given weights; value and gradient must be finite where "
                "the search begins. Choose other weights; nothing was changed."
            )
        return value, gradient

    def _parts(self, vector: FlatVector) -> dict[str, Any]:
        parts = {}
        with np.errstate(over="ignore"):  # an infinite weight is one to back away from
            for path, x in self.parameters.items():
                part = vector[self.places[path]].reshape(x.shape)
                parts[path] = part.astype(x.dtype)
        return parts


def _first_nonfinite(data: Mapping[str, Any]) -> str | None:
    """The first number of the data that is not finite, in words."""
    arrays = {name: tree.with_numpy(x) for name, x in data.items()}
    for path, leaf in zip(tree.paths(arrays), tree.leaves(arrays), strict=True):
        x = np.asarray(leaf)
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
            where = f" at index {index}" if index else ""
            return f"argument {path!r} is {x[index]}{where}"
    return None


def _joined(arrays: dict[str, Any]) -> FlatVector:
    return np.concatenate([np.asarray(x, dtype=np.float64).ravel() for x in arrays.values()])


def _described(returned: Any) -> str:
    if isinstance(returned, tuple) and len(returned) == 2:
        return f"a value of shape {np.shape(returned[0])}"
    return type(returned).__name__


DECREASE = 1e-4  # a step must lower the value by this part of what the slope promises
FLATTENING = 0.9  # and leave at most this part of the slope


@dataclass(frozen=True)
class Point:
    """A place along the direction: how far, and value, slope and gradient there."""

    step: float
    value: float  # +inf where value or gradient are not finite
    slope: float
    gradient: FlatVector


@dataclass(frozen=True)
class LineSearch:
    """A search along one direction, with what it may spend: for a step that meets the strong Wolfe
    conditions.

    Nocedal and Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6: go on until an
    interval must hold such a step, then narrow the interval. Steps are tried, and intervals
    narrowed, by the same rules as in torch.optim.LBFGS, so that both take the same steps.
    """

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


def _nothing_to_change(by: str, weights: Any) -> OptimError:
    what, repair = "", "Pass the weights as float32 or float64 arrays"
    leaves = tree.leaves(weights)
    if leaves and all(x.size for x in leaves):
        what, repair = f"arrays of {leaves[0].dtype}, ", "Convert them with astype(np.float64)"
    instead = arrays_instead(weights)
    if instead is not None:
        what, repair = f"{type(weights).__name__}, ", instead
    return OptimError(
        f"{by}: given {what}a tree without float arrays, or with empty ones; there must be numbers "
        f"to change. {repair}."
    )
