"""Moves: functions of the pool that bring threads to other CPUs. A worker leaves the caller's CPU,
and who waits for a thread without a CPU lets it have its own.

A thread is moved by the set of CPUs that it may use, which is another one for a moment. So one
thread is moved at a time, and a call does not end while its thread is.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.llvm.text.lines import Module
from wengert.codegen.targets.cpu.pool_code import (
    CALLER,
    CALLER_MOVING,
    CPU,
    MOVING,
    SPINS,
    PoolCode,
)

STAND_ASIDE, BRING, BRING_CALLER = (
    f"pool_{what}" for what in ("stand_aside", "bring", "bring_caller")
)


def define_moves(module: Module) -> None:
    """The functions of these names."""
    _define_stand_aside(module)
    _define_bring(module)
    _define_bring_caller(module)


def note_cpu(code: PoolCode) -> None:
    if code.knows_cpus:
        code.write(CPU, code.cpu(), "monotonic")


def _define_stand_aside(module: Module) -> None:
    """void(pool): leave the CPU that the caller runs on. Where all CPUs are in use, the system
    often puts a worker there that is woken, and then one of the two keeps the other from working.
    Where there are more workers than CPUs, any place is as good.

        if spins > 0 and this is the caller's CPU, and nobody is moved: go on on another one
    """
    code = PoolCode(module)
    if code.knows_cpus:
        here = code.cpu()
        alike = code.compare("eq", here, code.read(CPU, "monotonic"))
        room = code.compare("sgt", code.read(SPINS, "monotonic"), 0)
        known = code.compare("sge", here, 0)
        both = code.let(f"and i1 {alike}, {code.let(f'and i1 {room}, {known}')}")
        code.when(both, lambda: _move(code, lambda: code.leave_cpu(here)))
    code.function(STAND_ASIDE, "ptr %pool")


def _move(code: PoolCode, move: Callable[[], None]) -> None:
    """Move a thread, unless one is being moved. Its set of CPUs is another one meanwhile, and who
    reads it then would take that for the right one.
    """

    def moved() -> None:
        move()
        code.write(MOVING, 0)

    code.when(code.exchange(MOVING, 0, 1), moved)


def _define_bring(module: Module) -> None:
    """void(pool, thread, answer): if a thread does not run, let it have this CPU, which this thread
    is about to leave; the answer is 1 then, else 0.
    """
    code = PoolCode(module)
    code.do("store i64 0, ptr %answer, align 8")

    def bring() -> None:
        _move(code, lambda: code.bring_here("%thread"))
        code.do("store i64 1, ptr %answer, align 8")

    def look() -> None:
        code.when(code.let(f"xor i1 {code.is_running('%thread')}, true"), bring)

    if code.knows_cpus:
        code.when(code.compare("sgt", "%thread", 0), look)
    code.function(BRING, "ptr %pool, i64 %thread, ptr %answer")


def _define_bring_caller(module: Module) -> None:
    """void(pool, answer): the same for the caller, as long as its call goes on.

    if the caller does not run: note that it may be moved
        if its call still goes on: bring it; answer = 1
        it is not moved any more
    """
    code = PoolCode(module)
    code.do("store i64 0, ptr %answer, align 8")

    def bring(caller: str) -> None:
        code.bring_here(caller)
        code.do("store i64 1, ptr %answer, align 8")

    def look(caller: str) -> None:
        def move() -> None:
            code.write(CALLER_MOVING, 1, "seq_cst")
            same = code.compare("eq", code.read(CALLER, "seq_cst"), caller)
            code.when(same, lambda: bring(caller))
            code.write(CALLER_MOVING, 0)

        stands = code.let(f"xor i1 {code.is_running(caller)}, true")
        code.when(stands, lambda: _move(code, move))

    if code.knows_cpus:
        caller = code.read(CALLER, "monotonic")
        code.when(code.compare("sgt", caller, 0), lambda: look(caller))
    code.function(BRING_CALLER, "ptr %pool, ptr %answer")
