"""Drive: the steps of a run, taken inside machine code as far as that can be done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.eager import is_eager
from wengert.core import tree
from wengert.core.dims import substitute
from wengert.runtime.executable import Executable
from wengert.runtime.many import Calls, Many, Turn
from wengert.runtime.signature import bound_sizes
from wengert.train.data import Data, is_plain
from wengert.train.engine import Engine
from wengert.train.history import Recorder
from wengert.train.storage import Array

FEWEST = 4  # steps for which it pays to leave Python


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
        self._many: Many | None = None

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
            engine.call(self._data.batch(number, order))
            recorder.note(engine)
        return done or 1

    def _find(self) -> Many | None:
        """The loop, as soon as all programs that it runs are known."""
        engine, data = self._engine, self._data
        if self._programs is not engine.programs:
            self._programs, self._many, self._called = engine.programs, None, set()
        if self._many is None and self._rows is not None:
            length, may_skip = engine.plan.accumulate, engine.nonfinite == "skip"
            turns = [self._turn(updating) for updating in (False, True)[length == 1 :]]
            known = [turn for turn in turns if turn is not None]
            if len(known) == len(turns):
                counts = engine.phase, engine.counter
                self._many = Many(known, self._rows, data.size, length, *counts, may_skip)
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
        phase = engine.phase.item()
        table = engine.scalars.rows(engine.updates + 1, (phase + steps - 1) // length + 1)
        count = min(steps, len(table) * length - phase)
        reports, skipped = recorder.room()
        taken = self._order if order is None else order
        updates = engine.updates

        def note() -> None:
            """The arrays are those after so many calls: let the counts say so."""
            done, turns = many.made()
            engine.updates = updates + turns
            engine.set_phase(engine.phase.item())
            if done:
                well = ~skipped[:done]
                places = (phase + np.cumsum(well) - well) // length
                engine.row, engine.report = table[places[-1]], reports[done - 1].copy()
                engine.skipped = bool(skipped[done - 1])
                recorder.note_many(table[places])

        many.prepare(Calls(count, number * self._data.size, taken, table, reports, skipped))
        try:
            many.run()
        finally:  # a signal may have come
            _do_whole(note)
        return many.made()[0]


def _do_whole(work: Callable[[], None]) -> None:
    """Do something to its end, from the beginning if a signal interrupts it, up to eight times;
    then raise what that has raised.
    """
    late: BaseException | None = None
    for _ in range(8):
        try:
            work()
            break
        except BaseException as error:
            late = error
    if late is not None:
        raise late


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
    inputs: list[Any] = [None] * len(executable.input_types)
    for place, x in zip(places, (*tree.leaves(own), *given), strict=True):
        inputs[place] = x
    sizes = bound_sizes(executable.input_types, [x.shape for x in inputs])
    if sizes is None or set(executable.written) != set(range(report)):
        return None
    moved = [place for place, whole in zip(places[first:], data.whole, strict=True) if not whole]
    for place in (*moved, places[first - 1]):
        inputs[place] = None
    outputs = _outputs(executable, sizes)
    outputs[report] = None
    return Turn(executable, inputs, outputs, moved, places[first - 1], report, sizes)


def _outputs(executable: Executable, sizes: dict[str, int]) -> list[Array | None]:
    """Arrays for what a call returns, the same for all calls."""
    return [
        None if j in executable.written else np.empty(substitute(t.shape, sizes), t.dtype)
        for j, t in enumerate(executable.output_types)
    ]
