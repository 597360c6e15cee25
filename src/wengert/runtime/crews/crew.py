"""Crew: a program called for many members inside machine code, each with arrays of its own.

Either workers take members, each with memory of its own, and no one waits for another; or the
caller goes through the members, and the kernels of each are divided between all workers. The bits
are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.kernel import POOL, THREADS
from wengert.codegen.llvm.machine.native import Native
from wengert.runtime.caching.cache import cached_object
from wengert.runtime.call_memory import Memory
from wengert.runtime.crews.crew_code import CREW, HEAD, WORDS, crew_text
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.runtime.workers import pool

Array: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CrewProgram:
    """A program, the sizes of its Dims, and the slots of its frame that lead to a member's
    arrays.
    """

    executable: Executable
    sizes: Mapping[str, int]
    slots: Sequence[int]


@dataclass(frozen=True)
class CrewLoop:
    """The loop over many calls, where each member makes several."""

    function: int  # its address
    controls: Array  # a row of words for each member
    frames_at: Sequence[int]  # for each program: which of these words is its frame
    stagings: Sequence[Sequence[Array]]  # for each worker: where the rows of a batch are gathered
    stagings_at: Sequence[int]  # which words these are


class Crew:
    """Calls for all members of programs that they share. Whoever makes one fills `addresses`, a row
    for each member: those of its arrays, for the slots of one program after the other.
    """

    def __init__(
        self,
        members: int,
        programs: Sequence[CrewProgram],
        threads: int,
        splits: bool,  # whether workers share each kernel, instead of the members
        loop: CrewLoop | None = None,
    ) -> None:
        self._programs, self._threads, self.splits = programs, threads, splits
        slots = [slot for program in programs for slot in program.slots]
        self.addresses = np.zeros((members, len(slots)), np.int64)
        self.statuses = np.zeros(members, np.int64)
        seats = 1 if splits else threads
        stagings = [] if loop is None else [[*each] for each in loop.stagings[:seats]]
        width = len(programs) + (len(stagings[0]) if stagings else 0)
        self._seats = np.zeros((seats, width), np.int64)
        for seat, arrays in zip(self._seats, stagings, strict=bool(stagings)):
            seat[len(programs) :] = [objects.data(x) for x in arrays]
        lists: list[Sequence[int]] = [slots, [len(program.slots) for program in programs]]
        lists += [[], []] if loop is None else [loop.frames_at, loop.stagings_at]
        self._lists = [np.array(each, np.int64) for each in lists]
        self._control = np.zeros(WORDS, np.int64)
        self._held = loop
        self._set(
            seats=objects.data(self._seats),
            seat=width,
            programs=len(programs),
            addresses=objects.data(self.addresses),
            row=len(slots),
            function=programs[0].executable.address,
            statuses=objects.data(self.statuses),
            **{name: objects.data(each) for name, each in zip(_LISTS, self._lists, strict=True)},
        )
        if loop is not None:
            self._set(
                loop=loop.function,
                controls=objects.data(loop.controls),
                control=loop.controls.shape[1],
                stagings=len(loop.stagings_at),
            )

    def _set(self, **words: int) -> None:
        for name, value in words.items():
            self._control[HEAD[name]] = value

    def after_fork(self) -> None:
        """Workers are asked for before every run."""

    def run(self, chosen: Array) -> None:
        """Make the calls of these members, given by their numbers, in int64."""
        alone = self.splits or self._threads == 1
        if not alone:
            pool().serve(self, self._threads)
            self._control[POOL] = pool().address
        self._control[THREADS] = 1 if alone else self._threads
        self._set(members=len(chosen), chosen=objects.data(chosen))
        taken: list[tuple[Executable, Memory, int]] = []
        try:
            for seat in self._seats:
                for k, program in enumerate(self._programs):
                    memory = program.executable.take(program.sizes)
                    taken.append((program.executable, memory, int(memory.frame[THREADS])))
                    if not self.splits:
                        memory.frame[THREADS] = 1
                    seat[k] = memory.address
            _function()(objects.data(self._control))
        finally:
            for executable, memory, threads in taken:
                memory.frame[THREADS] = threads
                executable.give(memory)


_LISTS = ("slots", "counts", "frames_at", "stagings_at")


@cache
def _function() -> Any:
    """The loop over members in machine code, one for all of this process."""
    return _native().function(CREW, c_void_p)


@cache
def _native() -> Native:
    return Native((cached_object(crew_text()),), (CREW,))
