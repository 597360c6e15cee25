"""Measure a case: its contestants take turns, in blocks, and the best of many calls counts.

Each system has a process of its own, and one parent asks them in turn. In one process libraries
stand in each other's way: they share an allocator, whose thresholds any of them moves; a number of
threads that each of them reads once; and threads that go on spinning after a product and take a
core from whoever comes next. Between two blocks there is a pause, until such threads have gone to
sleep. docs/benchmarks.md says how long that is.

Under a disturbance the best of many would be a moment without it. There the mean of a block counts,
and of several blocks the median, also of what is measured alone to compare with. A block is long
enough for the disturbance to come and go many times, and what it leaves over is measured between
blocks.
"""

from __future__ import annotations

import os
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.case import ALONE, OURS, Case
from benchmarks.disturbance import BUSY, busy_process
from benchmarks.setting import variables
from benchmarks.worker import Block, System

ROOT = Path(__file__).resolve().parents[1]
WINDOW = 0.01  # seconds at least in which is measured what a disturbance leaves over
GRACE = 5.0  # seconds in which a process may end by itself
DIVIDED = 100e-6  # a call that takes longer could have used all threads


@dataclass(frozen=True)
class Effort:
    """How long a case is measured."""

    rounds: int
    block: float  # seconds of one contestant in one round
    pause: float  # seconds before each block
    beside: float = 0.0  # seconds of a block beside other work


FULL = Effort(5, 0.05, 0.03, 0.5)
QUICK = Effort(2, 0.01, 0.005, 0.2)


@dataclass(frozen=True)
class Measured:
    """Seconds per call of each contestant; why others are missing; and beside other work, how much
    of the CPU time that left over, and our own seconds without it.
    """

    seconds: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)
    left: float = 1.0
    undisturbed: float | None = None


class Asked(Protocol):
    """A system that answers requests: in another process, or in this one."""

    def ask(self, method: str, *arguments: Any) -> Any: ...

    def close(self) -> None: ...


class Process:
    """A system in a process of its own."""

    def __init__(self, system: str, threads: int) -> None:
        self._system = system
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from benchmarks.worker import serve; serve({system!r})"],
            cwd=ROOT,
            env=os.environ | variables(threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, method: str, *arguments: Any) -> Any:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            pickle.dump((method, arguments), requests)
            requests.flush()
            well, answer = pickle.load(answers)
        except (EOFError, BrokenPipeError) as error:
            code = self._process.wait()
            raise RuntimeError(f"the process of {self._system} ended with {code}") from error
        if not well:
            raise RuntimeError(f"{self._system}: {answer}")
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:  # in the middle of a call, after an interrupt
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Here:
    """All systems in this process, with the number of threads that it was started with."""

    def __init__(self) -> None:
        self._system = System()

    def ask(self, method: str, *arguments: Any) -> Any:
        return getattr(self._system, method)(*arguments)

    def close(self) -> None:
        self._system.drop()


class Systems:
    """The systems of a run, started when they are needed first."""

    def __init__(self, together: bool = False) -> None:
        self._running: dict[tuple[str, int], Asked] = {}
        self._here = Here() if together else None

    def of(self, system: str, threads: int) -> Asked:
        if self._here is not None:
            return self._here
        key = system, threads
        if key not in self._running:
            self._running[key] = Process(system, threads)
        return self._running[key]

    def __enter__(self) -> Systems:
        return self

    def __exit__(self, *_: object) -> None:
        for each in (*self._running.values(), *([self._here] if self._here else [])):
            each.close()
        self._running.clear()


class Contest:
    """A case whose contestants have been made, to be measured alone and beside other work."""

    def __init__(self, case: Case, systems: Systems) -> None:
        self._case, self._systems = case, systems
        self.missing: dict[str, str] = {}
        self._labels: list[str] = []
        for label in case.contestants:
            why = self._ask(label, "make", case.name, label)
            if why is None:
                self._labels.append(label)
            elif label == OURS:
                raise RuntimeError(f"{case.name}: {why}")
            else:
                self.missing[label] = why

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        for label in self._case.contestants:
            self._ask(label, "drop")

    def _ask(self, label: str, method: str, *arguments: Any) -> Any:
        contestant = self._case.contestants[label]
        threads = contestant.threads or self._case.threads
        return self._systems.of(contestant.system, threads).ask(method, *arguments)

    def require_agreement(self) -> None:
        """All contestants compute the same numbers, or the comparison is worth nothing."""
        tolerance = self._case.tolerance
        if tolerance is None or self._case.reports:
            return
        agreeing = [label for label in self._labels if self._case.contestants[label].agrees]
        numbers = {label: self._ask(label, "numbers", label) for label in agreeing}
        for label in agreeing:
            require_close(f"{self._case.name}: {label}", numbers[label], numbers[OURS], tolerance)

    def measure(self, effort: Effort) -> Measured:
        """Alone: the best of all calls."""
        blocks: dict[str, list[Block]] = {label: [] for label in self._labels}
        for turn in range(effort.rounds):
            self._take_turns(blocks, turn, effort, effort.block, ALONE)
        best = {label: min(each.best for each in of_label) for label, of_label in blocks.items()}
        return Measured(best, self.missing)

    def measure_beside(self, effort: Effort, beside: str, alone: Mapping[str, float]) -> Measured:
        """Beside other work; `alone` is what was measured without."""
        window = effort.beside if beside == BUSY else 0.0
        window = max(WINDOW, window, alone[OURS])
        threads = self._case.threads if alone[OURS] > DIVIDED else 1
        rounds = range(effort.rounds + 1)
        blocks: dict[str, list[Block]] = {label: [] for label in self._labels}
        undisturbed = self._ask(OURS, "work_done", window, threads, ALONE)
        calm = [self._ask(OURS, "block", OURS, effort.beside, ALONE) for _ in rounds]
        done = []
        with ExitStack() as stack:
            if beside == BUSY:
                stack.enter_context(busy_process())
            for turn in rounds:
                done.append(self._ask(OURS, "work_done", window, threads, beside))
                self._take_turns(blocks, turn, effort, effort.beside, beside)
        left = min(statistics.mean(done) / undisturbed, 1.0)
        means = {label: _middle(of_label) for label, of_label in blocks.items()}
        return Measured(means, self.missing, left, _middle(calm))

    def _take_turns(
        self,
        blocks: Mapping[str, list[Block]],
        turn: int,
        effort: Effort,
        seconds: float,
        beside: str,
    ) -> None:
        """A block of each contestant; another one begins in each turn."""
        first = turn % len(self._labels)
        for label in (*self._labels[first:], *self._labels[:first]):
            time.sleep(effort.pause)
            lasting = seconds * self._case.weight
            blocks[label].append(self._ask(label, "block", label, lasting, beside))


def _middle(blocks: Sequence[Block]) -> float:
    """Of the means of blocks, the median."""
    return statistics.median(each.mean for each in blocks)


def require_close(whose: str, computed: list[Any], expected: list[Any], tolerance: float) -> None:
    """Arrays are as many, and close: within a part of the largest number of each."""
    assert len(computed) == len(expected), (
        f"{whose} returns {len(computed)} arrays, not {len(expected)}"
    )
    for x, y in zip(computed, expected, strict=True):
        scale = tolerance * max(float(np.max(np.abs(y), initial=0)), 1e-30)
        np.testing.assert_allclose(x, y, rtol=0, atol=scale, err_msg=whose)
