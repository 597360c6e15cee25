"""Schedules one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.core.arguments import worded, worded_methods
from wengert.errors import OptimError
from wengert.optim import schedules_checks as checks
from wengert.optim import settings
from wengert.optim.schedules_base import Schedule
from wengert.optim.schedules_decay import Constant, LinearWarmup


def _members(owner: str, name: str, value: Any) -> tuple[Schedule, ...]:
    plain = tuple(value) if isinstance(value, list | tuple) else None
    if plain is None or not all(isinstance(each, Schedule) for each in plain):
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it must be a list of schedules. "
            "Wrap a number in Constant and a function in Lambda."
        )
    return plain


@worded_methods("__init__")
@dataclass(frozen=True)
class Chain(Schedule):
    """Schedules one after the other: the next begins, at its own index 0, with the update whose
    index is the next milestone. There is one milestone less than there are schedules.

    >>> wg.optim.Chain([wg.optim.Constant(0.1), wg.optim.Exponential(1.0, 0.5)], [2]).table(0, 5)
    array([0.1 , 0.1 , 1.  , 0.5 , 0.25])
    """

    schedules: tuple[Schedule, ...]
    milestones: tuple[int, ...]

    def __post_init__(self) -> None:
        checks.fields(self, schedules=_members, milestones=checks.increasing)
        if len(self.schedules) != len(self.milestones) + 1:
            raise OptimError(
                f"Chain: given schedules, of length {len(self.schedules)}, and milestones, of "
                f"length {len(self.milestones)}; there must be one milestone less. Pass the index "
                "of the first update of every schedule but the first."
            )

    def values(self, indices: range) -> Sequence[float]:
        begins = (0, *self.milestones)
        found: list[float] = []
        start, stop = indices.start, indices.stop
        while start < stop:
            which = bisect_right(self.milestones, start)
            end = self.milestones[which] if which < len(self.milestones) else stop
            end, offset = min(end, stop), begins[which]
            found += self.schedules[which].values(range(start - offset, end - offset))
            start = end
        return found

    def state_dict(self) -> dict[str, Any]:
        """The states of those members that have one, by their position."""
        states = {str(i): each.state_dict() for i, each in enumerate(self.schedules)}
        return {position: state for position, state in states.items() if state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Give each member its state back; nothing is changed if they do not fit."""
        checks.state("Chain", state, self.state_dict())
        for position, part in state.items():  # copies first: a refusal must come before a change
            self.schedules[int(position)].copy().load_state_dict(part)
        for position, part in state.items():
            self.schedules[int(position)].load_state_dict(part)

    def copy(self) -> Chain:
        """A chain whose members go on alone; itself where none of them remembers anything."""
        copies = tuple(each.copy() for each in self.schedules)
        if all(a is b for a, b in zip(copies, self.schedules, strict=True)):
            return self
        return Chain(copies, self.milestones)


@worded
def warmup_then(schedule: Schedule | float, steps: int, start_factor: float = 1 / 3) -> Chain:
    """`steps` updates of linear warm-up to the first rate of a schedule, then that schedule from
    its beginning.

    >>> wg.optim.warmup_then(wg.optim.Cosine(1.0, 2), steps=2, start_factor=0.5).table(0, 5)
    array([0.5 , 0.75, 1.  , 0.5 , 0.  ])
    """
    steps = checks.count("warmup_then", "steps", steps)
    if isinstance(schedule, Schedule):
        target, first = schedule, schedule(0)
    else:
        first = settings.not_negative("warmup_then", "schedule", schedule)
        target = Constant(first)
    return Chain((LinearWarmup(first, steps, start_factor), target), (steps,))
