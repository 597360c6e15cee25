"""The same bits for any number of threads, in new processes, with and without a cache:
`python -m benchmarks bits`.

Each process trains a network for so many steps with each number of threads, and prints SHA-256 of
all that came of it: losses, norms, gradients, and the step's own fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import wengert as wg
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.table import aligned
from benchmarks.training import our_step

THREADS = (1, 2, 3, 7)
STEPS = 200
ROOT = Path(__file__).resolve().parents[1]


def digest(network: Network, steps: int, threads: int) -> str:
    step, (_, x, y) = our_step(network, threads=threads), data(network)
    sha = hashlib.sha256()
    for i in range(steps):
        loss = step(np.roll(x, i, axis=1), y)  # no two batches alike
        last = step.last
        assert last is not None
        sha.update(np.array([loss, last.grad_norm]).tobytes())
    for gradient in wg.tree.leaves(step.gradients):
        sha.update(np.ascontiguousarray(gradient).tobytes())
    sha.update(step.fingerprint().encode())
    return sha.hexdigest()


def digests(network: str, steps: str, threads: Sequence[str]) -> dict[str, str]:
    return {count: digest(NETWORKS[network], int(steps), int(count)) for count in threads}


def digests_of_process(network: str, steps: int, environment: dict[str, str]) -> dict[str, str]:
    """The same for each number of threads, from a new process."""
    command = [sys.executable, "-m", "benchmarks.bits", network, str(steps), *map(str, THREADS)]
    process = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    answer: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    return answer


def rows(network: str, steps: int = STEPS) -> list[list[str]]:
    """Two processes without a cache, one that fills it, and one that finds it full."""
    with tempfile.TemporaryDirectory() as folder:
        off = {"WENGERT_CACHE": "0"}
        on = {"WENGERT_CACHE": "1", "WENGERT_CACHE_DIR": f"{folder}/cache"}
        ways = {"no cache": off, "no cache, again": off, "empty cache": on, "warm cache": on}
        answers = {way: digests_of_process(network, steps, it) for way, it in ways.items()}
    all_digests = {each for answer in answers.values() for each in answer.values()}
    same = "the same everywhere: " + ("yes" if len(all_digests) == 1 else "NO")
    return [
        [f"{network}, {way}", *(answer[str(count)][:12] for count in THREADS), same]
        for way, answer in answers.items()
    ]


def main() -> None:
    print(f"SHA-256 after {STEPS} training steps, by threads", flush=True)
    table = [row for network in ("tiny", "small", "mnist") for row in rows(network)]
    print(aligned([["", *map(str, THREADS), ""], *table]))


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1], sys.argv[2], sys.argv[3:])))
