"""What the tests of captured values share."""

from __future__ import annotations

import numpy as np

X = np.ones(3)


def call(f, x, times):
    for _ in range(times):
        f(x)


def counted(function):
    """The function, and a list that grows where it is recorded."""
    calls: list[int] = []

    def recorded(*args):
        calls.append(len(calls))
        return function(*args)

    return recorded, calls
