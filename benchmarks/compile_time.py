"""Cold starts: import, and the first step of a training program, each in a process of its own.

Ours with an empty cache, then with the one that process filled; JAX's, which has none. On all
cores: compiling is no comparison of kernels.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import print_table
from benchmarks.peers import ALL, chosen
from benchmarks.setting import VARIABLES, all_cores

# Ways to start: the seconds a first step should take at most.
EMPTY, WARM, JAX = "wengert, empty cache", "wengert, warm cache", "jax"
SECONDS = {EMPTY: 0.25, WARM: 0.03}
FASTER = 4  # than JAX, both
REPEATS = 7
ROOT = Path(__file__).resolve().parents[1]


def cold_start(library: str, network: str, folder: str) -> dict[str, float]:
    """The times of a process that has its cache in this folder."""
    command = [sys.executable, "-m", "benchmarks.cold_start", library, network]
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    cache = {"WENGERT_CACHE": "1", "WENGERT_CACHE_DIR": folder, "JAX_PLATFORMS": "cpu"}
    with all_cores():
        found = subprocess.run(
            command, cwd=ROOT, env=kept | cache, capture_output=True, text=True, check=True
        )
    times: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
    return times


def medians(
    ways: Sequence[str], network: str, repeats: int = REPEATS
) -> dict[str, dict[str, float]]:
    """Of each way to start; they take turns."""
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            for way, runs in found.items():
                library = way.partition(",")[0]
                runs.append(cold_start(library, network, f"{folder}/cache"))
    return {
        way: {what: statistics.median(each[what] for each in runs) for what in runs[0]}
        for way, runs in found.items()
    }


def rows(network: str, peers: Sequence[str] = ALL, repeats: int = REPEATS) -> list[list[str]]:
    ways = [EMPTY, WARM, *([JAX] if chosen(peers, "jax") else [])]
    times = medians(ways, network, repeats)
    theirs = times[JAX]["first step"] if JAX in times else None
    return [
        [
            f"{network}, {way}",
            f"{each['import']:.3f} s",
            f"{each['first step']:.3f} s",
            f"{each['its CPU time']:.3f} s",
            f"{theirs / each['first step']:.1f}" if theirs else "",
            *_verdicts(way, each["first step"], theirs),
        ]
        for way, each in times.items()
    ]


def _verdicts(way: str, first: float, theirs: float | None) -> list[str]:
    if way not in SECONDS:
        return ["", ""]
    told = f"≤ {SECONDS[way]} s: {'yes' if first <= SECONDS[way] else 'NO'}"
    if theirs is None:
        return [told, ""]
    return [told, f"≥ {FASTER} × JAX's: {'yes' if theirs >= FASTER * first else 'NO'}"]


def main() -> None:
    print(f"\nThe first step of a training program, median of {REPEATS} processes", flush=True)
    head = ["", "import", "first step", "its CPU time", "JAX's / this", "", ""]
    print_table(head, [row for network in ("tiny", "mnist") for row in rows(network)])
