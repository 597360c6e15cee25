"""A NumPy function, differentiated and compiled as it stands: `make demo EXAMPLE=mixture`.

`log_likelihood` is that of a mixture of Gaussians, written by somebody who has never heard of this
library: `np.linalg.cholesky`, `np.linalg.solve`, `np.einsum`, a sum of exponentials by hand. Not a
line of it is changed. `wg.grad` differentiates it, `wg.compile` turns it into machine code, and
`wg.TrainStep` fits it to points.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from command import read_options
from picture import (
    BLUE,
    GRAY,
    GREEN,
    ORANGE,
    Array,
    Curve,
    Panel,
    axis_around,
    draw,
    linear_axis,
    save,
)

import wengert as wg

CENTRES = np.array([[-2.0, -1.0], [1.5, 1.5], [1.0, -2.0]])
SPREADS = np.array([[[1.2, 0.0], [0.5, 0.4]], [[0.6, 0.0], [-0.5, 0.8]], [[0.5, 0.0], [0.2, 0.3]]])


def log_likelihood(model: dict[str, Any], points: Any) -> Any:
    """The mean over the points of log Σₖ wₖ N(point; meanₖ, covarianceₖ)."""
    roots = model["roots"]
    covariances = roots @ np.swapaxes(roots, 1, 2) + 1e-6 * np.eye(2)  # (k, 2, 2)
    lower = np.linalg.cholesky(covariances)
    apart = points[None] - model["means"][:, None]  # (k, points, 2)
    white = np.linalg.solve(lower, np.swapaxes(apart, 1, 2))  # (k, 2, points)
    distances = np.einsum("kdp,kdp->kp", white, white)
    log_dets = np.sum(np.log(np.diagonal(lower, axis1=1, axis2=2)), axis=1)
    weights = model["weights"] - np.log(np.sum(np.exp(model["weights"])))
    logs = weights[:, None] - log_dets[:, None] - distances / 2 - np.log(2 * np.pi)
    top = np.max(logs, axis=0)
    return np.mean(top + np.log(np.sum(np.exp(logs - top), axis=0)))


def points_of(count: int, seed: int) -> Array:
    """Points of the mixture that is to be found."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(len(CENTRES), count, p=[0.5, 0.3, 0.2])
    noise = rng.standard_normal((count, 2))
    points: Array = CENTRES[kinds] + np.einsum("pij,pj->pi", SPREADS[kinds], noise)
    return points


def start(points: Array, seed: int) -> dict[str, Array]:
    """Round Gaussians of equal weight around three of the points, far from each other."""
    rng = np.random.default_rng(seed)
    means = points[rng.integers(len(points))][None]
    while len(means) < len(CENTRES):
        distances = np.min(np.sum((points[:, None] - means) ** 2, axis=2), axis=1)
        means = np.concatenate([means, points[distances.argmax()][None]])
    return {"means": means, "roots": np.tile(np.eye(2), (3, 1, 1)), "weights": np.zeros(3)}


def seconds_of(call: Any, *arguments: Any) -> float:
    """The shortest of some calls, after one that may compile."""
    times = []
    for _ in range(21):
        began = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - began)
    return min(times[1:])


def ellipse(mean: Array, root: Array) -> Array:
    """The points at two standard deviations from the mean, (2, 61)."""
    angles = np.linspace(0, 2 * np.pi, 61)
    points: Array = mean[:, None] + 2 * root @ np.stack([np.cos(angles), np.sin(angles)])
    return points


def main() -> None:
    options = read_options(__doc__, "mixture", points=1000, steps=600)
    points = points_of(options.points, options.seed)
    model = start(points, options.seed)
    both, compiled = wg.value_and_grad(log_likelihood), wg.compile(log_likelihood)
    value, gradient = wg.compile(both)(model, points)
    print(f"log-likelihood by NumPy    {log_likelihood(model, points):.12f}")
    print(f"               compiled    {value:.12f}")
    wg.check_grads(lambda model: log_likelihood(model, points[:50]), [model])
    print(f"the gradient, {', '.join(gradient)}, agrees with differences")
    times = {
        "by NumPy": seconds_of(log_likelihood, model, points),
        "compiled": seconds_of(compiled, model, points),
        "compiled, with its gradient": seconds_of(wg.compile(both), model, points),
    }
    for name, seconds in times.items():
        print(f"{1e6 * seconds:6.0f} µs  {name}")

    step = wg.TrainStep(lambda model, x: -log_likelihood(model, x), model, wg.optim.Adam(0.05))
    values = [-step(points) for _ in range(options.steps)]
    true = {"means": CENTRES, "roots": SPREADS, "weights": np.log([0.5, 0.3, 0.2])}
    print(f"fitted   {log_likelihood(step.model, points):.6f} after {options.steps} steps")
    print(f"the one that drew the points   {log_likelihood(true, points):.6f}")

    save(picture(points, step.model, np.array(values)), options.picture)


def picture(points: Array, model: dict[str, Array], values: Array) -> str:
    shapes = [Curve("", GRAY, *points.T, dots=True, width=0, radius=1.2)]
    for mean, root in zip(CENTRES, SPREADS, strict=True):
        shapes.append(Curve("", GREEN, *ellipse(mean, root), dashed=True))
    for mean, root in zip(model["means"], model["roots"], strict=True):
        shapes.append(Curve("", ORANGE, *ellipse(mean, root)))
    axes = axis_around("x", points[:, 0]), axis_around("y", points[:, 1])
    components = Panel("Drawn from (dashed), and found", *axes, shapes)
    axes = linear_axis("step", 0, len(values)), axis_around("", values)
    curve = Curve("", BLUE, np.arange(len(values)), values)
    learned = Panel("Mean log-likelihood", *axes, [curve])
    return draw([components, learned], height=340, columns=2)


if __name__ == "__main__":
    main()
