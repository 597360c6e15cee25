"""Tape: the level on which calls run at once and are remembered, to be walked backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.bind import Level, at_line, bind, evaluate
from wengert.core.dtypes import float64
from wengert.core.op import Op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value
from wengert.core.words.source import Line, attribute, begin_body, begin_phase, end_body, user_line
from wengert.errors import NotDifferentiable
from wengert.interpret.kept_arrays import (
    MOST_COPIED,
    Witness,
    is_kept,
    kept,
    recorded_constant,
    some_elements,
)
from wengert.interpret.mistakes.widening import note_integers, note_widening


class Record(NamedTuple):
    """One call on the tape. What its backward step does not read is replaced."""

    op: Op
    params: dict[str, Any]
    operands: Sequence[Value]  # one that is not read: by its type
    sources: Sequence[int | None]  # slot of each operand; None for a constant
    out: Value  # not read: None, or what the op remembers
    slots: int | tuple[int | None, ...]  # slot of the output, or of each output
    line: Line | None  # where the call was made, known where it is being traced


class Tape(Level):
    """Slots hold differentiable values; a record says how one or more slots came from others."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.count = 0  # of slots
        self.watched: set[int] = set()  # of these, the ones that no record writes
        self.witnesses: list[Witness] = []  # of large constants that the records share with others
        self._traced: dict[int, Tensor] = {}  # of these, the ones whose values are being traced

    def new_slot(self) -> int:
        self.count += 1
        return self.count - 1

    def watch(self, value: Value) -> Tensor:
        """A Tensor of this level for a value of a lower one."""
        slot = self.new_slot()
        self.watched.add(slot)
        if type(value) is Tensor:
            self._traced[slot] = value
        return Tensor(self, slot, value)

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        given = params
        if op.body is not None and op.inlined(params, op.vjp):
            outer = begin_body(op.name)
            try:
                out = op.body(*operands, **params)
            finally:
                end_body(outer)
            if type(out) is Tensor and type(out._value) is Tensor and out.dtype == float64:
                self._note_widening(op, operands)
            return out
        if op.saving is not None and not params.get("save"):
            params = op.saving(params)
        values: list[Value] = []
        sources: list[int | None] = []
        nested = op.sized
        for x in operands:
            source = None
            if type(x) is Tensor:
                if x.level is self:
                    source = x.handle
                    x = x._value
                if type(x) is Tensor:
                    nested = True
            values.append(x)
            sources.append(source)
        memory = None
        if nested:
            out = bind(op, values, params)
        elif op.remember is None:
            out = evaluate(op, values, params)
        else:
            out, memory = op.remember(*values, **params)
        if op.flat:
            return out
        wrapped = self.record(op, params, values, sources, out, memory)
        return wrapped if params is given or op.asked is None else wrapped[: op.asked(given)]

    def _note_widening(self, op: Op, operands: Sequence[Value]) -> None:
        """Of a composite whose body is differentiated in its place: it is what the user called."""
        line = user_line()
        own = [type(x) is Tensor and x.level is self for x in operands]
        values = [x._value if mine else x for x, mine in zip(operands, own, strict=True)]
        sources = [x.handle if mine else None for x, mine in zip(operands, own, strict=True)]
        note_widening(op.name, values, line)
        note_integers(op.name, values, sources, line)

    def record(
        self,
        op: Op,
        params: dict[str, Any],
        values: list[Value],
        sources: list[int | None],
        out: Value,
        memory: Value = None,
    ) -> Value:
        """Remember a call and wrap its output; the tape keeps the list of values."""
        if type(out) is Tensor and out.dtype == float64:
            note_integers(op.name, values, sources, out.level.line_of(out))
        for i in op.drops if op.keeps else range(len(values)):
            if sources[i] is not None:
                x = values[i]
                values[i] = ArrayType(x.shape, x.dtype)
        if None in sources:
            self._hold(op, values, sources)
        if type(out) is tuple:
            return self._record_several(op, params, values, sources, out)
        if out.dtype.kind != "f":
            return out
        slot = self.count
        self.count = slot + 1
        line = out.level.line_of(out) if type(out) is Tensor else None
        saved = out if op.keeps_out else memory  # for shape and dtype there is its cotangent
        self.records.append(Record(op, params, values, sources, saved, slot, line))
        return Tensor(self, slot, out)

    def _hold(self, op: Op, values: list[Value], sources: list[int | None]) -> None:
        """Keep the constants that the backward pass reads as they are now, whatever is written into
        them later.
        """
        if op.kind == "elementwise":
            unread = op.drops if op.keeps else range(len(values))
        else:  # a rule that does not read what it is the derivative by may read the indices
            unread = ()
        for i, x in enumerate(values):
            if sources[i] is not None or i in unread or not isinstance(x, np.ndarray):
                continue
            if is_kept(x):
                continue
            constant = recorded_constant(x, values)
            if constant is not None:
                values[i] = constant
            elif x.nbytes <= MOST_COPIED:
                values[i] = kept(x)
            else:
                self.witnesses.append(Witness(x, some_elements(x), op.name))

    def _record_several(
        self,
        op: Op,
        params: dict[str, Any],
        values: list[Value],
        sources: list[int | None],
        out: tuple[Value, ...],
    ) -> tuple[Value, ...]:
        wrapped = tuple(Tensor(self, self.new_slot(), y) if y.dtype.kind == "f" else y for y in out)
        slots = tuple(y.handle if type(y) is Tensor and y.level is self else None for y in wrapped)
        line = out[0].level.line_of(out[0]) if type(out[0]) is Tensor else None
        self.records.append(Record(op, params, values, sources, out, slots, line))
        return wrapped

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
        for witness in self.witnesses:
            witness.require_unchanged()
        before = begin_phase("backward")
        try:
            gradients = self._sweep(cotangents, wanted, inspect)
        finally:
            begin_phase(before)
        if self._traced:
            for slot, g in zip(wanted, gradients, strict=True):
                source = self._traced.get(slot)
                if source is not None and type(g) is Tensor and g.level is source.level:
                    g.level.note_gradient(g, source)
        return gradients

    def _sweep(
        self,
        cotangents: dict[int, Value],
        wanted: Sequence[int],
        inspect: Callable[[Record, int, Value], None] | None,
    ) -> list[Value | None]:
        keep = frozenset(wanted)
        # Where all that is watched is wanted, so is every slot; else only what depends on it is.
        reached = None if keep >= self.watched else self._reaching(wanted)
        with np.errstate(all="ignore"):
            for record in reversed(self.records):
                op, params, operands, sources, out, slots, line = record
                if type(slots) is not int:
                    g = _cotangents_of(slots, cotangents)
                elif slots in keep:
                    g = cotangents.get(slots)
                else:
                    g = cotangents.pop(slots, None)
                if g is None:
                    continue
                if reached is None:
                    want = [source is not None for source in sources]
                else:
                    want = [source in reached for source in sources]
                    if True not in want:
                        continue
                if op.vjp is not None and line is None:
                    gradients = op.vjp(g, out, operands, params, want)
                else:
                    gradients = _pull_back(record, g, want)
                for source, gx in zip(sources, gradients, strict=True):
                    if gx is None or source is None:
                        continue
                    if inspect is not None:
                        inspect(record, source, gx)
                    before = cotangents.get(source)
                    cotangents[source] = gx if before is None else before + gx
        return [cotangents.get(slot) for slot in wanted]

    def _reaching(self, wanted: Sequence[int]) -> set[int | None]:
        """The slots that depend on a wanted one: only these need cotangents."""
        reached: set[int | None] = set(wanted)
        for _op, _params, _operands, sources, _out, slots, _line in self.records:
            if not reached.isdisjoint(s for s in sources if s is not None):
                reached.update((slots,) if isinstance(slots, int) else slots)
        reached.discard(None)
        return reached


def _pull_back(record: Record, g: Value, want: list[bool]) -> Sequence[Value]:
    """The backward step of a record that cannot be differentiated, or belongs to a line."""
    op, params, operands, _sources, out, _slots, line = record
    if op.vjp is None:
        error = NotDifferentiable(
            f"{op.name}: was differentiated; {op.opaque}. "
            "Detach it with wg.stop_gradient if no gradient should flow."
        )
        raise at_line(error, line)
    of = None if line is None else line._replace(phase="backward", of=line.of or op.name)
    before = attribute(of)
    try:
        return op.vjp(g, out, operands, params, want)
    finally:
        attribute(before)


def _cotangents_of(slots: tuple[int | None, ...], cotangents: dict[int, Value]) -> Value:
    """The cotangents of several outputs, None for zero; None alone where all of them are zero."""
    g = tuple(None if slot is None else cotangents.get(slot) for slot in slots)
    return None if all(each is None for each in g) else g
