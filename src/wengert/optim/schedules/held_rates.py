"""Rates of the user's own: a copy of an optimizer asks the same function, and asks it every time.

Schedules that are part of Wengert are values. Functions, methods, callable objects and schedules of
the user's read whatever they like, which may change; so they are held and not copied, and never
asked before the update that they are asked for.
"""

from __future__ import annotations

import builtins
import copy
import math
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any, TypeVar

from wengert.optim.schedules.schedules_base import Schedule
from wengert.optim.schedules.schedules_joined import Chain
from wengert.optim.schedules.schedules_rates import Lambda
from wengert.runtime.outside.noted_reads import NotesReads, note_all

T = TypeVar("T")
_OWN = "wengert.optim."  # the modules of schedules that are part of Wengert
_RATES = ("_rate", "lr")  # attributes that hold a learning rate
_PURE = {name: getattr(builtins, name) for name in ("abs", "float", "int", "max", "min", "pow")}
_PURE["math"] = math


def deep_copied(optimizer: T, memo: dict[int, Any]) -> T:
    """An optimizer with copies of all that it has, as `copy.deepcopy` makes it, but for callables
    of the user's. A schedule says itself what its copy is.
    """
    if isinstance(optimizer, NotesReads):
        note_all(optimizer)
    twin = object.__new__(type(optimizer))
    memo[id(optimizer)] = twin
    for name, x in vars(optimizer).items():
        if not _is_held(optimizer, name, x):
            twin.__dict__[name] = copy.deepcopy(x, memo)
        else:
            twin.__dict__[name] = x.copy() if isinstance(x, Schedule) else x
    return twin


def _is_held(owner: Any, name: str, x: Any) -> bool:
    if isinstance(x, MethodType) and x.__self__ is owner:
        return False  # that of the copy is bound to the copy
    callable_kind = isinstance(x, Schedule | MethodType | partial)
    return callable_kind or (name in _RATES and callable(x))


def rehearsed(rate: Any) -> Any:
    """A rate for trying whether a state can be loaded: a copy of one that would change by it, as
    far as it can be copied.
    """
    if not hasattr(rate, "load_state_dict"):
        return rate
    try:
        return copy.deepcopy(rate)
    except Exception:  # whatever the copying of a user's object raises: a lock, an open file
        return None


def is_known_ahead(rate: Any) -> bool:
    """Whether rates are known before their updates: numbers, and schedules that are part of Wengert
    and have neither state nor a function that may read what changes.
    """
    if not callable(rate):
        return True
    if not isinstance(rate, Schedule) or not type(rate).__module__.startswith(_OWN):
        return False
    if isinstance(rate, Chain):
        return all(map(is_known_ahead, rate.schedules))
    if isinstance(rate, Lambda):
        return _reads_nothing(rate.function)
    return rate.copy() is rate


def _reads_nothing(function: Any) -> bool:
    """Whether a function plainly computes with its arguments, numbers and `math` alone."""
    if not isinstance(function, FunctionType) or function.__defaults__ or function.__kwdefaults__:
        return False
    code, outside = function.__code__, function.__globals__
    if code.co_freevars or any(isinstance(x, CodeType) for x in code.co_consts):
        return False
    return all(
        outside.get(name, _PURE[name]) is _PURE[name]
        if name in _PURE
        else hasattr(math, name) and name not in outside
        for name in code.co_names
    )
