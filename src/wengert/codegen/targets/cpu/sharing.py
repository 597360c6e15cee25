"""Sharing: how a program divides its work between workers. It asks the pool for as many as the call
has work for, hands kernels to them, and gives each worker words of its own for what it notes. All
else is in the frame, to which only the caller writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from wengert.codegen.kernel import (
    LINE,
    NONFINITE,
    POOL,
    POSITION,
    STATUS,
    THREADS,
    WORKERS,
    Layout,
    Program,
)
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.lines import Text
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.memory.plan import number_of
from wengert.codegen.targets.cpu.pool import set_workers, word
from wengert.codegen.targets.cpu.pool_code import BEGIN_AT, END_AT, SHARE_AT
from wengert.codegen.targets.cpu.splitting import (
    LEAST,
    PER_WORKER,
    WHOLE,
    grain,
    size_of_work,
    work,
)
from wengert.core.dtypes import int64

IN_SHARES, GATHER = "in_shares", "gather_status"


def define_sharing(module: Module, grain: int) -> None:
    """void @in_shares(frame, function, nanoseconds, least): function(frame, worker, from, to) for
    all of a kernel: by several workers if the call has them and it takes long enough.

        if workers > 1 and nanoseconds >= grain: pool.share(function, frame, nanoseconds, least)
        else: function(frame, 0, all of it)
    """
    code = Text(module)
    several = code.compare("sgt", word(code, WORKERS), 1)
    long = code.compare("sge", "%nanoseconds", grain)

    def share() -> list[str]:
        pool = word(code, POOL, "ptr")
        given = "ptr %function, ptr %frame, i64 %nanoseconds, i64 %least"
        code.do(f"call void {word(code, SHARE_AT, 'ptr', pool)}(ptr {pool}, {given})")
        return []

    def alone() -> list[str]:
        code.do(f"call void %function(ptr %frame, i64 0, i64 0, i64 {WHOLE})")
        return []

    code.either(code.let(f"and i1 {several}, {long}"), [], share, alone)
    code.function(IN_SHARES, "ptr %frame, ptr %function, i64 %nanoseconds, i64 %least")


def begin_sharing(code: Text, wanted: str) -> None:
    """Have so many workers for this call, if there are that many; else be alone.

    if wanted > 1 and threads > 1: pool.begin(frame, wanted)
    else: workers = 1
    """
    several = code.compare("sgt", wanted, 1)
    threads = code.compare("sgt", word(code, THREADS), 1)

    def together() -> list[str]:
        pool = word(code, POOL, "ptr")
        begin = word(code, BEGIN_AT, "ptr", pool)
        code.do(f"call void {begin}(ptr {pool}, ptr %frame, i64 {wanted})")
        return []

    def alone() -> list[str]:
        set_workers(code, 1)
        return []

    code.either(code.let(f"and i1 {several}, {threads}"), [], together, alone)


def end_sharing(code: Text) -> None:
    """Give the pool back, if this call has it."""

    def give() -> None:
        pool = word(code, POOL, "ptr")
        code.do(f"call void {word(code, END_AT, 'ptr', pool)}(ptr {pool})")

    code.when(code.compare("sgt", word(code, WORKERS), 1), give)


def write_gather(module: Module, layout: Layout) -> None:
    """void @gather_status(frame): move the errors that workers have noted into the frame.

    for each worker i:
        if its status != 0:
            if status == 0, or both are NONFINITE and its position is less:
                status, position = those of worker i
            its status = 0
    """
    code = Code(module, 1)

    def look(i: Index, _: list[str]) -> None:
        line = code.address("%frame", code.add(code.mul(i, LINE), layout.words), int64)
        status, position = (word(code, n, base=line) for n in (STATUS, POSITION))

        def note() -> None:
            _set(code, "%frame", POSITION, position)
            _set(code, "%frame", STATUS, status)

        def take() -> None:
            before = word(code, STATUS)
            alike = code.let(
                f"and i1 {code.compare('eq', before, status)}, "
                f"{code.compare('eq', status, NONFINITE)}"
            )
            earlier = code.compare("slt", position, word(code, POSITION))
            better = code.let(f"and i1 {alike}, {earlier}")
            code.when(code.let(f"or i1 {code.compare('eq', before, 0)}, {better}"), note)
            _set(code, line, STATUS, 0)

        code.when(code.compare("ne", status, 0), take)

    code.loop(0, word(code, WORKERS), 1, look)
    code.function(GATHER, "ptr %frame")


def _set(code: Code, base: str, number: int, value: Index) -> None:
    at = code.let(f"getelementptr i64, ptr {base}, i64 {number}")
    code.do(f"store i64 {value}, ptr {at}, align 8")


def share_out(code: Code, function: str, nanoseconds: Index, least: int = LEAST) -> None:
    """Have a function of CHUNK run by whoever has time, the caller included, and wait for it."""
    code.do(f"call void @{IN_SHARES}(ptr %frame, ptr @{function}, i64 {nanoseconds}, i64 {least})")


def nanoseconds(frame: Frame, program: Program, number: int, sizes: Mapping[str, int]) -> Index:
    """About what a kernel takes in this call. It was estimated for `sizes`, and grows with the
    elements that the kernel goes over.
    """
    code, estimated = frame.code, work(program, number, sizes)
    size = size_of_work(program, number)
    elements, actual = number_of(size, sizes), frame.size(size)
    if isinstance(actual, int) or not elements:
        return round(estimated)
    return code.div(code.mul(actual, max(1, round(1000 * estimated / elements))), 1000)


def wanted_workers(frame: Frame, program: Program, sizes: Mapping[str, int]) -> str:
    """How many workers the work of this call is enough for, at most as many as there may be."""
    code = frame.code
    total: Index = 0
    for number, kernel in enumerate(program.kernels):
        if kernel.split is not None or kernel.apart:
            total = code.add(total, nanoseconds(frame, program, number, sizes))
    extra = code.div(total, PER_WORKER * grain())
    return str(code.min(code.add(extra, 1), word(code, THREADS)))
