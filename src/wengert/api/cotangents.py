"""The cotangent a backward pass starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.errors import DTypeError, ShapeError


def cotangent_of(name: str, loss: Any, seed: Any) -> Any:
    """The cotangent of a loss: the one that users give as `seed`, checked against it, or one."""
    shape = tuple(loss.shape)
    if not is_float(loss.dtype):
        raise DTypeError(
            f"{name}: the loss has dtype {loss.dtype}; only floats are differentiated. "
            "Convert it with astype."
        )
    if seed is None:
        if shape != ():
            raise ShapeError(
                f"{name}: the loss has shape {shape}; without a seed it must be a scalar. "
                "Pass seed=, an array of that shape, or sum it first."
            )
        return np.ones((), loss.dtype)
    given = seed if isinstance(seed, Tensor) else np.asarray(seed)
    if given.dtype.kind not in "fiub":
        raise DTypeError(
            f"{name}: the seed has dtype {given.dtype}; it must hold floats, as the loss does. "
            "Convert it with astype."
        )
    if tuple(given.shape) != shape:
        raise ShapeError(
            f"{name}: the seed has shape {tuple(given.shape)}; it must have the shape of the "
            f"loss, {shape}. Broadcast or reshape it."
        )
    return given if given.dtype == loss.dtype else op.astype(given, loss.dtype)
