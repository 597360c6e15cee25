"""Two threads beside one, on all cores: multilayer perceptrons and programs of rows. Then the bits:
the same SHA-256 for any number of threads, in new processes, with and without a cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.harness import OURS, Figure, Run, compare, print_table
from benchmarks.networks import NETWORKS, Network, data, loss_with
from benchmarks.setting import VARIABLES, all_cores
from benchmarks.training import ours

ALONE = "one thread"
# Not slower than one thread, where programs are not divided: two measurements of the same differ
# by as much.
FIGURES = {"tiny": [Figure(0.98, ALONE)], "large": [Figure(1.7, ALONE)]}
ROWS = (4096, 1024)
ROW_FIGURE = Figure(1.7, ALONE)
THREADS = (1, 2, 3, 7)
STEPS = 200
ROOT = Path(__file__).resolve().parents[1]


# Time


def both(make: Callable[[int], Run]) -> dict[str, Run]:
    """Ours with two threads, and with one."""
    return {OURS: make(2), ALONE: make(1)}


def value_and_grad(network: Network, threads: int) -> Run:
    parameters, x, y = data(network)
    loss = loss_with(np.tanh, wg.cross_entropy)
    step = wg.compile(wg.value_and_grad(loss), threads=threads)
    return lambda: step(parameters, x, y)


def training_step(network: Network, threads: int) -> Run:
    return ours(network, threads=threads)


def layer_norm(x: Any) -> Any:
    return wg.layer_norm(x)


def cross_entropy_gradient(x: Any) -> Any:
    """Of the logarithm of softmax: the labels are the first columns."""
    labels = np.arange(x.shape[0]) % x.shape[1]
    return wg.grad(lambda x: wg.cross_entropy(wg.log_softmax(x), labels))(x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "softmax": wg.softmax,
    "layer_norm": layer_norm,
    "tanh": wg.tanh,
    "log_softmax and cross-entropy, gradient": cross_entropy_gradient,
}


def on_rows(name: str, shape: tuple[int, int], threads: int) -> Run:
    """A program of rows that writes to an array which is there: new pages would take longer."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    out = np.empty_like(x)
    program = PROGRAMS[name]
    step = wg.compile(lambda x, out: program(x), donate="out", threads=threads)
    return lambda: step(x, out)


def network_rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name, network in NETWORKS.items():
        figures = FIGURES.get(name, [])
        gradient = both(partial(value_and_grad, network))
        yield f"{name}, value and gradient", gradient, figures
        yield f"{name}, training step", both(partial(training_step, network)), figures


def program_rows() -> Iterator[tuple[str, dict[str, Run], Sequence[Figure]]]:
    for name in PROGRAMS:
        yield name, both(partial(on_rows, name, ROWS)), [ROW_FIGURE]


# Bits


def digests_of_process(network: str, steps: int, environment: dict[str, str]) -> dict[str, str]:
    """The fingerprint after so many steps for each number of threads, from a new process."""
    command = [sys.executable, "-m", "benchmarks.digests", network, str(steps)]
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    with all_cores():
        found = subprocess.run(
            [*command, *map(str, THREADS)],
            cwd=ROOT,
            env=kept | environment,
            capture_output=True,
            text=True,
            check=True,
        )
    digests: dict[str, str] = json.loads(found.stdout.splitlines()[-1])
    return digests


def digest_rows(network: str, steps: int = STEPS) -> list[list[str]]:
    """Two processes without a cache, one that fills it, and one that finds it full."""
    with tempfile.TemporaryDirectory() as folder:
        off = {"WENGERT_CACHE": "0"}
        on = {"WENGERT_CACHE": "1", "WENGERT_CACHE_DIR": f"{folder}/cache"}
        ways = {"no cache": off, "no cache, again": off, "empty cache": on, "warm cache": on}
        found = {way: digests_of_process(network, steps, it) for way, it in ways.items()}
    all_digests = {digest for each in found.values() for digest in each.values()}
    same = "the same everywhere: " + ("yes" if len(all_digests) == 1 else "NO")
    return [
        [f"{network}, {way}", *(each[str(count)][:12] for count in THREADS), same]
        for way, each in found.items()
    ]


def main() -> None:
    with all_cores():
        compare("Two threads beside one: MLPs", network_rows(), seconds=3.0, tolerance=0)
        title = f"Two threads beside one: programs of rows, {ROWS[0]} × {ROWS[1]}"
        compare(title, program_rows(), seconds=2.0, tolerance=0)
    print(f"\nSHA-256 after {STEPS} training steps, by threads", flush=True)
    table = [row for network in ("tiny", "small", "mnist") for row in digest_rows(network)]
    print_table(["", *map(str, THREADS), ""], table)
