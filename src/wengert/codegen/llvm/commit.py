"""Commit: the end of a program. Outputs are asked whether they are finite; then, if nothing has
failed, donated arrays are written. Nothing before writes to them.
"""

from __future__ import annotations

from wengert.codegen.kernel import Program
from wengert.codegen.llvm.code import LANES, Code, Index, Module, Vector
from wengert.codegen.llvm.emit import Arithmetic
from wengert.codegen.llvm.frame import Frame
from wengert.codegen.lower import NONFINITE, POSITION, Layout, byte_size
from wengert.core.dtypes import bool_, is_float


def write_commit(module: Module, layout: Layout, program: Program) -> None:
    """void @commit(frame): where the status is 0, copy outputs to the arrays donated for them."""
    code = Code(module, 1)
    frame = Frame(code, layout, program)
    status = code.let("load i64, ptr %frame, align 8")
    types = program.graph.output_types()

    def copy() -> None:
        for output, slot in layout.commits:
            target, source = frame.word(slot, "ptr"), frame.word(layout.outputs[output], "ptr")
            size = frame.size(byte_size(types[output]))
            code.copy(target, source, size)

    code.when(code.compare("eq", status, 0), copy)
    code.function("commit", "ptr %frame")


def write_finite_check(module: Module, layout: Layout, program: Program) -> None:
    """void @check_finite(frame): where an output is not finite, the status says so."""
    code = Code(module)
    frame = Frame(code, layout, program)
    for output, found in enumerate(program.graph.output_types()):
        if not is_float(found.dtype):
            continue
        pointer, count = frame.word(layout.outputs[output], "ptr"), frame.size(found.size)
        e = Arithmetic(code, found.dtype)

        def step(
            i: Index,
            seen: list[str],
            pointer: str = pointer,
            count: Index = count,
            e: Arithmetic = e,
        ) -> tuple[str, ...]:
            mask = code.first_lanes(code.sub(count, i))
            x = code.load(code.address(pointer, i, e.dtype), e.dtype, mask)
            gap = e.sub(x, x)  # NaN for what is not finite
            return e.or_(Vector(tuple(seen), bool_), e.ne(gap, gap)).parts

        none = code.constant(False, bool_)
        carry = [(code.type(bool_), part) for part in none.parts]
        seen = code.loop(0, count, LANES, step, carry)
        _note(code, e.any_lane(Vector(tuple(seen), bool_)), output)
    code.function("check_finite", "ptr %frame")


def _note(code: Code, bad: str, output: int) -> None:
    status = code.let("load i64, ptr %frame, align 8")
    first = code.let(f"and i1 {bad}, {code.compare('eq', status, 0)}")

    def note() -> None:
        code.do(f"store i64 {NONFINITE}, ptr %frame, align 8")
        at = code.let(f"getelementptr i64, ptr %frame, i64 {POSITION}")
        code.do(f"store i64 {output}, ptr {at}, align 8")

    code.when(first, note)
