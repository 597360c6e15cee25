"""Parameter flow: which trained parameters the values of a loss were computed from, as the tape
knows that their gradients are taken with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wengert.core import tree
from wengert.core.tensor import Tensor
from wengert.interpret.tape import Record, Tape


def tape_of(model: Any) -> Tape | None:
    """The tape that gradients by the leaves of a model are taken with."""
    levels = (x.level for x in tree.leaves(model) if type(x) is Tensor)
    return next((each for each in levels if isinstance(each, Tape)), None)


def slot_on(tape: Tape, x: Any) -> int | None:
    """Where a value stands on the tape, if gradients go through it."""
    while type(x) is Tensor and x.level is not tape:
        if x.level.symbolic:
            return None
        x = x._value
    return x.handle if type(x) is Tensor else None


class ParameterFlow:
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

    def varied(self, slot: int) -> set[int]:
        """The slots that a value is, or is computed from number by number, as a parameter that was
        moved a little.
        """
        return self._reached(slot, self._sources_by_number)

    def _reached(self, slot: int, step: Callable[[int], Iterable[int]]) -> set[int]:
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

    def _sources_by_number(self, slot: int) -> Iterable[int]:
        record = self._records.get(slot)
        is_moved = record is not None and record.op.kind == "elementwise"
        return self._sources(slot) if is_moved else ()

    def _is_parameter(self, slot: int) -> bool:
        """Whether a slot is a parameter, perhaps in another form."""
        while slot not in self._watched:
            record = self._records[slot]
            if len(record.operands) != 1 or record.sources[0] is None:
                return False
            slot = record.sources[0]
        return True
