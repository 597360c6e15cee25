"""Three small problems with gradients by hand, so that any library can be led along them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Parameters = dict[str, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """Where training begins, and the gradient of the loss at any point."""

    start: Parameters
    gradient: Callable[[Parameters], Parameters]

    def copy(self) -> Parameters:
        return {name: np.array(x) for name, x in self.start.items()}


def _bowl(p: Parameters) -> Parameters:
    """A quadratic bowl, a hundred times steeper in one direction than in another, and turned."""
    turn = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3
    curve = turn @ np.diag([0.05, 0.5, 5.0]) @ turn.T
    return {"x": curve @ (p["x"] - np.array([1.0, -2.0, 0.5]))}


def _valley(p: Parameters) -> Parameters:
    """Rosenbrock's curved valley, in two pairs of variables that share a little."""
    u, v = p["u"], p["v"]
    along = v - u * u
    return {"u": -4 * along * u - 2 * (1 - u) + 0.1 * u[::-1], "v": 2 * along}


RNG = np.random.default_rng(7)
INPUTS, TARGETS = RNG.normal(size=(12, 3)), RNG.normal(size=(12, 1))


def _network(p: Parameters) -> Parameters:
    """A tanh network of one hidden layer, mean squared error."""
    hidden = np.tanh(INPUTS @ p["w1"] + p["b1"])
    error = 2 * (hidden @ p["w2"] - TARGETS) / len(INPUTS)
    behind = error @ p["w2"].T * (1 - hidden * hidden)
    return {"w1": INPUTS.T @ behind, "b1": behind.sum(0), "w2": hidden.T @ error}


PROBLEMS = {
    "bowl": Problem({"x": np.array([3.0, 1.0, -2.0])}, _bowl),
    "valley": Problem({"u": np.array([-1.2, 0.7]), "v": np.array([1.0, -0.5])}, _valley),
    "network": Problem(
        {"w1": RNG.normal(size=(3, 4)), "b1": np.zeros(4), "w2": RNG.normal(size=(4, 1))},
        _network,
    ),
}
STEPS = 200
KEPT = tuple(range(20, STEPS + 1, 20))  # steps after which a trajectory is looked at


def trajectory(
    problem: Problem, update: Callable[[Parameters, Parameters], Parameters]
) -> list[Parameters]:
    """The parameters at the steps that are kept, for an update of (parameters, gradients)."""
    now, found = problem.copy(), []
    for step in range(1, STEPS + 1):
        now = update(now, problem.gradient(now))
        if step in KEPT:
            found.append({name: np.array(x) for name, x in now.items()})
    return found


def distance(one: list[Parameters], other: list[Parameters]) -> float:
    """The largest difference of two trajectories, relative to what is above 1."""
    gaps = [
        np.abs(a[name] - b[name]) / np.maximum(1, np.abs(b[name]))
        for a, b in zip(one, other, strict=True)
        for name in b
    ]
    return max(float(gap.max()) for gap in gaps)
