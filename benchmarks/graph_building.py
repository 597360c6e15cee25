"""Tracing, differentiating and checking a graph of 2,000 nodes: must stay under a second."""

from __future__ import annotations

import time

import numpy as np

import wengert as wg


def program(x: np.ndarray) -> object:
    for _ in range(500):
        x = np.tanh(x * 1.5) + x  # a constant and three calls: four nodes
    return wg.sum(x)


def main() -> None:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        graph = wg.trace(program, np.ones(4))
        derived = wg.grad_with_loss(graph, [0])
        derived.check()
        best = min(best, time.perf_counter() - start)
    print(
        f"trace + gradient + check: {len(graph)} nodes forward, {len(derived)} in all: {best:.3f} s"
    )


if __name__ == "__main__":
    main()
