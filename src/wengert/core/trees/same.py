"""Whether two Python objects are the same to a program that was recorded with one of them."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Set
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

# Mutable, without a hash, and compared by what they hold. Others without a hash are compared by
# identity: their `__eq__` may look at a part of them, or give an array.
_BY_VALUE = (set, bytearray, SimpleNamespace)


def same(a: Any, b: Any) -> bool:
    """Whether values give the same program. 1, 1.0 and True do not, nor do 0.0 and -0.0, wherever
    they are: in tuples, sets, fields of dataclasses, attributes. Arrays with the same bytes do.
    What cannot be compared is the same only as itself.

    >>> same((1, "mean"), (1, "mean")), same(1, 1.0), same([np.ones(2)], [np.ones(2)])
    (True, False, True)
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float | complex | np.inexact):
        return repr(a) == repr(b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is dict:
        return a.keys() == b.keys() and _same_items(a, b)
    if isinstance(a, np.ndarray):
        return _same_arrays(a, b)
    if isinstance(a, FunctionType):
        return _same_functions(a, b)
    if isinstance(a, set | frozenset):
        return _same_sets(a, b)
    if _is_frozen(type(a)):  # its hash comes from its fields, and each NaN has another hash
        return all(_same_attribute(a, b, each.name) for each in dataclasses.fields(a))
    return _equal(a, b) and _same_attributes(a, b)


def _same_items(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    return all(same(value, b[key]) for key, value in a.items())


def _same_sets(a: Set[Any], b: Set[Any]) -> bool:
    members = {x: x for x in b}
    return len(a) == len(b) and all(x in members and same(x, members[x]) for x in a)


def _is_frozen(kind: type) -> bool:
    """Whether objects of a class are dataclasses that are compared by their fields for good."""
    params = getattr(kind, "__dataclass_params__", None)
    return params is not None and params.frozen and params.eq


def _same_attributes(a: Any, b: Any) -> bool:
    """Whether objects that are equal for their class really are: it may compare a part of them,
    such as a name.
    """
    kind = type(a)
    if isinstance(a, type) or kind.__module__.partition(".")[0] in sys.stdlib_module_names:
        return True
    names = {*getattr(a, "__dict__", ()), *getattr(b, "__dict__", ())}
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    return all(_same_attribute(a, b, name) for name in names - {"__dict__", "__weakref__"})


def _same_attribute(a: Any, b: Any, name: str) -> bool:
    try:
        return same(getattr(a, name, _MISSING), getattr(b, name, _MISSING))
    except RecursionError:  # what holds itself
        return False


_MISSING = object()


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
        answer = a == b
    except Exception:  # whatever the user's class raises
        return False
    return isinstance(answer, bool | np.bool_) and bool(answer)
