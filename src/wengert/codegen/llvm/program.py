"""Program: all kernels as functions of one module, and the function that calls them in order."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.kernel import Kernel, Program
from wengert.codegen.llvm.array import Array
from wengert.codegen.llvm.code import Code, Module
from wengert.codegen.llvm.commit import write_commit, write_finite_check
from wengert.codegen.llvm.contract import Contraction, write_contraction
from wengert.codegen.llvm.control import write_cond, write_scan
from wengert.codegen.llvm.folding import FoldingLoops
from wengert.codegen.llvm.frame import Frame
from wengert.codegen.llvm.loops import Loops
from wengert.codegen.llvm.rounding import restore_rounding, set_rounding
from wengert.codegen.llvm.special import Call
from wengert.codegen.llvm.specials import SPECIALS
from wengert.codegen.lower import Arena, Layout, Workspace
from wengert.core.dtypes import int8
from wengert.errors import CompileError

ENTRY = "program"


def write_program(program: Program, layout: Layout, module: Module, finite: bool = False) -> str:
    """The module's text: the kernels in their order compute; then what was donated is written, if
    nothing has failed and, where `finite` is asked for, every output is finite.
    """
    writer = _Writer(module, layout)
    writer.define_all(program, "k")
    code = Code(module, 1)
    before = set_rounding(code)
    _set_guests(code, layout)
    writer.call_kernels(code, program)
    if finite:
        write_finite_check(module, layout, program)
        code.do("call void @check_finite(ptr %frame)")
    if layout.commits:
        write_commit(module, layout, program)
        code.do("call void @commit(ptr %frame)")
    restore_rounding(code, before)
    code.function(ENTRY, "ptr %frame", linkage="")
    return module.text()


def _set_guests(code: Code, layout: Layout) -> None:
    """Pointers to arrays that lie in outputs, which are new in every call."""
    for slot, guest in layout.hosted.items():
        at = code.let(f"getelementptr i64, ptr %frame, i64 {guest.host}")
        host = code.let(f"load ptr, ptr {at}, align 8")
        place = code.address(host, guest.offset, int8)
        to = code.let(f"getelementptr i64, ptr %frame, i64 {slot}")
        code.do(f"store ptr {place}, ptr {to}, align 8")


class _Writer:
    def __init__(self, module: Module, layout: Layout) -> None:
        self.module, self.layout = module, layout
        self.names: dict[int, list[str]] = {}

    def define_all(self, program: Program, prefix: str) -> None:
        names = [f"{prefix}{k}" for k in range(len(program.kernels))]
        self.names[id(program)] = names
        for k, (kernel, name) in enumerate(zip(program.kernels, names, strict=True)):
            for b, body in enumerate(kernel.bodies):
                self.define_all(body, f"{name}_{'abc'[b]}")
            self.define(program, k, kernel, name)

    def define(self, program: Program, k: int, kernel: Kernel, name: str) -> None:
        if kernel.kind == "gemm":
            write_contraction(self.module, self.layout, program, k, name)
        elif kernel.kind == "scan":
            write_scan(self.module, self.layout, program, k, name, self.call_kernels)
        elif kernel.kind == "cond":
            write_cond(self.module, self.layout, program, k, name, self.call_kernels)
        elif kernel.kind == "special":
            self.write_special(program, kernel, name)
        else:
            loops = Loops if kernel.kind == "map" else FoldingLoops
            loops(self.module, self.layout, program, k).write(name)

    def call_kernels(self, code: Code, program: Program) -> None:
        names = self.names[id(program)]
        for k in program.order:
            code.do(f"call void @{names[k]}(ptr %frame)")

    def write_special(self, program: Program, kernel: Kernel, name: str) -> None:
        node = program.node(kernel.members[0])
        special = SPECIALS[node.op.name]
        code = Code(self.module)
        frame = Frame(code, self.layout, program)
        operands = []
        for i in node.operands:
            assert i is not None
            view, found = program.views[i], program.graph.type(i)
            operands.append(
                Array(
                    frame.at(view, found.dtype),
                    frame.shape(found.shape),
                    tuple(map(frame.size, view.strides)),
                    found.dtype,
                )
            )
        outputs = [self.output(frame, (kernel.members[0], i)) for i in range(node.outputs)]
        scratch = frame.word(kernel.scratch[0][0], "ptr") if kernel.scratch else "null"
        call = Call(
            code,
            tuple(operands),
            tuple(outputs),
            node.params,
            scratch,
            lambda condition, position: frame.fail(condition, node, position),
        )
        special.emit(call)
        code.function(name, "ptr %frame")

    def output(self, frame: Frame, root: tuple[int, int]) -> Array:
        found = frame.program.root_type(root)
        shape = frame.shape(found.shape)
        strides = []
        step = 1
        for size in reversed(found.shape):
            strides.append(frame.size(step))
            step = step * size
        return Array(frame.pointer(root), shape, tuple(reversed(strides)), found.dtype)


def ask_for_scratch(program: Program, layout: Layout) -> None:
    """Note how much memory each kernel needs while it runs."""
    for k, kernel in enumerate(program.kernels):
        node = program.node(kernel.members[0])
        if kernel.kind == "gemm":
            kernel.scratch.append((layout.slot(Workspace()), Contraction(program, k).scratch()))
        elif kernel.kind == "special":
            if node.op.name not in SPECIALS:
                place = f" ({node.line})" if node.line else ""
                raise CompileError(
                    f"{node.op.name}: has no code of its own; compiled programs consist of "
                    "elementwise ops with `emit`, composites and the ops of Wengert. Write it as "
                    f"one of these.{place}"
                )
            types = [program.graph.type(i) for i in node.operands if i is not None]
            size = SPECIALS[node.op.name].scratch(types, node.params)
            kernel.scratch.append((layout.slot(Arena()), size))
        for body in kernel.bodies:
            ask_for_scratch(body, layout)


def all_programs(program: Program) -> Sequence[Program]:
    """A program and the bodies inside it."""
    found = [program]
    for kernel in program.kernels:
        for body in kernel.bodies:
            found += all_programs(body)
    return found
