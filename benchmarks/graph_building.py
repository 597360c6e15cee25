"""Tracing, differentiating and checking a graph of 2,000 nodes: should stay under a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

SECONDS = 1.0
CALLS = 500


def program(calls: int) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for _ in range(calls):
            x = np.tanh(x * 1.5) + x  # a constant and three calls: four nodes
        return wg.sum(x)

    return run


def measure(calls: int, repeats: int = 5) -> tuple[float, int, int]:
    """The best time, and how many nodes there are without and with the gradient."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        graph = wg.trace(program(calls), np.ones(4))
        derived = wg.grad_with_loss(graph, [0])
        derived.check()
        best = min(best, time.perf_counter() - start)
    return best, len(graph), len(derived)


def main() -> None:
    best, forward, total = measure(CALLS)
    print("\nTrace, gradient and check of a graph")
    verdict = f"≤ {SECONDS:g} s: {'yes' if best <= SECONDS else 'NO'}"
    print(f"  {forward} nodes forward, {total} in all: {best:.3f} s  {verdict}")
