"""What linear algebra needs of its operands: floats, and square matrices in the last two axes."""

from __future__ import annotations

from typing import Any

from wengert.core.dtypes import is_float, require_supported
from wengert.errors import DTypeError, ShapeError


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


def require_square(name: str, x: Any) -> None:
    require_matrices(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            f"{name}: given shape {tuple(x.shape)}; the last two axes must be equal, {x.shape[-2]} "
            f"is not {x.shape[-1]}. Pass square matrices."
        )
