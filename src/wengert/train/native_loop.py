"""Drive: the steps of a run, taken inside machine code as far as that can be done."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from wengert.api.eager import is_eager
from wengert.core import tree
from wengert.core.dims import substitute
from wengert.core.types import ArrayType
from wengert.runtime.native_runs import Calls, Many, Turn
from wengert.runtime.signature import bound_sizes
from wengert.train.data import Data, is_plain
from wengert.train.engine import Engine
from wengert.train.history import Recorder
from wengert.train.step_function import AUX, CALLS, PHASE
from wengert.train.storage import Array

FEWEST = 4  # steps for which it pays to leave Python
Aux: TypeAlias = tuple[tree.Structure, list[ArrayType]]


class Drive:
    """Takes the steps of one run. Python takes those that meet a program for the first time, so
    that all errors are those of a single step, and those that are unlike the others: batches that
    are smaller, fail, or need more than their rows gathered.
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
        """Leave the loop where something has changed that the loss has read from outside."""
        engine = self._engine
        engine.look()
        turns = [turn for turn in (*engine.turns.values(), *self._turns) if turn is not None]
        if not all(turn.executable.is_current() for turn in turns):
            engine.turns.clear()
            self._many, self._turns, self._called = None, [], set()

    def _find(self) -> Many | None:
        """The loop, as soon as all programs that it runs are known."""
        engine, data = self._engine, self._data
        if self._programs is not engine.programs:
            self._programs, self._many, self._called = engine.programs, None, set()
        if self._many is None and self._rows is not None:
            length, may_skip = engine.plan.accumulate, engine.nonfinite == "skip"
            turns = [self._turn(updating) for updating in (False, True)[length == 1 :]]
            known = [turn for turn in turns if turn is not None]
            auxes = [_aux_of(turn) for turn in known]
            if len(known) == len(turns) and all(aux == auxes[0] for aux in auxes):
                self._aux = auxes[0]
                phase, calls = (engine.counts[place:] for place in (PHASE, CALLS))
                self._many = Many(known, self._rows, data.size, length, phase, calls, may_skip)
                self._turns = known
        return self._many

    def _turn(self, updating: bool) -> Turn | None:
        """What there is to know of a program, if it is known and the loop can run it."""
        known, key = self._engine.turns, (updating, self._data.kind)
        if key in known:
            return known[key]
        if updating not in self._called:
            return None
        found = make_turn(self._engine, self._data, updating)
        if not any(self._data.whole):  # those are other arrays in another run
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
        assert self._aux is not None  # it is found with the loop
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
                engine.noted = row, report, calls + last, bool(skipped[last])

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


def make_turn(engine: Engine, data: Data, updating: bool) -> Turn | None:
    """One of the engine's programs with its arrays, if it reads all of them as they are."""
    own = (engine.live, engine.early, engine.fixed, engine.scalars.row(engine.updates + 1))
    batch = engine.kinds.prepared(data.full)
    executable = engine.programs[updating].find(own, batch).executable(*own, *batch)
    first, given = len(tree.leaves(own)), tree.leaves(batch)
    as_is = all(x is y and is_plain(x) for x, y in zip(given, tree.leaves(data.full), strict=True))
    if executable.prints or not as_is:
        return None
    places, report = executable.signature.places, len(engine.live) + len(engine.early)
    leaves = tree.leaves(executable.signature.with_static((*own, *batch)))
    inputs: list[Any] = [None] * len(executable.input_types)
    for place, x in zip(places, leaves, strict=True):
        inputs[place] = x
    sizes = bound_sizes(executable.input_types, [x.shape for x in inputs])
    if sizes is None or set(executable.written) != set(range(report)):
        return None
    arrays = {id(x) for x in given}  # the others are numbers
    taken = [place for place, x in zip(places, leaves, strict=True) if id(x) in arrays]
    moved = [place for place, whole in zip(taken, data.whole, strict=True) if not whole]
    for place in (*moved, places[first - 1]):
        inputs[place] = None
    outputs: list[Any] = [None] * len(executable.output_types)  # all are the calls' own
    aux = range(report + 1, len(outputs))
    return Turn(executable, inputs, outputs, moved, places[first - 1], report, aux, sizes)


def _aux_of(turn: Turn) -> Aux:
    """The form of the aux that calls of a program return, and the types of its arrays."""
    returned = turn.executable.signature.returned
    marks = tree.unflatten(returned, [np.empty(0)] * returned.count)
    types = [turn.executable.output_types[j] for j in turn.kept]
    exact = [ArrayType(substitute(t.shape, turn.sizes), t.dtype) for t in types]
    return tree.flatten(marks[AUX])[1], exact
