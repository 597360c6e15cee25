"""Bounds: a proof, in a few scalars, that an update stays finite.

A step under "raise" and "skip" looks at what an update would write before it writes anything, which
is a second sweep over all parameters. Extents can spare it: no element of the gradient is larger
than the norm, the numbers of the update are known, weights may be any finite numbers, and states
are no larger than the last proof found. Where all that follows is finite, so is the update. A rule
that takes norms is elementwise behind them; they are computed once more, for the proof.

Extents of states pass from step to step beside the states. They are measured where states come from
elsewhere, and hold as long as only the step writes to the states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import DType, bool_, float64
from wengert.core.graph import Graph
from wengert.core.op_parts.magnitude import NotFollowed, largest, smallest
from wengert.core.table import op
from wengert.core.types import Value
from wengert.train.recorded.known_magnitudes import Extents
from wengert.train.recorded.norm_rules import BeforeUpdate, Clip, UpdateRule, rules
from wengert.train.segments import Segment
from wengert.train.storage import Array

ABOVE = 1 + 2.0**-20  # more than the rounding of a norm


def measure(extents: Array, states: Sequence[tuple[Segment, str]]) -> None:
    """Find the extent of each state: its largest absolute value, with a minus where any element
    may be negative.
    """
    for i, (segment, name) in enumerate(states):
        state = segment.states[name]
        least, most = state.min(initial=0), state.max(initial=0)
        extents[i] = most if least >= 0 else -max(-least, most)
        if np.isnan(least):
            extents[i] = np.nan


def largest_element(norm: Value, dtype: DType) -> Value:
    """A bound on the absolute value of every element of gradients with this norm. It may be rounded
    down to the dtype: rounding keeps order, so that it still bounds all elements of that dtype.
    """
    return op.astype(norm * ABOVE, dtype)


class Bounds:
    """The proofs of one step: which updates are safe, and the extents of the states after it."""

    def __init__(self, extents: Value | None, unseen: Value) -> None:
        self._extents, self._unseen = extents, op.reshape(unseen, ())
        self._new_extents: list[Value] = []  # extents of states after the step

    def prove(
        self,
        optimizer: Any,
        segment: Segment,
        gradient: Value,
        numbers: Mapping[str, Value],
        given: BeforeUpdate,
        clip: Clip,
    ) -> Value:
        """Whether new weights and states of a segment are certain to be finite: a bool scalar.
        `gradient` says how large its clipped elements can be; `given` are its arrays.
        To be asked of all segments, in their order.
        """
        first = len(self._new_extents)
        kept = [op.astype(self._kept(first + i), segment.dtype) for i in range(len(segment.states))]
        try:
            proofs = [
                self._proof(rule, segment.dtype, gradient, kept, list(numbers.values()))
                for rule in rules(optimizer, segment, numbers, given, clip)
            ]
            safe, extents = _all_of(proofs)
        except NotFollowed:
            safe, extents = False, [-_maximum(segment.dtype)] * len(kept)
        self._new_extents += [op.astype(x, float64) for x in extents]
        return safe

    def _kept(self, place: int) -> Value:
        assert self._extents is not None
        return self._extents[place]

    def _proof(
        self,
        rule: UpdateRule,
        dtype: DType,
        gradient: Value,
        kept: Sequence[Value],
        numbers: Sequence[Value],
    ) -> tuple[Value, list[Value]]:
        """Whether a rule is safe, and the extents of the new states."""
        # Where others can write to states, nothing is known of them.
        states = [op.where(self._unseen, op.abs(x), np.inf) for x in kept]
        weights = _maximum(dtype) if rule.length is None else largest_element(rule.length, dtype)
        zeros = [np.zeros((), dtype) for _ in kept]
        graph = rule.graph
        most = dict(
            zip(graph.inputs, [weights, gradient, *states, *map(op.abs, numbers)], strict=True)
        )
        least = dict(zip(graph.inputs, [None, None, *zeros, *numbers], strict=True))
        for number, values in rule.scalars.items():
            most[number] = largest([op.abs(x) for x in values])
            least[number] = smallest(values)
        extents = Extents(graph, most, least)
        signed = _signed(extents, graph, len(kept))
        # The proof took these states to be 0 or more: let it hold before the step and after it.
        for i in signed:
            extents.require_not_negative(kept[i])
        largest_values = [extents.most(number) for number in graph.returns]
        finite = op.isfinite(largest([*largest_values, *extents.finite]))
        known = _none_negative(extents.not_negative)
        safe = op.logical_and(finite, known)
        # Without a proof the program checks what it writes, so that it is finite all the same.
        sizes = [op.where(safe, x, _maximum(dtype)) for x in largest_values[1:]]
        return safe, [
            op.where(known, x, op.negative(x)) if i in signed else op.negative(x)
            for i, x in enumerate(sizes)
        ]

    def extents(self) -> list[Value]:
        """The extents after the step, as one array; none where no state has any."""
        if not self._new_extents:
            return []
        # Not a concatenation: what is copied in the end is not computed piece by piece.
        made = op.broadcast_to(self._new_extents[0], (len(self._new_extents),))
        for i, x in enumerate(self._new_extents[1:], 1):
            made = op.where(np.arange(len(self._new_extents)) == i, x, made)
        return [made]


def _maximum(dtype: DType) -> Array:
    return np.array(np.finfo(dtype).max)


def _signed(extents: Extents, graph: Graph, states: int) -> set[int]:
    """The states that a rule needs to be 0 or more, and that are so again after the update."""
    inputs = graph.inputs[2 : 2 + states]
    signed: set[int] = set()
    while new := {i for i in range(states) if inputs[i] in extents.asked} - signed:
        for i in new:
            extents.require_not_negative(extents.least(graph.returns[1 + i]))
        signed |= new
    return signed


def _all_of(proofs: Sequence[tuple[Value, list[Value]]]) -> tuple[Value, list[Value]]:
    """Several proofs as one: whether all of them hold, and the largest extent of each state."""
    if len(proofs) == 1:
        return proofs[0]
    safe = proofs[0][0]
    for other, _ in proofs[1:]:
        safe = op.logical_and(safe, other)
    joined = []
    for each in zip(*(extents for _, extents in proofs), strict=True):
        most = largest([op.abs(x) for x in each])
        joined.append(op.where(op.less(smallest(each), 0), op.negative(most), most))
    return safe, joined


def _none_negative(scalars: Sequence[Value]) -> Value:
    return op.greater_equal(smallest(scalars), 0) if scalars else np.array(True, bool_)
