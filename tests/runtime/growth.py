"""How much a process grows when it compiles again and again; prints the bytes.

From the folder of the tests: ``MALLOC_ARENA_MAX=1 WENGERT_CACHE=0 python -m runtime.growth 10000``.
Machine code is made in threads, and with one heap for all of them what is seen is what stays; with
a heap for each it moves by kilobytes a compile, up and down, as memory is cut into pieces. With a
cache, some of the compiles would only read a file.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys

import numpy as np

import wengert as wg

WARM_UP = 160  # compiles until every cache and every free list has what it keeps
STATUS = "/proc/self/statm"


def compile_one(number: int) -> None:
    """A new program, called by both ways, and dropped."""
    compiled = wg.compile(lambda x, p: (wg.sum(x) * float(number), {"p": p - x}), donate="p")
    x, p = np.arange(5.0), np.zeros(5)
    for _ in range(2):
        compiled(x, p)


def resident() -> int:
    """Bytes of this process, without those that the allocator keeps for later; the most it ever
    had, where the system does not tell.
    """
    gc.collect()
    if not os.path.exists(STATUS):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    with open(STATUS) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def growth(count: int) -> int:
    """Bytes that so many compiles leave behind."""
    for i in range(WARM_UP):
        compile_one(i)
    before = resident()
    for i in range(WARM_UP, WARM_UP + count):
        compile_one(i)
    return resident() - before


if __name__ == "__main__":
    print(growth(int(sys.argv[1])))
