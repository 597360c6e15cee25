"""Loops over a domain, and the kernels that are nothing else: maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.kernel import Layout, Program, is_fold
from wengert.codegen.llvm.loops.axis_groups import collapsed
from wengert.codegen.llvm.loops.members import Evaluator
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.frame import OUTPUT, Frame, RowPlaces
from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import BLOCK, LANES
from wengert.codegen.targets.cpu.splitting import (
    CHUNK,
    chunk,
    is_partial,
    part_of_row,
    vector_group,
)
from wengert.codegen.views import Root, Strides, row_major
from wengert.core.dims import product
from wengert.core.dtypes import is_float

LONG = 24  # values from which on a body is written once, with a mask, instead of twice


class Loops:
    """One function for one kernel that loops over its domain."""

    def __init__(
        self,
        module: Module,
        layout: Layout,
        program: Program,
        number: int,
        checking: bool = False,  # write nothing; check whether what would be written is finite
        by_workers: bool | None = None,  # False of a function that ends what workers did
        places: RowPlaces = None,
    ) -> None:
        self.checking = checking
        self.program, self.kernel = program, program.kernels[number]
        self.groups = collapsed(program, self.kernel)
        whole = product(self.kernel.domain)
        self.code = Code(module, 1 if whole == 1 and not self.kernel.folded else LANES)
        if by_workers is None:
            by_workers = self.kernel.by_workers
        self.frame = Frame(self.code, layout, program, "%worker" if by_workers else None, places)
        self.params = f"ptr {self.frame.params}"
        if by_workers:
            self.params = CHUNK if places is None else f"{CHUNK}, ptr %numbers"
        self.values = Evaluator(self.frame, number, self.groups)
        self.extents = [
            self.frame.size(product(tuple(self.kernel.domain[axis] for axis in group)))
            for group in self.groups
        ]
        folds = (i for i in self.kernel.members if is_fold(program.node(i)))
        self.folds = [i for i in folds if i not in self.kernel.down]
        self.bounds: list[tuple[Index, Index]] = [(0, n) for n in self.extents]
        if by_workers and self.kernel.split is not None and not self.kernel.down:
            extent = self.extents[self.kernel.split]
            along = self.kernel.split == vector_group(self.kernel, self.groups)
            unit = LANES if along else 1
            if is_partial(self.kernel, self.groups):
                unit = self.part if self.kernel.kind == "rows" else BLOCK
            self.bounds[self.kernel.split] = chunk(self.code, extent, unit)

    @property
    def part(self) -> int:
        """Of a single row that workers divide: how many elements one adds up without
        interruption.
        """
        length = product(self.kernel.domain)
        assert isinstance(length, int)
        return part_of_row(length)

    # Loops over groups of axes.

    def nest(self, groups: Sequence[int], body: Callable[[dict[int, Index]], None]) -> None:
        """Loops over some of the groups, one inside the other; `body` gets the position in each."""

        def level(depth: int, at: dict[int, Index]) -> None:
            if depth == len(groups):
                body(at)
                return
            group = groups[depth]
            if self.extents[group] == 1:
                level(depth + 1, at | {group: 0})
                return
            begin, end = self.bounds[group]
            self.code.loop(begin, end, 1, lambda i, _: level(depth + 1, at | {group: i}))

        level(0, {})

    def chunks(
        self, group: int | None, body: Callable[[Index, Vector | None], None], unrolled: int = 1
    ) -> None:
        """`body(begin, mask)` for every vector along a group of axes, or once without one. The body
        computes each member as many times as it is unrolled.

            for i in first, first + LANES … up to the last whole vector: body(i, no mask)
            if elements are left: body(where they begin, a mask of the first so many lanes)

        A long body is written once: every vector has a mask then.
        """
        code = self.code
        if code.lanes == 1:
            body(0, None)
            return
        first, extent = (0, 1) if group is None else self.bounds[group]
        long = len(self.kernel.members) * unrolled >= LONG
        if first == 0 and isinstance(extent, int):
            whole = extent // LANES * LANES
            if extent > LANES and long and extent != whole:
                self.masked_chunks(extent, body)
                return
            if whole == LANES:
                body(0, None)
            elif whole:
                code.loop(0, whole, LANES, lambda i, _: body(i, None))
            if extent != whole:
                body(whole, code.first_lanes(extent - whole))
            return
        if long:
            self.masked_chunks(extent, body, first)
            return
        main = code.let(f"and i64 {extent}, {-LANES}")
        code.loop(first, main, LANES, lambda i, _: body(i, None))
        # A chunk behind the end has no elements left.
        rest = code.sub(extent, main if first == 0 else code.max(main, first))
        code.when(code.compare("sgt", rest, 0), lambda: body(main, code.first_lanes(rest)))

    def masked_chunks(
        self, extent: Index, body: Callable[[Index, Vector | None], None], first: Index = 0
    ) -> None:
        code = self.code
        code.loop(first, extent, LANES, lambda i, _: body(i, code.first_lanes(code.sub(extent, i))))

    def positions(self, where: dict[int, Index], inner: int | None, begin: Index) -> list[Position]:
        return [
            Position(begin, 1 if self.code.lanes > 1 else 0) if g == inner else Position(where[g])
            for g in range(len(self.groups))
        ]

    # Maps.

    def body(self) -> None:
        """The loops of a map.

        for each row of the domain:
            for each vector along the row:
                compute what is stored, and store it
        """
        last = len(self.groups) - 1
        stores = self.kernel.stores

        def row(outer_at: dict[int, Index]) -> None:
            self.values.enter_row(self.code.place())

            def body(begin: Index, mask: Vector | None) -> None:
                self.values.enter(self.positions(outer_at, last, begin), mask)
                self.store_all(stores)

            self.chunks(last if self.groups else None, body)

        self.nest(range(max(last, 0)), row)

    def store_all(self, roots: Sequence[Root]) -> None:
        """Write members where the loops are. What goes over an argument is written when all that
        is read there has been read.
        """
        if not self.kernel.gated:
            for root in roots:
                self.store(root, self.values.value(root[0]))
            return
        for root, value in [(root, self.values.value(root[0])) for root in roots]:
            if self.checking:
                self.check(root, value)
            else:
                self.store(root, value)

    def check(self, root: Root, value: Vector) -> None:
        """Note a failure where a number that would be written is not finite.

        if any lane has x - x != x - x: refuse the output
        """
        if not is_float(value.dtype):
            return
        whole = self.program.pieces[root][0] if root in self.program.pieces else root
        output = self.frame.number(OUTPUT, self.program.graph.returns.index(whole[0]))
        e = Arithmetic(self.code, value.dtype)
        gap = e.sub(value, value)  # NaN for what is not finite
        bad = e.ne(gap, gap)
        if self.values.mask is not None:
            bad = e.and_(bad, self.values.mask)

        self.frame.refuse_output(e.any_lane(bad), output)

    def store(self, root: Root, value: Vector) -> None:
        """Write a member where the loops are."""
        full = root[0] not in self.folds and (
            self.program.root_type(root).shape == self.kernel.domain
        )
        self.values.store(root, value, row_major(self.kernel.domain) if full else self.outer())

    def outer(self) -> Strides:
        """Where a member without the folded axes is written, along the axes of the domain."""
        kept = iter(row_major(self.kernel.outer))
        return tuple(
            0 if axis in self.kernel.folded else next(kept)
            for axis in range(len(self.kernel.domain))
        )

    def write(self, name: str) -> None:
        """Put the function into the module."""
        self.body()
        self.code.function(name, self.params.replace("ptr %frame", "ptr noalias %frame"))
