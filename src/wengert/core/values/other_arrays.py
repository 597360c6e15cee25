"""Arrays of other libraries among operands."""

from __future__ import annotations

import functools
from typing import Any


def is_labelled(kind: type) -> bool:
    """Whether a class is one of arrays with names of axes, as xarray's. They hold a Tensor as they
    hold an array, and answer operators and ufuncs themselves.
    """
    return hasattr(kind, "dims") and hasattr(kind, "__array_ufunc__")


def array_within(x: Any) -> Any:
    """What an array with names of axes holds; anything else as it is."""
    return getattr(x, "data", x) if is_labelled(type(x)) else x


# What arrays, numbers, sequences and what can become one of these have.
_OF_NUMBERS = ("__array__", "__array_ufunc__", "__float__", "__len__", "__iter__", "shape", "dtype")


@functools.lru_cache(maxsize=1024)
def reflects(kind: type, reflected: str) -> bool:
    """Whether a class that is neither an array nor a number, such as one with a unit, has the other
    side of an operator: it is given the Tensor as it would be given the number.
    """
    theirs = not (kind.__module__ or "").startswith(("wengert.", "builtins", "numpy"))
    return theirs and hasattr(kind, reflected) and not any(hasattr(kind, x) for x in _OF_NUMBERS)
