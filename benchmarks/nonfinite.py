"""What it costs to look for numbers that are not finite: `nonfinite="raise"` and `"skip"` beside
`"ignore"`, in a training step and in value and gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, compare
from benchmarks.networks import NETWORKS, Network, data, loss_with
from benchmarks.training import ours

LIMITS = {"tiny": 1.10, "mnist": 1.05}  # how many times the time of "ignore" the others may take
LOOKING = ("raise", "skip")


def of_step(network: Network) -> dict[str, Run]:
    """Columns: "ignore" is ours, the others by name."""
    found = {OURS: ours(network, nonfinite="ignore")}
    return found | {way: ours(network, nonfinite=way) for way in LOOKING}


def value_and_grad(network: Network, nonfinite: str) -> Run:
    parameters, x, y = data(network)
    loss = loss_with(np.tanh, wg.cross_entropy)
    step = wg.compile(wg.value_and_grad(loss), nonfinite=nonfinite)
    return lambda: step(parameters, x, y)


def of_gradient(network: Network) -> dict[str, Run]:
    found = {OURS: value_and_grad(network, "ignore")}
    return found | {way: value_and_grad(network, way) for way in LOOKING}


def rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name, limit in LIMITS.items():
        figures = [Figure(limit, way, at_most=True) for way in LOOKING]
        network = NETWORKS[name]
        yield f"{name}, training step", of_step(network), figures
        yield f"{name}, value and gradient", of_gradient(network), figures


def main() -> None:
    title = 'Looking for what is not finite: nonfinite="ignore", and how many times that'
    compare(title, rows(), seconds=3.0, tolerance=0)
