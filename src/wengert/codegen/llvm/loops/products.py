"""Contractions: a call of gemm for every matrix of a batch, and what is computed from each block of
the result while it is in cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from wengert.codegen.kernel import ROOM, Layout, Program
from wengert.codegen.llvm.gemm.product import gemm
from wengert.codegen.llvm.kernels.registry import special_of
from wengert.codegen.llvm.loops.members import Evaluator, Groups
from wengert.codegen.llvm.loops.product_sizes import ProductSizes
from wengert.codegen.llvm.text.frame import Frame, RowPlaces
from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import LANES
from wengert.codegen.targets.cpu.splitting import BLOCK, CHUNK, COLUMNS, MATRICES, ROWS, chunk
from wengert.codegen.views import row_major
from wengert.core.dims import Size
from wengert.core.dtypes import DType


def write_contraction(
    module: Module,
    layout: Layout,
    program: Program,
    number: int,
    name: str,
    places: RowPlaces = None,
) -> None:
    """The function of a gemm kernel.

        r0, r1, c0, c1 = the rows and columns of this chunk
        for each matrix of the batch (of this chunk, where these are divided):
            gemm(A[r0:r1], B[:, c0:c1], C[r0:r1, c0:c1], finish)

    gemm calls `finish` for each block of C while it is in cache: it computes the other members.
    """
    it, kernel = ProductSizes(program, number), program.kernels[number]
    divided = kernel.split is not None
    finish = "null"
    if len(kernel.members) > 1:
        finish = f"@{name}_finish"
        _write_finish(module, layout, program, number, it, f"{name}_finish", places)
    multiply = gemm(module, it.dtype, it.rows, it.columns)
    code = Code(module)
    frame = Frame(code, layout, program, "%worker" if divided else None, places)
    a, b = frame.at(it.left, it.dtype), frame.at(it.right, it.dtype)
    c = frame.pointer(kernel.shared or (kernel.members[0], 0))
    scratch = frame.own(kernel.scratch[0][0], frame.fixed_word(ROOM)) if kernel.scratch else "null"
    rows, columns, inner = (frame.size(n) for n in (it.rows, it.columns, it.inner))
    strides = [frame.size(s) for s in (*it.left_strides, *it.right_strides)]
    sizes = frame.shape(it.batch)
    left, right = (tuple(map(frame.size, s)) for s in (it.left_batch, it.right_batch))
    r0, r1, c0, c1 = _block(code, kernel.split, rows, columns)
    context = "%frame"
    if divided:
        context = _context(code, _CHUNK_CONTEXT, ("%frame", "%worker", r0, c0))
    elif places is not None and finish != "null":
        context = _context(code, _FORM_CONTEXT, ("%frame", "%numbers"))

    def one(positions: list[Index], flat: Index) -> None:
        at_a = _moved(code, a, [*positions, r0], (*left, strides[0]), it.dtype)
        at_b = _moved(code, b, [*positions, c0], (*right, strides[3]), it.dtype)
        first = code.add(code.mul(code.add(code.mul(flat, rows), r0), columns), c0)
        at_c = code.address(c, first, it.dtype)
        given = (
            f"ptr {at_a}, i64 {strides[0]}, i64 {strides[1]}, ptr {at_b}, i64 {strides[2]}, "
            f"i64 {strides[3]}, ptr {at_c}, i64 {columns}, i64 {code.sub(r1, r0)}, "
            f"i64 {code.sub(c1, c0)}, i64 {inner}, "
            f"ptr {scratch}, ptr {finish}, ptr {context}, i64 {flat}"
        )
        code.do(f"call void @{multiply}({given})")

    if 0 not in (rows, columns):  # a matrix without elements has no block to write
        some = code.let(f"and i1 {code.compare('sgt', r1, r0)}, {code.compare('sgt', c1, c0)}")
        code.when(some, lambda: _each_matrix(code, sizes, kernel.split == MATRICES, one))
    code.function(name, CHUNK if divided else f"ptr {frame.params}")


def write_products(module: Module, program: Program) -> str:
    """The text of a module with the functions that products and special kernels of a program have
    in common with those of others.
    """
    for number, kernel in enumerate(program.kernels):
        if kernel.kind == "gemm":
            it = ProductSizes(program, number)
            gemm(module, it.dtype, it.rows, it.columns)
        elif kernel.kind == "special":
            node = program.node(kernel.members[0])
            common = special_of(node).common
            if common is not None:
                types = [program.graph.type(i) for i in node.operands if i is not None]
                common(module, types, node.params)
        for body in kernel.bodies:
            write_products(module, body)
    return module.text()


def _block(
    code: Code, split: int | None, rows: Index, columns: Index
) -> tuple[Index, Index, Index, Index]:
    """The rows and columns of the result in this chunk: r0, r1, c0, c1."""
    r0, r1 = chunk(code, rows, BLOCK) if split == ROWS else (0, rows)
    c0, c1 = chunk(code, columns, BLOCK) if split == COLUMNS else (0, columns)
    return r0, r1, c0, c1


# What `finish` is given in place of the frame, as words: of a divided product who runs it, and
# where its chunk begins; of a form the row of its numbers.
_CHUNK_CONTEXT = (("ptr", "%frame"), ("i64", "%worker"), ("i64", "%row"), ("i64", "%column"))
_FORM_CONTEXT = (("ptr", "%frame"), ("ptr", "%numbers"))
Context: TypeAlias = Sequence[tuple[str, str]]


def _context(code: Code, words: Context, values: Sequence[Index]) -> str:
    """These words, written down."""
    place = code.let_first(f"alloca [{len(words)} x i64], align 8")
    for n, ((kind, _), value) in enumerate(zip(words, values, strict=True)):
        at = code.let(f"getelementptr i64, ptr {place}, i64 {n}")
        code.do(f"store {kind} {value}, ptr {at}, align 8")
    return place


def _read_context(code: Code, words: Context) -> None:
    """The same as names, in the function that is given them."""
    for n, (kind, name) in enumerate(words):
        at = code.let_first(f"getelementptr i64, ptr %context, i64 {n}")
        code.head.append(f"  {name} = load {kind}, ptr {at}, align 8")


def _each_matrix(
    code: Code,
    sizes: tuple[Index, ...],
    divided: bool,  # into chunks
    body: Callable[[list[Index], Index], None],
) -> None:
    """`body(positions, number)` for each matrix of a batch: its position along each axis of the
    batch, and its number when all are counted.
    """
    if not sizes:
        body([], 0)
        return
    count: Index = 1
    for size in sizes:
        count = code.mul(count, size)

    def one(flat: Index, _: list[str]) -> None:
        positions: list[Index] = []
        rest = flat
        for size in reversed(sizes[1:]):
            positions.append(code.mod(rest, size))
            rest = code.div(rest, size)
        body([rest, *positions[::-1]], flat)

    begin, end = chunk(code, count) if divided else (0, count)
    code.loop(begin, end, 1, one)


def _moved(
    code: Code, pointer: str, positions: list[Index], strides: tuple[Index, ...], dtype: DType
) -> str:
    offset: Index = 0
    for position, stride in zip(positions, strides, strict=True):
        offset = code.add(offset, code.mul(position, stride))
    return code.address(pointer, offset, dtype)


def _in_whole_vectors(columns: Size) -> bool:
    """Whether all blocks of so many columns consist of whole vectors: those of gemm and of chunks
    do, but for what is left behind the last.
    """
    return isinstance(columns, int) and columns % LANES == 0


def _write_finish(
    module: Module,
    layout: Layout,
    program: Program,
    number: int,
    it: ProductSizes,
    name: str,
    places: RowPlaces,
) -> None:
    """void(frame, batch, r0, r1, c0, c1): the other members, for a block of the result. Of a chunk
    it is given the context, and rows and columns are counted from where the chunk begins. That of a
    form is given a context with the row of its numbers.

    for r in r0 … r1:
        for each vector of columns from c0 to c1:
            read the product back; compute the members that are stored, and store them
    """
    kernel = program.kernels[number]
    code, divided = Code(module), kernel.split is not None
    if divided:
        _read_context(code, _CHUNK_CONTEXT)
    elif places is not None:
        _read_context(code, _FORM_CONTEXT)
    frame = Frame(code, layout, program, "%worker" if divided else None, places)
    r0, r1, c0, c1 = "%r0", "%r1", "%c0", "%c1"
    if kernel.split in (ROWS, COLUMNS):
        r0, r1 = (str(code.add(x, "%row")) for x in (r0, r1))
        c0, c1 = (str(code.add(x, "%column")) for x in (c0, c1))
    groups: Groups = [(axis,) for axis in range(len(it.out))]
    values = Evaluator(frame, number, groups)
    product_root = (kernel.members[0], 0)
    batch = values.unravel(Position("%batch"), frame.shape(it.batch)) if it.batch else []
    whole = it.has_columns and _in_whole_vectors(it.columns)

    def members(place: list[Position], mask: Vector | None) -> None:
        """Compute and store them at a place, where the product is in memory."""
        values.enter(place, mask)
        values.in_memory = {product_root}
        for root in kernel.stores:
            if root != product_root:
                values.store(root, values.value(root[0]), row_major(it.out))

    def block(before: list[Position], low: str, high: str) -> None:
        """Members along the last axis, from low to high, in vectors."""
        values.enter_row(code.place())

        def chunk(i: Index, _: list[str]) -> None:
            mask = None if whole else code.first_lanes(code.sub(high, i))
            members([*before, Position(i, 1)], mask)

        code.loop(low, high, code.lanes, chunk)

    if it.has_rows and it.has_columns:
        code.loop(r0, r1, 1, lambda r, _: block([*batch, Position(r)], c0, c1))
    elif it.has_rows or it.has_columns:
        block(batch, *((r0, r1) if it.has_rows else (c0, c1)))
    else:
        members(batch, None)
    given = "ptr %context" if divided or places is not None else "ptr %frame"
    code.function(name, f"{given}, i64 %batch, i64 %r0, i64 %r1, i64 %c0, i64 %c1")
