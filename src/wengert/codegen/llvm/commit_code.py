"""Commit: the end of a program. Outputs may be checked to be finite; then, if nothing has failed,
donated arrays are written. Nothing before writes to them.
"""

from __future__ import annotations

from wengert.codegen.kernel import LINE, Input, Layout, Program, byte_size
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.frame import Frame
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import LANES
from wengert.codegen.targets.cpu.sharing import share_out
from wengert.codegen.targets.cpu.splitting import CHUNK, chunk, nanoseconds_of_bytes
from wengert.core.dtypes import bool_, int8, is_float

COMMIT, CHECK = "commit", "check_finite"
COPY = "copy_chunk"
BYTES = 8 * LINE  # of a cache line, which no two workers write to


def _params(split: bool) -> str:
    return CHUNK if split else "ptr %frame"


def _chunk(code: Code, extent: Index, unit: int, split: bool) -> tuple[Index, Index]:
    return chunk(code, extent, unit) if split else (0, extent)


def _end(module: Module, layout: Layout, program: Program, name: str, outputs: list[int]) -> None:
    """void @name(frame): the function @name_chunk, shared out. It goes over these outputs."""
    code = Code(module, 1)
    frame, types = Frame(code, layout, program), program.graph.output_types()
    total: Index = 0
    for output in outputs:
        total = code.add(total, frame.size(byte_size(types[output])))
    share_out(code, f"{name}_chunk", nanoseconds_of_bytes(code, total))
    code.function(name, "ptr %frame")


def write_commit(module: Module, layout: Layout, program: Program, split: bool) -> None:
    """void @commit(frame): copy outputs to the arrays donated for them, if nothing has failed.

    if status == 0: for each output that was computed apart: copy_chunk(target, output, bytes)
    """
    _write_copy(module, split)
    code = Code(module, 1)
    frame = Frame(code, layout, program)
    status = code.let("load i64, ptr %frame, align 8")
    types = program.graph.output_types()
    where = ", i64 %from, i64 %to" if split else ""

    def copy() -> None:
        for output, slot in layout.commits:
            target, source = frame.word(slot, "ptr"), frame.word(layout.outputs[output], "ptr")
            size = frame.size(byte_size(types[output]))
            code.do(f"call void @{COPY}(ptr {target}, ptr {source}, i64 {size}{where})")

    code.when(code.compare("eq", status, 0), copy)
    code.function(f"{COMMIT}_chunk" if split else COMMIT, _params(split))
    if split:
        _end(module, layout, program, COMMIT, [output for output, _ in layout.commits])


def _write_copy(module: Module, split: bool) -> None:
    """void @copy_chunk(target, source, bytes, from, to): copy a chunk of an array."""
    code = Code(module, 1)
    begin, end = _chunk(code, "%bytes", BYTES, split)
    target, source = (code.address(each, begin, int8) for each in ("%target", "%source"))
    code.copy(target, source, code.sub(end, begin))
    where = ", i64 %from, i64 %to" if split else ""
    code.function(COPY, f"ptr %target, ptr %source, i64 %bytes{where}")


def checked_outputs(layout: Layout, program: Program) -> list[int]:
    """The outputs that are read once more to see whether they are finite. One that is written over
    an argument is not: its kernel was checked before, or it is a scratch array.
    """
    types = program.graph.output_types()
    over = {n for n, slot in enumerate(layout.outputs) if layout.holds(slot, Input)}
    return [
        n for n, output_type in enumerate(types) if is_float(output_type.dtype) and n not in over
    ]


def write_finite_check(module: Module, layout: Layout, program: Program, split: bool) -> None:
    """void @check_finite(frame): where an output is not finite, the status says so.

    for each output of floats that is not written over an argument:
        seen = no lane
        for each vector x of this chunk: seen = seen or (x - x is NaN)
        if any lane of seen: refuse the output
    """
    code = Code(module)
    frame = Frame(code, layout, program, "%worker" if split else None)
    types, outputs = program.graph.output_types(), checked_outputs(layout, program)
    for output in outputs:
        output_type = types[output]
        pointer = frame.word(layout.outputs[output], "ptr")
        begin, count = _chunk(code, frame.size(output_type.size), LANES, split)
        e = Arithmetic(code, output_type.dtype)

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
        frame.refuse_output(e.any_lane(Vector(tuple(seen), bool_)), output)
    code.function(f"{CHECK}_chunk" if split else CHECK, _params(split))
    if split:
        _end(module, layout, program, CHECK, outputs)
