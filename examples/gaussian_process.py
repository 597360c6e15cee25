"""A Gaussian process whose settings SciPy finds: `make demo EXAMPLE=gaussian_process`.

The likelihood of noisy measurements is a Cholesky factor and a solve, in plain NumPy. Compiled with
its gradient it is what `scipy.optimize.minimize` asks for with `jac=True`. The best settings tell
how long a trend lasts, how a season repeats, and how much is noise; with them the process predicts
beyond the measurements, and says how sure it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from command import import_scipy, read_options
from picture import (
    BLUE,
    GREEN,
    INK,
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

NAMES = ("trend, size", "trend, years", "season, size", "season, smoothness", "noise")
GUESS = np.log([1.0, 1.0, 1.0, 1.0, 1.0])


def truth(t: Array) -> Array:
    """A slow rise that bends, and a season of one year."""
    values: Array = 0.8 * np.sqrt(1 + t) * np.sin(0.6 * t) + np.sin(2 * np.pi * t) ** 3
    return values


def covariance(logs: Any, s: Any, t: Any) -> Any:
    """Of the process at times s and at times t: a smooth trend, and a season of one year."""
    trend_size, length, season_size, smoothness, _ = np.exp(logs)
    apart = s[:, None] - t[None, :]
    trend = trend_size**2 * np.exp(-0.5 * (apart / length) ** 2)
    season = season_size**2 * np.exp(-2 * (np.sin(np.pi * apart) / smoothness) ** 2)
    return trend + season


def noisy_covariance(logs: Any, t: Any) -> Any:
    return covariance(logs, t, t) + (np.exp(logs[4]) ** 2 + 1e-8) * np.eye(len(t))


def misfit(logs: Any, t: Any, y: Any) -> Any:
    """Minus the logarithm of the density of y."""
    lower = np.linalg.cholesky(noisy_covariance(logs, t))
    white = np.linalg.solve(lower, y)
    log_det = np.sum(np.log(np.diagonal(lower)))
    return log_det + 0.5 * white @ white + 0.5 * len(y) * np.log(2 * np.pi)


def predict(logs: Any, t: Any, y: Any, asked: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of the process at the times that are asked for."""
    whole, across = noisy_covariance(logs, t), covariance(logs, t, asked)
    mean = across.T @ np.linalg.solve(whole, y)
    own = np.diagonal(covariance(logs, asked, asked))
    variance = own - np.sum(across * np.linalg.solve(whole, across), axis=0)
    return mean, np.sqrt(np.maximum(variance, 0))


def main() -> None:
    options = read_options(__doc__, "gaussian_process", points=120)
    optimize = import_scipy()
    rng = np.random.default_rng(options.seed)
    t = np.sort(rng.uniform(0, 5, options.points))
    y = truth(t) + 0.3 * rng.standard_normal(options.points)
    calls = wg.compile(wg.value_and_grad(misfit))
    minimum = optimize.minimize(calls, GUESS, args=(t, y), jac=True, method="L-BFGS-B")
    print(
        f"-log likelihood {calls(GUESS, t, y)[0]:.2f} -> {minimum.fun:.2f}, "
        f"{minimum.nfev} evaluations"
    )
    for name, value in zip(NAMES, np.exp(minimum.x), strict=True):
        print(f"{name:20} {value:.3f}")
    asked = np.linspace(0, 6.5, 261)
    mean, deviation = wg.compile(predict)(minimum.x, t, y, asked)
    inside = np.mean(np.abs(mean - truth(asked)) < 2 * deviation)
    print(f"the truth is within two standard deviations at {inside:.0%} of the times")

    shapes = [
        Band("two deviations", PALE_BLUE, asked, mean - 2 * deviation, mean + 2 * deviation),
        Curve("truth", GREEN, asked, truth(asked), dashed=True),
        Curve("predicted", BLUE, asked, mean),
        Curve("measured", INK, t, y, dots=True, width=0, radius=2),
    ]
    title = f"Measured for 5 years; noise {np.exp(minimum.x[4]):.2f} found, 0.3 true"
    axes = linear_axis("years", 0, 6.5), axis_around("", y, mean - 2 * deviation)
    save(draw([Panel(title, *axes, shapes, "upper left")], height=360), options.picture)


if __name__ == "__main__":
    main()
