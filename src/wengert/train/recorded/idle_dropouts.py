"""Idle dropouts: those that a loss gives no generator, so that they drop nothing. One was forgotten
if it is behind a layer that is trained, and gradients go through it. A teacher, the average of a
model and a frozen body are evaluated so, and so is a model in a second pass beside one that drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from wengert.core import tree
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import DropoutWarning
from wengert.functions.dropout import DropoutCall
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.tape import Record, Tape

# Ops that arrange the numbers of data, and make no others.
_ARRANGING = ("input", "constant", "astype", "pad", "broadcast_to", "concat", "matrix_transpose")
_ARRANGING += ("permute_dims", "reshape", "slice_axes")


def warn_of_idle_dropouts(
    idle: Sequence[DropoutCall],
    dropping: Sequence[DropoutCall],
    model: Any,
    batch: Any,
    returned: Any,
    rng: Any,
) -> None:
    """Warn of the dropouts of a loss that were forgotten, given what it has returned for a model
    and a batch, and its generator, if it asks for one.
    """
    tape = tape_of(model)
    if tape is None:
        return
    flow = _ParameterFlow(tape)
    loss = returned[0] if isinstance(returned, tuple) and returned else returned
    through = flow.passed(_slot(tape, loss))
    dropped = [_slot(tape, call.x) for call in dropping]
    makers = {flow.makers(slot) for slot in dropped if slot is not None}
    forgotten = []
    for call in idle:
        slot = _slot(tape, call.x)
        if slot is not None:
            is_forgotten = slot in through and flow.makers(slot) not in {frozenset(), *makers}
        else:  # of data, or in the body of a loop, where it is not known what parameters do
            is_own = _is_in_body(tape, call.x) or _is_data(call.x, batch)
            is_forgotten = is_own and (rng is None or not rng.used)
        if is_forgotten:
            forgotten.append(call.line)
    _warn(forgotten, rng is not None)


def tape_of(model: Any) -> Tape | None:
    """The tape that gradients by the leaves of a model are taken with."""
    levels = (x.level for x in tree.leaves(model) if type(x) is Tensor)
    return next((each for each in levels if isinstance(each, Tape)), None)


def _slot(tape: Tape, x: Any) -> int | None:
    """Where a value stands on the tape, if gradients go through it."""
    while type(x) is Tensor and x.level is not tape:
        if x.level.symbolic:
            return None
        x = x._value
    return x.handle if type(x) is Tensor else None


def _is_in_body(tape: Tape, x: Value) -> bool:
    """Whether a value is of the body of a loop or a branch, which is recorded by itself."""
    place = place_of(x)
    return place is not None and place[0].number > tape.number


def _is_data(x: Value, batch: Any) -> bool:
    """Whether a value is of the batch, and no network has made it."""
    place = place_of(x)
    if place is None:
        return any(x is leaf for leaf in tree.leaves(batch))
    level, number = place
    nodes, seen, pending = level.graph.nodes, {number}, [number]
    while pending:
        node = nodes[pending.pop()]
        if node.op.kind != "elementwise" and node.op.name not in _ARRANGING:
            return False
        new = [i for i in node.operands if i is not None and i not in seen]
        seen.update(new)
        pending += new
    return any(nodes[i].op is op.input for i in seen)


class _ParameterFlow:
    """Which parameters the values on a tape were computed from."""

    def __init__(self, tape: Tape) -> None:
        self._watched = tape.watched
        self._records: dict[int, Record] = {}
        for record in tape.records:
            slots = record.slots if isinstance(record.slots, tuple) else (record.slots,)
            self._records.update((slot, record) for slot in slots if slot is not None)

    def passed(self, slot: int | None) -> set[int]:
        """The slots that gradients go through on the way back from one."""
        return set() if slot is None else self._reached(slot, self._sources)

    def makers(self, slot: int) -> frozenset[int]:
        """The parameters of the layer that has made a value, and not of those before it."""
        reached = self._reached(slot, self._sources_in_layer)
        return frozenset(reached & self._watched)

    def _reached(self, slot: int, step: Any) -> set[int]:
        reached, pending = {slot}, [slot]
        while pending:
            new = [i for i in step(pending.pop()) if i not in reached]
            reached.update(new)
            pending += new
        return reached

    def _sources(self, slot: int) -> Iterable[int]:
        record = self._records.get(slot)
        return () if record is None else [i for i in record.sources if i is not None]

    def _sources_in_layer(self, slot: int) -> Iterable[int]:
        sources = list(self._sources(slot))
        record = self._records.get(slot)
        if record is not None and record.op.kind == "bilinear":
            parameters = [i for i in sources if self._is_parameter(i)]
            is_untrained = record.sources[-1] is None  # x @ weights, which are not trained
            return parameters or ([] if is_untrained else sources)
        return sources

    def _is_parameter(self, slot: int) -> bool:
        """Whether a slot is a parameter, perhaps in another form."""
        while slot not in self._watched:
            record = self._records[slot]
            if len(record.operands) != 1 or record.sources[0] is None:
                return False
            slot = record.sources[0]
        return True


def _warn(lines: Sequence[Line | None], wants_rng: bool) -> None:
    repair = "Pass the loss's rng on" if wants_rng else "Give the loss an argument rng, pass it on"
    for line in dict.fromkeys(lines):
        warn_user(
            "dropout: given no rng in the loss of a TrainStep; without one it drops nothing. "
            f"{repair}, or leave the dropout out.",
            DropoutWarning,
            line,
        )
