"""Problems for L-BFGS, with values and gradients by hand, so that only the searches differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Tree = dict[str, np.ndarray]
RNG = np.random.default_rng(11)


@dataclass(frozen=True)
class Problem:
    """Where the search begins, and value and gradient at any point."""

    start: Tree
    value_and_grad: Callable[[Tree], tuple[float, Tree]]


def _valley(p: Tree) -> tuple[float, Tree]:
    """Rosenbrock's function of four variables."""
    x = p["x"]
    along, ahead = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[1:] += 200 * along
    gradient[:-1] -= 400 * along * x[:-1] + 2 * ahead
    return float(np.sum(100 * along**2 + ahead**2)), {"x": gradient}


ROWS, LABELS = RNG.normal(size=(40, 8)), np.where(RNG.random(40) < 0.5, -1.0, 1.0)


def _logistic(p: Tree) -> tuple[float, Tree]:
    """Logistic regression with a ridge, convex."""
    margin = LABELS * (ROWS @ p["w"] + p["b"])
    value = np.mean(np.logaddexp(0, -margin)) + 0.005 * np.sum(p["w"] ** 2)
    behind = -LABELS / (1 + np.exp(margin)) / len(LABELS)
    return float(value), {"w": ROWS.T @ behind + 0.01 * p["w"], "b": np.sum(behind)}


INPUTS = RNG.normal(size=(30, 5))
TARGETS = INPUTS @ RNG.normal(size=(5, 2)) + RNG.standard_cauchy(size=(30, 2))


def _robust(p: Tree) -> tuple[float, Tree]:
    """Linear regression that outliers cannot spoil, with the logarithm of squares; not convex."""
    error = INPUTS @ p["w"] + p["b"] - TARGETS
    behind = 2 * error / (1 + error * error) / len(error)
    value = np.sum(np.log1p(error * error)) / len(error)
    return float(value), {"w": INPUTS.T @ behind, "b": behind.sum(0)}


PROBLEMS = {
    "valley": Problem({"x": np.array([-1.2, 1.0, 0.5, -0.7])}, _valley),
    "logistic": Problem({"w": RNG.normal(size=8), "b": np.array(0.5)}, _logistic),
    "robust": Problem({"w": RNG.normal(size=(5, 2)), "b": np.zeros(2)}, _robust),
}

# Settings of torch.optim.LBFGS, which are ours as well.
CASES: dict[str, dict[str, Any]] = {
    "searched": {"max_iter": 1, "max_eval": 20, "line_search_fn": "strong_wolfe"},
    "short memory": {
        "max_iter": 1,
        "max_eval": 25,
        "history_size": 3,
        "line_search_fn": "strong_wolfe",
    },
    "several at once": {"max_iter": 4, "history_size": 10, "line_search_fn": "strong_wolfe"},
    "small steps": {"lr": 0.5, "max_iter": 1, "history_size": 5},
}
STEPS = 200
KEPT = (*range(1, 20), *range(20, STEPS + 1, 20))  # steps after which the parameters are kept
