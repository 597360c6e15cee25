"""Bodies: loops and branches whose bodies are programs. Such a kernel sets the pointers that the
kernels of its body find in the frame, and calls these, in a loop in each step; nothing is allocated
on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.codegen.kernel import Kernel, Layout, Program, byte_size
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.targets.cpu.pool import word
from wengert.codegen.views import Root
from wengert.core.dims import Size
from wengert.core.dtypes import int8

CallKernels = Callable[[Code, Program], None]


class Control:
    """One function for a loop or a branch."""

    def __init__(self, module: Module, layout: Layout, program: Program, number: int) -> None:
        self.program, self.kernel = program, program.kernels[number]
        self.number = self.kernel.members[0]
        self.node = program.node(self.number)
        self.code = Code(module, 1)
        self.frame = Frame(self.code, layout, program)

    def operand(self, position: int) -> str:
        """The pointer to an operand, whose elements lie in order."""
        number = self.node.operands[position]
        assert number is not None
        view = self.program.whole_view(number)
        return self.frame.at(view, self.program.root_type(view.root).dtype)

    def output(self, position: int) -> str:
        return self.frame.pointer((self.number, position))

    def set_slot(self, slot: int, pointer: str) -> None:
        at = self.code.let(f"getelementptr i64, ptr %frame, i64 {slot}")
        self.code.do(f"store ptr {pointer}, ptr {at}, align 8")

    def moved(self, pointer: str, step: Index, size: Index) -> str:
        return self.code.address(pointer, self.code.mul(step, size), int8)

    def clear_rows(self, array: str, size: Index, begin: Index, end: Index) -> None:
        """Write zeros for steps that were not taken: rows of so many bytes."""
        code = self.code
        code.clear(self.moved(array, begin, size), code.mul(code.sub(end, begin), size))

    def choose(self, condition: str, x: str, y: str) -> str:
        return self.code.let(f"select i1 {condition}, ptr {x}, ptr {y}")


def input_slot(body: Program, position: int) -> int:
    return body.slots[body.graph.inputs[position], 0]


def return_root(body: Program, position: int) -> Root:
    return body.views[body.graph.returns[position]].root


def set_collected(code: Code, layout: Layout, program: Program) -> None:
    """Set the pointers to arrays of collected carries. Each lies in the array of saved ones, and
    begins one step later.

        for each carry that is saved and collected:
            frame[collected] = frame[saved] + the bytes of one carry
    """
    frame = Frame(code, layout, program)
    for kernel in program.kernels:
        for i, j in kernel.stacks.items():
            node, body = program.node(kernel.members[0]), kernel.bodies[0].graph
            carry_type = body.input_types()[node.params["consts"] + i]
            # Read here, not at the beginning: it may lie in an output, whose place was just set.
            saved = word(code, program.slots[kernel.members[0], len(body.returns) + i], "ptr")
            place = code.address(saved, frame.size(byte_size(carry_type)), int8)
            at = code.let(
                f"getelementptr i64, ptr %frame, i64 {program.slots[kernel.members[0], j]}"
            )
            code.do(f"store ptr {place}, ptr {at}, align 8")


def write_scan(
    module: Module,
    layout: Layout,
    program: Program,
    number: int,
    name: str,
    call_kernels: CallKernels,
) -> None:
    """The function of a loop: see `_Scan`."""
    c = Control(module, layout, program, number)
    _Scan(c, call_kernels).write()
    c.code.function(name, "ptr %frame")


class _Scan:
    """A carry goes from step to step through two arrays in turn, or, where all of them are saved,
    through the array of saved ones; the last step writes the result.

        set the pointers to constants
        if carries are saved: saved[begin] = the first carry
        ins = the first carry
        for n in 0, 1 … length - 1:
            t = length - 1 - n if reverse else n
            outs = the result if this is the last step, else saved[after t], else the spare array
            set pointers: carry -> ins and outs, inputs and collected outputs -> row t
            call the kernels of the body
            ins, spare = outs, ins
        if length == 0: the result = the first carry
    """

    def __init__(self, control: Control, call_kernels: CallKernels) -> None:
        self.c, self.call_kernels = control, call_kernels
        params: dict[str, Any] = control.node.params
        self.body: Program = control.kernel.bodies[0]
        self.consts, self.carry = params["consts"], params["carry"]
        self.reverse, self.save = params["reverse"], params["save"]
        graph = self.body.graph
        self.limit = control.frame.size(params["length"])
        self.counted = len(control.node.operands) > len(graph.inputs)
        self.length = self.steps() if self.counted else self.limit
        self.input_sizes = [self.size(t) for t in graph.input_types()]
        self.output_sizes = [self.size(t) for t in graph.output_types()]

    def size(self, array_type: Any) -> Index:
        size: Size = byte_size(array_type)
        return self.c.frame.size(size)

    def steps(self) -> Index:
        """How many steps are taken, of those there could be: the last operand says so."""
        code, place = self.c.code, self.c.operand(len(self.body.graph.inputs))
        given = code.let(f"load i64, ptr {place}, align 8")
        return code.max(code.min(given, self.limit), 0)

    def write(self) -> None:
        c, code = self.c, self.c.code
        for i in range(self.consts):
            c.set_slot(input_slot(self.body, i), c.operand(i))
        first = [c.operand(self.consts + i) for i in range(self.carry)]
        last_outputs = [c.output(i) for i in range(self.carry)]
        turns = [c.frame.word(slot, "ptr") for slot, _ in c.kernel.scratch[: 2 * self.carry]]
        stacks = self.stacks()
        if self.save:
            self.save_first(first, stacks)

        def step(n: Index, carried: list[str]) -> list[str]:
            ins, spare = carried[: self.carry], carried[self.carry :]
            t = code.sub(code.sub(self.length, 1), n) if self.reverse else n
            is_last = code.compare("eq", n, code.sub(self.length, 1))
            outs = self.targets(is_last, t, spare, last_outputs, stacks)
            self.set_pointers(t, ins, outs)
            self.call_kernels(code, self.body)
            return [*outs, *(self.after(ins, spare, n, turns))]

        carry = [("ptr", p) for p in (*first, *turns[::2])]
        code.loop(0, self.length, 1, step, carry)
        self.finish(first, last_outputs, stacks)

    def finish(self, first: list[str], last_outputs: list[str], stacks: list[str]) -> None:
        """The results that no step has written."""
        c, code = self.c, self.c.code
        for i in c.kernel.stacks:
            size = self.input_sizes[self.consts + i]
            code.copy(last_outputs[i], c.moved(stacks[i], self.length, size), size)
        if self.counted:
            ys = [c.output(i) for i in range(self.carry, len(self.output_sizes))]
            sizes = [*self.output_sizes[self.carry :], *self.input_sizes[self.consts :]]
            for array, size in zip([*ys, *stacks], sizes, strict=False):
                c.clear_rows(array, size, self.length, self.limit)
        if isinstance(self.length, int) and self.length > 0:
            return
        empty = code.compare("eq", self.length, 0)
        code.when(empty, lambda: self.copy_all(last_outputs, first))

    def copy_all(self, targets: list[str], sources: list[str]) -> None:
        sizes = self.input_sizes[self.consts :]
        for target, source, size in zip(targets, sources, sizes, strict=False):
            self.c.code.copy(target, source, size)

    def stacks(self) -> list[str]:
        """Pointers to the arrays in which carries are saved, if they are."""
        if not self.save:
            return []
        begin = len(self.body.graph.returns)
        return [self.c.output(begin + i) for i in range(self.carry)]

    def save_first(self, first: list[str], stacks: list[str]) -> None:
        code = self.c.code
        begin = code.max(code.sub(self.length, 1), 0) if self.reverse else 0

        def save() -> None:
            sizes = self.input_sizes[self.consts :]
            places = [
                self.c.moved(stack, begin, size) for stack, size in zip(stacks, sizes, strict=False)
            ]
            self.copy_all(places, first)

        code.when(code.compare("sgt", self.length, 0), save)

    def targets(
        self, is_last: str, t: Index, spare: list[str], last: list[str], stacks: list[str]
    ) -> list[str]:
        """Where this step puts its carry."""
        code = self.c.code
        targets = []
        for i in range(self.carry):
            if self.save:
                following = code.sub(t, 1) if self.reverse else code.add(t, 1)
                size = self.input_sizes[self.consts + i]
                between = self.c.moved(stacks[i], following, size)
            else:
                between = spare[i]
            alone = i not in self.c.kernel.stacks
            targets.append(self.c.choose(is_last, last[i], between) if alone else between)
        return targets

    def after(self, ins: list[str], spare: list[str], n: Index, turns: list[str]) -> list[str]:
        """The arrays that the next step writes its carry to: those that this step has read. The
        first step has read an argument; after it, it is the second array of the two.
        """
        code = self.c.code
        is_first = code.compare("eq", n, 0)
        return [self.c.choose(is_first, turns[2 * i + 1], ins[i]) for i in range(len(spare))]

    def set_pointers(self, t: Index, ins: list[str], outs: list[str]) -> None:
        c, body = self.c, self.body
        if c.kernel.step is not None:
            at = c.code.let(f"getelementptr i64, ptr %frame, i64 {c.kernel.step}")
            c.code.do(f"store i64 {t}, ptr {at}, align 8")
        for i in range(self.carry):
            c.set_slot(input_slot(body, self.consts + i), ins[i])
            c.set_slot(body.slots[return_root(body, i)], outs[i])
        begin = self.consts + self.carry
        for i in range(begin, len(body.graph.inputs)):
            c.set_slot(input_slot(body, i), c.moved(c.operand(i), t, self.input_sizes[i]))
        stacked = c.kernel.stacks.values()
        for i in range(self.carry, len(body.graph.returns)):
            if i in stacked:
                continue
            place = c.moved(c.output(i), t, self.output_sizes[i])
            c.set_slot(body.slots[return_root(body, i)], place)


def write_cond(
    module: Module,
    layout: Layout,
    program: Program,
    number: int,
    name: str,
    call_kernels: CallKernels,
) -> None:
    """The function of a branch.

    body = then if *condition else orelse
    set pointers: inputs of the body -> operands, its results -> outputs
    call the kernels of the body
    """
    c = Control(module, layout, program, number)
    code = c.code
    held = code.let(f"load i8, ptr {c.operand(0)}, align 1")
    kernel: Kernel = c.kernel

    def branch(body: Program) -> list[str]:
        for i in range(len(body.graph.inputs)):
            c.set_slot(input_slot(body, i), c.operand(1 + i))
        for i in range(len(body.graph.returns)):
            c.set_slot(body.slots[return_root(body, i)], c.output(i))
        call_kernels(code, body)
        return []

    then, orelse = kernel.bodies
    code.either(code.let(f"icmp ne i8 {held}, 0"), [], lambda: branch(then), lambda: branch(orelse))
    code.function(name, "ptr %frame")
