"""Module: all kernels as functions of one module, and the function that calls them in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TypeVar

from wengert.codegen.kernel import (
    STATUS,
    Arena,
    Kernel,
    Layout,
    Lowered,
    Program,
    Slot,
    Workspace,
    all_programs,
    is_fold,
    shown,
)
from wengert.codegen.kernel_text.names import body_prefixes
from wengert.codegen.llvm.committing import write_commit, write_finite_check
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.kernels.registry import SPECIALS
from wengert.codegen.llvm.kernels.report import write_report
from wengert.codegen.llvm.loops.axis_groups import collapsed
from wengert.codegen.llvm.loops.bodies import set_collected, write_cond, write_scan
from wengert.codegen.llvm.loops.column_loops import ColumnLoops
from wengert.codegen.llvm.loops.maps import Loops
from wengert.codegen.llvm.loops.product_sizes import ProductSizes
from wengert.codegen.llvm.loops.products import write_contraction
from wengert.codegen.llvm.loops.repetition import write_while
from wengert.codegen.llvm.loops.row_loops import RowLoops
from wengert.codegen.llvm.machine.alike_functions import share_alike
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.vectors import Code, Module
from wengert.codegen.numerics import LANES
from wengert.codegen.options import Options
from wengert.codegen.targets.cpu.pool import word
from wengert.codegen.targets.cpu.rounding import restore_rounding, set_rounding
from wengert.codegen.targets.cpu.sharing import (
    GATHER,
    begin_sharing,
    define_sharing,
    end_sharing,
    nanoseconds,
    share_out,
    wanted_workers,
    write_gather,
)
from wengert.codegen.targets.cpu.splitting import (
    CHUNK,
    PART,
    WHOLE,
    grain,
    is_partial,
    places_apart,
    work,
)
from wengert.codegen.views import Root
from wengert.core import lowering
from wengert.core.dims import product
from wengert.core.dtypes import int8
from wengert.core.graph import Node
from wengert.errors import CompileError

Item = TypeVar("Item")
ENTRY, WORK, SET_POINTERS = "program", "work", "set_pointers"
RUN = 64  # lines of one kind in a function: LLVM takes longer for a line of a long one


def write_module(lowered: Lowered, options: Options) -> Module:
    """The program as functions: the kernels in their order compute; then what was donated is
    written, if nothing has failed and, where that is asked for, every output is finite.

        program(frame):
            if it is divided: have as many workers as the call is worth
            work(frame)
            if it is divided: gather the status; do without the workers
    """
    program, layout, sizes = lowered.program, lowered.layout, options.sizes
    module, split = Module(options.target), program.divided
    writer = _Writer(module, layout, sizes, split)
    if split:
        define_sharing(module, grain())
        write_gather(module, layout)
    writer.define_all(program, "k")
    _write_work(writer, program, options.finite, split)
    code = Code(module, 1)
    if split:
        begin_sharing(code, wanted_workers(Frame(code, layout, program), program, sizes))
    code.do(f"call void @{WORK}(ptr %frame)")
    if split:
        code.do(f"call void @{GATHER}(ptr %frame)")
        end_sharing(code)
    code.function(ENTRY, "ptr %frame", linkage="")
    module.functions[:] = share_alike(module.functions)
    return module


def _write_work(writer: _Writer, program: Program, finite: bool, split: bool) -> None:
    """void @work(frame): what is done in a call.

    set the rounding mode, and pointers to arrays that lie in others
    call all kernels that are not gated
    if outputs must be finite: ask gated kernels what they would write; check_finite
    if anything is written over arguments:
        gather the status of all workers
        if status == 0: call the gated kernels
        commit
    restore the rounding mode
    """
    module, layout = writer.module, writer.layout
    _write_set_pointers(module, layout, program)
    code = Code(module, 1)
    before = set_rounding(code)
    code.do(f"call void @{SET_POINTERS}(ptr %frame)")
    gated = [k for k in program.order if program.kernels[k].gated]
    writer.call_kernels(code, program, [k for k in program.order if k not in gated])
    if finite:
        write_finite_check(module, layout, program, split)
        writer.check_kernels(code, program, gated)
        code.do("call void @check_finite(ptr %frame)")
    if layout.commits or gated:
        write_commit(module, layout, program, split)
        if split:
            code.do(f"call void @{GATHER}(ptr %frame)")
        good = code.compare("eq", word(code, STATUS), 0)
        code.when(good, lambda: writer.call_kernels(code, program, gated))
        code.do("call void @commit(ptr %frame)")
    restore_rounding(code, before)
    code.function(WORK, "ptr %frame")


def _proofs(program: Program, kernel: Kernel) -> tuple[Root, ...] | None:
    """The flags that together say whether all that a kernel writes is known to be finite. None if
    no flags can say it: something it writes lies behind no boundary, or behind one without a flag.
    """
    flags = program.flags()
    found = [flags.get(number, {None}) for number, _ in kernel.stores]
    roots = sorted({root for each in found for root in each if root is not None})
    return None if any(None in each for each in found) else tuple(roots)


def _is_doubted(code: Code, program: Program, proofs: Sequence[Root]) -> str:
    """An i1: whether one of the flags does not hold."""
    found = "false"
    for root in proofs:
        flag = word(code, program.slots[root], "ptr")
        held = code.let(f"load i8, ptr {flag}, align 1")
        found = code.let(f"or i1 {found}, {code.let(f'icmp eq i8 {held}, 0')}")
    return found


def _write_set_pointers(module: Module, layout: Layout, program: Program) -> None:
    """void @set_pointers(frame): set the pointers to arrays that lie in others."""
    code = Code(module, 1)
    _set_guests(module, code, layout)
    for each in all_programs(program):
        set_collected(code, layout, each)
    _set_pieces(code, layout, program)
    code.function(SET_POINTERS, "ptr %frame")


def _set_pieces(code: Code, layout: Layout, program: Program) -> None:
    """For each piece: frame[piece] = frame[whole] + where the piece begins."""
    frame = Frame(code, layout, program)
    for root, (whole, place) in program.pieces.items():
        found = program.root_type(whole)
        begin = code.address(frame.pointer(whole), frame.size(place), found.dtype)
        at = code.let(f"getelementptr i64, ptr %frame, i64 {program.slots[root]}")
        code.do(f"store ptr {begin}, ptr {at}, align 8")


def _parts(lines: Sequence[Item]) -> list[Sequence[Item]]:
    return [lines[i : i + RUN] for i in range(0, len(lines), RUN)]


def _set_guests(module: Module, code: Code, layout: Layout) -> None:
    """For each guest: frame[guest] = frame[host] + offset. Outputs, the hosts, are new in every
    call.
    """
    guests = list(layout.hosted.items())
    for n, part in enumerate(_parts(guests)):
        own = code if len(guests) <= RUN else Code(module, 1)
        # Hosts are read first: what is read behind a write would wait for it.
        hosts = dict.fromkeys(guest.host for _, guest in part)
        places = {host: word(own, host, "ptr") for host in hosts}
        for slot, guest in part:
            place = own.address(places[guest.host], guest.offset, int8)
            to = own.let(f"getelementptr i64, ptr %frame, i64 {slot}")
            own.do(f"store ptr {place}, ptr {to}, align 8")
        if own is not code:
            own.function(f"{SET_POINTERS}{n}", "ptr %frame")
            code.do(f"call void @{SET_POINTERS}{n}(ptr %frame)")


class _Writer:
    def __init__(
        self, module: Module, layout: Layout, sizes: Mapping[str, int], split: bool
    ) -> None:
        self.module, self.layout, self.sizes = module, layout, sizes
        self.split = split  # whether there are workers
        self.names: dict[int, list[str]] = {}

    def define_all(self, program: Program, prefix: str) -> None:
        """Write the functions of all kernels, those of bodies first. Of kernels that workers run,
        there is a function for a chunk, and another that shares the chunks out.
        """
        names = [f"{prefix}{k}" for k in range(len(program.kernels))]
        self.names[id(program)] = names
        for k, (kernel, name) in enumerate(zip(program.kernels, names, strict=True)):
            for inner, body in zip(body_prefixes(name), kernel.bodies, strict=False):
                self.define_all(body, inner)
            if kernel.by_workers:
                self.define(program, k, kernel, f"{name}_chunk")
                self.define_shared(program, k, name)
            else:
                self.define(program, k, kernel, name)

    def define_shared(self, program: Program, k: int, name: str, checking: bool = False) -> None:
        """void @name(frame): the function @name_chunk, shared out, or by the caller alone; and what
        comes after all chunks.
        """
        kernel = program.kernels[k]
        code = Code(self.module, 1)
        if kernel.split is None:
            code.do(f"call void @{name}_chunk(ptr %frame, i64 0, i64 0, i64 {WHOLE})")
        else:
            frame = Frame(code, self.layout, program)
            taken = nanoseconds(frame, program, k, self.sizes)
            share_out(code, f"{name}_chunk", taken, kernel.kind == "gemm")
        if kernel.partial is not None:
            end = RowLoops(self.module, self.layout, program, k, checking, by_workers=False)
            end.write_end_of_parts(f"{name}_end")
            code.do(f"call void @{name}_end(ptr %frame)")
        code.function(name, "ptr %frame")

    def define(self, program: Program, k: int, kernel: Kernel, name: str) -> None:
        if kernel.kind == "gemm":
            write_contraction(self.module, self.layout, program, k, name)
        elif kernel.kind == "scan":
            write_scan(self.module, self.layout, program, k, name, self.call_kernels)
        elif kernel.kind == "cond":
            write_cond(self.module, self.layout, program, k, name, self.call_kernels)
        elif kernel.kind == "while":
            gather = GATHER if self.split else None
            write_while(self.module, self.layout, program, k, name, self.call_kernels, gather)
        elif kernel.kind == "special":
            self.write_special(program, kernel, name)
        else:
            _loops(kernel)(self.module, self.layout, program, k).write(name)

    def call_kernels(
        self, code: Code, program: Program, numbers: Sequence[int] | None = None
    ) -> None:
        """Call kernels of a program, all of them or some, in their order; those that can run side
        by side at once.
        """
        chosen = program.order if numbers is None else numbers
        names = dict(enumerate(self.names[id(program)]))
        self.call_in_turn(code, self.with_neighbours(program, chosen, names))

    def call_in_turn(self, code: Code, names: Sequence[str]) -> None:
        """Call one after the other; of many, runs are functions of their own."""
        for part in _parts(names):
            own = code if len(names) <= RUN else Code(self.module, 1)
            for name in part:
                own.do(f"call void @{name}(ptr %frame)")
            if own is not code:
                own.function(f"{part[0]}_and_on", "ptr %frame")
                code.do(f"call void @{part[0]}_and_on(ptr %frame)")

    def with_neighbours(
        self, program: Program, numbers: Sequence[int], names: Mapping[int, str]
    ) -> list[str]:
        """The functions of kernels in their order, with one for each run of kernels that have
        nothing to do with each other.
        """
        found: list[str] = []
        for apart, run in groupby(numbers, lambda k: program.kernels[k].apart):
            together = list(run)
            if apart and len(together) > 1:
                found.append(self.define_neighbours(program, together, names))
            else:
                found += [names[k] for k in together]
        return found

    def define_neighbours(
        self, program: Program, numbers: Sequence[int], names: Mapping[int, str]
    ) -> str:
        """void(frame): kernels side by side. Their work is laid end to end, and each is run by who
        takes the chunk that its middle lies in.

            chunk: for each kernel: if from <= its middle < to: call it
        """
        code, name = Code(self.module, 1), f"{names[numbers[0]]}_and_others"
        for k, place in zip(numbers, places_apart(program, numbers, self.sizes), strict=True):
            middle = int(place * WHOLE)
            begun = code.let(f"icmp sle i64 %from, {middle}")
            before_end = code.let(f"icmp slt i64 {middle}, %to")
            call = f"call void @{names[k]}_chunk(ptr %frame, i64 %worker, i64 0, i64 {WHOLE})"
            code.when(code.let(f"and i1 {begun}, {before_end}"), partial(code.do, call))
        code.function(f"{name}_chunk", CHUNK)
        code = Code(self.module, 1)
        taken = sum(work(program, k, self.sizes) for k in numbers)
        share_out(code, f"{name}_chunk", round(taken))
        code.function(name, "ptr %frame")
        return name

    def check_kernels(self, code: Code, program: Program, gated: Sequence[int]) -> None:
        """Ask kernels that write over arguments whether what they would write is finite.

        for kernels with the same flags: if one of these does not hold: call their checks
        """
        names = {k: f"{self.names[id(program)][k]}_check" for k in gated}
        for k, name in names.items():
            kernel = program.kernels[k]
            check = _loops(kernel)(self.module, self.layout, program, k, checking=True)
            check.write(f"{name}_chunk" if kernel.by_workers else name)
            if kernel.by_workers:
                self.define_shared(program, k, name, checking=True)
        alike: dict[tuple[Root, ...] | None, list[int]] = {}
        for k in gated:
            alike.setdefault(_proofs(program, program.kernels[k]), []).append(k)
        for proofs, numbers in alike.items():
            checks = self.with_neighbours(program, numbers, names)
            call = partial(self.call_in_turn, code, checks)
            if proofs is None:
                call()
            else:
                code.when(_is_doubted(code, program, proofs), call)

    def write_special(self, program: Program, kernel: Kernel, name: str) -> None:
        node = program.node(kernel.members[0])
        special = _special(node)
        code = Code(self.module)
        frame = Frame(code, self.layout, program)
        operands = []
        for i in node.operands:
            assert i is not None
            view, found = program.views[i], program.graph.type(i)
            operands.append(
                StridedArray(
                    frame.at(view, found.dtype),
                    frame.shape(found.shape),
                    tuple(map(frame.size, view.strides)),
                    found.dtype,
                )
            )
        outputs = [self.output(frame, (kernel.members[0], i)) for i in range(node.outputs)]
        scratch = frame.word(kernel.scratch[0][0], "ptr") if kernel.scratch else "null"
        call = KernelCall(
            code,
            tuple(operands),
            tuple(outputs),
            node.params,
            scratch,
            lambda condition, position: frame.fail(condition, node, position),
            lambda x: self.report(frame, kernel, x),
        )
        special.emit(call)
        code.function(name, "ptr %frame")

    def report(self, frame: Frame, kernel: Kernel, x: StridedArray) -> None:
        """Hand an array to the function that prints."""
        number = self.layout.shown.index(shown(frame.program, kernel))
        write_report(frame, number, x, frame.program.steps)

    def output(self, frame: Frame, root: tuple[int, int]) -> StridedArray:
        found = frame.program.root_type(root)
        shape = frame.shape(found.shape)
        strides = []
        step = 1
        for size in reversed(found.shape):
            strides.append(frame.size(step))
            step = step * size
        return StridedArray(frame.pointer(root), shape, tuple(reversed(strides)), found.dtype)


def _special(node: Node) -> Special:
    """The writer of a special kernel."""
    lower = node.op.lower
    if not isinstance(lower, lowering.SpecialKernel) or lower.name not in SPECIALS:
        place = f" ({node.line})" if node.line else ""
        raise CompileError(
            f"{node.op.name}: has no code of its own; compiled programs consist of elementwise ops "
            "with `emit`, composites and the ops of Wengert. Write it as one of these, or give it "
            f"`lower=`.{place}"
        )
    return SPECIALS[lower.name]


def _loops(kernel: Kernel) -> type[Loops]:
    return {"rows": RowLoops, "columns": ColumnLoops}.get(kernel.kind, Loops)


def give_scratch(lowered: Lowered, options: Options) -> Lowered:
    """The same with words for the memory that each kernel needs while it runs.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> lowered = read('''
    ... program(%0: float32[4, 4] "a", %1: float32[4, 3] "b") {
    ...   k0 special [4, 3] reads %0, %1 stores %2 { %2: float32[4, 3] = solve(%0, %1) }
    ...   words %0: 10, %1: 11, %2: 12
    ...   return %2
    ... }
    ... frame() {
    ...   10: input 0, input 1
    ...   12: output 0
    ...   outputs 12
    ... }''')
    >>> print(show(give_scratch(lowered, Options())))
    program(%0: float32[4, 4] "a", %1: float32[4, 3] "b") {
      k0 special [4, 3] reads %0, %1 stores %2 scratch 13: 744 { %2: float32[4, 3] = solve(%0, %1) }
      words %0: 10, %1: 11, %2: 12
      return %2
    }
    frame() {
      10: input 0, input 1
      12: output 0
      13: arena
      outputs 12
    }
    """
    slots = list(lowered.layout.slots)
    program = _with_scratch(lowered.program, slots, lowered.layout.first)
    return Lowered(program, replace(lowered.layout, slots=tuple(slots)))


def _with_scratch(program: Program, slots: list[Slot], first: int) -> Program:
    def slot(what: Slot) -> int:
        slots.append(what)
        return first + len(slots) - 1

    kernels = []
    for k, kernel in enumerate(program.kernels):
        node, scratch, partial = program.node(kernel.members[0]), list(kernel.scratch), None
        if kernel.kind == "gemm":
            scratch.append((slot(Workspace()), ProductSizes(program, k).scratch()))
        elif kernel.kind == "special":
            types = [program.graph.type(i) for i in node.operands if i is not None]
            size = _special(node).scratch(types, node.params)
            scratch.append((slot(Arena()), size))
        elif kernel.kind == "rows" and is_partial(kernel, collapsed(program, kernel)):
            partial = slot(Arena())
            count = sum(is_fold(program.node(i)) for i in kernel.members)
            parts = -(-product(kernel.domain) // PART)
            scratch.append((partial, parts * count * LANES * 8))
        bodies = tuple(_with_scratch(body, slots, first) for body in kernel.bodies)
        kernels.append(replace(kernel, scratch=tuple(scratch), partial=partial, bodies=bodies))
    return replace(program, kernels=tuple(kernels))
