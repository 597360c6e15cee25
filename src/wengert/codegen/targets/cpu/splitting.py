"""Splitting: which loops workers divide between them, and where chunks of a loop begin and end.

A kernel is split where it takes longer than it costs to involve other workers. The chunks have no
influence on any sum: rows, columns and elements are computed as a whole by one worker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wengert.codegen.cost.counts import kernel_cost
from wengert.codegen.kernel import Kernel, Program, is_fold
from wengert.codegen.llvm.kernels.registry import special_of
from wengert.codegen.llvm.loops.axis_groups import collapsed
from wengert.codegen.llvm.loops.idle_sums import conditions
from wengert.codegen.llvm.loops.product_sizes import ProductSizes
from wengert.codegen.llvm.text.lines import Index, Text
from wengert.codegen.memory.plan import number_of
from wengert.codegen.numerics import BLOCK as BLOCK_OF_FOLD
from wengert.codegen.numerics import GROUP, LANES
from wengert.codegen.options import Options
from wengert.core.dims import Size, product
from wengert.core.graph import Node

GRAIN = 5000  # nanoseconds of work from which on a kernel is split; `WENGERT_GRAIN` sets another
PER_WORKER = 6  # times the grain: what a call must hold for each worker beyond the first
MANY = 8  # turns of an outer loop that are enough to divide
SHORT_PART = BLOCK_OF_FOLD * LANES  # elements of a row that stay together: a block
LONG_PART = SHORT_PART * GROUP  # of a long row: a group of blocks
FEW_GROUPS = 8  # up to which blocks are divided: whole groups would leave some workers idle
NARROW = 4096  # columns up to which rows are divided, where sums go from row to row
BLOCK = 32  # rows or columns of a matrix product that stay together
WHOLE = 1 << 20  # parts of a kernel's work, in which it is said where a chunk begins and ends
# Nanoseconds of work that a chunk should not fall below. A narrow product is slower than a wide,
# and one row times a matrix most of all: short pieces of rows are read from memory slowly.
LEAST, LEAST_OF_PRODUCT, LEAST_OF_ROW = 5000, 100_000, 400_000
# What a kernel that workers divide is given: the frame, who runs it, and where the chunk lies.
CHUNK = "ptr %frame, i64 %worker, i64 %from, i64 %to"

UNROLLED = 192  # members times elements of rows that are computed side by side

# Parts of a contraction.
MATRICES, ROWS, COLUMNS = range(3)

# What one worker does in a nanosecond, roughly.
_PRODUCTS = 100.0  # operations of a matrix product
_OPERATIONS = 20.0  # of other kernels
_FUNCTIONS = 1.5
_BYTES = 10.0


def grain() -> int:
    """Nanoseconds of work below which one worker does a kernel alone."""
    asked = os.environ.get("WENGERT_GRAIN") or str(GRAIN)
    if not asked.isdigit() or int(asked) < 1:
        raise ValueError(
            f"compile: the environment has WENGERT_GRAIN={asked}; it must be a whole number of "
            "nanoseconds, at least 1. Set one, or unset it."
        )
    return int(asked)


def work(program: Program, number: int, sizes: Mapping[str, int]) -> float:
    """About how many nanoseconds a kernel takes."""
    cost = kernel_cost(program, number, sizes)
    if program.kernels[number].kind == "gemm":
        return max(cost.flops / _PRODUCTS, cost.moved / _BYTES)
    return max(
        (cost.flops - cost.functions) / _OPERATIONS + cost.functions / _FUNCTIONS,
        cost.moved / _BYTES,
    )


def least_work(program: Program, number: int, sizes: Mapping[str, int]) -> int:
    """About how many nanoseconds of a kernel a chunk of it should not fall below."""
    kernel = program.kernels[number]
    if kernel.kind == "gemm":
        single = number_of(ProductSizes(program, number).rows, sizes) == 1
        return LEAST_OF_ROW if single else LEAST_OF_PRODUCT
    if kernel.kind != "special":
        return LEAST
    node = program.node(kernel.members[0])
    special = special_of(node)
    if special.least is None or special.units is None:
        return LEAST
    types = [program.graph.type(i) for i in node.operands if i is not None]
    least, units = (
        number_of(count(types, node.params), sizes) for count in (special.least, special.units)
    )
    return max(LEAST, round(work(program, number, sizes) * least / max(units, 1)))


def nanoseconds_of_bytes(code: Text, count: Index) -> Index:
    """What it takes to go over so many bytes."""
    return code.div(count, round(_BYTES))


def split(program: Program, options: Options) -> Program:
    """The program in which workers divide a loop of each kernel that takes long enough, if one can
    be divided.

    >>> from wengert.codegen.kernel_text.kernel_show import read, show
    >>> program = read('''
    ... program(%0: float32[800, 200] "x") {
    ...   k0 rows [800, 200] along 1 reads %0 stores %1 {
    ...     %1: float32[800] = sum(%0, axes=(1,), keepdims=False) by lanes
    ...   }
    ...   k1 map [800] reads %1 stores %2 { %2: float32[800] = negative(%1) }
    ...   return %2
    ... }''')
    >>> print(show(split(program, Options(grain=GRAIN))))
    program(%0: float32[800, 200] "x") {
      k0 rows [800, 200] along 1 reads %0 stores %1 split 0 {
        %1: float32[800] = sum(%0, axes=(1,), keepdims=False) by lanes
      }
      k1 map [800] reads %1 stores %2 { %2: float32[800] = negative(%1) }
      return %2
    }
    """
    if not options.grain:
        return program
    kernels = []
    for number, kernel in enumerate(program.kernels):
        if kernel.bodies:
            bodies = tuple(split(body, options) for body in kernel.bodies)
            divided = any(body.divided for body in bodies)
            kernel = replace(kernel, bodies=bodies, split=0 if divided else None)
        elif work(program, number, options.sizes) >= options.grain:
            kernel = replace(kernel, split=_part(program, number, options.sizes))
        kernels.append(kernel)
    return _with_neighbours(replace(program, kernels=tuple(kernels)), options)


def _with_neighbours(program: Program, options: Options) -> Program:
    """Let workers run different kernels at once where those have nothing to do with each other:
    each writes over arguments of its own.
    """
    neighbours = {
        k
        for k, kernel in enumerate(program.kernels)
        if kernel.gated and kernel.split is None and not kernel.kept and k not in program.waits
    }
    enough = sum(work(program, k, options.sizes) for k in neighbours) >= options.grain
    if len(neighbours) < 2 or not enough:
        return program
    kernels = (replace(kernel, apart=k in neighbours) for k, kernel in enumerate(program.kernels))
    return replace(program, kernels=tuple(kernels))


def places_apart(program: Program, numbers: Sequence[int], sizes: Mapping[str, int]) -> list[float]:
    """Where the middle of each kernel lies, from 0 to 1, when their work is laid end to end."""
    amounts = [work(program, k, sizes) for k in numbers]
    total, before, places = sum(amounts) or 1.0, 0.0, []
    for amount in amounts:
        places.append((before + amount / 2) / total)
        before += amount
    return places


def _part(program: Program, number: int, sizes: Mapping[str, int]) -> int | None:
    kernel = program.kernels[number]
    if kernel.kind == "gemm":
        return _part_of_contraction(ProductSizes(program, number), sizes)
    if kernel.kind == "special":
        return _part_of_special(program.node(kernel.members[0]), program, sizes)
    if kernel.down:  # whole blocks of rows, of which an open size may have many in another call
        rows = product(kernel.outer)
        return None if isinstance(rows, int) and rows < 2 * BLOCK_OF_FOLD else 0
    groups = collapsed(program, kernel)
    units: list[int] = []
    for group in groups:
        size = number_of(product(tuple(kernel.domain[axis] for axis in group)), sizes)
        units.append(0 if group[0] in kernel.folded else size)
    whole = [g for g, group in enumerate(groups) if group[0] not in kernel.folded]
    if not whole:
        return _part_of_fold(program, kernel)
    if _has_blocks(program, kernel, groups):
        return 0
    along = vector_group(kernel, groups)
    if along is not None:
        units[along] //= LANES
    best = next((g for g in whole if units[g] >= MANY), max(whole, key=lambda g: units[g]))
    return best if units[best] > 1 else None


def _part_of_special(node: Node, program: Program, sizes: Mapping[str, int]) -> int | None:
    """Its units, if it has several."""
    units = special_of(node).units
    if units is None:
        return None
    types = [program.graph.type(i) for i in node.operands if i is not None]
    return 0 if number_of(units(types, node.params), sizes) > 1 else None


def _part_of_fold(program: Program, kernel: Kernel) -> int | None:
    """One row, so long that workers add up parts of it: blocks or groups of blocks, whose sums are
    then added in order, as one worker would.
    """
    depths = program.depths(kernel)
    once = all(
        depths[i] == 0 or program.root_type((i, 0)).shape != kernel.domain for i in kernel.members
    )
    single = max(depths.values()) <= 1 and not any(
        depths[i] and is_fold(program.node(i)) for i in kernel.members
    )
    length = product(kernel.domain)
    fits = isinstance(length, int) and length >= MANY * SHORT_PART
    return 0 if kernel.kind == "rows" and once and single and fits else None


def part_of_row(length: int) -> int:
    """How many elements of a row a worker adds up without interruption, whose sum it then leaves in
    memory.
    """
    return SHORT_PART if length <= FEW_GROUPS * LONG_PART else LONG_PART


def _has_blocks(program: Program, kernel: Kernel, groups: Sequence[tuple[int, ...]]) -> bool:
    """Whether workers add up whole blocks of the rows of columns, whose sums are then added in
    order. There must be many blocks, and so few columns that a worker's part of each row would be
    little to read at once.
    """
    if kernel.kind != "columns" or len(groups) != 2 or groups[0][0] not in kernel.folded:
        return False
    rows, columns = (product(tuple(kernel.domain[axis] for axis in group)) for group in groups)
    if not isinstance(rows, int) or not isinstance(columns, int):
        return False
    folds = [i for i in kernel.members if is_fold(program.node(i))]
    return (
        rows >= MANY * BLOCK_OF_FOLD
        and 2 * LANES <= columns <= NARROW
        and columns % LANES == 0
        and not conditions(program, kernel, folds)
    )


def vector_group(kernel: Kernel, groups: Sequence[tuple[int, ...]]) -> int | None:
    """The group of axes, not a folded one, that vectors go along."""
    if kernel.kind == "rows" and not is_short(kernel, groups):
        return None
    whole = [g for g, group in enumerate(groups) if group[0] not in kernel.folded]
    return whole[-1] if whole else None


def is_short(kernel: Kernel, groups: Sequence[tuple[int, ...]]) -> bool:
    """Whether rows are so short that 16 of them are computed side by side."""
    if kernel.kind != "rows" or kernel.down:
        return False
    last = product(tuple(kernel.domain[axis] for axis in groups[-1]))
    if not isinstance(last, int) or not 0 < last <= LANES:
        return False
    return len(groups) > 1 and last * len(kernel.members) <= UNROLLED


def _part_of_contraction(it: ProductSizes, sizes: Mapping[str, int]) -> int | None:
    """Whole matrices where there are many; else rows or columns, whichever are more: so the least
    is packed by several workers.
    """
    rows, columns = number_of(it.rows, sizes), number_of(it.columns, sizes)
    if number_of(product(it.batch), sizes) >= MANY:
        return MATRICES
    if max(rows, columns) < 2 * BLOCK:
        return None
    return ROWS if rows > columns else COLUMNS


def is_partial(kernel: Kernel, groups: Sequence[tuple[int, ...]]) -> bool:
    """Whether workers add up parts of a single long row, or blocks of the rows of columns."""
    return kernel.split is not None and groups[kernel.split][0] in kernel.folded


def chunk(code: Text, extent: Index, unit: int = 1) -> tuple[Index, Index]:
    """Where a loop begins and ends for the chunk %from to %to: a whole number of units. What is
    left behind the last whole unit belongs to that.

    units = max(extent // unit, 1)
    for each end: n = units · (%from or %to) / WHOLE, rounded; n · unit, or extent if n == units
    """
    units = code.max(code.div(extent, unit), 1)

    def place(part: str) -> str:
        number = code.div(code.add(code.mul(units, part), WHOLE // 2), WHOLE)
        last = code.compare("eq", number, units)
        return code.let(f"select i1 {last}, i64 {extent}, i64 {code.mul(number, unit)}")

    return place("%from"), place("%to")


def size_of_work(program: Program, number: int) -> Size:
    """How many elements a kernel goes over: its work grows with them."""
    kernel = program.kernels[number]
    size = product(kernel.domain)
    if kernel.kind == "gemm":
        it = ProductSizes(program, number)
        return product(it.batch) * it.rows * it.columns * it.inner
    return size
