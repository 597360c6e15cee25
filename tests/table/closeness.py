"""When two arrays count as equal, and a tangent as the limit of differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from table.calls import Function
from wengert.core.types import type_of

DIFFERENCE = 1e-6  # relative error allowed to a central difference


def require_types(found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    have, want = [type_of(x) for x in found], [type_of(x) for x in expected]
    assert have == want, f"{what} has type {have}, expected {want}"


def require_close(
    found: Sequence[Any], expected: Sequence[Any], relative: float, what: str
) -> None:
    """Equal but for rounding: the error of an element is measured against the largest one."""
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        x, y = np.asarray(x), np.asarray(y)
        assert x.shape == y.shape, f"{what} {number} has shape {x.shape}, expected {y.shape}"
        wrong = ~agree(x, y, relative, relative * 1e-3)
        if wrong.any():
            raise AssertionError(worst(x, y, wrong, f"{what} {number}"))


def agree(x: Any, y: Any, relative: float, absolute: float) -> Any:
    finite = np.isfinite(x) & np.isfinite(y)
    scale = np.max(np.abs(y), where=np.isfinite(y), initial=0.0)
    near = np.abs(np.where(finite, x, 0.0) - np.where(finite, y, 0.0))
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(finite, near <= relative * scale + absolute, same)


def worst(x: Any, y: Any, wrong: Any, what: str) -> str:
    error = np.where(wrong, np.nan_to_num(np.abs(x - y), nan=np.inf), -1.0)
    at = tuple(int(i) for i in np.unravel_index(np.argmax(error), error.shape))
    return (
        f"{what} differs in {int(wrong.sum())} of {wrong.size} elements; "
        f"at {at} it is {x[at].item()}, expected {y[at].item()}"
    )


def require_differences(
    f: Function, primals: Sequence[Any], dxs: Sequence[Any], dys: Sequence[Any], what: str
) -> None:
    """Compare tangents with central differences.

    An element may agree at any of three step widths: a wide step straddles kinks, a narrow one
    loses digits; no wrong tangent agrees at one by chance.
    """
    wrong: list[Any] = [True] * len(dys)
    for width in (1e-3, 1e-4, 1e-5):
        differences = _differences(f, primals, dxs, width)
        for i, (dy, (difference, size)) in enumerate(zip(dys, differences, strict=True)):
            rounding = 1e-14 * size / width  # what a difference of numbers this large can lose
            wrong[i] = wrong[i] & ~agree(dy, difference, DIFFERENCE, DIFFERENCE * 1e-3 + rounding)
        if not any(np.any(each) for each in wrong):
            return
    for i, (dy, (difference, _)) in enumerate(zip(dys, differences, strict=True)):
        if np.any(wrong[i]):
            raise AssertionError(worst(dy, difference, wrong[i], f"{what} {i}"))


def _differences(
    f: Function, primals: Sequence[Any], dxs: Sequence[Any], width: float
) -> list[tuple[Any, float]]:
    """Central differences, extrapolated once (error of order width⁴), and the size of f itself."""

    def moved(step: float) -> list[Any]:
        return f(*(x + step * dx for x, dx in zip(primals, dxs, strict=True)))

    rows = [moved(step) for step in (width, -width, width / 2, -width / 2)]
    found = []
    for far, far_back, near, near_back in zip(*rows, strict=True):
        wide, narrow = (far - far_back) / (2 * width), (near - near_back) / width
        size = np.max(np.abs(near), where=np.isfinite(near), initial=0.0)
        found.append(((4 * narrow - wide) / 3, float(size)))
    return found
