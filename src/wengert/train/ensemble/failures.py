"""Failures: what members could not do, while the others went on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
SHOWN = 8  # members that a note lists


class Failures:
    """Errors by the number of the member."""

    def __init__(self) -> None:
        self.errors: dict[int, Exception] = {}

    def guarded(self, member: int, work: Callable[..., T], *args: Any) -> T | None:
        """Do something for a member; None where it failed, and that is noted."""
        try:
            return work(*args)
        except Exception as error:
            self.errors[member] = error
            return None

    def raise_first(self, members: int, others: str) -> None:
        """Raise the error of the first member that failed, with the numbers of all of them."""
        if not self.errors:
            return
        numbers = sorted(self.errors)
        error = self.errors[numbers[0]]
        error.members = numbers  # type: ignore[attr-defined]
        if len(numbers) == members:
            error.add_note(
                f"In an ensemble: this is of member 0, and all {members} members failed."
            )
        else:
            error.add_note(
                f"In an ensemble: member {numbers[0]} of {members}, from 0, failed"
                f"{_also(numbers[1:])}. {others}"
            )
        raise error


def _also(numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    shown = ", ".join(map(str, numbers[:SHOWN]))
    more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
    return f"; so did member{'s' * (len(numbers) > 1)} {shown}{more}"
