"""Frame: what a call of a program finds in memory. Kernels get one pointer, to a table of 64-bit
words: the status, the numbers behind the Dims, and a pointer to every array.
"""

from __future__ import annotations

from typing import Any

from wengert.codegen.kernel import HEADER, POSITION, Layout, Program
from wengert.codegen.llvm.text.vectors import Code, Index
from wengert.codegen.views import Root, StridedView
from wengert.core.dims import Dim, Shape, Size
from wengert.core.dtypes import DType


class Frame:
    """The frame as one function reads it: every word once, at the beginning."""

    def __init__(self, code: Code, layout: Layout, program: Program) -> None:
        self.code, self.layout, self.program = code, layout, program
        self._pointers: dict[int, str] = {}
        self._sizes: dict[Size, Index] = {}

    def word(self, number: int, kind: str = "i64") -> str:
        at = self.code.let_first(f"getelementptr i64, ptr %frame, i64 {number}")
        return self.code.let_first(f"load {kind}, ptr {at}, align 8")

    def pointer(self, root: Root) -> str:
        slot = self.program.slots[root]
        if slot not in self._pointers:
            self._pointers[slot] = self.word(slot, "ptr")
        return self._pointers[slot]

    def size(self, size: Size) -> Index:
        """A size as a number: known now, or computed from the Dims when the function begins."""
        if not isinstance(size, Dim):
            return int(size)
        if size not in self._sizes:
            self._sizes[size] = self._polynomial(size)
        return self._sizes[size]

    def _polynomial(self, dim: Dim) -> Index:
        if len(dim.terms) == 1 and len(dim.terms[0][0]) == 1 and dim.terms[0][1] == 1:
            return self.word(HEADER + self.layout.dims.index(dim.terms[0][0][0]))
        total: Index = 0
        for monomial, coefficient in dim.terms:
            term: Index = coefficient
            for name in monomial:
                factor = self.size(Dim(name))
                with self.code.writing(self.code.head):
                    term = self.code.mul(term, factor)
            with self.code.writing(self.code.head):
                total = self.code.add(total, term)
        return total

    def shape(self, shape: Shape) -> tuple[Index, ...]:
        return tuple(map(self.size, shape))

    def at(self, view: StridedView, dtype: DType) -> str:
        """The pointer to the first element of a view."""
        base, offset = self.pointer(view.root), self.size(view.offset)
        with self.code.writing(self.code.head):
            return self.code.address(base, offset, dtype)

    def fail(self, condition: str, node: Any, position: Index) -> None:
        """Where the i1 holds, note the error, unless one has been noted before.

        if condition and status == 0: status, position = place of the node in `failing`, position
        """
        number = 1 + next(i for i, each in enumerate(self.layout.failing) if each is node)
        code = self.code

        def note() -> None:
            found = code.let("load i64, ptr %frame, align 8")
            first = code.compare("eq", found, 0)
            code.do(
                f"store i64 {code.let(f'select i1 {first}, i64 {number}, i64 {found}')}, "
                "ptr %frame, align 8"
            )
            at = code.let(f"getelementptr i64, ptr %frame, i64 {POSITION}")
            before = code.let(f"load i64, ptr {at}, align 8")
            kept = code.let(f"select i1 {first}, i64 {position}, i64 {before}")
            code.do(f"store i64 {kept}, ptr {at}, align 8")

        code.when(condition, note)
