"""Loops that end by themselves, around and inside of derivatives: two problems of Pearlmutter and
Siskind ("Using Programming Language Theory to Make Automatic Differentiation Sound and Efficient",
2008), whose solutions to the last digit are known from GradBench.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

Function = Callable[[Any], Any]


def forwards(f: Function) -> Function:
    """The gradient of f, one derivative along each axis."""
    return lambda x: wg.stack([wg.jvp(f, (x,), (axis,))[1] for axis in np.eye(x.shape[0])])


GRADIENTS = {"forwards": forwards, "backwards": wg.grad}


def length(x: Any) -> Any:
    return wg.sqrt(wg.sum(x * x))


def descend(f: Function, slope: Function, s: dict[str, Any]) -> dict[str, Any]:
    """A step downhill, if that is where it leads; else a smaller rate. After ten good steps it is
    doubled instead. The end are a step or a slope that are next to nothing.
    """
    doubles = s["good"] == 10
    moved = s["x"] - s["rate"] * s["slope"]
    value = f(moved)
    stands = wg.logical_and(wg.logical_not(doubles), length(moved - s["x"]) <= 1e-5)
    falls = wg.logical_and(wg.logical_not(doubles), value < s["value"])
    goes = wg.logical_and(falls, wg.logical_not(stands))
    x = wg.where(goes, moved, s["x"])
    steepness = slope(x)
    return {
        "x": x,
        "value": wg.where(goes, value, s["value"]),
        "slope": steepness,
        "rate": s["rate"] * wg.where(doubles, 2.0, wg.where(falls, 1.0, 0.5)),
        "good": wg.where(falls, s["good"] + 1, 0),
        "ends": wg.logical_or(stands, length(steepness) <= 1e-5),
    }


def lowest(f: Function, gradient: Any, start: Any, max_steps: int | None = None) -> Any:
    """Where f is smallest, by gradient descent."""
    slope = gradient(f)
    steepness = slope(start)
    begin = {
        "x": start,
        "value": f(start),
        "slope": steepness,
        "rate": 1e-5,
        "good": 0,
        "ends": length(steepness) <= 1e-5,
    }
    return wg.while_loop(
        lambda s: wg.logical_not(s["ends"]), lambda s: descend(f, slope, s), begin, max_steps
    )["x"]


def saddle_point(outer: Any, inner: Any, start: Any, max_steps: int | None) -> Any:
    """The x for which the largest of |x|² - |y|² over all y is smallest, and that y."""

    def height(x: Any, y: Any) -> Any:
        return wg.sum(x * x) - wg.sum(y * y)

    def largest(x: Any) -> Any:
        return height(x, lowest(lambda y: -height(x, y), inner, start, max_steps))

    x = lowest(largest, outer, start)
    return wg.concat([x, lowest(lambda y: -height(x, y), inner, start)])


def charge(outer: Any, inner: Any, start: Any, max_steps: int | None) -> Any:
    """How far down a charge must be, so that a particle which it and another one deflect meets the
    origin. The particle moves from (0, 8) in steps of 0.1, until it would cross the axis.
    """

    def miss(down: Any) -> Any:
        charges = [wg.stack([wg.asarray(10.0), 10 - down[0]]), np.array([10.0, 0.0])]
        pull = inner(lambda x: sum(1 / length(x - each) for each in charges))
        x, speed = wg.while_loop(
            lambda s: s[0][1] + 0.1 * s[1][1] > 0,
            lambda s: (s[0] + 0.1 * s[1], s[1] - 0.1 * pull(s[0])),
            (np.array([0.0, 8.0]), np.array([0.75, 0.0])),
            max_steps,
        )
        return (x[0] - speed[0] * (x[1] / speed[1])) ** 2

    return lowest(miss, outer, start)


@pytest.mark.parametrize(
    ("problem", "start", "solution", "outer", "inner"),
    [
        (charge, [0.0], [0.2071918746486116], "forwards", "backwards"),
        (charge, [0.0], [0.2071918746486116], "backwards", "forwards"),
        (saddle_point, [1.0, 1.0], [8.246324826140356e-06] * 4, "forwards", "forwards"),
        (saddle_point, [1.0, 1.0], [8.246324826140356e-06] * 4, "backwards", "backwards"),
    ],
)
def test_solvers_in_solvers(problem, start, solution, outer, inner):
    modes = GRADIENTS[outer], GRADIENTS[inner]
    max_steps = 1000 if outer == "backwards" else None
    solve = wg.compile(lambda start: problem(*modes, start, max_steps))
    np.testing.assert_allclose(solve(np.array(start)), solution, rtol=1e-9)
