"""Bad input while somebody looks: in eager mode, and to wg.debug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

line = np.ones(3)


def eagerly(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a compiled function in eager mode."""
    with wg.eager():
        return wg.compile(function, **options)(*args)


def of_outer(x: Any) -> Any:
    return eagerly(lambda y: y * x, line)


def changing(xs: Any) -> Any:
    """A loop that collects something else in each step."""
    steps: list[None] = []

    def step(c: Any, x: Any) -> Any:
        steps.append(None)
        return c, [x] * len(steps)

    return wg.scan(step, 0.0, xs)


CASES: dict[str, Callable[[], Any]] = {
    "debug: a name that is no string": lambda: wg.debug(line, 3),
    "debug: a Dim outside of a trace": lambda: wg.debug(wg.Dim("n"), "n"),
    "eager: a result that is not finite": lambda: eagerly(
        lambda x: {"a": x * np.inf}, line, nonfinite="raise"
    ),
    "eager: a Tensor of another transformation": lambda: wg.grad(lambda x: wg.sum(of_outer(x)))(
        line
    ),
    "eager: a loop whose results change their form": lambda: eagerly(changing, line),
    "eager: a loop whose carry changes": lambda: eagerly(
        lambda xs: wg.scan(lambda c, x: (xs, c), xs[0], xs), line
    ),
    "eager: a donated array that is read-only": lambda: eagerly(
        lambda p: p, np.broadcast_to(1.0, 3), donate="p"
    ),
}
