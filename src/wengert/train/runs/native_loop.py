"""Drive: the steps of a run, taken inside machine code as far as that can be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from wengert.api.compiling.eager import is_eager
from wengert.core import tree
from wengert.core.dims import substitute
from wengert.core.types import ArrayType
from wengert.runtime.bound import bound_to
from wengert.runtime.executable import Executable
from wengert.runtime.given_arrays import is_readable
from wengert.runtime.native_runs import Calls, Many, Turn
from wengert.runtime.nonfinite_policies import SKIP
from wengert.train.engine import Engine
from wengert.train.recorded.step_arrays import AUX, CALLS, PHASE
from wengert.train.runs.data import Data
from wengert.train.runs.history import Recorder
from wengert.train.storage import Array

FEWEST = 4  # steps for which it pays to leave Python
Aux: TypeAlias = tuple[tree.Structure, list[ArrayType]]  # form and types of what calls return
LoopProgram: TypeAlias = tuple[Turn, Aux]


class Drive:
    """Takes the steps of one run. Python takes the first step of each program, so that errors are
    those of a single step; and all steps that differ from the others: a smaller batch, one that
    fails, or data of which more must be done than to gather rows.
    """

    def __init__(self, engine: Engine, data: Data, shuffled: bool) -> None:
        self._engine, self._data = engine, data
        self._rows = None if _overlap(engine, data) else data.row_arrays(shuffled)
        gathers = any(each.staging is not None for each in self._rows or ())
        self._order = np.arange(data.rows) if gathers and not shuffled else None
        self._programs: Any = None  # those of the engine when the loop was made
        self._called: set[bool] = set()  # which of them Python has called
        self._turns: list[Turn] = []
        self._many: Many | None = None
        self._aux: Aux | None = None  # of every call of the loop

    def advance(self, number: int, order: Array | None, recorder: Recorder) -> int:
        """Take steps from batch `number` on, and say how many."""
        engine, done = self._engine, 0
        steps = self._data.rows // self._data.size - number
        if steps >= FEWEST and self._rows is not None and engine.compiled and not is_eager():
            many = self._find()
            if many is not None:
                done = self._take_many(many, number, steps, order, recorder)
        if not done:
            self._called.add(engine.updating)
            found = engine.call(self._data.batch(number, order))
            recorder.note(engine, found[AUX])
        return done or 1

    def look(self) -> None:
        """Leave the loop if something has changed that the loss reads from outside."""
        engine = self._engine
        engine.look()
        known = [turn for turn, _ in filter(None, engine.turns.values())]
        if not all(turn.bound.executable.is_current() for turn in (*known, *self._turns)):
            engine.turns.clear()
            self._many, self._turns, self._called = None, [], set()

    def _find(self) -> Many | None:
        """The loop, as soon as all programs that it runs are known."""
        engine, data = self._engine, self._data
        if self._programs is not engine.programs:
            self._programs, self._many, self._called = engine.programs, None, set()
        if self._many is None and self._rows is not None:
            length, may_skip = engine.plan.accumulate, engine.nonfinite == SKIP
            turns = [self._turn(updating) for updating in (False, True)[length == 1 :]]
            known = [turn for turn in turns if turn is not None]
            auxes = [aux for _, aux in known]
            if len(known) == len(turns) and all(aux == auxes[0] for aux in auxes):
                self._turns, self._aux = [turn for turn, _ in known], auxes[0]
                phase, calls = (engine.counts[place:] for place in (PHASE, CALLS))
                self._many = Many(
                    self._turns, self._rows, data.size, length, phase, calls, may_skip
                )
        return self._many

    def _turn(self, updating: bool) -> LoopProgram | None:
        """A program with its arrays, ready for the loop; None where Python has not called it yet,
        or the loop cannot run it.
        """
        known, key = self._engine.turns, (updating, self._data.kind)
        found: LoopProgram | None = known.get(key)
        if key in known:
            return found
        if updating not in self._called:
            return None
        found = make_turn(self._engine, self._data, updating)
        if not any(self._data.whole):  # whole arrays are other ones in another run
            known[key] = found
        elif found is None:
            self._rows = None
        return found

    def _take_many(
        self, many: Many, number: int, steps: int, order: Array | None, recorder: Recorder
    ) -> int:
        engine, length = self._engine, self._engine.plan.accumulate
        phase, calls = engine.phase, engine.calls
        table = engine.scalars.rows(engine.updates + 1, (phase + steps - 1) // length + 1)
        assert self._aux is not None  # set together with the loop
        structure, types = self._aux
        count = min(steps, len(table) * length - phase, recorder.auxes.most(types))
        reports, skipped = recorder.room()
        kept = recorder.auxes.room(types, count)
        taken = self._order if order is None else order
        many.prepare(Calls(count, number * self._data.size, taken, table, reports, skipped, kept))

        def rows(done: int) -> Array:
            well = ~skipped[:done]
            found: Array = table[(phase + np.cumsum(well) - well) // length]
            return found

        def note() -> None:
            last = many.made() - 1
            if last >= 0:
                row, report = rows(last + 1)[last], reports[last].copy()
                engine.noted[:] = row, report, calls + last, bool(skipped[last])

        # A signal may come at any time. Counts are right then, and `last` will be.
        engine.guard.pending = note
        many.run()
        engine.guard.settle()
        done = many.made()
        if done:
            recorder.note_many(rows(done))
            if engine.plan.has_aux:
                recorder.auxes.note_many(structure, kept, done)
        return done


def _overlap(engine: Engine, data: Data) -> bool:
    """Whether data lie in live arrays: a step refuses them."""
    live = (*engine.live, *engine.early)
    return any(np.may_share_memory(x, y) for x in data.leaves for y in live)


def make_turn(engine: Engine, data: Data, updating: bool) -> LoopProgram | None:
    """One of the engine's programs with its arrays, if it reads all of them as they are; and what
    its calls return beside the report.
    """
    own, batch = engine.own_arguments(), engine.kinds.prepared(data.full)
    executable = engine.programs[updating].executable(own, batch)
    given = tree.leaves(batch)
    as_is = all(
        x is y and is_readable(x) for x, y in zip(given, tree.leaves(data.full), strict=True)
    )
    bound = bound_to(executable, (*own, *batch)) if as_is and not executable.prints else None
    report = len(engine.live) + len(engine.early)  # the report is returned behind these
    if bound is None or set(executable.written) != set(range(report)):
        return None
    rows = [x for x, whole in zip(given, data.whole, strict=True) if not whole]
    moved = bound.slots_of(rows)
    (numbers,) = bound.slots_of([own.scalars])
    _, *others = executable.output_slots[report:]
    turn = Turn(
        bound.without([*moved, numbers]), moved, numbers, executable.output_slots[report], others
    )
    return turn, _aux_of(executable, report + 1, bound.sizes)


def _aux_of(executable: Executable, first: int, sizes: Mapping[str, int]) -> Aux:
    """The form of the aux that calls of a program return, and the types of its arrays."""
    returned = executable.signature.returned
    marks = tree.unflatten(returned, [np.empty(0)] * returned.count)
    types = executable.output_types[first:]
    exact = [ArrayType(substitute(t.shape, sizes), t.dtype) for t in types]
    return tree.flatten(marks[AUX])[1], exact
