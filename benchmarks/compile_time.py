"""Cold starts: import, and the first step of a training program, each in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import print_table
from benchmarks.peers import ALL, chosen

SECONDS = 0.4  # a first step should take at most
REPEATS = 7
ROOT = Path(__file__).resolve().parents[1]


def cold_start(library: str, network: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.cold_start", library, network]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    times: dict[str, float] = json.loads(found.stdout.splitlines()[-1])
    return times


def medians(
    libraries: Sequence[str], network: str, repeats: int = REPEATS
) -> dict[str, dict[str, float]]:
    """Of each library; they take turns."""
    found: dict[str, list[dict[str, float]]] = {library: [] for library in libraries}
    for _ in range(repeats):
        for library in libraries:
            found[library].append(cold_start(library, network))
    return {
        library: {what: statistics.median(each[what] for each in runs) for what in runs[0]}
        for library, runs in found.items()
    }


def rows(network: str, peers: Sequence[str] = ALL, repeats: int = REPEATS) -> list[list[str]]:
    libraries = ["wengert", *(["jax"] if chosen(peers, "jax") else [])]
    times = medians(libraries, network, repeats)
    ours = times["wengert"]["first step"]
    lines = []
    for library, each in times.items():
        first = each["first step"]
        verdict = f"≤ {SECONDS} s: {'yes' if first <= SECONDS else 'NO'}"
        lines.append(
            [
                f"{network}, {library}",
                f"{each['import']:.3f} s",
                f"{first:.3f} s",
                f"{each['its CPU time']:.3f} s",
                f"{first / ours:.2f}",
                verdict if library == "wengert" else "",
            ]
        )
    return lines


def main() -> None:
    print(f"\nCold start of a training program, median of {REPEATS} processes", flush=True)
    head = ["", "import", "first step", "its CPU time", "× wengert", ""]
    print_table(head, [row for network in ("tiny", "mnist") for row in rows(network)])
