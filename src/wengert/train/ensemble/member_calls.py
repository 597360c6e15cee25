"""Calls: one step of every member, in one native call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.api.compiling.eager import is_eager
from wengert.codegen.kernel import NONFINITE
from wengert.core import tree
from wengert.core.types import ArrayType
from wengert.runtime.bound import bound_as_given
from wengert.runtime.crews.crew import Crew, CrewProgram
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.runtime.nonfinite_policies import SKIP
from wengert.runtime.outside.live import is_live
from wengert.train.engine import Engine
from wengert.train.ensemble.cost import MemberWork, splits
from wengert.train.ensemble.each import of_member
from wengert.train.ensemble.failures import Failures
from wengert.train.ensemble.member_arguments import GivenArrays
from wengert.train.recorded.step_arrays import AUX, CALLS, PHASE, REPORT, UPDATES
from wengert.train.runs.native_loop import aux_of, report_of
from wengert.train.storage import Array

REMEMBERED = 16  # kinds of batches


class Taken(NamedTuple):
    """What one step of every member gave."""

    reports: Array  # (members, 2)
    aux: Any  # stacked; None without one
    skipped: Array  # of bools


class StepCrew(NamedTuple):
    """The program of a step for one kind of batch, ready to be called for all members."""

    crew: Crew
    executable: Executable
    numbers: int  # the column of the row of numbers
    report: int  # and that of the report
    kept: Sequence[int]  # and those of the arrays of aux
    structure: tree.Structure  # of aux
    types: Sequence[ArrayType]
    batch: Sequence[int]  # the columns of the arrays of a batch


class MemberCalls:
    """Steps of all members on a batch."""

    def __init__(self, engines: Sequence[Engine], threads: int) -> None:
        self._engines, self._threads = engines, threads
        self._every = np.arange(len(engines), dtype=np.int64)
        self._crews: dict[Any, StepCrew | None] = {}
        self._programs = engines[0].programs

    def take(self, given: GivenArrays, failures: Failures) -> Taken:
        """One step of every member. What fails is noted, and the others go on."""
        crew = self._find(given)
        if crew is None:
            return self._by_python(given.arguments, failures)
        return self._natively(crew, given, failures)

    # In machine code.

    def _find(self, given: GivenArrays) -> StepCrew | None:
        engines = self._engines
        first = engines[0]
        if not first.compiled or is_eager() or not in_step(engines):
            return None
        if self._programs is not first.programs:
            self._crews.clear()
            self._programs = first.programs
        kind = given.kind()
        if kind is None:
            return None
        kind = kind, first.updating
        known = self._crews.get(kind)
        if known is not None and not known.executable.is_current():
            self._crews.clear()
            known = None
        if known is None and kind not in self._crews:
            known = self._crews[kind] = self._make(given.arguments)
            for oldest in list(self._crews)[:-REMEMBERED]:
                self._crews.pop(oldest, None)
        return known

    def _make(self, arguments: Sequence[Any]) -> StepCrew | None:
        first, engines = self._engines[0], self._engines
        own, given = first.own_arguments(), of_member(arguments, 0)
        batch = first.kinds.prepared(given)
        executable = first.programs[first.updating].executable(own, batch)
        first.look_once(executable, arguments=(*own, *batch))
        leaves = tree.leaves(batch)
        bound = bound_as_given(executable, own, batch, given)
        report = report_of(first)
        if bound is None or set(executable.written) != set(range(report)):
            return None
        if any(is_live(x) for x in leaves):  # it may be an array of this very ensemble
            return None
        slots = bound.slots_of(member_arrays(first))
        (numbers,) = bound.slots_of([own.scalars])
        outputs = executable.output_slots[report:]
        columns = [*slots, *bound.slots_of(leaves), numbers, *outputs]
        program = CrewProgram(executable, bound.sizes, columns)
        work = member_work(executable, first, leaves)
        crew = Crew(
            len(engines), [program], self._threads, splits(len(engines), self._threads, work)
        )
        for engine, row in zip(engines, crew.addresses, strict=True):
            row[: len(slots)] = member_addresses(engine)
        at = len(slots) + len(leaves)
        structure, types = aux_of(executable, report + 1, bound.sizes)
        kept = range(at + 2, at + 1 + len(outputs))
        return StepCrew(crew, executable, at, at + 1, kept, structure, types, range(len(slots), at))

    def _natively(self, made: StepCrew, given: GivenArrays, failures: Failures) -> Taken:
        engines, addresses = self._engines, made.crew.addresses
        count = len(engines)
        addresses[:, made.batch] = given.addresses(self._every)
        counts = [engine.counts.tolist() for engine in engines]
        rows = [
            engine.scalars.row(n[UPDATES] + 1) for engine, n in zip(engines, counts, strict=True)
        ]
        addresses[:, made.numbers] = [objects.data(row) for row in rows]
        reports = np.empty((count, 2))
        aux = [np.empty((count, *t.shape), t.dtype) for t in made.types]
        for column, x in zip((made.report, *made.kept), (reports, *aux), strict=True):
            addresses[:, column] = objects.data(x) + self._every * x.strides[0]
        made.crew.run(self._every)
        skipped = np.zeros(count, bool)
        for i in np.flatnonzero(made.crew.statuses).tolist():
            skipped[i] = self._look_at(i, int(made.crew.statuses[i]), given, reports, aux, failures)
        flags = skipped.tolist()
        for i, engine in enumerate(engines):
            if i not in failures.errors:
                engine.noted[:] = rows[i], reports[i], counts[i][CALLS], flags[i]
        return Taken(reports, tree.unflatten(made.structure, aux), skipped)

    def _look_at(
        self,
        member: int,
        status: int,
        given: GivenArrays,
        reports: Array,
        aux: Sequence[Array],
        failures: Failures,
    ) -> bool:
        """Deal with a step that was not finite, or failed; whether it was skipped."""
        engine = self._engines[member]
        if status == NONFINITE and engine.nonfinite == SKIP and engine.plan.accumulate == 1:
            engine.counts[CALLS] += 1
            return True
        results = failures.guarded(member, engine.call, of_member(given.arguments, member))
        if results is None:
            return False
        reports[member] = results[REPORT]
        for into, x in zip(aux, tree.leaves(results[AUX]), strict=True):
            into[member] = x
        return bool(engine.noted[3])

    # By Python, where machine code cannot do it.

    def _by_python(self, arguments: Sequence[Any], failures: Failures) -> Taken:
        count = len(self._engines)
        reports, skipped = np.full((count, 2), np.nan), np.zeros(count, bool)
        auxes: list[Any] = [None] * count
        for i, engine in enumerate(self._engines):
            results = failures.guarded(i, engine.call, of_member(arguments, i))
            if results is not None:
                reports[i], skipped[i] = results[REPORT], engine.noted[3]
                auxes[i] = results[AUX]
        known = [x for x in auxes if x is not None]
        aux = stacked(known) if known and len(known) == count else None
        return Taken(reports, aux, skipped)


def in_step(engines: Sequence[Engine]) -> bool:
    """Whether all members share their programs, and are at the same place of an accumulation."""
    first = engines[0]
    if any(engine.programs is not first.programs for engine in engines):
        return False
    if first.plan.accumulate == 1:
        return True
    return len({engine.counts.item(PHASE) for engine in engines}) == 1


def member_arrays(engine: Engine) -> list[Array]:
    """The arrays that programs take of a member."""
    return [*engine.live, *engine.early, *engine.fixed.in_order()]


def member_addresses(engine: Engine) -> list[int]:
    """Where they lie."""
    return [objects.data(x) for x in member_arrays(engine)]


def member_work(executable: Executable, engine: Engine, batch: Sequence[Array]) -> MemberWork:
    """What a step of a member touches."""
    arena = executable.recipe.placed.size
    touched = arena + sum(x.nbytes for x in (*member_arrays(engine), *batch))
    return MemberWork(touched, executable.recipe.divided)


def stacked(trees: Sequence[Any]) -> Any:
    """Trees of one form as one, with an axis of members in front of every array."""
    leaves, structure = zip(*(tree.flatten(tree.arrays(each)) for each in trees), strict=True)
    return tree.unflatten(structure[0], [np.stack(rows) for rows in zip(*leaves, strict=True)])
