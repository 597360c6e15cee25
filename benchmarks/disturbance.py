"""Other work beside ours: NumPy's products in the same process, and a process that keeps every core
busy half of the time.

`work_done` measures what such work leaves over: how much of a job gets done that divides itself
freely among threads (hashing, which needs neither memory nor locks), beside it and alone.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PRODUCTS, BUSY = "beside NumPy's products", "beside a half-busy process"
ON, OFF = 5e-3, 5e-3  # seconds that the busy process spins, and sleeps
SIZE = 128  # of the products: large enough for NumPy's threads, too small to empty the caches
PIECE = bytes(1 << 16)  # hashed in some ten microseconds, without Python's lock


def products() -> Callable[[], object]:
    """A call that computes a product of matrices with NumPy's threads."""
    import numpy as np

    a = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)
    out = np.empty_like(a)
    return lambda: np.matmul(a, a, out=out)


def spin(core: int) -> None:
    """Keep a core busy half of the time, until the process that started this one is gone."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    parent = os.getppid()
    while os.getppid() == parent:
        end = time.perf_counter() + ON
        while time.perf_counter() < end:
            pass
        time.sleep(OFF)


@contextmanager
def busy_process() -> Iterator[None]:
    """Every core is busy half of the time meanwhile."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    command = [sys.executable, "-m", "benchmarks.disturbance"]
    running = [subprocess.Popen([*command, str(core)]) for core in cores]
    try:
        time.sleep(0.3)  # until they spin
        yield
    finally:
        for each in running:
            each.kill()
            each.wait()


def work_done(window: float, threads: int, disturb: Callable[[], object] | None = None) -> float:
    """How much of a job that divides itself freely among threads gets done in a second: the mean of
    some windows, each after a disturbance. Only a ratio of two such numbers means anything.
    """
    rates = [_rate(window, threads, disturb) for _ in range(max(1, int(0.3 / window)))]
    return sum(rates) / len(rates)


def _rate(window: float, threads: int, disturb: Callable[[], object] | None) -> float:
    """How many pieces all threads hash in a second. A thread that has no CPU when the window ends
    ends later: what counts is the time that it took.
    """
    rates = [0.0] * threads
    gate = threading.Barrier(threads)
    end = float("inf")

    def work(number: int) -> None:
        nonlocal end
        if number == 0:
            if disturb is not None:
                disturb()
            end = time.perf_counter() + window
        gate.wait()
        begin, count = time.perf_counter(), 0
        while (now := time.perf_counter()) < end:
            hashlib.sha256(PIECE).digest()
            count += 1
        rates[number] = count / (now - begin)

    others = [threading.Thread(target=work, args=(i,)) for i in range(1, threads)]
    for each in others:
        each.start()
    work(0)
    for each in others:
        each.join()
    return sum(rates)


if __name__ == "__main__":
    spin(int(sys.argv[1]))
