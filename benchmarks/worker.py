"""What runs in the process of a system: `serve`.

It makes contestants of one library when it is asked to, and times them in blocks. Requests and
answers are pickled, over its standard input and output.
"""

from __future__ import annotations

import gc
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import dup, dup2, fdopen
from typing import Any

import numpy as np

from benchmarks.case import ALONE, Run
from benchmarks.catalog import case_named
from benchmarks.disturbance import PRODUCTS, products, work_done
from benchmarks.setting import keep_to_cores

BURST = 200e-6  # seconds that calls are repeated for between two readings of the clock
LEAST = 2  # bursts of a block, however slow a call is


@dataclass(frozen=True)
class Block:
    """What was measured in one go, in seconds per call."""

    best: float
    mean: float


class System:
    """The contestants of one library, in this process."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._counts: dict[str, int] = {}
        self._reports = False
        self._between: Callable[[], object] | None = None

    def make(self, case: str, label: str) -> str | None:
        """Make a contestant and call it a few times; returns why it cannot be, if so."""
        asked = case_named(case)
        self._reports = asked.reports
        try:
            run = self._runs[label] = asked.contestants[label].make()
        except ImportError as error:
            return f"{error.name or error} is not installed"
        if not self._reports:
            self._counts[label] = max(1, int(BURST / _warm_time(run)))
        return None

    def numbers(self, label: str) -> list[Any]:
        return numbers(self._runs[label]())

    def block(self, label: str, seconds: float, beside: str = ALONE) -> Block:
        """Time calls for so many seconds."""
        run = self._runs[label]
        if self._reports:
            seconds_reported = float(run())
            return Block(seconds_reported, seconds_reported)
        gc.collect()
        gc.disable()
        try:
            if beside == PRODUCTS:
                return _single_calls(run, seconds, self._products())
            return _bursts(run, seconds, self._counts[label])
        finally:
            gc.enable()

    def work_done(self, window: float, threads: int, beside: str) -> float:
        """How much a job that divides itself freely gets done here."""
        return work_done(window, threads, self._products() if beside == PRODUCTS else None)

    def _products(self) -> Callable[[], object]:
        self._between = self._between or products()
        return self._between

    def drop(self) -> None:
        """Forget all contestants, and the memory they hold."""
        self._runs.clear()
        self._counts.clear()
        gc.collect()


def _bursts(run: Run, seconds: float, count: int) -> Block:
    _burst(run, 1)  # wake threads and caches up
    best, total, bursts = float("inf"), 0.0, 0
    while bursts < LEAST or total < seconds:
        taken = _burst(run, count)
        best = min(best, taken)
        total += taken
        bursts += 1
    return Block(best / count, total / (bursts * count))


def _single_calls(run: Run, seconds: float, between: Callable[[], object]) -> Block:
    """Something else before every call, which is not timed itself."""
    times: list[float] = []
    end = time.perf_counter() + 2 * seconds
    while len(times) < LEAST or time.perf_counter() < end:
        between()
        times.append(_burst(run, 1))
    return Block(min(times), sum(times) / len(times))


def _burst(run: Run, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return time.perf_counter() - start


def _warm_time(run: Run) -> float:
    """The time of a call when imports, compilers, caches and allocators have had their turn."""
    _burst(run, 2)
    return max(min(_burst(run, 1) for _ in range(2)), 1e-9)


def numbers(returned: Any) -> list[Any]:
    """The arrays in a result, of any library, in one order."""
    if isinstance(returned, dict):
        return [x for name in sorted(returned) for x in numbers(returned[name])]
    if isinstance(returned, list | tuple):
        return [x for each in returned for x in numbers(each)]
    if hasattr(returned, "detach"):  # a tensor of PyTorch's, which may be being differentiated
        returned = returned.detach().numpy()
    return [np.array(returned)]


def serve(whose: str) -> None:
    """Answer requests (method, arguments) for a system until there are none."""
    keep_to_cores(whose)
    answers = fdopen(dup(1), "wb")
    dup2(2, 1)  # what libraries print must not stand between answers
    system, requests = System(), sys.stdin.buffer
    while True:
        try:
            method, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = True, getattr(system, method)(*arguments)
        except Exception as error:  # told to the parent, which stops
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()
