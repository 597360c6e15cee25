"""Fits the piecewise polynomials of float32 functions: `python -m tests.codegen.piecewise_fits`.

Not part of the test suite: it takes some minutes, and prints what is in
`wengert/codegen/llvm/math/piecewise_tables.py`.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import linprog

Array = np.ndarray[Any, Any]

_POINTS = 300  # of a piece, where the error is looked at
_NEAR = (0.04, 0.1, 0.2, 0.3)  # parts of a piece in which a center is looked for, one by one


class Fitted(NamedTuple):
    """A function on [0, limit], and its pieces; see `Pieces`."""

    function: Callable[[Array], Array]
    degree: int
    pieces: float
    bits: int | None
    from_x: bool = False
    middle: float = 0.5  # where the center of a piece is, about


def _growing(limit: float, bits: int) -> float:
    """As many pieces as make sixteen up to the limit."""
    return float(np.float32((2.0 ** (1 + 2 ** (4 - bits)) - 2) / limit))


FUNCTIONS = {
    "TANH": Fitted(np.tanh, 5, _growing(9.1, 2), 2, from_x=True),
    "ERF": Fitted(special.erf, 5, _growing(3.97, 3), 3, from_x=True),
    "SIGMOID": Fitted(
        lambda x: 1 / (1 + np.exp(x)), 7, float(np.float32(4 / 3)), None, middle=0.65
    ),
    "ERFC": Fitted(special.erfc, 7, 4.0, None, middle=0.6),
}


def edges(fitted: Fitted) -> Array:
    """Where pieces begin, and the last one ends."""
    if fitted.bits is None:
        return np.r_[0, (np.arange(16) + 0.5) / fitted.pieces]
    count = 2**fitted.bits
    heights = [2.0**k * (1 + n / count) for k in range(1, 1 + 16 // count) for n in range(count)]
    return (np.r_[heights, 2.0 ** (1 + 16 // count)] - 2) / fitted.pieces


def center(fitted: Fitted, low: float, high: float) -> tuple[float, float]:
    """A float near the middle of a piece, where the function is next to a float, and that float."""
    middle, size = low + (high - low) * fitted.middle, high - low
    for part in _NEAR:
        bits = np.float32([middle - part * size, middle + part * size]).view(np.int32)
        found = np.unique(np.linspace(*bits, 4096).astype(np.int32)).view(np.float32)
        values = fitted.function(found.astype(float))
        error = np.abs(values - values.astype(np.float32)) / np.spacing(values.astype(np.float32))
        best = int(error.argmin())
        if error[best] < 0.01:
            break
    return float(found[best]), float(np.float32(values[best]))


def least_error(matrix: Array, wanted: Array) -> Array:
    """Coefficients whose greatest error is the least: near those with the least squares."""
    start = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    left = wanted - matrix @ start
    scale = float(np.abs(left).max()) or 1.0
    column = -np.ones((len(wanted), 1))
    found = linprog(
        np.r_[np.zeros(matrix.shape[1]), 1],
        A_ub=np.block([[matrix, column], [-matrix, column]]),
        b_ub=np.r_[left, -left] / scale,
        bounds=[(None, None)] * matrix.shape[1] + [(0, None)],
    )
    return start + found.x[:-1] * scale if found.status == 0 else start


def piece(fitted: Fitted, low: float, high: float) -> list[float]:
    """The center, coefficients from the highest power on, and the value at the center."""
    first = low == 0
    zero = float(fitted.function(np.zeros(1))[0])
    at, start = (0.0, zero) if first else center(fitted, low, high)
    spread = (np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS) + 1) / 2
    x = np.maximum(low + (high - low) * spread, high * 1e-6)
    step, value = x - at, fitted.function(x)
    left = value - (x if fitted.from_x and first else start)
    size, found = float(np.abs(step).max()), list[float]()
    for k in range(1, fitted.degree + 1):
        powers = np.arange(k, fitted.degree + 1)
        matrix = (step[:, None] / size) ** powers / value[:, None]
        lowest = least_error(matrix, left / value)[0] / size**k
        found.append(float(np.float32(lowest)))
        left = left - found[-1] * step**k
    return [at, *reversed(found), start]


def written(x: float) -> str:
    """A float32 as a hexadecimal number without trailing zeros."""
    digits, exponent = x.hex().split("p")
    return f"{digits.rstrip('0').rstrip('.') if x else '0x0'}p{exponent}"


def main() -> None:
    for name, fitted in FUNCTIONS.items():
        ends = edges(fitted)
        rows = [piece(fitted, *pair) for pair in pairwise(ends)]
        text = " ".join(written(x) for row in rows for x in row)
        shown = textwrap.fill(text, 92, break_on_hyphens=False)
        sys.stdout.write(f"{name} {written(fitted.pieces)}\n{shown}\n")


if __name__ == "__main__":
    main()
