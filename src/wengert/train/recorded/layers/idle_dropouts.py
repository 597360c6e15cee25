"""Idle dropouts: those that a loss gives no generator, so that they drop nothing. One was forgotten
if it is behind a layer that is trained, and gradients go through it. A teacher, the average of a
model and a frozen body are evaluated so, and so is a model in a second pass beside one that drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core import tree
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import DropoutWarning
from wengert.functions.dropout import DropoutCall
from wengert.interpret.mistakes.widening import place_of
from wengert.interpret.tape import Tape
from wengert.train.recorded.layers.parameter_flow import ParameterFlow, slot_on, tape_of

# Ops that arrange the numbers of data, and make no others.
_ARRANGING = {
    "input",
    "constant",
    "astype",
    "broadcast_to",
    "concat",
    "matrix_transpose",
    "pad",
    "permute_dims",
    "reshape",
    "slice_axes",
}


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
    flow = ParameterFlow(tape)
    loss = returned[0] if isinstance(returned, tuple) and returned else returned
    through = flow.passed(slot_on(tape, loss))
    dropped = [slot_on(tape, call.x) for call in dropping]
    makers = {flow.makers(slot) for slot in dropped if slot is not None}
    forgotten = []
    for call in idle:
        slot = slot_on(tape, call.x)
        if slot is not None:
            is_forgotten = slot in through and flow.makers(slot) not in {frozenset(), *makers}
        else:  # of data, or in the body of a loop, where it is not known what parameters do
            is_own = _is_in_body(tape, call.x) or _is_data(call.x, batch)
            is_forgotten = is_own and (rng is None or not rng.used)
        if is_forgotten:
            forgotten.append(call.line)
    _warn(forgotten, rng is not None)


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


def _warn(lines: Sequence[Line | None], wants_rng: bool) -> None:
    repair = "Pass the loss's rng on" if wants_rng else "Give the loss an argument rng, pass it on"
    for line in dict.fromkeys(lines):
        warn_user(
            "dropout: given no rng in the loss of a TrainStep; without one it drops nothing. "
            f"{repair}, or leave the dropout out.",
            DropoutWarning,
            line,
        )
