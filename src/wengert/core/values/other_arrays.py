"""Arrays of other libraries among operands."""

from __future__ import annotations

from typing import Any


def is_labelled(kind: type) -> bool:
    """Whether a class is one of arrays with names of axes, as xarray's. They hold a Tensor as they
    hold an array, and answer operators and ufuncs themselves.
    """
    return hasattr(kind, "dims") and hasattr(kind, "__array_ufunc__")


def array_within(x: Any) -> Any:
    """What an array with names of axes holds; anything else as it is."""
    return getattr(x, "data", x) if is_labelled(type(x)) else x
