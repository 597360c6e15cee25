"""What the parameters of a distribution come to: their dtype, and the shape of a draw."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import functions, ops  # noqa: F401 (fill the table)
from wengert.core.broadcast import broadcast_shapes
from wengert.core.dtypes import float32, floating, is_weak
from wengert.core.shapes import canonical_shape
from wengert.core.table import op


def dtype_of(*parameters: Any) -> Any:
    """That of a draw: of the arrays among the parameters, or float32 as everywhere in wg.random."""
    kinds = [floating(op.asarray(x).dtype) for x in parameters if not is_weak(x)]
    return np.result_type(*kinds) if kinds else float32


def arrays_of(*parameters: Any) -> list[Any]:
    """The parameters as arrays of the dtype of a draw."""
    dtype = dtype_of(*parameters)
    return [op.astype(op.asarray(x), dtype) for x in parameters]


def drawn_shape(name: str, shape: Any, *parameters: Any) -> tuple[Any, ...]:
    """The shape asked for, and behind it that of the parameters together."""
    together = broadcast_shapes(name, [x.shape for x in parameters])
    return (*canonical_shape(name, shape), *together)


def require_positive(name: str, **numbers: Any) -> None:
    """Refuse a Python number that is not positive; of arrays nothing is known yet."""
    for parameter, value in numbers.items():
        if isinstance(value, int | float) and not 0 < value < math.inf:
            raise ValueError(
                f"{name}: {parameter}={value} was given; it must be a positive number. Choose one."
            )
