"""Tape: the level on which calls run at once and are remembered, to be walked backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.bind import Level, bind, evaluate
from wengert.core.op import Op
from wengert.core.source import Line, attribute
from wengert.core.tensor import Tensor
from wengert.core.types import Value, type_of
from wengert.errors import NotDifferentiable


class Record(NamedTuple):
    """One call on the tape. What its backward step does not read is replaced by its type."""

    op: Op
    params: dict[str, Any]
    operands: Sequence[Value]
    sources: Sequence[int | None]  # slot of each operand; None for a constant
    out: Value  # None where it is not read
    slots: int | tuple[int | None, ...]  # slot of the output, or of each output
    line: Line | None = None  # where the call was made, known where it is being traced


class Tape(Level):
    """Slots hold differentiable values; a record says how one or more slots came from others."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.count = 0

    def new_slot(self) -> int:
        self.count += 1
        return self.count - 1

    def watch(self, value: Value) -> Tensor:
        """A Tensor of this level for a value of a lower one."""
        return Tensor(self, self.new_slot(), value)

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        if op.body is not None and op.inlined(params, op.vjp):
            return op.body(*operands, **params)
        given = params
        if op.saving is not None:
            params = op.saving(params)
        values = list(operands)
        sources: list[int | None] = [None] * len(values)
        nested = False
        for i, x in enumerate(operands):
            if type(x) is Tensor:
                if x.level is self:
                    sources[i] = x.handle
                    values[i] = x = x.value
                nested = nested or type(x) is Tensor
        out = bind(op, values, params) if nested or op.sized else evaluate(op, values, params)
        if op.flat:
            return out
        wrapped = self.record(op, params, values, sources, out)
        return wrapped if op.asked is None or given == params else wrapped[: op.asked(given)]

    def record(
        self,
        op: Op,
        params: dict[str, Any],
        values: Sequence[Value],
        sources: Sequence[int | None],
        out: Value,
    ) -> Value:
        """Remember a call and wrap its output."""
        kept = values
        if op.keeps is not True:
            kept = list(values)
            for i in op.drops if op.keeps else range(len(kept)):
                if sources[i] is not None:
                    kept[i] = type_of(kept[i])
        if isinstance(out, tuple):
            wrapped = tuple(self.watch(y) if y.dtype.kind == "f" else y for y in out)
            slots = tuple(
                y.handle if type(y) is Tensor and y.level is self else None for y in wrapped
            )
            self.records.append(Record(op, params, kept, sources, out, slots, _line_of(out[0])))
            return wrapped
        if out.dtype.kind != "f":
            return out
        tensor = self.watch(out)
        saved = out if op.keeps_out else type_of(out)
        self.records.append(Record(op, params, kept, sources, saved, tensor.handle, _line_of(out)))
        return tensor

    def sweep(
        self,
        cotangents: dict[int, Value],
        wanted: Sequence[int],
        inspect: Callable[[Record, int, Value], None] | None = None,
    ) -> list[Value | None]:
        """Walk backwards from the given cotangents; the cotangents of the wanted slots, None where
        none came.

        `inspect` is shown every contribution a record makes to a slot.
        """
        reached = self._reaching(wanted)
        keep = frozenset(wanted)
        with np.errstate(all="ignore"):
            for record in reversed(self.records):
                slots = record.slots
                if type(slots) is not int:
                    g = _cotangents_of(slots, cotangents)
                elif slots in keep:
                    g = cotangents.get(slots)
                else:
                    g = cotangents.pop(slots, None)
                if g is None:
                    continue
                want = [s in reached for s in record.sources]
                if True not in want:
                    continue
                for source, gx in zip(
                    record.sources, self._pull_back(record, g, want), strict=True
                ):
                    if gx is None or source is None:
                        continue
                    if inspect is not None:
                        inspect(record, source, gx)
                    before = cotangents.get(source)
                    cotangents[source] = gx if before is None else before + gx
        return [cotangents.get(slot) for slot in wanted]

    def _pull_back(self, record: Record, g: Value, want: list[bool]) -> Sequence[Value]:
        if record.op.vjp is None:
            raise NotDifferentiable(
                f"{record.op.name}: was differentiated; {record.op.opaque}. "
                "Detach it with wg.stop_gradient if no gradient should flow."
            )
        if record.line is None:
            return record.op.vjp(g, record.out, record.operands, record.params, want)
        before = attribute(record.line)
        try:
            return record.op.vjp(g, record.out, record.operands, record.params, want)
        finally:
            attribute(before)

    def _reaching(self, wanted: Sequence[int]) -> set[int]:
        """The slots that depend on a wanted one: only these need cotangents."""
        reached = set(wanted)
        for record in self.records:
            if not reached.isdisjoint(s for s in record.sources if s is not None):
                if isinstance(record.slots, int):
                    reached.add(record.slots)
                else:
                    reached.update(s for s in record.slots if s is not None)
        return reached


def _line_of(out: Value) -> Line | None:
    return out.level.line_of(out) if type(out) is Tensor else None


def _cotangents_of(slots: tuple[int | None, ...], cotangents: dict[int, Value]) -> Value:
    """The cotangents of several outputs, None for zero; None alone where all of them are zero."""
    g = tuple(None if slot is None else cotangents.get(slot) for slot in slots)
    return None if all(each is None for each in g) else g
