"""Parameters as users write them, in canonical form."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any


def canonical_number(
    name: str, parameter: str, value: Any, holds: Callable[[float], bool], needed: str
) -> float:
    """A number for which the condition holds, as a float, or the worded error."""
    if isinstance(value, Real) and holds(number := float(value)):
        return number
    raise ValueError(
        f"{name}: {parameter}={value!r} was given; it must be {needed}. Choose another."
    )
