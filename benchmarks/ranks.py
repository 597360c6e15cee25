"""Steps that ranks share: how long they take on 1, 2 and 4 ranks, and what that says about more.

    python -m benchmarks.ranks [--out FILE]

Each rank has one thread. A model of the time of a step is fitted to what was measured, and asked
about 8 to 512 ranks on two networks. `docs/scaling.md` has the model and the tables. Needs the
extra `mpi`. Where ranks share a core, only compute is slower than on machines of their own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert.parallel.mpi_ranks import MpiRanks
from wengert.parallel.tree_exchange import SHORT, spans_of

COUNTS = (1, 2, 4)
SIZES = (1 << 12, 1 << 16, 1 << 20, 1 << 22)  # bytes of a gradient
MICRO_BATCHES = 8
CASES = {"mnist": ((784, 128, 10), 512), "large": ((1024, 1024, 1024, 10), 1024)}  # layers, rows
# Seconds per message, and bytes per second: what such networks have under MPI, about.
NETWORKS = {"10 Gbit/s": (20e-6, 1.1e9), "100 Gbit/s": (3e-6, 11e9)}
PREDICTED = (8, 32, 128, 512)


@dataclass(frozen=True)
class Link:
    """How ranks are connected: seconds per message, and bytes per second."""

    latency: float
    bandwidth: float

    def exchange(self, ranks: int, size: int) -> float:
        """Seconds for the sum of vectors of so many bytes: to everybody at once where they are
        short, else in pieces, there and back.
        """
        others = ranks - 1
        if size <= SHORT:
            return others * (self.latency + size / self.bandwidth)
        return 2 * others * (self.latency + size / ranks / self.bandwidth)


def best(work: Callable[[], object], tries: int, together: Callable[[], object]) -> float:
    """The least of some times, in seconds."""
    times = []
    for _ in range(tries):
        together()
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def network(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {"w": rng.normal(size=(m, n)).astype(np.float32) / m**0.5, "b": np.zeros(n, np.float32)}
        for m, n in pairwise(sizes)
    ]


def loss(model: Any, x: Any, y: Any) -> Any:
    *hidden, last = model
    for layer in hidden:
        x = wg.relu(x @ layer["w"] + layer["b"])
    return wg.cross_entropy(x @ last["w"] + last["b"], y)


def measure(ranks: MpiRanks) -> dict[str, Any]:
    """What one rank measures."""
    figures: dict[str, Any] = {"ranks": ranks.size, "exchange": {}, "allreduce": {}, "steps": {}}
    whole, comm = (0, MICRO_BATCHES), ranks._comm
    for size in SIZES:
        into = np.zeros(size // 4, np.float32)
        own = {span: [np.ones_like(into)] for span in spans_of(whole, ranks.rank, ranks.size)}
        figures["exchange"][size] = best(
            lambda own=own, into=into: ranks.add_up(whole, own, [into]), 30, comm.Barrier
        )
        given = np.ones_like(into)
        figures["allreduce"][size] = best(
            lambda given=given, into=into: comm.Allreduce(given, into), 30, comm.Barrier
        )
    for name, (layers, rows) in CASES.items():
        rng = np.random.default_rng(1)
        x = rng.normal(size=(rows, layers[0])).astype(np.float32)
        y = rng.integers(layers[-1], size=rows)
        step = wg.TrainStep(loss, network(layers), wg.optim.Adam(1e-3), threads=1, ranks=ranks)
        part = wg.parallel.shard(ranks, x, y)
        step(*part)
        seconds = best(lambda step=step, part=part: step(*part), 20, comm.Barrier)
        count = sum(each.size for each in wg.tree.leaves(step.model))
        figures["steps"][name] = {"seconds": seconds, "bytes": 4 * count}
    return figures


def measured() -> list[dict[str, Any]]:
    """What was measured on each number of ranks: of several, the slowest counts."""
    slowest = []
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            command = [sys.executable, "-m", "wengert.cli", "launch", "-n", str(count)]
            script = [__file__, "--measure", folder]
            subprocess.run([*command, "--threads", "1", *script], check=True)
            each = [
                json.loads((Path(folder) / f"{count}-{rank}.json").read_text())
                for rank in range(count)
            ]
            slowest.append(max(each, key=lambda one: one["steps"]["large"]["seconds"]))
    return slowest


def fitted(figures: list[dict[str, Any]]) -> Link:
    """The link that fits the exchanges best, each weighted by what it took."""
    rows, times = [], []
    for each in figures:
        ranks = each["ranks"]
        for size, seconds in each["exchange"].items():
            if ranks > 1:
                unit = Link(1.0, np.inf).exchange(ranks, int(size))
                per_byte = Link(0.0, 1.0).exchange(ranks, int(size))
                rows.append([unit / seconds, per_byte / seconds])
                times.append(1.0)
    (latency, slowness), *_ = np.linalg.lstsq(np.array(rows), np.array(times), rcond=None)
    return Link(float(latency), float(1 / slowness))


def report(figures: list[dict[str, Any]]) -> str:
    """The tables of the page."""
    link = fitted(figures)
    alone = figures[0]["steps"]
    lines = [
        f"link between ranks here: {link.latency * 1e6:.0f} µs per message, "
        f"{link.bandwidth / 1e9:.2f} GB/s",
        "",
        "| exchange of | " + " | ".join(f"{each['ranks']} ranks" for each in figures[1:]) + " |",
        "|---|" + "---|" * (len(figures) - 1),
    ]
    for size in map(str, SIZES):
        cells = [
            f"{each['exchange'][size] * 1e3:.2f} ms "
            f"(Allreduce {each['allreduce'][size] * 1e3:.2f}, "
            f"model {link.exchange(each['ranks'], int(size)) * 1e3:.2f})"
            for each in figures[1:]
        ]
        lines.append(f"| {int(size) // 1024} KB | " + " | ".join(cells) + " |")
    lines += ["", "| step | 1 rank | " + " | ".join(f"{n} ranks" for n in COUNTS[1:]) + " |"]
    lines.append("|---|" + "---|" * len(COUNTS))
    for name in CASES:
        cells = [f"{each['steps'][name]['seconds'] * 1e3:.1f} ms" for each in figures]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| step, predicted | network | " + " | ".join(map(str, PREDICTED)) + " |"]
    lines.append("|---|---|" + "---|" * len(PREDICTED))
    for name in CASES:
        for title, (latency, bandwidth) in NETWORKS.items():
            cells = []
            for ranks in PREDICTED:
                # As many micro-batches of the same size as ranks: the batch grows with them.
                compute = alone[name]["seconds"] / MICRO_BATCHES
                exchange = Link(latency, bandwidth).exchange(ranks, alone[name]["bytes"])
                cells.append(f"{compute / (compute + exchange):.0%}")
            lines.append(f"| {name} | {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", metavar="FOLDER", help="be one of the ranks")
    parser.add_argument("--out", type=Path, help="where what was measured is written, as JSON")
    given = parser.parse_args()
    if given.measure:
        ranks = wg.parallel.mpi(micro_batches=MICRO_BATCHES)
        path = Path(given.measure) / f"{ranks.size}-{ranks.rank}.json"
        path.write_text(json.dumps(measure(ranks)))
        return
    figures = measured()
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1))
    print(report(figures))


if __name__ == "__main__":
    main()
