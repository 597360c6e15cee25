"""Derivatives by differences in float64: an oracle that knows nothing of derivatives.

Central differences at three steps, extrapolated twice (Richardson), so that the error is of sixth
order in the step. Points must lie more than STEP away from kinks and singularities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

STEP = 0.02
BY_DIFFERENCES = 1e-6  # relative error allowed against differences
BY_JAX = 1e-10  # and against another exact computation in float64


def slope(function: Callable[[float], Any]) -> Any:
    """The derivative at 0 of a function of one number with array values."""
    steps = (STEP, STEP / 2, STEP / 4)
    coarse, middle, fine = ((function(h) - function(-h)) / (2 * h) for h in steps)
    first, second = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
    return (16 * second - first) / 15


def directional(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> Any:
    """The derivative of `function` at `primals` along `tangents`."""
    return slope(
        lambda t: np.asarray(
            function(*(x + t * dx for x, dx in zip(primals, tangents, strict=True)))
        )
    )


def gradients(function: Callable[..., Any], *arrays: Any) -> list[Any]:
    """The gradient of a scalar function by each of its arrays, element by element."""
    arrays = tuple(np.asarray(x, np.float64) for x in arrays)
    found = []
    for position, x in enumerate(arrays):
        gx = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            unit = np.zeros(x.shape)
            unit[index] = 1.0
            tangents = [np.zeros(y.shape) for y in arrays]
            tangents[position] = unit
            gx[index] = directional(function, arrays, tangents)
        found.append(gx)
    return found


def require_close(found: Any, expected: Any, tolerance: float) -> None:
    """Same shape, and no element further off than `tolerance` times the size of the values."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    assert np.isfinite(found).all() == np.isfinite(expected).all(), f"{found} is not {expected}"
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    error = float(np.max(np.abs(found - expected), initial=0.0))
    assert error <= tolerance * size, f"off by {error:.3g}:\n{found}\nexpected\n{expected}"


def require_all_close(found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    assert len(found) == len(expected), f"{len(found)} arrays, expected {len(expected)}"
    for each, other in zip(found, expected, strict=True):
        require_close(each, other, tolerance)
