"""Gate: calls of an entry that happen only while nothing else is under way."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.runtime.entries import objects
from wengert.runtime.entries.entry import Call, Entry, callable_of
from wengert.runtime.entries.entry_gate import GATED_CALL
from wengert.runtime.entries.entry_table import add_places
from wengert.runtime.entries.entry_words import HEAD, PLACE, EntryWords
from wengert.runtime.outside.watch import Place

Counter = np.ndarray[Any, np.dtype[np.int64]]  # its first number is read


@dataclass(frozen=True)
class Elements:
    """An argument that is another object in each call: element `counter[0] - first` of a list."""

    place: int  # among the arguments that are given in advance
    counter: Counter
    turn: Counter | None = None  # of which calls are only made while it is below a limit
    turns: int = 0


@dataclass(frozen=True)
class NotedCalls:
    """Calls whose answer is the first number of a result, alone or with a part of the tree."""

    output: int  # a new float64 array
    part: int | None
    calls: Counter  # how many were made
    notes: list[Any]  # element, report, number of the call, whether it was skipped; of the last one


class Gate:
    """A quick way into an entry. `call(*args)` is a call with `own` before these arguments. It
    answers NotImplemented, and nothing has happened, where the entry does so, where a place does
    not have the value that is expected there, where `mode` is not False, and where other Python
    threads would run meanwhile.
    """

    def __init__(
        self,
        entry: Entry,
        own: Sequence[Any],
        places: Sequence[Place],
        mode: ContextVar[bool],
        elements: Elements | None = None,  # then `renew` says which list
        report: NotedCalls | None = None,
    ) -> None:
        table = EntryWords()
        table.add("objects", *map(id, own))
        kept = [*own, mode, elements, report, *add_places(table, places)]
        table.head |= {"table": entry.address, "own_count": len(own), "mode": id(mode)}
        table.head |= {"changing": -1, "report": -1, "part": -1}
        self._elements: list[Any] = []
        if elements is not None:
            table.head |= {"changing": elements.place, "counter": elements.counter.ctypes.data}
            table.head |= {"list": id(self._elements), "turns": elements.turns}
            table.head["turn"] = 0 if elements.turn is None else elements.turn.ctypes.data
        if report is not None:
            part = -1 if report.part is None else report.part
            table.head |= {"report": report.output, "part": part}
            table.head |= {"calls": report.calls.ctypes.data, "notes": id(report.notes)}
        self._words = table.words(objects.addresses())
        first = int(self._words[HEAD["places"]]) + PLACE.index("expected")
        self._expected = self._words[first :: len(PLACE)][: len(places)]
        self._renewed: list[Any] = [self._elements]
        self.call: Call = callable_of(GATED_CALL, self._words, (entry.call, kept, self._renewed))

    def renew(self, elements: list[Any], first: int, values: Sequence[Any]) -> None:
        """Take the argument that changes from another list, and expect these objects at the first
        places.
        """
        before = len(self._renewed)
        self._renewed += (elements, *values)  # what machine code looks at lives, whatever happens
        self._words[HEAD["list"]] = id(elements)
        self._words[HEAD["first"]] = first
        # Last, and at once: until then the first places are not as expected.
        self._expected[: len(values)] = [*map(id, values)]
        del self._renewed[:before]
