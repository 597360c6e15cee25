"""A minute of everything at once, by hand: `python -m tests.runtime.soak [seconds] [forks]`.

64 Python threads call one executable, then 64 different ones; then a process forks while workers
sleep, and each child calls. Results must be right, nothing may hang, memory may not grow.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg

THREADS = 64


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    forks = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    os.environ["WENGERT_GRAIN"] = "1"
    x = np.linspace(-1, 1, 20_000, dtype=np.float32)
    functions = [_function(n) for n in range(THREADS)]
    wanted = [wg.compile(f, threads=1)(x) for f in functions]
    compiled = [wg.compile(f, threads=2 + n % 3) for n, f in enumerate(functions)]
    for f, want in zip(compiled, wanted, strict=True):
        assert np.array_equal(f(x), want)
    for name, chosen in (("one executable", compiled[:1]), ("64 executables", compiled)):
        _hammer(chosen, x, wanted, seconds / 4)  # memory for all threads is made here
        before = _memory()
        calls = _hammer(chosen, x, wanted, seconds)
        grown = (_memory() - before) / 2**20
        print(f"{name}: {calls:,} calls by {THREADS} threads, all right; memory {grown:+.1f} MB")
    _fork(compiled[0], x, wanted[0], forks)


def _function(n: int) -> Callable[[Any], Any]:
    return lambda x: np.exp(x) * float(n + 1) + np.sum(x)


def _hammer(functions: Sequence[Any], x: Any, wanted: Sequence[Any], seconds: float) -> int:
    counts = [0] * THREADS
    wrong: list[int] = []
    end = time.monotonic() + seconds

    def calling(number: int) -> None:
        k = number % len(functions)
        while time.monotonic() < end:
            if not np.array_equal(functions[k](x), wanted[k]):
                wrong.append(number)
            counts[number] += 1

    threads = [threading.Thread(target=calling, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 120)
        if thread.is_alive():
            sys.exit("a thread hangs")
    if wrong:
        sys.exit(f"wrong results in threads {sorted(set(wrong))}")
    return sum(counts)


def _memory() -> int:
    """Bytes in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _fork(function: Any, x: Any, want: Any, forks: int) -> None:
    for n in range(forks):
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(function(x), want) else 1)
        end = time.monotonic() + 60
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                break
            if time.monotonic() > end:
                sys.exit(f"child {n} hangs")
            time.sleep(0.0005)
        if status:
            sys.exit(f"child {n} ended with {status}")
    print(f"{forks:,} forks while workers sleep: all children right")


if __name__ == "__main__":
    main()
