"""Training alone in a process: `python -m benchmarks.digests <network> <steps> <threads> …`.

Trains a network for so many steps with each number of threads, and prints SHA-256 of all that came
of it as JSON: losses, norms, gradients, and the step's own fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence

import numpy as np

import wengert as wg
from benchmarks.networks import NETWORKS, Network, data
from benchmarks.training import our_step


def digest(network: Network, steps: int, threads: int) -> str:
    step, (_, x, y) = our_step(network, threads=threads), data(network)
    found = hashlib.sha256()
    for i in range(steps):
        loss = step(np.roll(x, i, axis=1), y)  # no two batches alike
        last = step.last
        assert last is not None
        found.update(np.array([loss, last.grad_norm]).tobytes())
    for gradient in wg.tree.leaves(step.gradients):
        found.update(np.ascontiguousarray(gradient).tobytes())
    found.update(step.fingerprint().encode())
    return found.hexdigest()


def main(network: str, steps: str, threads: Sequence[str]) -> dict[str, str]:
    return {count: digest(NETWORKS[network], int(steps), int(count)) for count in threads}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3:])))
