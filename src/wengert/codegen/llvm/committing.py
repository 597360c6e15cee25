"""Commit: the end of a program. Outputs are asked whether they are finite; then, if nothing has
failed, donated arrays are written. Nothing before writes to them.
"""

from __future__ import annotations

from wengert.codegen.kernel import NONFINITE, POSITION, Input, Layout, Program, byte_size
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import LANES
from wengert.codegen.targets.cpu.splitting import share
from wengert.core.dtypes import bool_, int8, is_float

COPY = "copy_share"
LINE = 64  # bytes of a cache line, which no two workers write to


def _part(code: Code, extent: Index, unit: int, split: bool) -> tuple[Index, Index]:
    return share(code, extent, unit) if split else (0, extent)


def write_commit(module: Module, layout: Layout, program: Program, split: bool) -> None:
    """void @commit(frame): copy outputs to the arrays donated for them, if nothing has failed.

    if status == 0: for each output that was computed apart: copy_share(target, output, bytes)
    """
    _write_copy(module, split)
    code = Code(module, 1)
    frame = Frame(code, layout, program)
    status = code.let("load i64, ptr %frame, align 8")
    types = program.graph.output_types()

    def copy() -> None:
        for output, slot in layout.commits:
            target, source = frame.word(slot, "ptr"), frame.word(layout.outputs[output], "ptr")
            size = frame.size(byte_size(types[output]))
            code.do(f"call void @{COPY}(ptr %frame, ptr {target}, ptr {source}, i64 {size})")

    code.when(code.compare("eq", status, 0), copy)
    code.function("commit", "ptr %frame")


def _write_copy(module: Module, split: bool) -> None:
    """void @copy_share(frame, target, source, bytes): copy this worker's share of an array."""
    code = Code(module, 1)
    begin, end = _part(code, "%bytes", LINE, split)
    target, source = (code.address(each, begin, int8) for each in ("%target", "%source"))
    code.copy(target, source, code.sub(end, begin))
    code.function(COPY, "ptr %frame, ptr %target, ptr %source, i64 %bytes")


def write_finite_check(module: Module, layout: Layout, program: Program, split: bool) -> None:
    """void @check_finite(frame): where an output is not finite, the status says so.

    for each output of floats that is not written over an argument:
        seen = no lane
        for each vector x of this worker's share: seen = seen or (x - x is NaN)
        if any lane of seen, and status == 0: status, position = NONFINITE, number of the output
    """
    code = Code(module)
    frame = Frame(code, layout, program)
    for output, found in enumerate(program.graph.output_types()):
        if not is_float(found.dtype):
            continue
        if isinstance(layout.slots[layout.outputs[output] - layout.first], Input):
            continue  # over an argument: its kernel was asked before, or it is a scratch array
        pointer = frame.word(layout.outputs[output], "ptr")
        begin, count = _part(code, frame.size(found.size), LANES, split)
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
        seen = code.loop(begin, count, LANES, step, carry)
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
