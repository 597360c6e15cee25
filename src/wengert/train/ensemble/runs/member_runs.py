"""The steps of a run, taken for all members inside machine code as far as that can be
done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.api.compiling.eager import is_eager
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.train.ensemble.failures import Failures
from wengert.train.ensemble.member_calls import in_step
from wengert.train.ensemble.runs.member_auxes import MemberAuxes
from wengert.train.ensemble.runs.member_loops import MemberLoops, Members, make_loops, places_in
from wengert.train.ensemble.runs.member_orders import MemberOrders
from wengert.train.ensemble.runs.run_data import RunData
from wengert.train.recorded.step_arrays import AUX
from wengert.train.runs.native_loop import BatchPlace, rows_used
from wengert.train.storage import Array

LONGEST = 0.05  # seconds that machine code should take: then Python looks after signals
FIRST_STEPS = 8  # of its first call, before it is known how long a step takes


class ReportRoom(NamedTuple):
    """Where the reports of steps are collected."""

    reports: Array  # (members, steps, 2)
    skipped: Array  # (members, steps)
    rates: Array  # (members, steps, learning rates)

    def since(self, step: int) -> ReportRoom:
        """The room of later steps."""
        return ReportRoom(self.reports[:, step:], self.skipped[:, step:], self.rates[:, step:])


@dataclass(frozen=True)
class Portion:
    """Steps that all members take before Python looks after signals."""

    steps: int
    epochs: Sequence[int]  # of each member's first batch
    number: int  # of that batch in its epoch
    room: ReportRoom
    kept: Sequence[Array]  # for aux
    taken: Array  # how many of the steps each member has taken


class MemberSteps:
    """Takes the steps of one run. Python takes those that machine code cannot: one that fails, or
    all, where more must be done than to gather rows.
    """

    def __init__(
        self,
        members: Members,
        data: RunData,
        orders: MemberOrders | None,
        rest: int,
        columns: Sequence[int],  # of learning rates, in rows of numbers
    ) -> None:
        self._members, self._engines = members, members.engines
        self._data, self._orders, self._rest, self._columns = data, orders, rest, columns
        self._in_epoch = data.first.steps(not rest)
        self._loops: MemberLoops | None = None
        self._programs: Any = None  # those that the loops were made for

    def look(self) -> None:
        """Look whether something has changed that the loss reads from outside."""
        self._engines[0].look()
        if self._loops is not None and not self._loops.is_current():
            self._programs = None

    def _find(self) -> MemberLoops | None:
        """The loops, if machine code can take the steps."""
        first = self._engines[0]
        if not first.compiled or is_eager() or not in_step(self._engines):
            return None
        if self._programs is not first.programs:
            self._loops = make_loops(self._members, self._data, self._orders, self._rest)
            self._programs = first.programs
        return self._loops

    def advance(
        self,
        place: tuple[Sequence[int], int],  # the epoch of each member, and the batch in it
        ahead: Array,  # how many of the next steps each member has already taken
        left: int,
        room: ReportRoom,
        auxes: MemberAuxes,
        failures: Failures,
        settle: Callable[[], object],
    ) -> int:
        """Take steps from a batch on, as many as are left at most, and say how many. Members that
        fail stay where they are, and the others go on. After that `settle` is called, or if a
        signal interrupts this, before anybody looks at the state.
        """
        loops, steps = self._find(), 1
        if loops is not None:
            pace = self._members.paces.get(self._kind(loops))
            most = int(LONGEST / pace) if pace else FIRST_STEPS
            steps = max(1, min(left, most, auxes.most(loops.aux[1], len(self._engines))))
        kept = auxes.room([] if loops is None else loops.aux[1], steps)
        portion = Portion(steps, *place, room, kept, ahead.copy())
        stopped: list[int] = []  # members that machine code left before a step
        while behind := self._behind(portion, failures):
            if loops is not None and not stopped:
                stopped = self._take_many(loops, np.array(behind, np.int64), portion, settle)
                continue
            for i in stopped if loops is not None else behind:
                self._take_one(i, portion, auxes, failures)
                settle()
            stopped = []
        auxes.note(None if loops is None else loops.aux[0], kept)
        return steps

    def _kind(self, loops: MemberLoops) -> tuple[Executable, int]:
        """What the time of a step depends on."""
        return loops.programs[-1].bound.executable, self._data.first.size

    def _behind(self, portion: Portion, failures: Failures) -> list[int]:
        """The members that have steps to take."""
        behind = np.flatnonzero(portion.taken < portion.steps).tolist()
        return [i for i in behind if i not in failures.errors]

    def _place(self, portion: Portion, member: int) -> BatchPlace:
        """The next batch of a member."""
        number = portion.number + int(portion.taken[member])
        passed, number = divmod(number, self._in_epoch)
        return BatchPlace(portion.epochs[member] + passed, number)

    # In machine code.

    def _take_many(
        self, loops: MemberLoops, chosen: Array, portion: Portion, settle: Callable[[], object]
    ) -> list[int]:
        """Steps that these members have not taken, as far as the numbers of their updates are
        known; the members that had to stop before.
        """
        room, before = portion.room, portion.taken[chosen]
        members = chosen.tolist()
        tables = [self._table(i, portion) for i in members]
        length, width = self._engines[0].plan.accumulate, tables[0].strides[0]
        phases = [self._engines[i].phase for i in members]
        # A signal may end the run after this call: no member is to be ahead of another then.
        known = min(len(t) * length - phase for t, phase in zip(tables, phases, strict=True))
        wanted = np.minimum(portion.steps - before, known)
        places = [self._place(portion, i) for i in members]
        loops.set(
            chosen,
            done=0,
            count=wanted,
            epoch=[place.epoch for place in places],
            number=[place.number for place in places],
            table=[objects.data(table) for table in tables],
            width=width,
            reports=places_in(room.reports, chosen, before),
            report=room.reports.strides[1],
            skipped=places_in(room.skipped, chosen, before),
        )
        loops.keep(chosen, before, portion.kept)
        # A signal may come at any time. Counts are right then, and all else will be.
        guard = self._engines[0].guard
        guard.pending = settle
        begin = time.perf_counter()
        loops.crew.run(chosen)
        seconds = time.perf_counter() - begin
        guard.settle()
        made = loops.made(chosen)
        if len(chosen) == len(self._engines) and made.min() > 0:
            self._members.paces[self._kind(loops)] = seconds / float(made.max())
        for i, table, count, phase in zip(members, tables, made.tolist(), phases, strict=True):
            if count:
                self._note(i, table, count, phase, portion)
        portion.taken[chosen] += made
        unfinished: list[int] = chosen[made < wanted].tolist()
        return unfinished

    def _table(self, member: int, portion: Portion) -> Array:
        """The numbers of the next updates of a member."""
        engine, length = self._engines[member], self._engines[0].plan.accumulate
        _, updates, phase = engine.counts.tolist()
        left = portion.steps - int(portion.taken[member])
        in_epoch = min(left, self._in_epoch - self._place(portion, member).number)
        wanted, soon = ((phase + steps - 1) // length + 1 for steps in (left, in_epoch))
        return engine.scalars.rows(updates + 1, wanted, soon)

    def _note(self, member: int, table: Array, count: int, phase: int, portion: Portion) -> None:
        """Note what machine code has reported of so many steps."""
        engine, begin = self._engines[member], int(portion.taken[member])
        at, length = slice(begin, begin + count), engine.plan.accumulate
        skipped = portion.room.skipped[member, at]
        used: Any = slice(count)
        if length > 1 or skipped.any():
            used = rows_used(skipped, phase, length)
        portion.room.rates[member, at] = table[used][:, self._columns]
        report = portion.room.reports[member, begin + count - 1].copy()
        engine.noted[:] = table[used][-1], report, engine.calls - 1, bool(skipped[-1])

    # By Python.

    def _take_one(
        self, member: int, portion: Portion, auxes: MemberAuxes, failures: Failures
    ) -> None:
        """One step of one member."""
        engine, data = self._engines[member], self._data.of(member)
        place, step = self._place(portion, member), int(portion.taken[member])
        order = None if self._orders is None else self._orders.of(member, place.epoch)
        results = failures.guarded(member, engine.call, data.batch(place.number, order))
        if results is None:
            failures.errors[member].add_note(
                f"In epoch {place.epoch}, batch {place.number} of {self._in_epoch}, both from 0."
            )
            return
        room = portion.room
        row, room.reports[member, step], _, room.skipped[member, step] = engine.noted
        room.rates[member, step] = row[self._columns]
        auxes.note_one(member, step, portion.kept, results[AUX])
        portion.taken[member] += 1
