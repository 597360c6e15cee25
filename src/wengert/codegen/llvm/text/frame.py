"""Frame: what a call of a program finds in memory. Kernels get one pointer, to a table of 64-bit
words: the status, the numbers behind the Dims, and a pointer to every array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from wengert.codegen.kernel import HEADER, LINE, NONFINITE, POSITION, Layout, Program
from wengert.codegen.llvm.text.vectors import Code, Index
from wengert.codegen.memory.tasks import ALIGNMENT
from wengert.codegen.views import Root, StridedView
from wengert.core.dims import Dim, Shape, Size
from wengert.core.dtypes import DType

# Numbers in which alike kernels may differ: a word of the frame, where a view begins, the number of
# a node that can fail, that of an output.
WORD, OFFSET, FAILING, OUTPUT = "word", "offset", "failing", "output"
OpenNumber: TypeAlias = tuple[str, int]
RowPlaces: TypeAlias = Mapping[OpenNumber, int] | None  # where in a row each is; None: it is known


class Frame:
    """The frame as one function reads it: every word once, at the beginning. `worker` is the number
    of the worker that runs the function, where that may be another thread than the caller.

    A function that alike kernels share finds the numbers in which they differ in a row of a table,
    `%numbers`; `places` says where in it each of them stands.
    """

    def __init__(
        self,
        code: Code,
        layout: Layout,
        program: Program,
        worker: str | None = None,
        places: RowPlaces = None,
    ) -> None:
        self.code, self.layout, self.program, self.worker = code, layout, program, worker
        self.places = places
        self._notes: str | None = None
        self._pointers: dict[int, str] = {}
        self._sizes: dict[Size, Index] = {}
        self._numbers: dict[int, str] = {}

    @property
    def params(self) -> str:
        """The parameters of a function that reads this frame, without the type of the first."""
        return "%frame" if self.places is None else "%frame, ptr %numbers"

    def number(self, what: str, value: int) -> Index:
        """A number that may be different in an alike kernel."""
        if self.places is None:
            return value
        place = self.places[what, value]
        if place not in self._numbers:
            at = self.code.let_first(f"getelementptr i64, ptr %numbers, i64 {place}")
            self._numbers[place] = self.code.let_first(f"load i64, ptr {at}, align 8")
        return self._numbers[place]

    def word(self, number: int, kind: str = "i64") -> str:
        """What stands in a word of the frame that alike kernels may have elsewhere."""
        return self.fixed_word(self.number(WORD, number), kind)

    def fixed_word(self, number: Index, kind: str = "i64") -> str:
        """What stands in a word of the frame, the same for all kernels."""
        at = self.code.let_first(f"getelementptr i64, ptr %frame, i64 {number}")
        return self.code.let_first(f"load {kind}, ptr {at}, align 8")

    def own(self, slot: int, size: Index) -> str:
        """A pointer to memory in which a function works: so many bytes for each worker, rounded up
        to whole cache lines.
        """
        first, code = self.word(slot, "ptr"), self.code
        if self.worker is None:
            return first
        with code.writing(code.head):
            lines = code.div(code.add(size, ALIGNMENT - 1), ALIGNMENT)
            distance = code.mul(self.worker, code.mul(lines, ALIGNMENT))
            return code.let(f"getelementptr i8, ptr {first}, i64 {distance}")

    @property
    def notes(self) -> str:
        """Where status and position of what fails are written."""
        if self.worker is None:
            return "%frame"
        if self._notes is None:
            with self.code.writing(self.code.head):
                words = self.code.add(self.code.mul(self.worker, LINE), self.layout.words)
                self._notes = self.code.let(f"getelementptr i64, ptr %frame, i64 {words}")
        return self._notes

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
            return self.fixed_word(HEADER + self.layout.dims.index(dim.terms[0][0][0]))
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
        base, offset = self.pointer(view.root), self.offset(view.offset)
        with self.code.writing(self.code.head):
            return self.code.address(base, offset, dtype)

    def offset(self, offset: Size) -> Index:
        """Where a view begins; those of alike kernels begin elsewhere, or at 0 like this one."""
        if isinstance(offset, Dim) or offset == 0:
            return self.size(offset)
        return self.number(OFFSET, int(offset))

    def refuse_output(self, condition: str, output: Index) -> None:
        """Where the i1 holds, note that an output is not finite. Of several the first is noted,
        whichever worker finds it.

        if condition and (status == 0 or (status == NONFINITE and output < position)):
            status, position = NONFINITE, output
        """
        code, notes = self.code, self.notes

        def note() -> None:
            at = code.let(f"getelementptr i64, ptr {notes}, i64 {POSITION}")
            status = code.let(f"load i64, ptr {notes}, align 8")
            before = code.let(f"load i64, ptr {at}, align 8")
            again = code.compare("eq", status, NONFINITE)
            earlier = code.let(f"and i1 {again}, {code.compare('slt', output, before)}")
            none = code.compare("eq", status, 0)

            def write() -> None:
                code.do(f"store i64 {NONFINITE}, ptr {notes}, align 8")
                code.do(f"store i64 {output}, ptr {at}, align 8")

            code.when(code.let(f"or i1 {none}, {earlier}"), write)

        code.when(condition, note)

    def fail(self, condition: str, node: Any, position: Index) -> None:
        """Where the i1 holds, note the error, unless one has been noted before.

        if condition and status == 0: status, position = place of the node in `failing`, position
        """
        place = next(i for i, each in enumerate(self.layout.failing) if each is node)
        code, number = self.code, self.number(FAILING, 1 + place)

        notes = self.notes

        def note() -> None:
            status = code.let(f"load i64, ptr {notes}, align 8")
            first = code.compare("eq", status, 0)
            code.do(
                f"store i64 {code.let(f'select i1 {first}, i64 {number}, i64 {status}')}, "
                f"ptr {notes}, align 8"
            )
            at = code.let(f"getelementptr i64, ptr {notes}, i64 {POSITION}")
            before = code.let(f"load i64, ptr {at}, align 8")
            kept = code.let(f"select i1 {first}, i64 {position}, i64 {before}")
            code.do(f"store i64 {kept}, ptr {at}, align 8")

        code.when(condition, note)
