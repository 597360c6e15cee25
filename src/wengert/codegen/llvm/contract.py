"""Contractions: a call of gemm for every matrix of a batch, and what is computed from each block of
the result while it is in cache.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.kernel import Program
from wengert.codegen.llvm.code import Code, Index, Module
from wengert.codegen.llvm.evaluate import Evaluator, Groups
from wengert.codegen.llvm.frame import Frame
from wengert.codegen.llvm.gemm import gemm, scratch_bytes
from wengert.codegen.llvm.position import Position
from wengert.codegen.lower import Layout
from wengert.codegen.views import Strides, View, row_major
from wengert.core.dims import Shape, Size
from wengert.core.dtypes import DType
from wengert.core.types import ArrayType


class Contraction:
    """The sizes and operands of one matrix product."""

    def __init__(self, program: Program, number: int) -> None:
        self.program, self.kernel = program, program.kernels[number]
        node = program.node(self.kernel.members[0])
        left, right = (i for i in node.operands if i is not None)
        graph = program.graph
        self.left, self.right = program.views[left], program.views[right]
        x, y = graph.type(left).shape, graph.type(right).shape
        assert isinstance(node.type, ArrayType)
        self.out, self.dtype = node.type.shape, node.type.dtype
        self.has_rows, self.has_columns = len(x) > 1, len(y) > 1
        self.rows: Size = x[-2] if self.has_rows else 1
        self.columns: Size = y[-1] if self.has_columns else 1
        self.inner: Size = x[-1]
        self.batch: Shape = self.out[: len(self.out) - self.has_rows - self.has_columns]
        self.left_batch = self._batch_strides(self.left, len(x) - 2)
        self.right_batch = self._batch_strides(self.right, len(y) - 2)

    def _batch_strides(self, view: View, rank: int) -> Strides:
        return (0,) * (len(self.batch) - max(rank, 0)) + view.strides[: max(rank, 0)]

    @property
    def left_strides(self) -> tuple[Size, Size]:
        *_, inner = self.left.strides
        return (self.left.strides[-2] if self.has_rows else 0), inner

    @property
    def right_strides(self) -> tuple[Size, Size]:
        if self.has_columns:
            return self.right.strides[-2], self.right.strides[-1]
        return self.right.strides[-1], 0

    def scratch(self) -> Size:
        sizes = (self.rows, self.columns, self.inner)
        return scratch_bytes(*sizes, self.dtype, self.right_strides)


def write_contraction(
    module: Module, layout: Layout, program: Program, number: int, name: str
) -> None:
    """The function of a gemm kernel."""
    it, kernel = Contraction(program, number), program.kernels[number]
    finish = "null"
    if len(kernel.members) > 1:
        finish = f"@{name}_finish"
        _write_finish(module, layout, program, number, it, f"{name}_finish")
    multiply = gemm(module, it.dtype, it.rows, it.columns)
    code = Code(module)
    frame = Frame(code, layout, program)
    a, b = frame.at(it.left, it.dtype), frame.at(it.right, it.dtype)
    c = frame.pointer(kernel.shared or (kernel.members[0], 0))
    scratch = frame.word(kernel.scratch[0][0], "ptr") if kernel.scratch else "null"
    rows, columns, inner = (frame.size(n) for n in (it.rows, it.columns, it.inner))
    strides = [frame.size(s) for s in (*it.left_strides, *it.right_strides)]
    sizes = frame.shape(it.batch)
    left, right = (tuple(map(frame.size, s)) for s in (it.left_batch, it.right_batch))

    def one(positions: list[Index]) -> None:
        flat: Index = 0
        for position, size in zip(positions, sizes, strict=True):
            flat = code.add(code.mul(flat, size), position)
        at_a, at_b = (_moved(code, p, positions, s, it.dtype) for p, s in ((a, left), (b, right)))
        at_c = code.address(c, code.mul(flat, code.mul(rows, columns)), it.dtype)
        given = (
            f"ptr {at_a}, i64 {strides[0]}, i64 {strides[1]}, ptr {at_b}, i64 {strides[2]}, "
            f"i64 {strides[3]}, ptr {at_c}, i64 {columns}, i64 {rows}, i64 {columns}, i64 {inner}, "
            f"ptr {scratch}, ptr {finish}, ptr %frame, i64 {flat}"
        )
        code.do(f"call void @{multiply}({given})")

    if 0 not in (rows, columns):  # a matrix without elements has no block to write
        some = code.let(f"and i1 {code.compare('sgt', rows, 0)}, {code.compare('sgt', columns, 0)}")
        code.when(some, lambda: _each_matrix(code, sizes, one))
    code.function(name, "ptr %frame")


def _each_matrix(code: Code, sizes: tuple[Index, ...], body: Callable[[list[Index]], None]) -> None:
    def level(found: list[Index]) -> None:
        if len(found) == len(sizes):
            body(found)
            return
        size = sizes[len(found)]
        code.loop(0, size, 1, lambda i, _: level([*found, i]))

    level([])


def _moved(
    code: Code, pointer: str, positions: list[Index], strides: tuple[Index, ...], dtype: DType
) -> str:
    offset: Index = 0
    for position, stride in zip(positions, strides, strict=True):
        offset = code.add(offset, code.mul(position, stride))
    return code.address(pointer, offset, dtype)


def _write_finish(
    module: Module, layout: Layout, program: Program, number: int, it: Contraction, name: str
) -> None:
    """void(frame, batch, r0, r1, c0, c1): the other members, for a block of the result."""
    kernel = program.kernels[number]
    code = Code(module)
    frame = Frame(code, layout, program)
    groups: Groups = [(axis,) for axis in range(len(it.out))]
    values = Evaluator(frame, number, groups)
    product_root = (kernel.members[0], 0)
    if kernel.shared is not None:
        program.slots[product_root] = program.slots[kernel.shared]
    batch = values.unravel(Position("%batch"), frame.shape(it.batch)) if it.batch else []

    def block(before: list[Position], low: str, high: str) -> None:
        """The last axis, in vectors."""
        values.enter_row(code.place())

        def chunk(i: Index, _: list[str]) -> None:
            mask = code.first_lanes(code.sub(high, i))
            values.enter([*before, Position(i, 1)], mask)
            values.in_memory = {product_root}
            for root in kernel.stores:
                if root != product_root:
                    values.store(root, values.value(root[0]), row_major(it.out))

        code.loop(low, high, code.lanes, chunk)

    if it.has_rows and it.has_columns:
        code.loop("%r0", "%r1", 1, lambda r, _: block([*batch, Position(r)], "%c0", "%c1"))
    elif it.has_rows or it.has_columns:
        block(batch, *(("%r0", "%r1") if it.has_rows else ("%c0", "%c1")))
    else:
        values.enter(batch, None)
        values.in_memory = {product_root}
        for root in kernel.stores:
            if root != product_root:
                values.store(root, values.value(root[0]), row_major(it.out))
    code.function(name, "ptr %frame, i64 %batch, i64 %r0, i64 %r1, i64 %c0, i64 %c1")
