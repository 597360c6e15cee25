"""Calls that take the entry point, and calls that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

import wengert as wg


def ready(function: Any, *args: Any, **options: Any) -> Any:
    """A compiled function that has been called with these arguments once."""
    compiled = wg.compile(function, **options)
    compiled(*args)
    return compiled


def enter(compiled: Any, *args: Any) -> Any:
    """What the entry point answers."""
    return compiled.executable(*args).entry(*args)


def require_quick(compiled: Any, *args: Any) -> Any:
    """The entry point's results, which are those of the slow path."""
    found = enter(compiled, *args)
    assert found is not NotImplemented, "the entry point refused the arguments"
    require_equal(found, compiled._look_up_and_run(args))
    return found


def require_slow(compiled: Any, *args: Any) -> Any:
    """The compiled function's results, where the entry point leaves the arguments to Python."""
    assert enter(compiled, *args) is NotImplemented, "the entry point took the arguments"
    return compiled(*args)


def require_equal(found: Any, expected: Any) -> None:
    ours, theirs = wg.tree.leaves(found), wg.tree.leaves(expected)
    assert wg.tree.flatten(found)[1] == wg.tree.flatten(expected)[1]
    for x, y in zip(ours, theirs, strict=True):
        assert type(x) is type(y) is np.ndarray
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert x.flags.c_contiguous
        assert x.flags.writeable
        assert x.tobytes() == y.tobytes()
