"""Proof that a change of the compiler changed no bit: record before it, compare after it.

    cd tests
    python -m goldens record before.pkl   # some minutes
    python -m goldens compare before.pkl  # after the change

Every program is built in all ways (unfused, vectors of 4 and 8 lanes, three threads with every
kernel divided), which must agree. Of the plain build the number of kernels, the bytes of the arena
and the time to compile are kept, too; the file holds the random programs themselves.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import pickle
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from compiler.running import bits
from fuzz.program import Program

import wengert as wg
from goldens.programs import Case, Facts, cases, random_programs, training_runs

WAYS: dict[str, tuple[int, dict[str, str]]] = {
    "plain": (1, {}),
    "unfused": (1, {"WENGERT_FUSE": "0"}),
    "4 lanes": (1, {"WENGERT_LANES": "4"}),
    "8 lanes": (1, {"WENGERT_LANES": "8"}),
    "3 threads": (3, {"WENGERT_GRAIN": "1"}),
}
WORKERS = 2


def digest(results: Sequence[Any]) -> str:
    found = hashlib.sha256()
    for each in results:
        for x in bits(each):
            found.update(x)
    return found.hexdigest()


def built(case: Case) -> Facts:
    digests: dict[str, str] = {}
    kernels = arena = 0
    seconds = 0.0
    for way, (threads, settings) in WAYS.items():
        with mock.patch.dict(os.environ, settings):
            compiled = wg.compile(case.function, dims=case.dims, threads=threads)
            begin = time.process_time()
            executable = compiled.executable(*case.calls[0])
            if way == "plain":
                seconds = time.process_time() - begin
                kernels = len(executable.program.kernels)
                arena = executable.recipe.placed.arena
            digests[way] = digest([compiled(*args) for args in case.calls])
    return Facts(digests, kernels, arena, seconds)


def trained() -> dict[str, Facts]:
    found = {}
    for name, train in training_runs():
        digests = {}
        for way, (threads, settings) in WAYS.items():
            with mock.patch.dict(os.environ, settings):
                digests[way] = train(threads)
        found[f"training {name}"] = Facts(digests)
    return found


def part(programs: Sequence[Program], number: int) -> dict[str, Facts]:
    """Every so many cases, in a process of its own."""
    os.environ["WENGERT_CACHE"] = "0"
    warnings.simplefilter("ignore")
    found = trained() if number == 0 else {}
    with np.errstate(all="ignore"), redirect_stdout(io.StringIO()):
        for i, case in enumerate(cases(programs)):
            if i % WORKERS == number:
                try:
                    found[case.name] = built(case)
                except TypeError as error:  # an op of a recorded program is called otherwise now
                    print(f"gone  {case.name}: {error}", file=sys.stderr)
    return found


def measured(programs: Sequence[Program]) -> dict[str, Facts]:
    with ProcessPoolExecutor(WORKERS) as pool:
        parts = list(pool.map(partial(part, programs), range(WORKERS)))
    return {name: facts for each in parts for name, facts in each.items()}


def disagreeing(found: dict[str, Facts]) -> list[str]:
    return [name for name, facts in found.items() if len(set(facts.digests.values())) > 1]


def compared(before: dict[str, Facts], after: dict[str, Facts]) -> int:
    """Print what changed; how many cases have other bits."""
    common = [name for name in before if name in after]
    wrong = [name for name in common if before[name].digests != after[name].digests]
    for name in wrong:
        ways = [way for way in WAYS if before[name].digests[way] != after[name].digests[way]]
        print(f"OTHER BITS  {name}: {', '.join(ways)}")
    for what in ("kernels", "arena"):
        for name in common:
            old, new = getattr(before[name], what), getattr(after[name], what)
            if old != new:
                print(f"{what}  {name}: {old} before, {new} now")
    times = [sum(facts[name].seconds for name in common) for facts in (before, after)]
    missing = len(before) - len(common)
    print(f"{len(common)} cases in {len(WAYS)} ways, {missing} gone, {len(wrong)} with other bits")
    print(f"CPU time to compile the plain ones: {times[0]:.1f} s before, {times[1]:.1f} s now")
    return len(wrong) + missing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m goldens", description=__doc__)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.action == "record":
        programs = random_programs()
        found = measured(programs)
        given.file.write_bytes(pickle.dumps((programs, found)))
        print(f"{len(found)} cases in {len(WAYS)} ways")
        failed = 0
    else:
        programs, before = pickle.loads(given.file.read_bytes())
        found = measured(programs)
        failed = compared(before, found)
    apart = disagreeing(found)
    for name in apart:
        print(f"WAYS DISAGREE  {name}")
    return 1 if failed or apart else 0


if __name__ == "__main__":
    sys.exit(main())
