"""What L-BFGS minimises, as a function of one vector: the parameters of a tree, end to end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wengert.errors import NonFiniteError, OptimError
from wengert.optim.parameters import gradients_for, parameters_of, replaced

Vector: TypeAlias = NDArray[np.float64]


def dot(a: Vector, b: Vector, scratch: Vector | None = None) -> float:
    """The sum of products, which are written to `scratch`. NumPy's own sum adds in one order on
    every machine and with any number of threads; its dot leaves that to a library.
    """
    return float(np.add.reduce(np.multiply(a, b, out=scratch)))


class Problem:
    """A function that gives value and gradient of a tree, on vectors of float64.

    The arithmetic of L-BFGS is done in float64 for float32 parameters, too: the differences of
    gradients it lives on are small.
    """

    def __init__(self, by: str, value_and_grad: Callable[..., Any], weights: Any) -> None:
        self.by = by
        self.tree = weights
        self.parameters = parameters_of(by, weights)
        self.size = sum(x.size for x in self.parameters.values())
        self.evaluations = 0
        self._value_and_grad = value_and_grad
        if self.size == 0:
            raise OptimError(
                f"{by}: given a tree without float arrays, or with empty ones; there must be "
                "numbers to change. Pass the weights as float32 or float64 arrays."
            )

    def start(self) -> Vector:
        """The parameters of the tree as one vector."""
        return _joined(self.parameters)

    def at(self, vector: Vector) -> Any:
        """The tree with the numbers of a vector for its parameters."""
        return replaced(self.tree, self._parts(vector))

    def assign(self, vector: Vector) -> None:
        """Write the numbers of a vector into the parameters, in place."""
        for path, part in self._parts(vector).items():
            np.copyto(self.parameters[path], part)

    def evaluate(self, vector: Vector) -> tuple[float, Vector]:
        """Value and gradient at a vector; they need not be finite."""
        self.evaluations += 1
        found = self._value_and_grad(self.at(vector))
        if not isinstance(found, tuple) or len(found) != 2 or np.ndim(found[0]) != 0:
            raise OptimError(
                f"{self.by}: the function returned {_described(found)}; it must return one number "
                "and the gradients, as wg.value_and_grad(loss) does. Wrap the loss with it."
            )
        value, grads = found
        return float(value), _joined(gradients_for(self.by, self.parameters, grads))

    def evaluate_start(self, vector: Vector) -> tuple[float, Vector]:
        """Value and gradient where the search begins, which must be finite."""
        value, gradient = self.evaluate(vector)
        if not math.isfinite(value) or not np.isfinite(gradient).all():
            finite = math.isfinite(value)
            what = "the gradient is not finite" if finite else f"the value is {value}"
            raise NonFiniteError(
                f"{self.by}: {what} at the given weights; value and gradient must be finite where "
                "the search begins. Choose other weights; nothing was changed."
            )
        return value, gradient

    def _parts(self, vector: Vector) -> dict[str, Any]:
        parts, begin = {}, 0
        with np.errstate(over="ignore"):  # an infinite weight is one to back away from
            for path, x in self.parameters.items():
                part = vector[begin : begin + x.size].reshape(x.shape)
                parts[path] = part.astype(x.dtype)
                begin += x.size
        return parts


def _joined(arrays: dict[str, Any]) -> Vector:
    return np.concatenate([np.asarray(x, dtype=np.float64).ravel() for x in arrays.values()])


def _described(found: Any) -> str:
    if isinstance(found, tuple) and len(found) == 2:
        return f"a value of shape {np.shape(found[0])}"
    return type(found).__name__
