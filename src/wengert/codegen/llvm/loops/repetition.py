"""Loops that run as long as a program says so, before each step."""

from __future__ import annotations

from typing import Any

from wengert.codegen.kernel import STATUS, Layout, Program, byte_size
from wengert.codegen.llvm.loops.bodies import CallKernels, Control, input_slot, return_root
from wengert.codegen.llvm.text.vectors import Index, Module
from wengert.codegen.targets.cpu.pool import word


def write_while(
    module: Module,
    layout: Layout,
    program: Program,
    number: int,
    name: str,
    call_kernels: CallKernels,
    gather: str | None,
) -> None:
    """The function of a loop that ends by itself. Where the program has workers, `gather` is the
    function that collects their failures.
    """
    control = Control(module, layout, program, number)
    _While(control, call_kernels, gather).write()
    control.code.function(name, "ptr %frame")


class _While:
    """A carry goes from step to step through two arrays in turn, or, where all of them are saved,
    through the array of saved ones. In the end it is copied to where results lie.
    """

    def __init__(self, control: Control, call_kernels: CallKernels, gather: str | None) -> None:
        self.c, self.call_kernels, self.gather = control, call_kernels, gather
        params: dict[str, Any] = control.node.params
        self.test, self.body = control.kernel.bodies
        self.consts, self.carry = params["consts"], params["carry"]
        self.limit: int | None = params["max_steps"]
        types = self.body.graph.output_types()
        self.sizes = [control.frame.size(byte_size(each)) for each in types]
        *slots, (flag, _) = control.kernel.scratch[: 2 * self.carry + 1]
        self.turns = [control.frame.word(slot, "ptr") for slot, _ in slots]
        self.flag = control.frame.word(flag, "ptr")
        begin = self.carry + 1
        count = self.carry if params["save"] else 0
        self.stacks = [control.output(begin + i) for i in range(count)]

    def write(self) -> None:
        c, code = self.c, self.c.code
        for program in (self.test, self.body):
            for i in range(self.consts):
                c.set_slot(input_slot(program, i), c.operand(i))
        c.set_slot(self.test.slots[return_root(self.test, 0)], self.flag)
        first = [c.operand(self.consts + i) for i in range(self.carry)]
        if self.stacks and self.limit:
            self.copy_all(self.stacks, first)
        carry = [("ptr", p) for p in (*first, *self.turns[::2])]
        steps, last = code.repeat(self.goes_on, self.step, carry)
        self.finish(steps, last[: self.carry])

    def goes_on(self, n: Index, carried: list[str]) -> str:
        """An i1: whether another step follows."""
        c, code = self.c, self.c.code
        if c.kernel.step is not None:
            at = code.let(f"getelementptr i64, ptr %frame, i64 {c.kernel.step}")
            code.do(f"store i64 {n}, ptr {at}, align 8")
        for program in (self.test, self.body):
            for i in range(self.carry):
                c.set_slot(input_slot(program, self.consts + i), carried[i])
        self.call_kernels(code, self.test)
        held = code.let(f"load i8, ptr {self.flag}, align 1")
        going = code.let(f"icmp ne i8 {held}, 0")
        going = self.where_nothing_failed(going)
        if self.limit is None:
            return going
        over = code.let(f"and i1 {going}, {code.compare('sge', n, self.limit)}")
        c.frame.fail(over, c.node, n)
        return code.let(f"xor i1 {going}, {over}")

    def where_nothing_failed(self, going: str) -> str:
        """Whether to go on; not if something has failed: with such numbers it might never end."""
        code = self.c.code
        if not self.c.frame.layout.failing:
            return going
        if self.gather is not None:
            code.do(f"call void @{self.gather}(ptr %frame)")
        good = code.compare("eq", word(code, STATUS), 0)
        return code.let(f"and i1 {going}, {good}")

    def step(self, n: Index, carried: list[str]) -> list[str]:
        c, code = self.c, self.c.code
        ins, spare = carried[: self.carry], carried[self.carry :]
        outs = self.targets(n, spare)
        for i, place in enumerate(outs):
            c.set_slot(self.body.slots[return_root(self.body, i)], place)
        self.call_kernels(code, self.body)
        is_first = code.compare("eq", n, 0)
        following = [c.choose(is_first, self.turns[2 * i + 1], x) for i, x in enumerate(ins)]
        return [*outs, *following]

    def targets(self, n: Index, spare: list[str]) -> list[str]:
        """Where a step puts its carry: where it is saved, if another step may follow."""
        if not self.stacks:
            return spare
        c, following = self.c, self.c.code.add(n, 1)
        assert self.limit is not None
        fits = c.code.compare("slt", following, self.limit)
        rows = [
            c.moved(x, following, size) for x, size in zip(self.stacks, self.sizes, strict=True)
        ]
        return [c.choose(fits, row, x) for row, x in zip(rows, self.turns[::2], strict=True)]

    def copy_all(self, targets: list[str], sources: list[str]) -> None:
        for target, source, size in zip(targets, sources, self.sizes, strict=True):
            self.c.code.copy(target, source, size)

    def finish(self, steps: Index, last: list[str]) -> None:
        c = self.c
        self.copy_all([c.output(i) for i in range(self.carry)], last)
        if not c.node.params["save"]:
            return
        c.code.do(f"store i64 {steps}, ptr {c.output(self.carry)}, align 8")
        assert self.limit is not None
        for stack, size in zip(self.stacks, self.sizes, strict=True):
            c.clear_rows(stack, size, steps, self.limit)
