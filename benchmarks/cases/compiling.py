"""Starting: the first run of a program with an empty and with a warm cache, importing, and making
a graph. Each start is a process of its own, which says how long it took.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import case as it
from benchmarks.case import OURS, Case, Run, Within

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {  # what is compiled, and the seconds that it should take with an empty and a warm cache
    "three-layer step": ("training step of a three-layer network", 0.2, 0.025),
    "transformer": ("training step of a 12-layer transformer", 1.5, 0.2),
    "ConvNet": ("training step of a ConvNet with three convolutions", 0.5, 0.1),
    "Lars": ("Lars over 100 tensors", 0.6, 0.1),
    "unrolled RNN": ("gradient of an RNN of 256 steps in Python", 1.0, 0.2),
    "unrolled leapfrog": ("gradient of 256 leapfrog steps in Python", 1.0, 0.3),
}
IMPORTS = {"NumPy + llvmlite": "numpy, llvmlite.binding", "JAX": "jax", "torch": "torch"}
CALLS = 500


# The first run of a program


def start(library: str, program: str, folder: str) -> float:
    """The seconds of a first run in a process that has its cache in this folder."""
    cache = {"WENGERT_CACHE": "1", "WENGERT_CACHE_DIR": folder}
    command = [sys.executable, "-m", "benchmarks.cold_start", library, program]
    process = subprocess.run(
        command, cwd=ROOT, env=os.environ | cache, capture_output=True, text=True, check=True
    )
    return float(json.loads(process.stdout.splitlines()[-1])["first"])


def cold(library: str, program: str) -> Run:
    def run() -> float:
        with tempfile.TemporaryDirectory() as folder:
            return start(library, program, f"{folder}/cache")

    return run


def warm(program: str) -> Run:
    folder = tempfile.TemporaryDirectory()
    cache = f"{folder.name}/cache"
    start("wengert", program, cache)

    def run(_kept: object = folder) -> float:
        return start("wengert", program, cache)

    return run


def start_cases(program: str) -> tuple[Case, Case]:
    what, cold_limit, warm_limit = PROGRAMS[program]
    theirs = {"JAX jit": it.jax(partial(cold, "jax", program))}
    return (
        Case(
            f"cold {program}",
            f"first run of the {what}, empty cache",
            {OURS: it.ours(partial(cold, "wengert", program)), **theirs},
            (Within(cold_limit),),
            tolerance=None,
            reports=True,
        ),
        Case(
            f"warm {program}",
            f"first run of the {what} in a new process, warm cache",
            {OURS: it.ours(partial(warm, program))},
            (Within(warm_limit),),
            tolerance=None,
            reports=True,
        ),
    )


# Importing


def importing(modules: str) -> Run:
    code = f"import time; t = time.perf_counter(); import {modules}; print(time.perf_counter() - t)"

    def run() -> float:
        process = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return float(process.stdout)

    return run


def import_case() -> Case:
    makers = {OURS: it.ours(partial(importing, "wengert"))}
    for label, modules in IMPORTS.items():
        of = {"JAX": it.jax, "torch": it.torch}.get(label, it.ours)
        makers[label] = of(partial(_importing_installed, modules))
    measures = "importing, in a new process"
    return Case("import", measures, makers, tolerance=None, reports=True)


def _importing_installed(modules: str) -> Run:
    """Raises ImportError here where a library is not there."""
    if importlib.util.find_spec(modules.partition(",")[0]) is None:
        raise ImportError(f"no module named {modules!r}", name=modules)
    return importing(modules)


# Making a graph


def deep_program(calls: int) -> Callable[[Any], Any]:
    import wengert as wg

    def run(x: Any) -> Any:
        for _ in range(calls):
            x = np.tanh(x * 1.5) + x  # a constant and three calls: four nodes
        return wg.sum(x)

    return run


def graph_building(calls: int) -> Run:
    import wengert as wg

    program = deep_program(calls)

    def run() -> float:
        start = time.perf_counter()
        graph = wg.trace(program, np.ones(4))
        wg.grad_with_loss(graph, [0]).check()
        return time.perf_counter() - start

    return run


GRAPH = Case(
    "graph of 2,000 nodes",
    "tracing, differentiating and checking a graph of 2,000 nodes",
    {OURS: it.ours(partial(graph_building, CALLS))},
    (Within(1.0),),
    tolerance=None,
    reports=True,
)
CASES = (*(case for each in PROGRAMS for case in start_cases(each)), import_case(), GRAPH)
