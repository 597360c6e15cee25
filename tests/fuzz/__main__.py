"""The long run: `python -m tests.fuzz --programs 20000 --seed 7`.

Programs run in chunks, each in a process of its own: where native code crashes or hangs, one chunk
ends, and the program that caused it is printed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .comparing import Mismatch, check
from .coverage import FEATURES, Coverage
from .program import Program
from .reducing import alike, cause, reduce
from .search import visit

APART = 10**7  # seeds are this far from each other in the numbers of programs
STUCK = 600.0  # seconds without another program: it hangs
KEPT = 5  # failures of one chunk that are made small; the others are counted
ENOUGH = 5000  # programs after which every function of layers must have been met


def run_chunk(first: int, count: int, folder: Path) -> None:
    """Some programs in this process; results go to `chunk.json`, the present program to
    `current`.
    """
    coverage, failures = Coverage(), list[Mismatch]()
    unmade: list[dict[str, str]] = []
    for number in range(first, first + count):

        def test(program: Program, number: int = number) -> None:
            (folder / "current").write_bytes(pickle.dumps((number, program)))
            coverage.add(program)
            try:
                check(program)
            except Mismatch as found:
                failures.append(found)

        try:
            visit(number, test)
        except Exception as error:  # eager code raised while the program was put together
            last = traceback.format_exc()[-4000:]
            unmade.append({"cause": f"cannot be made: {type(error).__name__}", "text": last})
    different: list[Mismatch] = []
    for found in sorted(failures, key=lambda each: len(str(each.program))):
        if len(different) < KEPT and not any(alike(found, each) for each in different):
            different.append(found)
    told = unmade + [_told(reduce(found)) for found in different]
    failed = len(failures) + len(unmade)
    result = {"coverage": coverage.to_dict(), "failures": told, "failed": failed}
    (folder / "chunk.json").write_text(json.dumps(result))


def _told(found: Mismatch) -> dict[str, str]:
    return {"cause": cause(found), "text": str(found)}


def run_process(first: int, count: int) -> list[dict[str, Any]]:
    """The same in a process of its own; after a crash another one goes on behind it."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "tests.fuzz", "--first", str(first)]
        command += ["--programs", str(count), "--folder", name]
        kind, told = _ended(command, folder)
        if (folder / "chunk.json").exists():
            return [json.loads((folder / "chunk.json").read_text())]
        if not (folder / "current").exists():
            raise RuntimeError(told)  # it did not come as far as a program
        number, program = pickle.loads((folder / "current").read_bytes())
    crash = _told(reduce(Mismatch(program, kind, told), check_apart))
    result = {"coverage": Coverage().to_dict(), "failures": [crash], "failed": 1}
    left = first + count - number - 1
    return [result, *(run_process(number + 1, left) if left else [])]


def _ended(command: list[str], folder: Path) -> tuple[str, str]:
    """Run a process to its end, or until it is at one program for too long: how it ended."""
    with (
        (folder / "errors").open("w+") as errors,
        subprocess.Popen(command, stdout=errors, stderr=errors) as process,
    ):
        while True:
            try:
                process.wait(timeout=10.0)
                break
            except subprocess.TimeoutExpired:
                current = folder / "current"
                if current.exists() and time.time() - current.stat().st_mtime > STUCK:
                    process.kill()
                    return "hung", f"no end after {STUCK:.0f} s"
        errors.seek(0)
        return "crashed", f"exit code {process.returncode}\n{errors.read()[-2000:]}"


def check_apart(program: Program) -> None:
    """Run a program in a process of its own, and see whether that survives."""
    command = [sys.executable, "-c", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60.0)
    except subprocess.TimeoutExpired:
        raise Mismatch(program, "hung", "no end after 60 s") from None
    if done.returncode < 0:
        told = f"exit code {done.returncode}\n{done.stderr[-500:]}"
        raise Mismatch(program, "crashed", told)


def run_all(first: int, programs: int, size: int, workers: int) -> int:
    """All chunks; failures as they are found, one per cause, and at the end what was reached."""
    coverage, causes, failed, begun = Coverage(), set[str](), 0, time.monotonic()
    starts = range(first, first + programs, size)
    counts = [min(size, first + programs - start) for start in starts]
    with ThreadPoolExecutor(workers) as pool:
        for result in itertools.chain.from_iterable(pool.map(run_process, starts, counts)):
            coverage.merge(Coverage.from_dict(result["coverage"]))
            failed += result["failed"]
            for each in result["failures"]:
                if each["cause"] not in causes:
                    causes.add(each["cause"])
                    print(f"{'=' * 80}\n{each['cause']}\n\n{each['text']}", flush=True)
    print(coverage)
    print(f"{failed} of {coverage.programs} programs failed, of {len(causes)} causes, in", end=" ")
    print(f"{time.monotonic() - begun:.0f} s")
    unmet = [name for name in FEATURES if not coverage.features[name]]
    if unmet:
        print(f"No program was {', nor '.join(unmet)}")
    return 1 if failed or (unmet and coverage.programs >= ENOUGH) else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=20000, help="how many (default 20000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other programs")
    parser.add_argument("--chunk", type=int, default=250, help="programs per process")
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--first", type=int, help="number of the first program, instead of a seed")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ["WENGERT_CACHE"] = "0"  # no program is met twice
    first = given.seed * APART if given.first is None else given.first
    if given.folder is not None:
        run_chunk(first, given.programs, given.folder)
        return 0
    return run_all(first, given.programs, given.chunk, given.workers)


if __name__ == "__main__":
    sys.exit(main())
