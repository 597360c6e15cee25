"""The steps of a run, taken inside machine code as far as that can be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.api.compiling.eager import is_eager
from wengert.core import tree
from wengert.core.dims import substitute
from wengert.core.types import ArrayType
from wengert.runtime.bound import bound_as_given, bound_to
from wengert.runtime.executable import Executable
from wengert.runtime.given_arrays import is_readable
from wengert.runtime.native_runs import Batches, CallLoop, Calls, CycleProgram, DataRows, Sorting
from wengert.runtime.nonfinite_policies import SKIP
from wengert.runtime.outside.live import is_live
from wengert.train.engine import Engine
from wengert.train.recorded.rows.rows_of_data import rows_of_data
from wengert.train.recorded.step_arrays import AUX, CALLS, PHASE
from wengert.train.runs.data import Data
from wengert.train.runs.history import Recorder
from wengert.train.runs.row_orders import orders_of
from wengert.train.storage import Array

UNKNOWN: Any = object()
FEWEST = 2  # steps for which it pays to leave Python
Aux: TypeAlias = tuple[tree.Structure, list[ArrayType]]  # form and types of what calls return


class BatchPlace(NamedTuple):
    """A batch of a run."""

    epoch: int
    number: int  # of the batch in its epoch


@dataclass(frozen=True)
class StepLoop:
    """The programs of a step for one kind of data, ready to be called many times."""

    call_loop: CallLoop
    updating: Sequence[bool]  # whether each program updates
    aux: Aux  # of every call
    # By program, and by how many rows the last batch of an epoch has: the sizes of its Dims then;
    # None where it is not known to be right for them.
    rest_sizes: dict[tuple[bool, int], Array | None] = field(default_factory=dict)

    def is_current(self) -> bool:
        """Whether all that the loss reads from outside is as it was when it was recorded."""
        return all(
            program.bound.executable.watch.held_in_last_look()
            for program in self.call_loop.programs
        )


class NativeSteps:
    """Takes the steps of one run. Python takes the first step of each program, so that errors are
    those of a single step; and all steps that differ from the others: the first smaller batch, one
    that fails, or data of which more must be done than to gather rows.
    """

    def __init__(self, engine: Engine, data: Data, shuffle_seed: int | None, rest: int) -> None:
        self._engine, self._data, self._rest = engine, data, rest
        self._seed = shuffle_seed
        self._orders = None if shuffle_seed is None else orders_of(data.rows, engine.orders)
        self._batches: Batches | None = None  # None where Python takes all steps
        by_python = engine.ranked is not None or _overlap(engine, data)
        rows = None if by_python else data.row_arrays(shuffle_seed is not None)
        if rows is not None:
            count = data.steps(drop_last=not rest)
            sorting = self._sorting(rows)
            self._sort = None if sorting is None else sorting.bound  # makes orders
            self._batches = Batches(rows, data.size, count, rest, sorting)
        self._shares = not any(data.whole)  # whole arrays are other ones in another run
        self._own: dict[Any, StepLoop | None] = {}  # loops that are not shared with other runs
        self._programs: Any = None  # those of the engine that the next two belong to
        self._called: set[tuple[bool, bool]] = set()  # which Python has called, for which batches
        self._ready: StepLoop | None = None  # the loop, if it knows the batches of this run
        self._has_looked = False  # whether a shuffled run has looked at its program

    def _sorting(self, rows: Sequence[DataRows]) -> Sorting | None:
        if self._orders is not None:
            return self._orders.sorting
        if all(each.staging is None for each in rows):
            return None
        return Sorting(np.arange(self._data.rows), np.array(0), None)

    def order(self, epoch: int) -> Array | None:
        """The order of the rows in an epoch, None for their own; valid until the next advance."""
        return None if self._orders is None else self._orders.of(epoch)

    def look(self) -> None:
        """Look whether something has changed that the loss reads from outside. Called before steps
        are taken, and again when other runs may have come in between and used the same loop and the
        same orders.
        """
        self._engine.look()
        self._ready = None
        if self._orders is not None and self._seed is not None:
            self._orders.begin(self._seed)

    def advance(
        self, place: BatchPlace, left: int, recorder: Recorder, settle: Callable[[], object]
    ) -> int:
        """Take steps from a batch on, as many as are left at most, and say how many. After that
        `settle` is called, or if a signal interrupts this, before anybody looks at the state.
        """
        done = 0
        if left >= FEWEST - 1 and self._batches is not None:
            loop = self._find()  # with one step less, for the next run
            if left >= FEWEST and loop is not None and self._knows(loop, place.number):
                done = self._take_many(loop, place, left, recorder, settle)
        if not done:
            done = self._take_one(place, recorder)
            settle()
        return done

    def _take_one(self, place: BatchPlace, recorder: Recorder) -> int:
        engine, data = self._engine, self._data
        self._called.add((engine.updating, self._is_smaller(place.number)))
        part = None if engine.ranked is None else engine.ranked.rows_of
        shuffled, cut = self._seed is not None, data.rows > data.size
        with rows_of_data(data.rows, data.named_arrays, shuffled, cut):
            results = engine.call(data.batch(place.number, self.order(place.epoch), part))
            if not self._has_looked:
                self._look_at_order()
        recorder.note(engine, results[AUX])
        return 1

    def _look_at_order(self) -> None:
        """Look at a program that may have been called before with all rows in their order."""
        engine, self._has_looked = self._engine, True
        if self._seed is None and self._data.size == self._data.rows:
            return
        if engine.compiled and not is_eager() and engine.ranked is None and engine.updating:
            executable, _ = engine.program_for(self._data.first(self._data.size))
            engine.look_at_cut_rows(executable)

    def _is_smaller(self, number: int) -> bool:
        return (number + 1) * self._data.size > self._data.rows

    # The loop.

    def _find(self) -> StepLoop | None:
        """The loop, as soon as all programs that it runs are known."""
        engine = self._engine
        if not engine.compiled or is_eager():
            return None
        if self._programs is not engine.programs:
            self._programs, self._ready = engine.programs, None
            self._called.clear()
            self._own.clear()
        if self._ready is None:
            self._ready = self._known(engine.loops if self._shares else self._own)
            if self._ready is not None:
                self._tell(self._ready)
        elif self._rest and self._learn_rest(self._ready):
            self._tell(self._ready)
        return self._ready

    def _knows(self, loop: StepLoop, number: int) -> bool:
        """Whether the loop can take the batch of this number; it stops before others."""
        updating, rest = self._engine.updating, self._rest
        return not self._is_smaller(number) or loop.rest_sizes.get((updating, rest)) is not None

    def _known(self, loops: dict[Any, StepLoop | None]) -> StepLoop | None:
        kind = self._data.kind
        loop: StepLoop | None = loops.get(kind, UNKNOWN)
        if isinstance(loop, StepLoop) and not loop.is_current():
            loops.clear()
            self._called.clear()
            loop = UNKNOWN
        if loop is UNKNOWN:
            if not self._called.issuperset((each, False) for each in self._updating()):
                return None
            loop = loops[kind] = self._make()
        return loop

    def _updating(self) -> Sequence[bool]:
        """Of each program of a cycle, whether it updates."""
        return (False, True)[self._engine.plan.accumulate == 1 :]

    def _make(self) -> StepLoop | None:
        engine, data, updating = self._engine, self._data, self._updating()
        shuffled = self._seed is not None
        made = [make_program(engine, data, data.full, each, shuffled) for each in updating]
        known = [each for each in made if each is not None]
        if len(known) < len(made) or any(aux != known[0][1] for _, aux in known):
            return None
        programs, aux = [program for program, _ in known], known[0][1]
        phase, calls = (engine.counts[place:] for place in (PHASE, CALLS))
        may_skip = engine.nonfinite == SKIP
        length = engine.plan.accumulate
        call_loop = CallLoop(programs, data.whole.count(False), length, phase, calls, may_skip)
        return StepLoop(call_loop, updating, aux)

    def _tell(self, loop: StepLoop) -> None:
        """Let the loop go through the batches of this run."""
        self._learn_rest(loop)
        assert self._batches is not None  # else there is no loop
        sizes = [loop.rest_sizes.get((updating, self._rest)) for updating in loop.updating]
        loop.call_loop.go_through(self._batches, sizes)

    def _learn_rest(self, loop: StepLoop) -> bool:
        """Find out whether programs that Python has called for a smaller batch can be called for it
        in the loop; whether something new was learned.
        """
        known = len(loop.rest_sizes)
        for updating, program in zip(loop.updating, loop.call_loop.programs, strict=True):
            at = updating, self._rest
            if (updating, True) in self._called and at not in loop.rest_sizes:
                loop.rest_sizes[at] = sizes_of_rest(
                    self._engine,
                    self._data,
                    self._rest,
                    updating,
                    program.bound.executable,
                    loop.aux,
                )
        return len(loop.rest_sizes) > known

    def _take_many(
        self,
        loop: StepLoop,
        place: BatchPlace,
        left: int,
        recorder: Recorder,
        settle: Callable[[], object],
    ) -> int:
        engine, length, call_loop = self._engine, self._engine.plan.accumulate, loop.call_loop
        calls, updates, phase = engine.counts.tolist()
        in_epoch = min(left, self._data.steps(not self._rest) - place.number)
        wanted, soon = ((phase + steps - 1) // length + 1 for steps in (left, in_epoch))
        table = engine.scalars.rows(updates + 1, wanted, soon)
        structure, types = loop.aux
        count = min(left, len(table) * length - phase, recorder.auxes.most(types))
        reports, skipped = recorder.room()
        kept = recorder.auxes.room(types, count)
        call_loop.prepare(Calls(count, *place, table, reports, skipped, kept))

        def note() -> None:
            last = call_loop.made() - 1
            if last >= 0:
                row, report = table[call_loop.last_row()], reports[last].copy()
                engine.noted[:] = row, report, calls + last, bool(skipped[last])
            settle()

        # A signal may come at any time. Counts are right then, and all else will be.
        engine.guard.pending = note
        call_loop.run(self._sort)
        engine.guard.settle()
        done = call_loop.made()
        if done:
            straight = (
                length == 1 and call_loop.last_row() == done - 1
            )  # none was skipped before it
            rows = slice(done) if straight else rows_used(skipped[:done], phase, length)
            recorder.note_many(table, rows, done)
            if engine.plan.has_aux:
                recorder.auxes.note_many(structure, kept, done)
        return done


def sizes_of_rest(
    engine: Engine, data: Data, rest: int, updating: bool, executable: Executable, aux: Aux
) -> Array | None:
    """The sizes of a program's Dims for a batch of so many rows; None where it is not known to be
    right for them.
    """
    own, batch = engine.own_arguments(), engine.kinds.prepared(data.first(rest))
    if engine.programs[updating].executable(own, batch) is not executable:
        return None
    bound = bound_to(executable, (*own, *batch))
    if bound is None or not (executable.recipe.grows and executable.suits(bound.sizes)):
        return None
    if aux_of(executable, report_of(engine) + 1, bound.sizes) != aux:
        return None
    return np.array(bound.ordered_sizes(), np.int64)


def rows_used(skipped: Array, phase: int, length: int) -> Array:
    """Which rows of the table calls have used, where the first one had this phase."""
    well = ~skipped
    used: Array = (phase + np.cumsum(well) - well) // length
    return used


def _overlap(engine: Engine, data: Data) -> bool:
    """Whether data lie in live arrays of this very step, which refuses them."""
    if not any(data.whole):  # live arrays are passed on whole
        return False
    live = (*engine.live, *engine.early)
    return any(is_live(x) and any(np.may_share_memory(x, y) for y in live) for x in data.leaves)


def report_of(engine: Engine) -> int:
    """The place of the report among the outputs: live arrays are returned before it."""
    return len(engine.live) + len(engine.early)


def make_program(
    engine: Engine, data: Data, first: Sequence[Any], updating: bool, shuffled: bool
) -> tuple[CycleProgram, Aux] | None:
    """One of the engine's programs with its arrays, if it reads all of them as they are; and what
    its calls return beside the report. `first` is a full batch of the data; its numbers are looked
    at where no program of this kind was called before.
    """
    own, batch = engine.own_arguments(), engine.kinds.prepared(first)
    with rows_of_data(data.rows, data.named_arrays, shuffled, cut=data.rows > data.size):
        executable = engine.programs[updating].executable(own, batch)
    given = tree.leaves(batch)
    readable = all(map(is_readable, given))
    bound = bound_as_given(executable, own, batch, first) if readable else None
    report = report_of(engine)
    if bound is None or set(executable.written) != set(range(report)):
        return None
    rows = [x for x, whole in zip(given, data.whole, strict=True) if not whole]
    moved = bound.slots_of(rows)
    (numbers,) = bound.slots_of([own.scalars])
    _, *others = executable.output_slots[report:]
    program = CycleProgram(
        bound.without([*moved, numbers]), moved, numbers, executable.output_slots[report], others
    )
    return program, aux_of(executable, report + 1, bound.sizes)


def aux_of(executable: Executable, first: int, sizes: Mapping[str, int]) -> Aux:
    """The form of the aux that calls of a program return, and the types of its arrays."""
    returned = executable.signature.returned
    marks = tree.unflatten(returned, [np.empty(0)] * returned.count)
    types = executable.output_types[first:]
    exact = [ArrayType(substitute(t.shape, sizes), t.dtype) for t in types]
    return tree.flatten(marks[AUX])[1], exact
