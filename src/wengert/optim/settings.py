"""The numbers an optimizer is made of, checked whenever they are set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, overload

import numpy as np

from wengert.errors import OptimError

Value = TypeVar("Value")
Check = Callable[[str, str, Any], Value]  # (class of the optimizer, name, value) → checked value


class Changeable(Protocol):
    """An object that decides whether one of its settings may change."""

    def change(self, name: str, value: Any, fixed: bool) -> None: ...


class Setting(Generic[Value]):
    """An attribute that is checked when it is set. A `fixed` one is part of the compiled rule, and
    cannot change once its optimizer is made.
    """

    def __init__(self, check: Check[Value], *, fixed: bool = False) -> None:
        self.check = check
        self.fixed = fixed
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Setting[Value]: ...
    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...
    def __get__(self, owner: object | None, kind: type) -> Setting[Value] | Value:
        if owner is None:
            return self
        found: Value = owner.__dict__[self.name]
        return found

    def __set__(self, owner: Changeable, value: Any) -> None:
        checked = self.check(type(owner).__name__, self.name, value)
        owner.change(self.name, checked, self.fixed)


def within(need: str, accepts: Callable[[float], bool]) -> Check[float]:
    """The check that a value is a number of a range, said in words and as a predicate."""

    def check(owner: str, name: str, value: Any) -> float:
        number = _plain_number(value)
        if number is None or not accepts(number):
            raise OptimError(
                f"{owner}: {name}={value!r} was given; it must be {need}. "
                "Choose a number of that range."
            )
        return number

    return check


not_negative = within("a finite number, 0 or more", lambda x: 0 <= x < np.inf)
positive = within("a finite number above 0", lambda x: 0 < x < np.inf)
below_one = within("a number from 0 up to, but without, 1", lambda x: 0 <= x < 1)
fraction = within("a number from 0 to 1", lambda x: 0 <= x <= 1)
positive_fraction = within("a number above 0, and 1 at most", lambda x: 0 < x <= 1)
_whole = within("a whole number, 1 or more", lambda x: 1 <= x < np.inf and x == int(x))


def whole(owner: str, name: str, value: Any) -> int:
    """The check of a number of updates."""
    return int(_whole(owner, name, value))


def two_below_one(owner: str, name: str, value: Any) -> tuple[float, float]:
    """The check of `betas`: a pair of numbers from 0 up to, but without, 1."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it must be a pair of numbers. "
            "Write betas=(0.9, 0.999)."
        )
    first, second = (below_one(owner, f"{name}[{i}]", x) for i, x in enumerate(value))
    return first, second


def truth(owner: str, name: str, value: Any) -> bool:
    """The check of a choice between True and False."""
    if not isinstance(value, bool | np.bool_):
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it must be True or False. Choose one."
        )
    return bool(value)


def _plain_number(value: Any) -> float | None:
    """The value as a float if it is one real number, else None; a bool is none."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    known = isinstance(value, int | float | np.integer | np.floating)
    if not known or isinstance(value, bool):
        return None
    try:
        return float(value)
    except OverflowError:  # an int beyond the floats
        return None
