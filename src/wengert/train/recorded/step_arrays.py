"""The arrays of a step: what its programs take and return, and in which order.

    (live, early, fixed, scalars, *batch)  ->  (live, early, report, aux)

`live` and `early` are the arrays that a step updates, in the order of the fields of `LiveArrays`.
Those in `live` are written when nothing has failed, those in `early` in any case. Nothing else in
this package says or counts on that order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from wengert.core.types import Value

REPORT, AUX = 2, 3  # places in what a program returns
LOSS, NORM = 0, 1  # places in the report
CALLS, UPDATES, PHASE = 0, 1, 2  # places in the counts; the phase is calls since the last update

T = TypeVar("T")
S = TypeVar("S")
Live = tuple[tuple[T, ...], tuple[T, ...]]  # live and early, as programs take and return them


@dataclass(frozen=True)
class LiveArrays(Generic[T]):
    """What a step updates, one entry for each array: the array itself, what it is while a program
    is recorded, or what messages call it.
    """

    weights: Sequence[T]  # of each trained segment
    states: Sequence[Mapping[str, T]]  # of the optimizer, for each trained segment
    carried: Sequence[T]  # the user's state
    counts: T  # calls, which are the position of randomness; updates; the phase
    extents: Sequence[T]  # how large states can be: one array, or none
    gradients: Sequence[T]  # of each trained segment

    def map(self, f: Callable[[T], S]) -> LiveArrays[S]:
        """What f makes of each, in their order."""
        return LiveArrays(
            weights=[f(x) for x in self.weights],
            states=[{name: f(x) for name, x in each.items()} for each in self.states],
            carried=[f(x) for x in self.carried],
            counts=f(self.counts),
            extents=[f(x) for x in self.extents],
            gradients=[f(x) for x in self.gradients],
        )

    def in_order(self) -> list[T]:
        arrays: list[T] = []
        self.map(arrays.append)
        return arrays

    def divided(self, accumulates: bool) -> Live[T]:
        """(live, early). Gradients are early, unless they accumulate: then they are state like any
        other.
        """
        flat = self.in_order()
        first = len(flat) if accumulates else len(flat) - len(self.gradients)
        return tuple(flat[:first]), tuple(flat[first:])

    def named(self, live: Sequence[S], early: Sequence[S]) -> LiveArrays[S]:
        """Others in the form of these, which are divided like them."""
        rest = iter((*live, *early))
        return self.map(lambda _: next(rest))


class FixedArrays(NamedTuple):
    """What a step reads and does not write. As a tuple it is opened by machine code as it is."""

    frozen: Sequence[Any]  # weights of each frozen segment
    data: Sequence[Any]  # integers and bools of the model
    key: Value  # where random numbers begin
    unseen: Value  # whether only the step itself can have written to the states of optimizers

    def in_order(self) -> list[Any]:
        return [*self.frozen, *self.data, self.key, self.unseen]


class OwnArguments(NamedTuple):
    """What programs of a step take before the batch."""

    live: tuple[Any, ...]
    early: tuple[Any, ...]
    fixed: FixedArrays
    scalars: Value  # a row of numbers of the update
