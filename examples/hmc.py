"""Hamiltonian Monte Carlo as one compiled program: `make demo EXAMPLE=hmc`.

How sure can a regression be of its coefficients? A chain of samples from their posterior answers.
One `wg.scan` makes the samples, another one inside of it the steps of a trajectory, with `wg.grad`
of the density in each; `wg.vmap` runs many chains, each with a key of its own, and `wg.compile`
makes one program of all. Laplace's approximation, from `wg.hessian` at the mode, is the check.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from command import read_options
from picture import (
    GREEN,
    ORANGE,
    PALE_BLUE,
    Array,
    Band,
    Curve,
    Panel,
    axis_around,
    draw,
    linear_axis,
    save,
)

import wengert as wg

TRUTH = np.array([0.5, -1.0, 2.0])


def data_of(count: int, seed: int) -> tuple[Array, Array]:
    """Rows of three numbers, the first of which is 1, and answers yes or no."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(count), rng.standard_normal((count, 2))])
    return x, rng.uniform(size=count) < 1 / (1 + np.exp(-x @ TRUTH))


def energy(w: Any, x: Any, y: Any) -> Any:
    """Minus the log-density of the posterior of a logistic regression, up to a constant."""
    return wg.bce_with_logits(x @ w, y, reduction="sum") + 0.5 * np.sum((w / 3) ** 2)


def chain(key: Any, start: Any, x: Any, y: Any, samples: int, size: float, steps: int) -> Any:
    """Samples of one chain, (samples, 3), and which of the trajectories were accepted."""

    def move(place: Any, _: Any) -> tuple[Any, None]:
        """One leapfrog step: half a kick, a drift, half a kick."""
        w, momentum = place
        momentum = momentum - size / 2 * wg.grad(energy)(w, x, y)
        w = w + size * momentum
        momentum = momentum - size / 2 * wg.grad(energy)(w, x, y)
        return (w, momentum), None

    def sample(w: Any, key: Any) -> tuple[Any, Any]:
        for_momentum, for_accepting = wg.random.split(key)
        momentum = wg.random.normal(for_momentum, w.shape, np.float64)
        before = energy(w, x, y) + 0.5 * np.sum(momentum**2)
        (proposed, after_momentum), _ = wg.scan(move, (w, momentum), length=steps)
        after = energy(proposed, x, y) + 0.5 * np.sum(after_momentum**2)
        accepted = np.log(wg.random.uniform(for_accepting, (), np.float64)) < before - after
        w = np.where(accepted, proposed, w)
        return w, (w, accepted)

    return wg.scan(sample, start, wg.random.split(key, samples))[1]


def laplace(x: Array, y: Array) -> tuple[Array, Array]:
    """The mode, by Newton's method, and the covariance of the Gaussian that fits there."""
    slope, curvature = wg.compile(wg.grad(energy)), wg.compile(wg.hessian(energy))
    w = np.zeros(x.shape[1])
    for _ in range(20):
        w = w - np.linalg.solve(curvature(w, x, y), slope(w, x, y))
    return w, np.linalg.inv(curvature(w, x, y))


def main() -> None:
    options = read_options(__doc__, "hmc", rows=200, chains=4, samples=2000)
    x, y = data_of(options.rows, options.seed)
    mode, covariance = laplace(x, y)
    run = wg.compile(
        wg.vmap(chain, in_axes=(0, None, None, None, None, None, None)),
        static=("samples", "size", "steps"),
    )
    keys = wg.random.split(wg.random.key(options.seed), options.chains)
    began = time.perf_counter()
    samples, accepted = run(keys, mode, x, y, options.samples, 0.15, 10)
    seconds = time.perf_counter() - began
    print(f"{accepted.size:,} samples in {seconds:.1f} s, compilation included")
    print(f"{accepted.mean():.0%} of the trajectories were accepted")
    means, deviations = samples.mean(axis=(0, 1)), samples.std(axis=(0, 1))
    spread = np.sqrt(np.diagonal(covariance))
    print("coefficient  truth   mean ± deviation   Laplace")
    for i, true in enumerate(TRUTH):
        told = f"{means[i]:6.3f} ± {deviations[i]:.3f}   {mode[i]:6.3f} ± {spread[i]:.3f}"
        print(f"{i:11} {true:6.1f} {told}")
    if options.chains > 1:  # 1 if chains agree
        between, within = samples.mean(axis=1).var(axis=0, ddof=1), samples.var(axis=1).mean(axis=0)
        print(f"R-hat {np.sqrt(1 + between / within).max():.4f}")
    save(picture(samples, mode, spread), options.picture)


def picture(samples: Array, mode: Array, spread: Array) -> str:
    """The histogram of each coefficient, and the Gaussian of Laplace."""
    panels = []
    for i, true in enumerate(TRUTH):
        heights, edges = np.histogram(samples[..., i], bins=40, density=True)
        sides = np.repeat(edges, 2)[1:-1]
        at = np.linspace(mode[i] - 4 * spread[i], mode[i] + 4 * spread[i], 121)
        gauss = np.exp(-0.5 * ((at - mode[i]) / spread[i]) ** 2) / (spread[i] * np.sqrt(2 * np.pi))
        curves = [
            Band("samples", PALE_BLUE, sides, 0 * sides, np.repeat(heights, 2)),
            Curve("Laplace", ORANGE, at, gauss),
            Curve("truth", GREEN, [true, true], [0, gauss.max()], dashed=True),
        ]
        axes = axis_around("", edges, at, count=4), linear_axis("", 0, 1.5 * gauss.max())
        panels.append(Panel(f"Coefficient {i}", *axes, curves, "upper left"))
    return draw(panels, height=260, columns=3, width=960)


if __name__ == "__main__":
    main()
