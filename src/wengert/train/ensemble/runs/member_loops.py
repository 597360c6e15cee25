"""Loops: many calls of every member inside machine code, each member over its own batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wengert.runtime.aligned_memory import aligned_array
from wengert.runtime.crews.crew import Crew, CrewLoop, CrewProgram
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.runtime.native_runs import (
    Batches,
    CallLoop,
    CycleProgram,
    DataRows,
    Sorting,
    loop_address,
)
from wengert.runtime.native_runs_code import ARRAY, ARRAYS, HEAD, OUTPUT
from wengert.runtime.nonfinite_policies import SKIP
from wengert.runtime.outside.live import is_live
from wengert.train.engine import Engine
from wengert.train.ensemble.cost import splits
from wengert.train.ensemble.member_calls import member_addresses, member_arrays, member_work
from wengert.train.ensemble.runs.member_orders import MemberOrders
from wengert.train.ensemble.runs.run_data import RunData
from wengert.train.recorded.rows.rows_of_data import rows_of_data
from wengert.train.recorded.step_arrays import CALLS, PHASE
from wengert.train.runs.native_loop import Aux, make_program, sizes_of_rest
from wengert.train.storage import Array

ENDLESS = 2**62  # nanoseconds: a call of machine code ends with its steps
LINE = 16  # words of two cache lines: the controls of different members share none
_SIZE = len(ARRAY)
_SOURCE, _STAGING = ARRAY.index("source"), ARRAY.index("staging")
_TARGET, _STRIDE = OUTPUT.index("target"), OUTPUT.index("stride")


@dataclass(frozen=True)
class Members:
    """Whose steps are taken, and by how many workers."""

    engines: Sequence[Engine]
    threads: int
    # By a step's program and the rows of a batch: the seconds it took the last time, for all.
    paces: dict[tuple[Executable, int], float] = field(default_factory=dict)

    @cached_property
    def every(self) -> Array:
        """Their numbers."""
        return np.arange(len(self.engines), dtype=np.int64)

    @cached_property
    def addresses(self) -> Array:
        """Where the arrays of each lie: they stay there as long as the members do."""
        return np.array([member_addresses(engine) for engine in self.engines], np.int64)

    @cached_property
    def counts(self) -> Array:
        """Where their numbers of calls and updates lie."""
        return np.array([objects.data(engine.counts) for engine in self.engines], np.int64)


@dataclass(frozen=True)
class MemberLoops:
    """The loops of all members for one kind of data: a row of `controls` each, as that of a
    `CallLoop`.
    """

    crew: Crew
    controls: Array
    programs: Sequence[CycleProgram]
    aux: Aux
    kept_at: int  # the word that the records of kept outputs begin with
    held: tuple[Any, ...]  # what machine code reads

    def is_current(self) -> bool:
        """Whether all that the loss reads from outside is as it was when it was recorded."""
        return all(program.bound.executable.watch.held_in_last_look() for program in self.programs)

    def set(self, members: Array, **words: Any) -> None:
        """Write words of the controls of these members."""
        for name, values in words.items():
            self.controls[members, HEAD[name]] = values

    def keep(self, members: Array, steps: Array, kept: Sequence[Array]) -> None:
        """Let the aux of these members go to arrays of (members, steps, …), from these steps on; to
        one place for all steps where there is one.
        """
        for k, x in enumerate(kept):
            at, several = self.kept_at + k * len(OUTPUT), x.shape[1] > 1
            self.controls[members, at + _TARGET] = places_in(x, members, steps * several)
            self.controls[members, at + _STRIDE] = x.strides[1] if several else 0

    def made(self, members: Array) -> Array:
        """How many calls each of them has made."""
        counts: Array = self.controls[members, HEAD["done"]]
        return counts


def make_loops(
    members: Members, data: RunData, orders: MemberOrders | None, rest: int
) -> MemberLoops | None:
    """The loops, if machine code can read the data by itself."""
    first, own = members.engines[0], data.first
    if any(is_live(x) for x in own.leaves):  # it may be an array of this very ensemble
        return None
    rows = own.row_arrays(orders is not None)
    updating = (False, True)[first.plan.accumulate == 1 :]
    order = None if orders is None else orders.of(0, first.progress.epoch)
    batch = own.batch(0, order)  # no program may have been called yet: this is what it is shown
    attempts = [make_program(first, own, batch, each, order is not None) for each in updating]
    known = [each for each in attempts if each is not None]
    if rows is None or len(known) < len(attempts) or any(aux != known[0][1] for _, aux in known):
        return None
    programs, aux = [program for program, _ in known], known[0][1]
    with rows_of_data(own.rows, own.named_arrays, shuffled=orders is not None):
        for program in programs:
            executable = program.bound.executable
            if orders is None and own.size == own.rows:
                first.look_once(executable)
            else:
                first.look_at_cut_rows(executable)
    sizes: list[Array | None] = [None] * len(programs)
    if rest:
        sizes = [
            sizes_of_rest(first, own, rest, each, program.bound.executable, aux)
            for each, program in zip(updating, programs, strict=True)
        ]
        if any(each is None for each in sizes):
            return None
    counts = first.counts
    call_loop = CallLoop(
        programs,
        own.whole.count(False),
        first.plan.accumulate,
        counts[PHASE:],
        counts[CALLS:],
        first.nonfinite == SKIP,
    )
    gathers = any(row.staging is not None for row in rows)
    sorting = Sorting(np.arange(own.rows), np.array(0), None) if gathers else None
    call_loop.go_through(Batches(rows, own.size, own.steps(not rest), rest, sorting), sizes)
    made = _for_all(
        members, call_loop, rows, aux, orders, (data, call_loop, sizes, sorting, orders)
    )
    _point(made, members, data, orders)
    return made


def _for_all(
    members: Members,
    call_loop: CallLoop,
    rows: Sequence[DataRows],
    aux: Aux,
    orders: MemberOrders | None,
    held: tuple[Any, ...],
) -> MemberLoops:
    """A control for each member, and what workers have of their own."""
    count, threads, first = len(members.engines), members.threads, members.engines[0]
    words = -(-len(call_loop.control) // LINE) * LINE
    controls = aligned_array((count, words), np.dtype(np.int64), np.zeros)
    controls[:, : len(call_loop.control)] = call_loop.control
    frames_at = [*call_loop.frames_at]
    crew_programs = [
        CrewProgram(program.bound.executable, program.bound.sizes, program.bound.slots)
        for program in call_loop.programs
    ]
    if orders is not None and orders.shuffles:
        crew_programs.append(orders.program)
        frames_at.append(HEAD["sort_frame"])
    places = [(k, row.staging) for k, row in enumerate(rows) if row.staging is not None]
    stagings = [[aligned_array(x.shape, x.dtype) for _, x in places] for _ in range(threads)]
    stagings_at = [ARRAYS + k * _SIZE + _STAGING for k, _ in places]
    batch = [row.source[:0] if row.staging is None else row.staging for row in rows]
    work = member_work(call_loop.programs[-1].bound.executable, first, batch)
    loop = CrewLoop(loop_address(), controls, frames_at, stagings, stagings_at)
    crew = Crew(count, crew_programs, threads, splits(count, threads, work), loop)
    return MemberLoops(crew, controls, call_loop.programs, aux, ARRAYS + len(rows) * _SIZE, held)


def _point(made: MemberLoops, members: Members, data: RunData, orders: MemberOrders | None) -> None:
    """Let the loop of each member lead to its arrays."""
    engines, every = members.engines, members.every
    own = {objects.data(x): k for k, x in enumerate(member_arrays(engines[0]))}
    of_members, counts = members.addresses, members.counts
    pairs = zip(data.first.leaves, data.steps_apart, strict=True)
    apart = {objects.data(x): step for x, step in pairs}  # also of arrays without rows
    bound = [address for program in made.programs for address in program.bound.addresses]
    for at, address in enumerate(bound):
        of_data = address + apart.get(address, 0) * every
        made.crew.addresses[:, at] = of_members[:, own[address]] if address in own else of_data
    made.set(every, limit=ENDLESS, phase=counts + 8 * PHASE, counter=counts + 8 * CALLS)
    if orders is not None:
        made.set(every, order=objects.data(orders.orders) + every * orders.orders.strides[0])
    if orders is not None and orders.shuffles:
        made.crew.addresses[:, len(bound) :] = [orders.addresses(i) for i in every.tolist()]
        made.set(every, ordered=objects.data(orders.epochs) + 8 * every)
        made.set(every, sort=orders.program.executable.address)
    steps = zip(data.steps_apart, data.first.whole, strict=True)
    for k, step in enumerate(step for step, whole in steps if not whole):
        made.controls[:, ARRAYS + k * _SIZE + _SOURCE] += step * every


def places_in(x: Array, members: Array, steps: Array) -> Array:
    """Where the entries of these members lie in an array of (members, steps, …), from a step of
    each on.
    """
    places: Array = objects.data(x) + members * x.strides[0] + steps * x.strides[1]
    return places
