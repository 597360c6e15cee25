"""A TraceError that the user's own `try` has caught is told; one that leaves is not, nor one that
other libraries catch to find out what they were given.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CaughtWarning, TraceError

x = np.ones(3)


def scaled(x):
    try:
        scale = float(x[0])
    except TypeError:
        scale = 5.0
    return np.sum(x) * scale


def branching(x):
    try:
        if x[0] > 0:
            return np.sum(x)
    except Exception:
        pass
    return -np.sum(x)


CAUGHT = {
    "grad": lambda: wg.grad(scaled)(x),
    "jvp": lambda: wg.jvp(scaled, (x,), (x,)),
    "compile": lambda: wg.compile(scaled)(x),
    "vmap": lambda: wg.vmap(scaled)(np.ones((2, 3))),
    "a branch": lambda: wg.compile(branching)(x),
    "of a gradient": lambda: wg.compile(wg.grad(branching))(x),
    "a body": lambda: wg.checkpoint(branching)(x),
}


@pytest.mark.parametrize("case", CAUGHT)
def test_what_a_function_catches_is_told(case):
    words = r"\(test_caught_errors\.py:\d+\) The function has caught this TraceError"
    with pytest.warns(CaughtWarning, match=words):
        CAUGHT[case]()


def raises_again(x):
    try:
        return float(x[0])
    except TypeError as error:
        raise ValueError("no number") from error


def test_what_is_raised_is_not_told_twice():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="no number"):
            wg.grad(raises_again)(x)
        with pytest.raises(TraceError):
            wg.compile(lambda x: float(x[0]))(x)
        assert wg.grad(branching)(x).tolist() == [1.0, 1.0, 1.0]  # its values are known
        wg.compile(lambda x: [hasattr(x, n) for n in ("view", "item", "tolist")] and np.sum(x))(x)
        wg.compile(lambda x: np.sum(x) if np.ndim(x) and np.isscalar(1.0) else x)(x)
