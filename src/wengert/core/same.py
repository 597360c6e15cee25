"""Whether two Python objects are the same to a program that was recorded with one of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

# Mutable, without a hash, and compared by what they hold. Others without a hash are compared by
# identity: their `__eq__` may look at a part of them, or give an array.
_BY_VALUE = (set, bytearray, SimpleNamespace)


def same(a: Any, b: Any) -> bool:
    """Whether values give the same program. 1, 1.0 and True do not, nor do 0.0 and -0.0; arrays do
    that have the same bytes. What cannot be compared is the same only as itself.

    >>> same((1, "mean"), (1, "mean")), same(1, 1.0), same([np.ones(2)], [np.ones(2)])
    (True, False, True)
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float | np.floating):
        return repr(a) == repr(b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is dict:
        return a.keys() == b.keys() and _same_items(a, b)
    if isinstance(a, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, FunctionType):
        return _same_functions(a, b)
    return _equal(a, b)


def _same_items(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    return all(same(value, b[key]) for key, value in a.items())


def _same_arrays(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _same_functions(a: FunctionType, b: FunctionType) -> bool:
    """A lambda in a loop is a new object every time around."""
    if a.__code__ is not b.__code__ or a.__globals__ is not b.__globals__:
        return False
    taken = [(f.__closure__ or (), f.__defaults__, f.__kwdefaults__, f.__dict__) for f in (a, b)]
    (cells, *rest), (others, *others_rest) = taken
    try:
        pairs = [(x.cell_contents, y.cell_contents) for x, y in zip(cells, others, strict=True)]
    except ValueError:  # a name that is not bound yet
        return False
    return all(x is y for x, y in pairs) and same(rest, others_rest)


def _equal(a: Any, b: Any) -> bool:
    if not isinstance(a, _BY_VALUE):
        try:
            if hash(a) != hash(b):
                return False
        except TypeError:
            return False
    try:
        found = a == b
    except Exception:  # whatever the user's class raises
        return False
    return isinstance(found, bool | np.bool_) and bool(found)
