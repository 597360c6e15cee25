"""Memory that kernels work in."""

from __future__ import annotations

from dataclasses import replace

from wengert.codegen.kernel import Arena, Kernel, Lowered, Program, Slot, Workspace, is_fold
from wengert.codegen.llvm.kernels.registry import special_of
from wengert.codegen.llvm.loops.axis_groups import collapsed
from wengert.codegen.llvm.loops.product_sizes import ProductSizes
from wengert.codegen.numerics import BLOCK, LANES
from wengert.codegen.options import Options
from wengert.codegen.sums_down import columns_of
from wengert.codegen.targets.cpu.splitting import is_partial, part_of_row
from wengert.core.dims import Size, product


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
            special = special_of(node)
            memory = Arena() if special.units is None else Workspace()
            scratch.append((slot(memory), special.scratch(types, node.params)))
        elif kernel.down or _is_partial(program, kernel):
            partial = slot(Arena())
            scratch.append((partial, _bytes_of_parts(program, kernel)))
        bodies = tuple(_with_scratch(body, slots, first) for body in kernel.bodies)
        if bodies or len(scratch) > len(kernel.scratch):
            kernel = replace(kernel, scratch=tuple(scratch), partial=partial, bodies=bodies)
        kernels.append(kernel)
    return replace(program, kernels=tuple(kernels))


def _is_partial(program: Program, kernel: Kernel) -> bool:
    return kernel.kind in ("rows", "columns") and is_partial(kernel, collapsed(program, kernel))


def _bytes_of_parts(program: Program, kernel: Kernel) -> Size:
    """Bytes for the results of the parts of a fold: of a long row a vector for each part, of
    columns the sums of all of them for each block of rows.
    """
    kernel = columns_of(kernel) if kernel.down else kernel
    folds = [program.root_type((i, 0)) for i in kernel.members if is_fold(program.node(i))]
    if kernel.kind == "rows":
        length = product(kernel.domain)
        assert isinstance(length, int)
        return -(-length // part_of_row(length)) * len(folds) * LANES * 8
    rows, columns = product(tuple(kernel.domain[a] for a in kernel.folded)), product(kernel.outer)
    assert isinstance(columns, int)
    return _bytes_of_blocks(rows, columns, sum(each.dtype.itemsize for each in folds))


def _bytes_of_blocks(rows: Size, columns: int, size: int) -> Size:
    """Sums of so many bytes for each column, of each block of rows; a little more where it is not
    known how many blocks there are.

    >>> _bytes_of_blocks(65, 20, 4), _bytes_of_blocks(wg.Dim("n"), 20, 4)
    (256, 2*n + 128)
    """
    one = -(-columns // LANES) * LANES * size
    return -(-rows // BLOCK) * one if isinstance(rows, int) else rows * -(-one // BLOCK) + one
