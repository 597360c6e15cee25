"""The two functions of a step that ranks share: what a micro-batch contributes, and what becomes of
the sum of all of them.

    live, into, fixed, share, *micro-batch  ──▶  into, loss, carried, aux   on the rank that has it
    live, fixed, scalars, gathered          ──▶  live, report               on every rank
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wengert.core.dtypes import float64
from wengert.core.table import op
from wengert.core.types import Value
from wengert.functions.whole_batch import sharing_batches
from wengert.train.recorded.step_arrays import FixedArrays
from wengert.train.recorded.step_function import Differentiated, StepFunction


class Share(NamedTuple):
    """What a micro-batch is of its batch."""

    weight: Any  # its gradients count this much
    number: Any  # among the micro-batches: its random numbers depend on it


class Gathered(NamedTuple):
    """What the micro-batches of all ranks gave together."""

    gradients: Sequence[Any]  # of each segment
    loss: Any
    carried: Sequence[Any]
    unsound: Any  # 0, or NaN where aux is not finite


class PartArguments(NamedTuple):
    """What the program of a micro-batch takes before it."""

    live: Sequence[Any]
    into: Sequence[Any]  # where gradients are written, in the places of the early arrays
    fixed: FixedArrays
    share: Share


class CommitArguments(NamedTuple):
    """What the program that commits takes."""

    live: Sequence[Any]
    early: tuple[()]  # the exchange has written the gradients
    fixed: FixedArrays
    scalars: Any
    gathered: Gathered


@dataclass(frozen=True)
class RankedFunction:
    """A step in two parts, before and behind the exchange."""

    whole: StepFunction

    def part(
        self,
        live: Sequence[Value],
        into: Sequence[Value],
        fixed: FixedArrays,
        share: Share,
        *batch: Any,
    ) -> tuple[Sequence[Value], Value, Sequence[Value], Any]:
        """(gradients times their weight, loss, carried state, aux) of a micro-batch."""
        accumulates = self.whole.plan.accumulate > 1
        before = self.whole.arrays.named(live, () if accumulates else into)
        fixed = fixed._replace(key=op.fold_in(fixed.key, share.number))
        with sharing_batches(op.multiply(share.number, 0)):
            part = self.whole.differentiated(before, fixed, batch, share.weight)
        return part.gradients, op.astype(part.loss, float64), part.carried, part.aux

    def commit(
        self,
        live: Sequence[Value],
        early: tuple[()],
        fixed: FixedArrays,
        scalars: Value,
        gathered: Gathered,
    ) -> tuple[Any, Any, Value, Value]:
        """What the function of a step without ranks returns; its aux is what says that the aux of
        the micro-batches is finite.
        """
        accumulates = self.whole.plan.accumulate > 1
        before = self.whole.arrays.named(live, () if accumulates else gathered.gradients)
        differentiated = Differentiated(
            gathered.loss, gathered.carried, gathered.unsound, gathered.gradients
        )
        after, report, unsound = self.whole.finished(before, differentiated, fixed, scalars)
        return after.divided(accumulates)[0], early, report, unsound
