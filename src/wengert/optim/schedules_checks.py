"""Checks of what schedules and L-BFGS are made of, beside those of `settings`: whole numbers, their
sequences, and choices. Each returns what it checked, as Python's own kind, so that equality, repr
and saved state do not depend on where a number came from.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from wengert.errors import OptimError

Check: TypeAlias = Callable[[str, str, Any], Any]  # (owner, name, value) → checked value


def fields(owner: Any, **by_name: Check) -> None:
    """Check fields of a dataclass, frozen or not, and keep what the checks return."""
    for name, check in by_name.items():
        found = check(type(owner).__name__, name, getattr(owner, name))
        object.__setattr__(owner, name, found)


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


def one_of(*choices: Any) -> Check:
    """The check that a value is one of these."""

    def chosen(owner: str, name: str, value: Any) -> Any:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            words = " or ".join(repr(choice) for choice in choices)
            raise OptimError(
                f"{owner}: {name}={value!r} was given; it must be {words}. Choose one of these."
            )
        return value

    return chosen


def state(owner: str, given: Any, wanted: Collection[str]) -> None:
    """Refuse a saved state that is no dictionary with exactly these names."""
    if isinstance(given, Mapping) and set(given) == set(wanted):
        return
    found = f"a state with {_listed(given)}" if isinstance(given, Mapping) else repr(given)
    raise OptimError(
        f"{owner}.load_state_dict: given {found}; a dictionary with {_listed(wanted)} is needed. "
        "Load what state_dict() of such a schedule gave."
    )


def _listed(names: Collection[Any]) -> str:
    return ", ".join(map(str, names)) or "nothing in it"


def optional(check: Check) -> Check:
    """The check that a value passes another one, or is None."""
    return lambda owner, name, value: None if value is None else check(owner, name, value)
