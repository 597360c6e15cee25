"""ProductSizes: the sizes and operands of one matrix product."""

from __future__ import annotations

from wengert.codegen.kernel import Program
from wengert.codegen.llvm.gemm.product import scratch_bytes
from wengert.codegen.views import StridedView, Strides
from wengert.core.dims import Shape, Size
from wengert.core.types import ArrayType


class ProductSizes:
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

    def _batch_strides(self, view: StridedView, rank: int) -> Strides:
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
