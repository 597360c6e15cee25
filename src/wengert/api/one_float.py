"""What is differentiated or trained returns one float."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.types import Value
from wengert.errors import DTypeError, ShapeError, TraceError, WengertError


def require_one_float(by: str, function: str, returned: Any, instead: str = "") -> Value:
    """What `function`, as messages call it, returned, checked to be a float without axes. `instead`
    is what else can be done with an array than to take its sum or mean.
    """
    try:
        return _one_float(by, function, returned, instead)
    except WengertError as error:
        raise located(error, _values_in(returned)) from None


def _values_in(returned: Any) -> list[Value]:
    try:
        return tree.leaves(returned)
    except TraceError:  # arrays in an object that is no tree
        return []


def _one_float(by: str, function: str, returned: Any, instead: str) -> Value:
    if not tree.is_leaf(returned) and not isinstance(returned, bool | int | float):
        raise TraceError(
            f"{by}: {function} returned {type(returned).__name__}; it must return one scalar. "
            "Return the loss, a float array without axes."
        )
    value = returned if tree.is_leaf(returned) else np.asarray(returned)
    if tuple(value.shape) != ():
        raise ShapeError(
            f"{by}: {function} returned shape {tuple(value.shape)}; it must return one scalar. "
            f"Take wg.sum or wg.mean of it{instead}."
        )
    if value.dtype.kind != "f":
        raise DTypeError(
            f"{by}: {function} returned dtype {value.dtype}; it must return a float. Convert it "
            "with astype."
        )
    return value
