"""Predators and prey: rates found by differentiating through a solver: `make demo
EXAMPLE=predators`.

The equations of Lotka and Volterra are solved by Runge and Kutta's method, as a loop of `wg.scan`.
Noisy counts of both species are given. `wg.value_and_grad` differentiates the whole solution by the
four rates and the first counts, and `wg.optim.LBFGS` finds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from command import read_options
from picture import (
    BLUE,
    GRAY,
    INK,
    ORANGE,
    Array,
    Curve,
    Panel,
    draw,
    linear_axis,
    save,
)

import wengert as wg

TRUTH = {"rates": np.array([1.1, 0.4, 0.1, 0.4]), "first": np.array([10.0, 5.0])}
STEP = 0.05  # of time, in days
OBSERVED = 10  # every so many steps


def change(rates: Any, counts: Any) -> Any:
    """How fast the counts of prey and predators change."""
    birth, eaten, fed, death = rates
    prey, predators = counts
    meetings = prey * predators
    return wg.stack([birth * prey - eaten * meetings, fed * meetings - death * predators])


def solve(model: dict[str, Any], steps: int) -> Any:
    """Both counts after each step, (steps, 2), by Runge and Kutta's method of order 4."""
    rates = model["rates"]

    def advance(counts: Any, _: Any) -> tuple[Any, Any]:
        k1 = change(rates, counts)
        k2 = change(rates, counts + STEP / 2 * k1)
        k3 = change(rates, counts + STEP / 2 * k2)
        k4 = change(rates, counts + STEP * k3)
        counts = counts + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return counts, counts

    return wg.scan(advance, model["first"], None, length=steps)[1]


def observe(steps: int, seed: int) -> Array:
    """Counts every half day, each with an error of a tenth."""
    counts = solve(TRUTH, steps)[OBSERVED - 1 :: OBSERVED]
    noise = np.random.default_rng(seed).standard_normal(counts.shape)
    observed: Array = counts * np.exp(0.1 * noise)
    return observed


def misfit(logs: dict[str, Any], observed: Any) -> Any:
    """The mean squared error of the logarithms, of a model given by its logarithms."""
    model = wg.tree.map(np.exp, logs)
    counts = solve(model, OBSERVED * len(observed))[OBSERVED - 1 :: OBSERVED]
    return np.mean((np.log(counts) - np.log(observed)) ** 2)


def main() -> None:
    options = read_options(__doc__, "predators", {"steps": 20}, steps=600, iterations=200)
    observed = observe(options.steps, options.seed)
    guess = {"rates": np.array([0.8, 0.3, 0.15, 0.5]), "first": observed[0]}
    logs = wg.tree.map(np.log, guess)
    search = wg.optim.LBFGS(max_iter=options.iterations, line_search_fn="strong_wolfe")
    minimum = search.minimize(misfit, logs, observed)
    model = wg.tree.map(np.exp, minimum.tree)
    print(
        f"root mean squared error {minimum.value**0.5:.3f} after {minimum.evaluations} evaluations"
    )
    for name, values in {"guess": guess, "found": model, "truth": TRUTH}.items():
        print(f"{name}  rates {np.round(values['rates'], 3)}  first {np.round(values['first'], 2)}")
    save(picture(options.steps, observed, guess, model), options.picture)


def picture(steps: int, observed: Array, guess: Any, model: Any) -> str:
    t = STEP * np.arange(1, steps + 1)
    panels = []
    for i, (name, color) in enumerate([("prey", BLUE), ("predators", ORANGE)]):
        curves = [
            Curve("first guess", GRAY, t, solve(guess, steps)[:, i], dashed=True),
            Curve("found", color, t, solve(model, steps)[:, i]),
            Curve(
                "counted",
                INK,
                t[OBSERVED - 1 :: OBSERVED],
                observed[:, i],
                dots=True,
                width=0,
                radius=2,
            ),
        ]
        highest = max(curve.y.max() for curve in curves)
        axes = linear_axis("days", 0, STEP * steps), linear_axis("count", 0, 1.1 * highest)
        panels.append(Panel(name.capitalize(), *axes, curves, "upper right"))
    return draw(panels, height=240)


if __name__ == "__main__":
    main()
