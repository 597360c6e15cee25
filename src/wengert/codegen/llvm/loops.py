"""Loops over a domain, and the kernels that are nothing else: maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.folds import FOLDS
from wengert.codegen.kernel import Program
from wengert.codegen.llvm.code import LANES, Code, Index, Module, Vector
from wengert.codegen.llvm.evaluate import Evaluator
from wengert.codegen.llvm.frame import Frame
from wengert.codegen.llvm.groups import collapsed
from wengert.codegen.llvm.position import Position
from wengert.codegen.lower import Layout
from wengert.codegen.views import Root, Strides, row_major
from wengert.core.dims import product

LONG = 24  # members from which on a body is written once, with a mask, instead of twice


class Loops:
    """One function for one kernel that loops over its domain."""

    def __init__(self, module: Module, layout: Layout, program: Program, number: int) -> None:
        self.program, self.kernel = program, program.kernels[number]
        self.groups = collapsed(program, self.kernel)
        whole = product(self.kernel.domain)
        self.code = Code(module, 1 if whole == 1 and not self.kernel.folded else LANES)
        self.frame = Frame(self.code, layout, program)
        self.values = Evaluator(self.frame, number, self.groups)
        self.extents = [
            self.frame.size(product(tuple(self.kernel.domain[axis] for axis in group)))
            for group in self.groups
        ]
        self.folds = [i for i in self.kernel.members if program.node(i).op in FOLDS]

    # Loops over groups of axes.

    def nest(self, groups: Sequence[int], body: Callable[[dict[int, Index]], None]) -> None:
        """Loops over some of the groups, one inside the other; `body` gets where each is."""

        def level(depth: int, found: dict[int, Index]) -> None:
            if depth == len(groups):
                body(found)
                return
            group = groups[depth]
            if self.extents[group] == 1:
                level(depth + 1, found | {group: 0})
                return
            self.code.loop(
                0,
                self.extents[group],
                1,
                lambda i, _: level(depth + 1, found | {group: i}),
            )

        level(0, {})

    def chunks(self, extent: Index, body: Callable[[Index, Vector | None], None]) -> None:
        """`body(begin, mask)` for every vector along an axis."""
        code = self.code
        if code.lanes == 1:
            body(0, None)
            return
        if isinstance(extent, int):
            whole = extent // LANES * LANES
            if extent > LANES and len(self.kernel.members) >= LONG and extent != whole:
                self.masked_chunks(extent, body)
                return
            if whole == LANES:
                body(0, None)
            elif whole:
                code.loop(0, whole, LANES, lambda i, _: body(i, None))
            if extent != whole:
                body(whole, code.first_lanes(extent - whole))
            return
        if len(self.kernel.members) >= LONG:
            self.masked_chunks(extent, body)
            return
        main = code.let(f"and i64 {extent}, {-LANES}")
        code.loop(0, main, LANES, lambda i, _: body(i, None))
        rest = code.sub(extent, main)
        code.when(code.compare("sgt", rest, 0), lambda: body(main, code.first_lanes(rest)))

    def masked_chunks(self, extent: Index, body: Callable[[Index, Vector | None], None]) -> None:
        code = self.code
        code.loop(0, extent, LANES, lambda i, _: body(i, code.first_lanes(code.sub(extent, i))))

    def positions(self, found: dict[int, Index], inner: int | None, begin: Index) -> list[Position]:
        return [
            Position(begin, 1 if self.code.lanes > 1 else 0) if g == inner else Position(found[g])
            for g in range(len(self.groups))
        ]

    # Maps.

    def body(self) -> None:
        """The loops of a map."""
        last = len(self.groups) - 1
        stores = self.kernel.stores

        def row(found: dict[int, Index]) -> None:
            self.values.enter_row(self.code.place())

            def body(begin: Index, mask: Vector | None) -> None:
                self.values.enter(self.positions(found, last, begin), mask)
                for root in stores:
                    self.store(root, self.values.value(root[0]))

            self.chunks(self.extents[last] if self.groups else 1, body)

        self.nest(range(max(last, 0)), row)

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
        self.code.function(name, "ptr noalias %frame")
