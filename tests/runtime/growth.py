"""How much a process grows when it compiles again and again; prints the bytes.

From the folder of the tests: ``python -m runtime.growth 10000``.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

import wengert as wg

WARM_UP = 60  # compiles until every cache and every free list has what it keeps
UNIT = 1 if sys.platform == "darwin" else 1024  # of the peak that the system reports


def compile_one(number: int) -> None:
    """A new program, called by both ways, and dropped."""
    compiled = wg.compile(lambda x, p: (wg.sum(x) * float(number), {"p": p - x}), donate="p")
    x, p = np.arange(5.0), np.zeros(5)
    for _ in range(2):
        compiled(x, p)


def growth(count: int) -> int:
    """Bytes by which the peak grows in so many compiles."""
    for i in range(WARM_UP):
        compile_one(i)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(WARM_UP, WARM_UP + count):
        compile_one(i)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * UNIT


if __name__ == "__main__":
    print(growth(int(sys.argv[1])))
