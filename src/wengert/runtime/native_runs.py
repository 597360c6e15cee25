"""Many: programs called many times inside machine code, batch after batch.

Python comes back now and then, at a whole call, so that signals arrive.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from ctypes import c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.llvm.machine.native import Native
from wengert.runtime.bound import Bound
from wengert.runtime.caching.cache import cached_object
from wengert.runtime.entries import objects
from wengert.runtime.native_runs_code import (
    ARRAY,
    ARRAYS,
    HEAD,
    MANY,
    OUTPUT,
    PROGRAM,
    PROGRAMS,
    many_text,
)

Array: TypeAlias = np.ndarray[Any, Any]
LIMIT = 50_000_000  # nanoseconds after which Python looks after signals


@dataclass(frozen=True)
class DataRows:
    """An array of the data: each batch is so many of its rows."""

    source: Array  # whose rows are contiguous
    staging: Array | None  # where rows are gathered; None where programs read them in place


@dataclass(frozen=True)
class Turn:
    """One program of a cycle, with all arrays that its calls have in common; and the slots of those
    that each call has of its own.
    """

    bound: Bound
    batch: Sequence[int]  # of the arrays of a batch
    numbers: int  # of a row of the table
    report: int  # of the report
    kept: Sequence[int]  # of other outputs


@dataclass(frozen=True)
class Calls:
    """A number of calls to make, and where they write."""

    count: int
    first: int  # the row of the data with which the first batch begins
    order: Array | None  # of the rows that are gathered
    table: Array  # a row of numbers for each turn of the cycle
    reports: Array  # a row for each call
    skipped: Array  # a bool for each call
    kept: Sequence[Array]  # for each output that is kept, a row for each call or one for all


class Many:
    """A loop over calls, in cycles of `length`: the last call of a cycle runs the last program, all
    others the first.

    Programs count in `phase` how many calls of the cycle have been made, and the loop goes on from
    there. With `may_skip`, a call whose results are not finite changes nothing but the `counter`.
    In a cycle of several calls that holds only where its report begins with a number that is not
    finite. Else what the cycle has accumulated may be to blame: the loop ends, and Python decides.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        rows: Sequence[DataRows],
        size: int,
        length: int,
        phase: Array,
        counter: Array,
        may_skip: bool,
    ) -> None:
        self._turns, self._used = turns, (rows, phase, counter)
        kept, begin = turns[0].kept, ARRAYS + len(ARRAY) * len(rows)
        self._control = np.zeros(begin + len(OUTPUT) * len(kept), np.int64)
        self._address = objects.data(self._control)
        self._set(
            limit=LIMIT,
            clock=time.CLOCK_MONOTONIC,
            phase=objects.data(phase),
            length=length,
            may_skip=may_skip,
            counter=objects.data(counter),
            size=size,
            arrays=len(rows),
            outputs=len(kept),
        )
        self._records = [self._program(turn, k) for k, turn in enumerate(turns, 2 - len(turns))]
        for k, each in enumerate(rows):
            self._control[ARRAYS + k * len(ARRAY) :][: len(ARRAY)] = self._array(k, each)
        self._kept = self._control[begin:].reshape(len(kept), len(OUTPUT))
        for turn, name in ((turns[0], "slot"), (turns[-1], "last_slot")):
            self._kept[:, OUTPUT.index(name)] = turn.kept

    def _set(self, **words: int) -> None:
        for name, value in words.items():
            self._control[HEAD[name]] = value

    def _program(self, turn: Turn, k: int) -> Array:
        """The record of a program; its frame is set before each run."""
        record = self._control[PROGRAMS + k * len(PROGRAM) :][: len(PROGRAM)]
        record[PROGRAM.index("function")] = turn.bound.executable.address
        record[PROGRAM.index("numbers")] = turn.numbers
        record[PROGRAM.index("report")] = turn.report
        return record

    def _array(self, k: int, rows: DataRows) -> list[int]:
        slots = [turn.batch[k] for turn in self._turns]
        return [
            objects.data(rows.source),
            rows.source.strides[0],
            rows.source[:1].nbytes,
            0 if rows.staging is None else objects.data(rows.staging),
            slots[0],
            slots[-1],
        ]

    def prepare(self, calls: Calls) -> None:
        """Have these calls made by `run`; `made` says 0 until then."""
        self._set(
            done=0,
            count=calls.count,
            first=calls.first,
            order=0 if calls.order is None else objects.data(calls.order),
            table=objects.data(calls.table),
            width=calls.table.strides[0],
            reports=objects.data(calls.reports),
            report=calls.reports.strides[0],
            skipped=objects.data(calls.skipped),
        )
        for record, x in zip(self._kept, calls.kept, strict=True):
            record[OUTPUT.index("target")] = objects.data(x)
            record[OUTPUT.index("stride")] = x.strides[0] if len(x) > 1 else 0

    def run(self) -> None:
        """Make calls until all are made, one fails, or the time is over; `made` says how many.

        A signal that came meanwhile may raise, as from any function.
        """
        with ExitStack() as stack:
            for turn, record in zip(self._turns, self._records, strict=True):
                memory = stack.enter_context(turn.bound.taken())
                record[PROGRAM.index("frame")] = memory.address
            _function()(self._address)

    def made(self) -> int:
        """How many calls the last `run` has made."""
        return int(self._control[HEAD["done"]])


@cache
def _function() -> Any:
    """The loop in machine code, one for all of this process."""
    return _native().function(MANY, c_void_p)


@cache
def _native() -> Native:
    return Native((cached_object(many_text()),), (MANY,))
