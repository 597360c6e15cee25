"""What linear algebra needs of its operands: floats, and square matrices in the last two axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.core.dtypes import is_float, require_supported
from wengert.errors import DTypeError, ShapeError

# Of a vector whose sign is free, the first element is positive that is at least this part of the
# largest: a part that no vector of simple numbers has, so that rounding does not decide.
SIGNIFICANT = 1 / math.pi
# The iteration for square roots of matrices: most steps, and the relative change below which they
# are not scaled any more.
ROOT_STEPS = 40
SETTLING = 1e-2


def require_floats(name: str, *operands: Any) -> None:
    """Refuse integers and bools; NumPy would turn them into float64 silently."""
    for position, x in enumerate(operands):
        require_supported(name, position, x.dtype)
        if not is_float(x.dtype):
            raise DTypeError(
                f"{name}: operand {position} has dtype {x.dtype}; floats are needed. "
                "Convert it with astype(np.float64)."
            )


def require_matrices(name: str, x: Any) -> None:
    if len(x.shape) < 2:
        raise ShapeError(
            f"{name}: given shape {tuple(x.shape)}; the last two axes must hold matrices. "
            "Reshape it to at least two axes."
        )


def require_equal_matrices(name: str, x: Any, y: Any) -> None:
    if (tuple(x.shape), x.dtype) != (tuple(y.shape), y.dtype):
        raise ShapeError(
            f"{name}: given {x.dtype} of shape {tuple(x.shape)} and {y.dtype} of shape "
            f"{tuple(y.shape)}; both must be equal. Convert or broadcast one of them."
        )


def require_square(name: str, x: Any) -> None:
    require_matrices(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            f"{name}: given shape {tuple(x.shape)}; the last two axes must be equal, {x.shape[-2]} "
            f"is not {x.shape[-1]}. Pass square matrices."
        )


def without_spoilt(x: Any) -> tuple[Any, Any]:
    """Arrays of matrices with identities for those that hold a number that is not finite, and which
    these are, with axes of size 1 for their own; None where there are none.

    LAPACK is not asked about them: it may raise, or lose a NaN on the way.
    """
    if math.isfinite(np.vdot(x, x)):  # one pass; an overflow only costs the other way
        return x, None
    spoilt = ~np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    return np.where(spoilt, np.eye(*x.shape[-2:], dtype=x.dtype), x), spoilt


def spoiling(out: Any, spoilt: Any) -> Any:
    """A result with NaN for the matrices that `without_spoilt` took out."""
    return out if spoilt is None else np.where(spoilt, out.dtype.type(np.nan), out)
