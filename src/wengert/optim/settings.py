"""The numbers that optimizers and schedules are made of, checked whenever they are set. A check
returns what it checked as Python's own kind, so that equality, repr and saved state do not depend
on where a number came from.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar, overload

import numpy as np

from wengert.core.dims import SizeNeeded
from wengert.core.tensor import Tensor
from wengert.errors import OptimError
from wengert.runtime.outside.noted_reads import note_read, noting

Value = TypeVar("Value")
Check = Callable[[str, str, Any], Value]  # (class of the owner, name, value) → checked value
_SET_OUTSIDE = (
    "Make the optimizer outside, set its numbers there, and pass "
    "wg.tree.arrays(optimizer.scalars(count)) into the function, and on as the fourth argument of "
    "optimizer.update, or use a wg.TrainStep."
)


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
        if noting:  # a function is being recorded
            note_read(owner, self.name)
        value: Value = owner.__dict__[self.name]
        return value

    def __set__(self, owner: Changeable, value: Any) -> None:
        checked = self.check(type(owner).__name__, self.name, value)
        owner.change(self.name, checked, self.fixed)


def settings_of(kind: type) -> list[str]:
    """The names of the attributes of a class that are settings."""
    found = {name: x for each in reversed(kind.__mro__) for name, x in vars(each).items()}
    return [name for name, x in found.items() if isinstance(x, Setting)]


def within(need: str, accepts: Callable[[float], bool]) -> Check[float]:
    """The check that a value is a number of a range, said in words and as a predicate."""

    def check(owner: str, name: str, value: Any) -> float:
        number = _plain_number(value)
        if number is None or not accepts(number):
            repair = "Choose a number of that range"
            if isinstance(value, tuple) and len(value) > 1:
                repair = f"For members of a wg.Ensemble write a list, {name}={list(value)}"
            if isinstance(value, Tensor):
                raise OptimError(
                    f"{owner}: {name} was given as a number that is known at call time only; it "
                    f"must be {need}. {_SET_OUTSIDE}"
                )
            raise OptimError(f"{owner}: {name}={value!r} was given; it must be {need}. {repair}.")
        return number

    return check


not_negative = within("a finite number, 0 or more", lambda x: 0 <= x < np.inf)
positive = within("a finite number above 0", lambda x: 0 < x < np.inf)
below_one = within("a number from 0 up to, but without, 1", lambda x: 0 <= x < 1)
fraction = within("a number from 0 to 1", lambda x: 0 <= x <= 1)
positive_fraction = within("a number above 0, and 1 at most", lambda x: 0 < x <= 1)
_update_count = within("a whole number, 1 or more", lambda x: 1 <= x < np.inf and x == int(x))


def whole(owner: str, name: str, value: Any) -> int:
    """The check of a number of updates."""
    return int(_update_count(owner, name, value))


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
    except SizeNeeded as needed:  # an argument of a function that is recorded
        needed.repair = _SET_OUTSIDE
        raise


def check_fields(owner: Any, **by_name: Check[Any]) -> None:
    """Check fields of a dataclass, frozen or not, and keep what the checks return."""
    for name, check in by_name.items():
        checked = check(type(owner).__name__, name, getattr(owner, name))
        object.__setattr__(owner, name, checked)


def index(owner: str, name: str, value: Any) -> int:
    """A whole number, 0 or more."""
    return _whole(owner, name, value, 0)


def count(owner: str, name: str, value: Any) -> int:
    """A whole number, 1 or more."""
    return _whole(owner, name, value, 1)


def _whole(owner: str, name: str, value: Any, least: int) -> int:
    try:
        plain = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        plain = None
    if plain is None or plain < least:
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it must be a whole number, {least} or more. "
            f"Pass an int such as {max(least, 1)}."
        )
    return plain


def increasing(owner: str, name: str, values: Any) -> tuple[int, ...]:
    """Whole numbers above zero, each larger than the one before, as a tuple."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
        raise OptimError(
            f"{owner}: {name}={values!r} was given; it must be a sequence of whole numbers. "
            "Pass a tuple such as (30, 60)."
        )
    plain = tuple(count(owner, name, value) for value in values)
    if any(late <= early for early, late in pairwise(plain)):
        raise OptimError(
            f"{owner}: {name}={plain} was given; each must be larger than the one before. "
            "Sort them and drop repetitions."
        )
    return plain


def one_of(*choices: Any) -> Check[Any]:
    """The check that a value is one of these."""

    def chosen(owner: str, name: str, value: Any) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            words = " or ".join(repr(choice) for choice in choices)
            raise OptimError(
                f"{owner}: {name}={value!r} was given; it must be {words}. Choose one of these."
            )
        return value

    return chosen


def require_state(owner: str, given: Any, wanted: Collection[str]) -> None:
    """Refuse a saved state that is no dictionary with exactly these names."""
    if isinstance(given, Mapping) and set(given) == set(wanted):
        return
    shown = f"a state with {_listed(given)}" if isinstance(given, Mapping) else repr(given)
    raise OptimError(
        f"{owner}.load_state_dict: given {shown}; a dictionary with {_listed(wanted)} is needed. "
        "Load what state_dict() of such a schedule gave."
    )


def _listed(names: Collection[Any]) -> str:
    return ", ".join(map(str, names)) or "nothing in it"


def optional(check: Check[Any]) -> Check[Any]:
    """The check that a value passes another one, or is None."""
    return lambda owner, name, value: None if value is None else check(owner, name, value)
