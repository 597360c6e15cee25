"""Quick calls: steps and bound functions as one call of machine code, while nothing else is under
way.

Locks, and who waits for whom, are Python's business (`guard.py`). Where nobody is there to wait
for, machine code sees that for itself and does all of a call at once, so that no other thread and
no handler of a signal can come in between. Where it sees anybody, or anything that is not as it
was, it answers NotImplemented, and the call goes the way of the locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

from wengert.interpret.eagerness import eager_mode
from wengert.runtime.entries.entry import Call, Entry, never
from wengert.runtime.entries.gate import Elements, Gate, NotedCalls
from wengert.runtime.outside.watch import LIST_SIZE, Place
from wengert.train.guard import Guard
from wengert.train.live_programs import LivePrograms
from wengert.train.recorded.step_arrays import AUX, CALLS, PHASE, UPDATES, OwnArguments
from wengert.train.shown.shown_trees import ShownTrees

if TYPE_CHECKING:
    from wengert.train.engine import Engine

REMEMBERED = 4  # gates: calls may alternate between kinds of batches
ROW = OwnArguments._fields.index("scalars")


class QuickBoundCalls:
    """The quick way into the programs of a bound function."""

    def __init__(
        self, guard: Guard, shown: ShownTrees, own: Sequence[Any], programs: LivePrograms
    ) -> None:
        self._places = [*guard.idle_places(), _nothing_shown(shown)]
        self._own, self._programs = own, programs
        self._gates: dict[Entry, Gate] = {}

    def find(self) -> Call:
        """That of the program used last."""
        entry = self._programs.gateable
        if entry is None:
            return never
        gate = self._gates.get(entry)
        if gate is None:
            gate = Gate(entry, self._own, self._places, eager_mode)
            self._gates[entry] = gate
            _forget_oldest(self._gates)
        return gate.call


class QuickSteps:
    """The quick way into a program of a step: the one that updates or, where gradients accumulate,
    the one that does not.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self._updates = engine, engine.plan.accumulate == 1
        self._gates: dict[Entry, _StepGate] = {}

    def find(self) -> Call:
        """That of the program used last. Called where a step has just been made, and nothing else
        can be under way.
        """
        engine = self._engine
        entry, scalars = engine.programs[self._updates].gateable, engine.scalars
        # An epoch that was interrupted is over with the next call, and rates that a schedule of the
        # user's gives are not known before their updates.
        if entry is None or engine.progress.begun or not scalars.rows_ahead:
            return never
        rows = scalars.rows_ahead
        if not engine.given.is_over:  # calls by machine code end before the next look
            left = engine.given.calls_left(engine.calls)
            if left <= 0:
                return never
            rows = rows[: engine.updates + 1 - scalars.begin + left]
        known = self._gates.get(entry)
        if known is None or not _same(known.settings, scalars.settings):
            known = self._gates[entry] = _StepGate(self._made(entry), list(scalars.settings))
            _forget_oldest(self._gates)
        values = (engine.guard.latest_change, *scalars.seen_settings())
        known.gate.renew(rows, scalars.begin - 1, values)
        return known.gate.call

    def _made(self, entry: Entry) -> Gate:
        engine = self._engine
        places = [
            engine.guard.unchanged_place(),
            *engine.scalars.settings_places(),
            *engine.guard.idle_places(),
            _nothing_shown(engine.shown),
        ]
        report = NotedCalls(
            output=len(engine.live) + len(engine.early),  # these are returned before it
            part=AUX if engine.plan.has_aux else None,
            calls=engine.counts[CALLS:],
            notes=engine.noted,
        )
        own = OwnArguments(engine.live, engine.early, engine.fixed, None)
        phase = None if self._updates else engine.counts[PHASE:]
        elements = Elements(ROW, engine.counts[UPDATES:], phase, engine.plan.accumulate - 1)
        return Gate(entry, own, places, eager_mode, elements, report)


class _StepGate(NamedTuple):
    gate: Gate
    settings: list[dict[str, Any]]  # those that it looks at


def _nothing_shown(shown: ShownTrees) -> Place:
    """No tree is alive that somebody could have written into: that has to be looked at."""
    return Place(LIST_SIZE, shown.trees, None, 0, "shown")


def _same(first: Sequence[object], second: Sequence[object]) -> bool:
    return len(first) == len(second) and all(map(is_, first, second))


def _forget_oldest(gates: dict[Entry, Any]) -> None:
    for oldest in list(gates)[:-REMEMBERED]:
        gates.pop(oldest, None)
