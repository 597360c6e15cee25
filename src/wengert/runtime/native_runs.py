"""Native runs: programs called many times inside machine code, batch after batch.

Python comes back now and then, at a whole call, so that signals arrive.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from ctypes import c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.codegen.llvm.machine.native import Native
from wengert.runtime.bound import Bound
from wengert.runtime.caching.cache import cached_object
from wengert.runtime.call_memory import Memory
from wengert.runtime.entries import objects
from wengert.runtime.native_runs_code import (
    ARRAY,
    ARRAYS,
    CALL_LOOP,
    HEAD,
    OUTPUT,
    PROGRAM,
    PROGRAMS,
    call_loop_text,
)

Array: TypeAlias = np.ndarray[Any, Any]
_REST_SIZES = PROGRAM.index("rest_sizes")
LIMIT = 50_000_000  # nanoseconds after which Python looks after signals


class DataRows(NamedTuple):
    """An array of the data: each batch is so many of its rows."""

    source: Array  # whose rows are contiguous
    staging: Array | None  # where rows are gathered; None where programs read them in place


@dataclass(frozen=True)
class CycleProgram:
    """One program of a cycle, with all arrays that its calls have in common; and the slots of those
    that each call has of its own.
    """

    bound: Bound
    batch: Sequence[int]  # of the arrays of a batch
    numbers: int  # of a row of the table
    report: int  # of the report
    kept: Sequence[int]  # of other outputs


class Sorting(NamedTuple):
    """The order of the rows in an epoch, and the program that makes it."""

    order: Array
    epoch: Array  # a number that the program reads: the epoch that the order is for, -1 for none
    bound: Bound | None  # with its arrays; None where all epochs have one order


class Batches(NamedTuple):
    """How the data of a run are divided."""

    rows: Sequence[DataRows]
    size: int  # rows of a batch
    in_epoch: int  # batches
    rest: int  # rows of the last one, where these are fewer; else 0
    sorting: Sorting | None  # where rows are gathered


class Calls(NamedTuple):
    """Calls to make, and where they write."""

    most: int  # calls to make
    epoch: int  # of the first batch
    number: int  # of the first batch in its epoch
    table: Array  # a row of numbers for each update
    reports: Array  # a row for each call
    skipped: Array  # a bool for each call
    kept: Sequence[Array]  # for each output that is kept, a row for each call or one for all


class CallLoop:
    """A loop over calls, in cycles of `length`: the last call of a cycle runs the last program, all
    others the first.

    Programs count in `phase` how many calls of the cycle have been made, and the loop goes on from
    there. With `may_skip`, a call whose results are not finite changes nothing but the `counter`.
    In a cycle of several calls that holds only where its report begins with a number that is not
    finite. Else what the cycle has accumulated may be to blame: the loop ends, and Python decides.
    """

    def __init__(
        self,
        programs: Sequence[CycleProgram],
        arrays: int,  # how many a batch has
        length: int,
        phase: Array,
        counter: Array,
        may_skip: bool,
    ) -> None:
        self.programs, self._counts = programs, (phase, counter)
        kept, begin = programs[0].kept, ARRAYS + len(ARRAY) * arrays
        self.control = np.zeros(begin + len(OUTPUT) * len(kept), np.int64)
        self._address = objects.data(self.control)
        self._words = memoryview(self.control)  # type: ignore[arg-type]
        self._set(
            clock=time.CLOCK_MONOTONIC,
            phase=objects.data(phase),
            length=length,
            may_skip=may_skip,
            counter=objects.data(counter),
            arrays=arrays,
            outputs=len(kept),
        )
        self._sizes = [np.array(program.bound.ordered_sizes(), np.int64) for program in programs]
        # The words that their records begin with.
        self._records = [PROGRAMS + k * len(PROGRAM) for k in range(2 - len(programs), 2)]
        for at, program, sizes in zip(self._records, programs, self._sizes, strict=True):
            self._describe(at, program, sizes)
        self._slots = [(programs[0].batch[k], programs[-1].batch[k]) for k in range(arrays)]
        self._kept = self.control[begin:].reshape(len(kept), len(OUTPUT))
        for program, name in ((programs[0], "slot"), (programs[-1], "last_slot")):
            self._kept[:, OUTPUT.index(name)] = program.kept
        # What a run takes memory of, and the words where its frames stand.
        self._with_frames = [
            (program.bound, at + PROGRAM.index("frame"))
            for program, at in zip(programs, self._records, strict=True)
        ]

    @property
    def frames_at(self) -> list[int]:
        """Which words of `control` are the frames of the programs."""
        return [at for _, at in self._with_frames]

    def _set(self, **words: int) -> None:
        for name, value in words.items():
            self._words[HEAD[name]] = value

    def _describe(self, at: int, program: CycleProgram, sizes: Array) -> None:
        """The record of a program; its frame is set before each run."""
        fields = {
            "function": program.bound.executable.address,
            "numbers": program.numbers,
            "report": program.report,
            "dims": len(sizes),
            "sizes": objects.data(sizes),
        }
        for name, value in fields.items():
            self._words[at + PROGRAM.index(name)] = value

    def go_through(self, batches: Batches, rest_sizes: Sequence[Array | None]) -> None:
        """Let calls from now on use the batches of these data, which the caller of `run` keeps
        alive. For each program: the sizes of its Dims in the smaller batch, if it is known to be
        right for it.
        """
        sorting, words = batches.sorting, self._words
        bound = None if sorting is None else sorting.bound
        self._set(
            batches=batches.in_epoch,
            size=batches.size,
            rest=batches.rest,
            order=0 if sorting is None else objects.data(sorting.order),
            ordered=0 if sorting is None else objects.data(sorting.epoch),
            sort=0 if bound is None else bound.executable.address,
        )
        at = ARRAYS
        for (source, staging), slots in zip(batches.rows, self._slots, strict=True):
            words[at], words[at + 1] = objects.data(source), source.strides[0]
            words[at + 2] = source.nbytes // len(source)
            words[at + 3] = 0 if staging is None else objects.data(staging)
            words[at + 4], words[at + 5] = slots
            at += len(ARRAY)
        for at, sizes in zip(self._records, rest_sizes, strict=True):
            words[at + _REST_SIZES] = 0 if sizes is None else objects.data(sizes)

    def prepare(self, calls: Calls) -> None:
        """Have these calls made by `run`; `made` says 0 until then."""
        self._set(
            limit=LIMIT,
            done=0,
            count=calls.most,
            epoch=calls.epoch,
            number=calls.number,
            table=objects.data(calls.table),
            width=calls.table.strides[0],
            reports=objects.data(calls.reports),
            report=calls.reports.strides[0],
            skipped=objects.data(calls.skipped),
        )
        for record, x in zip(self._kept, calls.kept, strict=True):
            record[OUTPUT.index("target")] = objects.data(x)
            record[OUTPUT.index("stride")] = x.strides[0] if len(x) > 1 else 0

    def run(self, sorting: Bound | None) -> None:
        """Make calls until all are made, one fails, or the time is over; `made` says how many. The
        program that makes orders is given as it was with the batches.

        A signal that came meanwhile may raise, as from any function.
        """
        taken: list[tuple[Bound, Memory]] = []
        sorts = [(sorting, HEAD["sort_frame"])] if sorting else []
        try:
            for bound, frame in (*self._with_frames, *sorts):
                memory = bound.take()
                taken.append((bound, memory))
                self._words[frame] = memory.address
            _function()(self._address)
        finally:
            for bound, memory in taken:
                bound.give(memory)

    def made(self) -> int:
        """How many calls the last `run` has made."""
        return self._words[HEAD["done"]]

    def last_row(self) -> int:
        """Which row of the table the last of them has used."""
        return self._words[HEAD["row"]]


def loop_address() -> int:
    """Of the loop in machine code, a function of `control`."""
    return _native().address(CALL_LOOP)


@cache
def _function() -> Any:
    """The loop in machine code, one for all of this process."""
    return _native().function(CALL_LOOP, c_void_p)


@cache
def _native() -> Native:
    return Native((cached_object(call_loop_text()),), (CALL_LOOP,))
