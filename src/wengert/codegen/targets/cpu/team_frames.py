"""Team: the workers of one call. Each has a frame of its own, with pointers to memory of its own
where kernels keep something while they run; all else they share.
"""

from __future__ import annotations

from collections.abc import Mapping

from wengert.codegen.kernel import (
    MAIN,
    POSITION,
    ROOM,
    STATUS,
    THREADS,
    WORKER,
    WORKERS,
    Layout,
    Program,
    Workspace,
    all_programs,
)
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.memory.plan import ALIGNMENT, is_own, number_of
from wengert.codegen.targets.cpu.pool import word
from wengert.codegen.targets.cpu.splitting import PER_WORKER, grain, size_of_work, work
from wengert.core.dtypes import int64

WORKER_MAIN, GATHER = "worker_main", "gather_status"


def write_worker(module: Module, layout: Layout, program: Program, function: str) -> None:
    """void @worker_main(main, worker): call the function with the worker's own frame.

    if worker == 0: function(main)
    else:
        own = main + worker · words; copy the main frame to own
        prepare_worker(own, worker); function(own)
    """
    _write_gather(module, layout)
    _write_prepare(module, layout, program)
    code = Code(module, 1)

    def run() -> None:
        own = code.address("%main", code.mul("%worker", layout.words), int64)
        code.copy(own, "%main", 8 * layout.words)
        code.do(f"call void @prepare_worker(ptr {own}, i64 %worker)")
        code.do(f"call void @{function}(ptr {own})")

    first = code.compare("eq", "%worker", 0)
    code.when(first, lambda: code.do(f"call void @{function}(ptr %main)"))
    code.when(code.compare("ne", "%worker", 0), run)
    code.function(WORKER_MAIN, "ptr %main, i64 %worker")


def _write_prepare(module: Module, layout: Layout, program: Program) -> None:
    """void @prepare_worker(frame, worker): set pointers to what this worker has for itself.

    status = 0; number of the worker = worker
    for each word that points to workspace: move it by worker · (bytes of a workspace)
    for each word that points to scratch memory of a divided kernel: move it by worker · its bytes
    """
    code = Code(module, 1)
    _set(code, "%frame", STATUS, 0)
    _set(code, "%frame", WORKER, "%worker")
    room = code.mul("%worker", word(code, ROOM))
    for slot, what in enumerate(layout.slots, layout.first):
        if isinstance(what, Workspace):
            _move(code, slot, room)
    for each in all_programs(program):
        frame = Frame(code, layout, each)
        for kernel in each.kernels:
            for slot, size in kernel.scratch:
                if is_own(layout, kernel, slot):
                    bytes_each = code.add(frame.size(size), ALIGNMENT - 1)
                    whole = code.let(f"and i64 {bytes_each}, {-ALIGNMENT}")
                    _move(code, slot, code.mul("%worker", whole))
    code.function("prepare_worker", "ptr %frame, i64 %worker")


def _move(code: Code, slot: int, distance: Index) -> None:
    at = code.let(f"getelementptr i64, ptr %frame, i64 {slot}")
    place = code.let(f"load ptr, ptr {at}, align 8")
    moved = code.let(f"getelementptr i8, ptr {place}, i64 {distance}")
    code.do(f"store ptr {moved}, ptr {at}, align 8")


def _set(code: Code, frame: str, number: int, value: Index) -> None:
    at = code.let(f"getelementptr i64, ptr {frame}, i64 {number}")
    code.do(f"store i64 {value}, ptr {at}, align 8")


def _write_gather(module: Module, layout: Layout) -> None:
    """void @gather_status(frame): put the status of the first worker that has one into the frame.

    for each worker i: if status == 0 and its status != 0: status, position = those of worker i
    """
    code = Code(module, 1)
    main, workers = word(code, MAIN, "ptr"), word(code, WORKERS)

    def look(i: Index, _: list[str]) -> None:
        other = code.address(main, code.mul(i, layout.words), int64)
        status = word(code, STATUS, base=other)
        position = word(code, POSITION, base=other)
        missing = code.compare("eq", word(code, STATUS), 0)
        found = code.compare("ne", status, 0)

        def note() -> None:
            _set(code, "%frame", POSITION, position)
            _set(code, "%frame", STATUS, status)

        code.when(code.let(f"and i1 {missing}, {found}"), note)

    code.loop(0, workers, 1, look)
    code.function(GATHER, "ptr %frame")


def wanted_workers(frame: Frame, program: Program, sizes: Mapping[str, int]) -> str:
    """How many workers the work of this call is enough for, at most as many as there may be.

    What a kernel takes was estimated for `sizes`; it grows with the elements the kernel goes over.
    """
    code, least = frame.code, PER_WORKER * grain()
    fixed = 0.0
    total: Index = 0
    for number, kernel in enumerate(program.kernels):
        if kernel.split is None and not kernel.apart:
            continue
        nanoseconds = work(program, number, sizes)
        size = size_of_work(program, number)
        elements = number_of(size, sizes)
        found = frame.size(size)
        if isinstance(found, int) or not elements:
            fixed += nanoseconds
            continue
        thousandths = max(1, round(1000 * nanoseconds / elements))
        total = code.add(total, code.mul(found, thousandths))
    total = code.add(code.div(total, 1000), round(fixed))
    extra = code.div(total, least)
    threads = word(code, THREADS)
    return str(code.min(code.add(extra, 1), threads))
