"""Loops with folds, along rows or columns, in the one order that every sum has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from wengert.codegen.kernel import is_fold
from wengert.codegen.llvm.loops.accumulators import closed, opened, taken
from wengert.codegen.llvm.loops.idle_sums import conditions
from wengert.codegen.llvm.loops.maps import Loops
from wengert.codegen.llvm.loops.members import group_stride
from wengert.codegen.llvm.text.instructions import Instructions
from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import BLOCK, GROUP, LANES
from wengert.core.dtypes import DType, bool_
from wengert.core.lowering import Fold
from wengert.core.types import ArrayType


class FoldingLoops(Loops):
    """One function for one kernel with folds."""

    def is_full(self, number: int) -> bool:
        """Whether a member is computed at every place of the domain."""
        node = self.program.node(number)
        assert isinstance(node.type, ArrayType)
        return not is_fold(node) and node.type.shape == self.kernel.domain

    def reads_along(self, group: int) -> bool:
        """Whether all that is read lies side by side along a group of axes, or is the same."""
        domain, program = self.kernel.domain, self.program
        for number in self.kernel.members:
            node = program.node(number)
            assert isinstance(node.type, ArrayType)
            shape = domain if is_fold(node) else node.type.shape
            for view in program.operand_views(number):
                if (
                    len(view.strides) != len(shape)
                    or program.owner.get(view.root) == self.values.number
                ):
                    continue
                strides = self.values.domain_strides(view.strides, shape)
                if group_stride(domain, strides, self.groups[group]) not in (0, 1):
                    return False
        return True

    def idle_conditions(self, folds: list[int]) -> list[int] | None:
        """Conditions under which these folds have anything to add, if all have one."""
        return conditions(self.program, self.kernel, folds)

    def unless_idle(
        self, folds: list[int], at: list[Position], mask: Vector | None, end: Index, idle: Index = 0
    ) -> Index:
        """Where a loop that only folds has to end: at `end`, or at `idle` if all that it would take
        in is known to be 0.
        """
        needed = self.idle_conditions(folds)
        if not needed:
            return end
        self.values.enter_row(self.code.place())
        self.values.enter(at, mask)
        e = Instructions(self.code, bool_)
        held = [self.values.operand(i, self.kernel.domain) for i in needed]
        some = e.any_lane(reduce(e.or_, held))
        return self.code.let(f"select i1 {some}, i64 {end}, i64 {idle}")

    def element(self, number: int, masked: bool = True) -> Vector:
        """What a fold takes in at this place."""
        node = self.program.node(number)
        fold, dtype = self.fold_of(number), self.dtype(number)
        (source,) = node.operands
        assert source is not None
        if number in self.program.rerouted:
            value = self.values.viewed(self.program.rerouted[number], self.kernel.domain)
        else:
            value = self.values.operand(source, self.kernel.domain)
        if fold.truth and value.dtype != bool_:
            value = self.values.cast(value, bool_)
        value = self.values.cast(value, dtype)
        mask = self.values.mask
        if mask is None or not masked:
            return value
        return Instructions(self.code, dtype).select(mask, value, self.identity(number))

    def place_of_block(
        self, folds: Sequence[int], columns: Index, row: Index, fold: int, column: Index
    ) -> str:
        """Where the sums of the block that begins with a row lie, of one of the folds from a column
        on; there is room for whole vectors.
        """
        assert self.kernel.partial is not None
        code, sizes = self.code, [self.dtype(i).itemsize for i in folds]
        wide = code.mul(code.div(code.add(columns, LANES - 1), LANES), LANES)
        before = code.mul(code.mul(code.div(row, BLOCK), wide), sum(sizes))
        before = code.add(before, code.mul(wide, sum(sizes[:fold])))
        room = self.frame.word(self.kernel.partial, "ptr")
        at = code.let(f"getelementptr i8, ptr {room}, i64 {before}")
        return code.address(at, column, self.dtype(folds[fold]))

    def fold_of(self, number: int) -> Fold:
        fold = self.program.node(number).op.lower
        assert isinstance(fold, Fold)
        return fold

    def dtype(self, number: int) -> DType:
        """Of a member."""
        return self.program.root_type((number, 0)).dtype

    def identity(self, number: int) -> Vector:
        dtype = self.dtype(number)
        return self.code.constant(self.fold_of(number).identity(dtype), dtype)

    def combine(self, number: int, x: Vector, y: Vector) -> Vector:
        combined: Vector = self.fold_of(number).combine(Instructions(self.code, x.dtype), x, y)
        return combined

    def taken_in(self, folds: list[int], sums: list[Vector], new: list[Vector]) -> list[Vector]:
        return [self.combine(i, x, y) for i, x, y in zip(folds, sums, new, strict=True)]

    def folding(
        self,
        begin: Index,
        end: Index,
        step: int,
        folds: list[int],
        sums: list[Vector],
        elements: Callable[[Index], list[Vector]],
        unrolled: int = 1,
    ) -> list[Vector]:
        """Results after a loop in which each fold takes in elements; before it they are `sums`.
        The loop is written for so many steps at once, into which it can be divided.
        """
        code, rules = self.code, [self.fold_of(i) for i in folds]
        kept = [opened(code, rule, x) for rule, x in zip(rules, sums, strict=True)]
        sizes = [len(each) for each in kept]

        def body(i: Index, flat: list[Vector]) -> list[Vector]:
            names = iter(flat)
            accumulators = [[next(names) for _ in range(size)] for size in sizes]
            new = zip(*(elements(code.add(i, n * step)) for n in range(unrolled)), strict=True)
            accumulators = [
                taken(code, *each) for each in zip(rules, accumulators, new, strict=True)
            ]
            return [x for each in accumulators for x in each]

        flat = [x for each in kept for x in each]
        names = iter(self.carrying(begin, end, unrolled * step, flat, body))
        return [closed(code, [next(names) for _ in range(size)]) for size in sizes]

    def carrying(
        self,
        begin: Index,
        end: Index,
        step: int,
        first: list[Vector],
        body: Callable[[Index, list[Vector]], list[Vector]],
    ) -> list[Vector]:
        """A loop that carries Vectors."""
        dtypes = [x.dtype for x in first]
        carry = [(self.code.type(x.dtype), part) for x in first for part in x.parts]

        def flat(i: Index, parts: list[str]) -> list[str]:
            return [p for x in body(i, self.grouped(parts, dtypes)) for p in x.parts]

        return self.grouped(self.code.loop(begin, end, step, flat, carry, adding=True), dtypes)

    def grouped(self, parts: list[str], dtypes: Sequence[Any]) -> list[Vector]:
        n = self.code.pieces
        return [Vector(tuple(parts[k * n : k * n + n]), d) for k, d in enumerate(dtypes)]

    def in_blocks(
        self,
        extent: Index,
        block: int,
        folds: list[int],
        body: Callable[[Index, Index], list[Vector]],
    ) -> list[Vector]:
        """Blocks are added up in order within groups, and groups in order.

        sums = identities
        for each GROUP blocks:
            of_group = identities
            for each block of the group: of_group = of_group + body(its begin, its end)
            sums = sums + of_group
        """
        if isinstance(extent, int) and extent <= block:
            return body(0, extent)
        code, first = self.code, [self.identity(i) for i in folds]

        def one(begin: Index, end: Index) -> list[Vector]:
            def step(i: Index, sums: list[Vector]) -> list[Vector]:
                return self.taken_in(folds, sums, body(i, code.min(code.add(i, block), end)))

            return self.carrying(begin, end, block, first, step)

        if isinstance(extent, int) and extent <= block * GROUP:
            return one(0, extent)

        def group(i: Index, sums: list[Vector]) -> list[Vector]:
            return self.taken_in(folds, sums, one(i, code.min(code.add(i, block * GROUP), extent)))

        return self.carrying(0, extent, block * GROUP, first, group)
