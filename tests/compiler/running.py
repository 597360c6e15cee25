"""Compiled programs beside eager ones: how they are run, and how far apart they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from table.closeness import worst

import wengert as wg
from wengert.core.table import op as table

Array = np.ndarray[Any, Any]
SINGLE = 1e-5  # relative error allowed in float32, where the eager one's own is smaller
ABSOLUTE = 1e-13  # and absolute, in float64: what is left of a sum that cancels


def run_alone(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """The results of a compiled function, while no op has a NumPy path to fall back to.

    It is called three times: the first call of an executable goes another way than the later ones.
    """
    compiled = wg.compile(function, **options)
    executable = compiled.executable(*args)
    with no_numpy():
        first = executable(*args)
        for again in (executable(*args), compiled(*args)):
            assert bits(again) == bits(first), "a later call gave other bits"
            assert wg.tree.flatten(again)[1] == wg.tree.flatten(first)[1]
    return first


def require_eager(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Compiled it gives what it gives eagerly; returns that."""
    found, expected = run_alone(function, *args, **options), function(*args)
    ours, structure = wg.tree.flatten(found)
    theirs, eager_structure = wg.tree.flatten(wg.tree.arrays(expected))
    assert structure == eager_structure
    for x, y in zip(ours, theirs, strict=True):
        assert x.dtype == y.dtype
        rounding = 5e-5 if y.dtype == np.float32 else 1e-11
        np.testing.assert_allclose(x, y, rtol=rounding, atol=rounding * 0.1)
    return found


@contextmanager
def no_numpy() -> Iterator[None]:
    """No op can be computed by NumPy."""

    def refuse(name: str) -> Callable[..., Any]:
        def numpy(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError(f"{name}: was computed by NumPy while compiled code ran")

        return numpy

    with pytest.MonkeyPatch.context() as patch:
        for each in table:
            patch.setattr(each, "numpy", refuse(each.name))
            if each.remember is not None:
                patch.setattr(each, "remember", refuse(each.name))
        yield


def bits(tree: Any) -> list[bytes]:
    """The bits of all arrays of a tree; all NaNs are one."""
    found = []
    for x in wg.tree.leaves(tree):
        x = np.array(x)
        if x.dtype.kind == "f":
            x[np.isnan(x)] = np.nan
        found.append(x.tobytes())
    return found


def widened(x: Any) -> Any:
    """In float64, where it was float32."""
    return x.astype(np.float64) if getattr(x, "dtype", None) == np.float32 else x


def require_same_types(found: Any, expected: Any, what: str) -> None:
    assert found.dtype == expected.dtype, f"{what} is {found.dtype}, eager is {expected.dtype}"
    assert found.shape == expected.shape, f"{what} is {found.shape}, eager is {expected.shape}"


def require_near(
    found: Any, expected: Any, precise: Any, relative: float, whole: bool, what: str
) -> None:
    """A compiled result is the eager one but for rounding.

    In float64 it lies within `relative` of it, of each element or (`whole`) of the largest. In
    float32 the eager one has rounding errors of its own: the compiled one lies as near to
    `precise`, the result in float64, as it does, or within what float32 allows. Integers, bools,
    and what is not finite are equal.
    """
    expected = np.asarray(expected)
    require_same_types(found, expected, what)
    if expected.dtype.kind != "f":
        wrong = found != expected
    elif expected.dtype == np.float32:
        wrong = _wrong_in_single(found, expected, np.asarray(precise), whole)
    else:
        scale = _scale(expected, whole)
        wrong = ~near(found, expected, relative * scale + ABSOLUTE)
    if np.any(wrong):
        raise AssertionError(worst(found, expected, wrong, what))


def _scale(x: Array, whole: bool) -> Any:
    finite = np.where(np.isfinite(x), np.abs(x), 0.0)
    return np.max(finite, initial=0.0) if whole else finite


def near(x: Array, y: Array, width: Any) -> Any:
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(all="ignore"):
        return same | (np.abs(x - y) <= width)


def _wrong_in_single(x: Array, y: Array, precise: Array, whole: bool) -> Any:
    with np.errstate(all="ignore"):
        off = np.abs(y - precise)  # the eager one's own error
        width = SINGLE * (_scale(precise, whole) + 1e-3) + 4 * _scale(off, whole)
        # where float32 overflows, or a value hangs on its rounding, the eager one decides
        return ~(near(x, precise, width) | near(x, y, 4 * np.spacing(np.abs(y)) + ABSOLUTE))
