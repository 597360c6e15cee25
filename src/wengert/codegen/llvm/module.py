"""Module: all kernels as functions of one module, and the function that calls them in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TypeVar

from wengert.codegen.kernel import (
    ROOM,
    STATUS,
    Kernel,
    Layout,
    Lowered,
    Program,
    all_programs,
    shown,
)
from wengert.codegen.kernel_text.names import body_prefixes
from wengert.codegen.llvm.calling import RUN, TABLE, Callee, Caller
from wengert.codegen.llvm.commit_code import write_commit, write_finite_check
from wengert.codegen.llvm.kernels.kernel_call import KernelCall
from wengert.codegen.llvm.kernels.registry import special_of
from wengert.codegen.llvm.kernels.report import write_report
from wengert.codegen.llvm.loops.bodies import set_collected, write_cond, write_scan
from wengert.codegen.llvm.loops.column_loops import ColumnLoops
from wengert.codegen.llvm.loops.ended_folds import write_end, write_rows_and_end
from wengert.codegen.llvm.loops.kernel_forms import KernelForm, KernelForms, alike
from wengert.codegen.llvm.loops.maps import Loops
from wengert.codegen.llvm.loops.products import write_contraction
from wengert.codegen.llvm.loops.repetition import write_while
from wengert.codegen.llvm.loops.row_loops import RowLoops
from wengert.codegen.llvm.machine.alike_functions import share_alike
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.frame import Frame, RowPlaces
from wengert.codegen.llvm.text.vectors import Code, Index, Module
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
    WHOLE,
    chunk,
    grain,
    least_work,
    places_apart,
    work,
)
from wengert.codegen.views import Root
from wengert.core.dtypes import int8

Item = TypeVar("Item")
ENTRY, WORK, SET_POINTERS = "program", "work", "set_pointers"


def write_module(lowered: Lowered, options: Options, named: bool = False) -> Module:
    """The program as functions: the kernels in their order compute; then what was donated is
    written, if nothing has failed and, where that is asked for, every output is finite.

        program(frame):
            if it is divided: have as many workers as the call is worth
            work(frame)
            if it is divided: gather the status; do without the workers

    Kernels that are alike share a function; if `named`, each has one that is called by its name.
    """
    program, layout, sizes = lowered.program, lowered.layout, options.sizes
    module, split = Module(options.target), program.divided
    caller = Caller(module)
    writer = _Writer(module, layout, sizes, split, caller, named)
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
    caller.table.define()
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
    free = [k for k in program.order if not program.kernels[k].gated]
    writer.call_kernels(code, program, free)
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


def _proofs(flags: Mapping[int, set[Root | None]], kernel: Kernel) -> tuple[Root, ...] | None:
    """The flags that together say whether all that a kernel writes is known to be finite. None if
    no flags can say it: something it writes lies behind no boundary, or behind one without a flag.
    """
    flag_sets = [flags.get(number, {None}) for number, _ in kernel.stores]
    roots = sorted({root for each in flag_sets for root in each if root is not None})
    return None if any(None in each for each in flag_sets) else tuple(roots)


def _is_doubted(code: Code, program: Program, proofs: Sequence[Root]) -> str:
    """An i1: whether one of the flags does not hold."""
    doubted = "false"
    for root in proofs:
        flag = word(code, program.slots[root], "ptr")
        held = code.let(f"load i8, ptr {flag}, align 1")
        doubted = code.let(f"or i1 {doubted}, {code.let(f'icmp eq i8 {held}, 0')}")
    return doubted


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
        array_type = program.root_type(whole)
        begin = code.address(frame.pointer(whole), frame.size(place), array_type.dtype)
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
        # Hosts are read first: a read after a write would wait for it.
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
    """Writes the functions of kernels; those that are alike share one, unless each is to have one
    of its own name.
    """

    def __init__(
        self,
        module: Module,
        layout: Layout,
        sizes: Mapping[str, int],
        split: bool,
        caller: Caller,
        named: bool,
    ) -> None:
        self.module, self.layout, self.sizes = module, layout, sizes
        self.split = split  # whether there are workers
        self.caller, self.named = caller, named
        self.callees: dict[int, list[Callee]] = {}  # of the kernels of each program

    def define_all(self, program: Program, prefix: str) -> None:
        """Write the functions of all kernels, those of bodies first. Of kernels that workers run,
        there is a function for a chunk, and another that shares the chunks out.
        """
        names = [f"{prefix}{k}" for k in range(len(program.kernels))]
        written = self.define_chunks(program, names)

        def write(k: int, name: str, places: RowPlaces) -> None:
            kernel = program.kernels[k]
            for inner, body in zip(body_prefixes(names[k]), kernel.bodies, strict=False):
                self.define_all(body, inner)
            if kernel.by_workers:
                if k not in written:
                    self.define(program, k, f"{name}_chunk")
                self.define_shared(program, k, name)
            else:
                self.define(program, k, name, places)

        numbers = range(len(names))
        self.callees[id(program)] = self.define_alike(program, numbers, names, write)

    def define_chunks(self, program: Program, names: Sequence[str]) -> set[int]:
        """Write the chunks of kernels that are alike: one function, and for each kernel another
        that calls it with the kernel's own numbers. Returns which kernels these are.
        """
        if self.named:
            return set()
        find = KernelForms(self.layout, program)
        forms = [find.of_chunks(k) for k in range(len(names))]
        groups = alike(forms)
        for group in groups:
            function, first = f"{names[group[0]]}_chunk_alike", forms[group[0]]
            assert first is not None
            self.define(program, group[0], function, first.places)
            for k in group:
                form, code = forms[k], Code(self.module, 1)
                assert form is not None
                row = f"getelementptr (i64, ptr @{TABLE}, i64 {self.caller.table.add(form.row)})"
                code.do(f"call void @{function}({CHUNK}, ptr {row})")
                code.function(f"{names[k]}_chunk", CHUNK)
        return {k for group in groups for k in group}

    def define_alike(
        self,
        program: Program,
        numbers: Sequence[int],
        names: Sequence[str],
        write: Callable[[int, str, RowPlaces], None],
        checking: bool = False,
    ) -> list[Callee]:
        """Write the functions of these kernels, and return how each is called. `write` is given a
        kernel, the name of its function and, if it has a form, the places of the form's numbers.
        """
        forms: list[KernelForm | None] = [None] * len(names)
        if not self.named and len(names) > 1:
            find = KernelForms(self.layout, program)
            forms = [find.of(k, checking) for k in numbers]
        shared = {n: group[0] for group in alike(forms) for n in group}
        calls = []
        for n, (k, name) in enumerate(zip(numbers, names, strict=True)):
            form, function = forms[n], f"{names[shared.get(n, n)]}_alike"
            if form is None or n not in shared:
                write(k, name, None)
                calls.append(Callee(name, name))
                continue
            if shared[n] == n:
                write(k, function, form.places)
            calls.append(Callee(name, function, form.row))
        return calls

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
            share_out(code, f"{name}_chunk", taken, least_work(program, k, self.sizes))
        if kernel.partial is not None:
            write_end(self.module, self.layout, program, k, f"{name}_end", checking)
            code.do(f"call void @{name}_end(ptr %frame)")
        code.function(name, "ptr %frame")

    def define(self, program: Program, k: int, name: str, places: RowPlaces = None) -> None:
        module, layout, kernel = self.module, self.layout, program.kernels[k]
        if kernel.kind == "gemm":
            write_contraction(module, layout, program, k, name, places)
        elif kernel.kind == "scan":
            write_scan(module, layout, program, k, name, self.call_kernels)
        elif kernel.kind == "cond":
            write_cond(module, layout, program, k, name, self.call_kernels)
        elif kernel.kind == "while":
            gather = GATHER if self.split else None
            write_while(module, layout, program, k, name, self.call_kernels, gather)
        elif kernel.kind == "special":
            self.write_special(program, kernel, name, places)
        elif kernel.down and not kernel.by_workers:
            write_rows_and_end(module, layout, program, k, name, places)
        else:
            _loops(kernel)(module, layout, program, k, places=places).write(name)

    def call_kernels(
        self, code: Code, program: Program, numbers: Sequence[int] | None = None
    ) -> None:
        """Call kernels of a program, all of them or some, in their order; those that can run side
        by side at once.
        """
        chosen = program.order if numbers is None else numbers
        callees = dict(enumerate(self.callees[id(program)]))
        self.caller.call(code, self.with_neighbours(program, chosen, callees))

    def with_neighbours(
        self, program: Program, numbers: Sequence[int], callees: Mapping[int, Callee]
    ) -> list[Callee]:
        """The functions of kernels in their order, with one for each run of kernels that are
        independent of each other.
        """
        calls: list[Callee] = []
        for apart, run in groupby(numbers, lambda k: program.kernels[k].apart):
            together = list(run)
            if apart and len(together) > 1:
                names = {k: callees[k].function for k in together}
                name = self.define_neighbours(program, together, names)
                calls.append(Callee(name, name))
            else:
                calls += [callees[k] for k in together]
        return calls

    def define_neighbours(
        self, program: Program, numbers: Sequence[int], names: Mapping[int, str]
    ) -> str:
        """void(frame): kernels side by side. Their work is laid end to end, and each is run by the
        worker that takes the chunk in which its middle lies.

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
        """Check whether what these kernels would write over arguments is finite.

        for kernels with the same flags: if one of these does not hold: call their checks
        """

        def write(k: int, name: str, places: RowPlaces) -> None:
            kernel = program.kernels[k]
            check = _loops(kernel)(self.module, self.layout, program, k, True, places=places)
            check.write(f"{name}_chunk" if kernel.by_workers else name)
            if kernel.by_workers:
                self.define_shared(program, k, name, checking=True)

        names = [f"{self.callees[id(program)][k].kernel}_check" for k in gated]
        check_calls = self.define_alike(program, gated, names, write, checking=True)
        callees = dict(zip(gated, check_calls, strict=True))
        flags = program.flags()
        alike_flags: dict[tuple[Root, ...] | None, list[int]] = {}
        for k in gated:
            alike_flags.setdefault(_proofs(flags, program.kernels[k]), []).append(k)
        for proofs, numbers in alike_flags.items():
            checks = self.with_neighbours(program, numbers, callees)
            call = partial(self.caller.call, code, checks)
            if proofs is None:
                call()
            else:
                code.when(_is_doubted(code, program, proofs), call)

    def write_special(self, program: Program, kernel: Kernel, name: str, places: RowPlaces) -> None:
        node = program.node(kernel.members[0])
        special = special_of(node)
        code = Code(self.module)
        divided = kernel.split is not None
        frame = Frame(code, self.layout, program, "%worker" if divided else None, places)
        operands = []
        for i in node.operands:
            assert i is not None
            view, operand_type = program.views[i], program.graph.type(i)
            operands.append(
                StridedArray(
                    frame.at(view, operand_type.dtype),
                    frame.shape(operand_type.shape),
                    tuple(map(frame.size, view.strides)),
                    operand_type.dtype,
                )
            )
        outputs = [self.output(frame, (kernel.members[0], i)) for i in range(node.outputs)]
        types = [program.graph.type(i) for i in node.operands if i is not None]
        units: tuple[Index, Index] = (0, 1)
        if special.units is not None:
            count = frame.size(special.units(types, node.params))
            units = chunk(code, count) if divided else (0, count)
        scratch = "null"
        if kernel.scratch:
            slot, _ = kernel.scratch[0]
            own = divided and frame.own(slot, frame.fixed_word(ROOM))
            scratch = own or frame.word(slot, "ptr")
        call = KernelCall(
            code,
            tuple(operands),
            tuple(outputs),
            node.params,
            scratch,
            lambda condition, position: frame.fail(condition, node, position),
            units,
            lambda x: self.report(frame, kernel, x),
        )
        special.emit(call)
        code.function(name, CHUNK if divided else f"ptr {frame.params}")

    def report(self, frame: Frame, kernel: Kernel, x: StridedArray) -> None:
        """Hand an array to the function that prints."""
        number = self.layout.shown.index(shown(frame.program, kernel))
        write_report(frame, number, x, frame.program.steps)

    def output(self, frame: Frame, root: tuple[int, int]) -> StridedArray:
        array_type = frame.program.root_type(root)
        shape = frame.shape(array_type.shape)
        strides = []
        step = 1
        for size in reversed(array_type.shape):
            strides.append(frame.size(step))
            step = step * size
        return StridedArray(frame.pointer(root), shape, tuple(reversed(strides)), array_type.dtype)


def _loops(kernel: Kernel) -> type[Loops]:
    return {"rows": RowLoops, "columns": ColumnLoops}.get(kernel.kind, Loops)
