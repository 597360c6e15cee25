"""A Kalman filter whose noise levels SciPy finds: `make demo EXAMPLE=kalman`.

A position is measured with noise while its velocity wanders. The filter goes through the
measurements in a loop of `wg.scan`, some of them missing, and gives their likelihood. Its gradient,
compiled, lets `scipy.optimize.minimize` find how fast the velocity wanders and how large the errors
are. A second loop, backwards, tells where the position was, in the light of all measurements.
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

MOVE = np.array([[1.0, 1.0], [0.0, 1.0]])  # a position moves by its velocity
SEEN = np.array([1.0, 0.0])  # of which only the position is measured
WANDER, NOISE = 0.15, 6.0  # standard deviations: of the velocity per step, of a measurement


def filtered(logs: Any, measured: Any, there: Any) -> tuple[Any, Any]:
    """The log-likelihood of each measurement, and what is known at each time: the mean and the
    covariance of position and velocity before it, and after it.
    """
    wander, noise = np.exp(logs)
    drift = wander**2 * np.ones((2, 2))  # a push changes the velocity, and the position with it

    def advance(known: Any, given: Any) -> tuple[Any, Any]:
        mean, covariance = known
        y, is_there = given
        before = MOVE @ mean, MOVE @ covariance @ MOVE.T + drift
        mean, covariance = before
        surprise = y - SEEN @ mean
        variance = SEEN @ covariance @ SEEN + noise**2
        gain = covariance @ SEEN / variance
        after = (
            np.where(is_there, mean + gain * surprise, mean),
            np.where(is_there, covariance - variance * np.outer(gain, gain), covariance),
        )
        log_density = -0.5 * (np.log(2 * np.pi * variance) + surprise**2 / variance)
        return after, (np.where(is_there, log_density, 0.0), before, after)

    start = np.zeros(2), np.diag([100.0, 1.0])
    _, (logs_, before, after) = wg.scan(advance, start, (measured, there))
    return logs_, (before, after)


def misfit(logs: Any, measured: Any, there: Any) -> Any:
    return -np.sum(filtered(logs, measured, there)[0])


def smoothed(logs: Any, measured: Any, there: Any) -> tuple[Any, Any]:
    """Mean and standard deviation of the position, given all measurements (Rauch et al.)."""
    _, (before, after) = filtered(logs, measured, there)

    def back(later: Any, given: Any) -> tuple[Any, Any]:
        (mean_before, before), (mean, covariance) = given  # before: of the next time
        gain = np.linalg.solve(before, MOVE @ covariance).T
        mean = mean + gain @ (later[0] - mean_before)
        covariance = covariance + gain @ (later[1] - before) @ gain.T
        return (mean, covariance), (mean[0], np.sqrt(covariance[0, 0]))

    last = after[0][-1], after[1][-1]
    earlier = (before[0][1:], before[1][1:]), (after[0][:-1], after[1][:-1])
    _, (means, deviations) = wg.scan(back, last, earlier, reverse=True)
    ends = last[0][:1], np.sqrt(last[1][0, 0])[None]
    return np.concatenate([means, ends[0]]), np.concatenate([deviations, ends[1]])


def simulate(count: int, seed: int) -> tuple[Array, Array, Array]:
    """True positions, measurements, and where there is one: a fifth is missing, and a long gap."""
    rng = np.random.default_rng(seed)
    positions = np.cumsum(np.cumsum(WANDER * rng.standard_normal(count)))
    there = rng.uniform(size=count) > 0.2
    there[count // 2 : count // 2 + count // 10] = False
    return positions, np.where(there, positions + NOISE * rng.standard_normal(count), 0.0), there


def main() -> None:
    options = read_options(__doc__, "kalman", times=200)
    optimize = import_scipy()
    positions, measured, there = simulate(options.times, options.seed)
    calls = wg.compile(wg.value_and_grad(misfit))
    guess = np.zeros(2)
    minimum = optimize.minimize(calls, guess, (measured, there), jac=True, method="L-BFGS-B")
    first, _ = calls(guess, measured, there)
    print(f"-log likelihood {first:.2f} -> {minimum.fun:.2f}, {minimum.nfev} evaluations")
    for name, value, true in zip(
        ("wander", "noise"), np.exp(minimum.x), (WANDER, NOISE), strict=True
    ):
        print(f"{name:6} {value:.3f}, true {true}")
    means, deviations = wg.compile(smoothed)(minimum.x, measured, there)
    inside = np.mean(np.abs(means - positions) < 2 * deviations)
    print(f"the position is within two standard deviations at {inside:.0%} of the times")

    t = np.arange(options.times)
    shapes = [
        Band("two deviations", PALE_BLUE, t, means - 2 * deviations, means + 2 * deviations),
        Curve("true position", GREEN, t, positions, dashed=True),
        Curve("smoothed", BLUE, t, means),
        Curve("measured", INK, t[there], measured[there], dots=True, width=0, radius=1.6),
    ]
    axes = linear_axis("time", 0, options.times), axis_around("position", measured, means)
    title = f"Noise {np.exp(minimum.x[1]):.2f} found, {NOISE} true"
    save(draw([Panel(title, *axes, shapes, "upper left")], height=360), options.picture)


if __name__ == "__main__":
    main()
