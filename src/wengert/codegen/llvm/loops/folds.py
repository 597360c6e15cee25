"""Loops with folds, along rows or columns, in the one order that every sum has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from wengert.codegen.llvm.loops.idle_sums import conditions
from wengert.codegen.llvm.loops.maps import Loops
from wengert.codegen.llvm.text.instructions import Instructions
from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import BLOCK, GROUP, LANES
from wengert.codegen.targets.cpu.splitting import PART, is_partial, is_short, vector_group
from wengert.core.dtypes import bool_
from wengert.core.graph import Node
from wengert.core.lowering import Fold
from wengert.core.types import ArrayType


class FoldingLoops(Loops):
    """One function for one kernel of kind rows or columns."""

    def body(self) -> None:
        """The loops of the kernel, by its kind."""
        if self.kernel.kind == "rows":
            self.rows()
        else:
            self.columns()

    def is_full(self, number: int) -> bool:
        """Whether a member is computed at every place of the domain."""
        node = self.program.node(number)
        assert isinstance(node.type, ArrayType)
        return number not in self.folds and node.type.shape == self.kernel.domain

    def rows(self) -> None:
        """Row by row, as often along each as folds follow from one another.

        for each row:
            for depth in 0 … deepest:  # of a member: how many folds lie behind it in turn
                compute and store members of the row as a whole that are known now
                go along the row: folds of this depth take in elements, members are stored
        """
        inner = [g for g, group in enumerate(self.groups) if group[0] in self.kernel.folded]
        (last,) = inner
        if is_short(self.kernel, self.groups):
            self.rows_as_lanes(last)
            return
        if is_partial(self.kernel, self.groups):
            self.row_in_parts(last)
            return
        depths = self.program.depths(self.kernel)
        deepest = max(depths[i] + (i in self.folds) for i in self.kernel.members)

        def row(found: dict[int, Index]) -> None:
            self.values.fixed = {}
            self.values.in_memory = set()
            self.values.along_row = {}
            for depth in range(deepest + 1):
                self.finish_row(found, last, depths, depth)
                self.row_loop(found, last, depths, depth)

        self.nest([g for g in range(len(self.groups)) if g not in inner], row)

    def row_in_parts(self, last: int) -> None:
        """One long row: workers add up parts of it. `end_of_parts` adds what these come to.

        for each part in this chunk: partial[part] = its sums, by groups of blocks
        """
        code, depths, folds = self.code, self.program.depths(self.kernel), self.folds
        self.finish_row({}, last, depths, 0, stored=False)
        self.values.enter_row(code.place())
        stores = [root for root in self.kernel.stores if self.is_full(root[0])]

        def vector(begin: Index, mask: Vector | None) -> list[Vector]:
            self.values.enter(self.positions({}, last, begin), mask)
            self.store_all(stores)
            return [self.element(i) for i in folds]

        def part(begin: Index, _: list[str]) -> None:
            end = code.min(code.add(begin, PART), self.extents[last])
            for n, total in enumerate(self.blocks_of_lanes(begin, end, folds, vector)):
                code.store(total, self.place_of_part(begin, n))

        begin, end = self.bounds[last]
        if not stores:
            at = self.positions({last: 0}, None, 0)
            end = self.unless_idle(folds, at, None, end, begin)
        code.loop(begin, end, PART, part)

    def place_of_part(self, begin: Index, fold: int) -> str:
        """Where the sum of a part lies, in every lane."""
        assert self.kernel.partial is not None
        code, room = self.code, self.frame.word(self.kernel.partial, "ptr")
        number = code.add(code.mul(code.div(begin, PART), len(self.folds)), fold)
        return code.let(f"getelementptr i8, ptr {room}, i64 {code.mul(number, LANES * 8)}")

    def write_end_of_parts(self, name: str) -> None:
        """void(frame): the function that ends a row in parts. It adds up what the parts came to, in
        the order in which a single worker does.

            sums = identities
            for part in 0, 1 …: sums = sums + partial[part]
            store sums, and what is computed from them
        """
        code, depths, folds = self.code, self.program.depths(self.kernel), self.folds
        (last,) = [g for g, group in enumerate(self.groups) if group[0] in self.kernel.folded]
        self.finish_row({}, last, depths, 0)
        extent = self.extents[last]
        if not any(self.is_full(root[0]) for root in self.kernel.stores):
            extent = self.unless_idle(folds, self.positions({last: 0}, None, 0), None, extent)

        def add(at: Index, sums: list[Vector]) -> list[Vector]:
            places = [self.place_of_part(at, n) for n in range(len(sums))]
            parts = [code.load(p, x.dtype) for p, x in zip(places, sums, strict=True)]
            return self.taken_in(folds, sums, parts)

        sums = self.carrying(0, extent, PART, [self.identity(i) for i in folds], add)
        self.values.fixed |= dict(zip(folds, sums, strict=True))
        self.finish_row({}, last, depths, 1)
        code.function(name, "ptr noalias %frame")

    def rows_as_lanes(self, last: int) -> None:
        """Short rows: every lane has a row of its own. Each row is added up in the tree in which
        the lanes of a long one would join.

            for each LANES rows, one in each lane:
                for each member, in order:
                    fold: result = the tree of its elements at r = 0, 1 … of the rows
                    of the row as a whole: computed once
                for r in 0, 1 …: store what is stored at r
        """
        (count,) = (n for g, n in enumerate(self.extents) if g == last)
        assert isinstance(count, int)
        vector = vector_group(self.kernel, self.groups)
        assert vector is not None

        def body(found: dict[int, Index], begin: Index, mask: Vector | None) -> None:
            remembered: list[dict[int, Vector]] = [{} for _ in range(count)]
            self.values.fixed, self.values.in_memory = {}, set()

            def at(r: int) -> None:
                self.values.enter(self.positions(found | {last: r}, vector, begin), mask)
                self.values.values = remembered[r]

            for number in self.kernel.members:
                if number in self.folds:
                    elements = []
                    for r in range(count):
                        at(r)
                        elements.append(self.element(number, masked=False))
                    self.values.fixed[number] = self.tree(number, elements)
                elif not self.is_full(number):
                    at(0)
                    self.values.fixed[number] = self.values.value(number)
            for r in range(count):
                at(r)
                full = [root for root in self.kernel.stores if r == 0 or self.is_full(root[0])]
                self.store_all(full)

        def row(found: dict[int, Index]) -> None:
            self.values.enter_row(self.code.place())
            self.chunks(vector, lambda begin, mask: body(found, begin, mask))

        self.nest([g for g in range(len(self.groups)) if g not in (last, vector)], row)

    def tree(self, number: int, elements: list[Vector]) -> Vector:
        """The fold of one row's elements, combined as if each were in a lane of its own: element i
        with i + 8, then i + 4, 2, 1.
        """
        identity = self.identity(number)
        lanes = [self.combine(number, identity, x) for x in elements]
        lanes += [identity] * (LANES - len(lanes))
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [self.combine(number, lanes[i], lanes[i + half]) for i in range(half)]
        return lanes[0]

    def finish_row(
        self,
        found: dict[int, Index],
        last: int,
        depths: dict[int, int],
        depth: int,
        stored: bool = True,
    ) -> None:
        """Compute and store members of the row as a whole that are known at this depth, and the
        results of folds.
        """
        values = self.values
        values.enter_row(self.code.place())
        values.enter(self.positions(found | {last: 0}, None, 0), None)
        for number in self.kernel.members:
            if self.is_full(number):
                continue
            fold = number in self.folds
            if depths[number] + fold != depth:
                continue
            value = values.fixed[number] if fold else values.value(number)
            values.fixed[number] = value
            if stored and (number, 0) in self.kernel.stores:
                self.store((number, 0), value)

    def row_loop(
        self, found: dict[int, Index], last: int, depths: dict[int, int], depth: int
    ) -> None:
        """Go along the row once.

        for each vector of the row, in the order of the lanes:
            store members of this depth; remember those that a later depth reads again
            each fold of this depth takes in its element
        """
        folds = [i for i in self.folds if depths[i] == depth]
        stores = [
            root
            for root in self.kernel.stores
            if self.is_full(root[0]) and depths[root[0]] == depth
        ]
        if not folds and not stores:
            return
        self.values.enter_row(self.code.place())
        kept = {
            i: self.frame.own(slot, self.frame.size(size))
            for i, (slot, size) in zip(self.kernel.kept, self.kernel.scratch, strict=False)
            if depths[i] == depth
        }

        def body(begin: Index, mask: Vector | None) -> list[Vector]:
            self.values.enter(self.positions(found, last, begin), mask)
            self.store_all(stores)
            for i, pointer in kept.items():
                self.values.store_along_row(i, pointer)
            return [self.element(i) for i in folds]

        extent = self.extents[last]
        if not stores and not kept:
            at = self.positions(found | {last: 0}, None, 0)
            extent = self.unless_idle(folds, at, None, extent)
        results = self.fold_lanes(extent, folds, body)
        self.values.fixed |= dict(zip(folds, results, strict=True))
        self.values.in_memory |= set(stores)
        self.values.along_row |= kept

    def unless_idle(
        self, folds: list[int], at: list[Position], mask: Vector | None, end: Index, idle: Index = 0
    ) -> Index:
        """Where a loop that only folds has to end: at `end`, or at `idle` if all that it would take
        in is known to be 0.
        """
        needed = conditions(self.program, self.kernel, folds)
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
        fold, dtype = self.fold_of(number), _dtype(node)
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

    def fold_of(self, number: int) -> Fold:
        found = self.program.node(number).op.lower
        assert isinstance(found, Fold)
        return found

    def identity(self, number: int) -> Vector:
        dtype = _dtype(self.program.node(number))
        return self.code.constant(self.fold_of(number).identity(dtype), dtype)

    def combine(self, number: int, x: Vector, y: Vector) -> Vector:
        found: Vector = self.fold_of(number).combine(Instructions(self.code, x.dtype), x, y)
        return found

    # The order of folds: vectors or rows in blocks, blocks in groups.

    def fold_lanes(
        self, extent: Index, folds: list[int], body: Callable[[Index, Vector | None], list[Vector]]
    ) -> list[Vector]:
        """Results of folds in the order `lanes`, the same in every lane.

        sum over groups of (sum over blocks of (join the lanes of (sum over vectors)))
        """

        def block(begin: Index, end: Index) -> list[Vector]:
            return self.joined_block(begin, end, folds, body)

        return self.in_blocks(extent, BLOCK * LANES, folds, block)

    def joined_block(
        self,
        begin: Index,
        end: Index,
        folds: list[int],
        body: Callable[[Index, Vector | None], list[Vector]],
    ) -> list[Vector]:
        """The sums of one block, its lanes joined."""
        sums = self.block_of_lanes(begin, end, folds, body)
        return [
            self.code.join(x, partial(self.combine, i)) for i, x in zip(folds, sums, strict=True)
        ]

    def blocks_of_lanes(
        self,
        begin: Index,
        end: Index,
        folds: list[int],
        body: Callable[[Index, Vector | None], list[Vector]],
    ) -> list[Vector]:
        """The sums of a group of blocks, which are added up in order."""
        code, size = self.code, BLOCK * LANES

        def step(i: Index, sums: list[Vector]) -> list[Vector]:
            last = code.min(code.add(i, size), end)
            return self.taken_in(folds, sums, self.joined_block(i, last, folds, body))

        return self.carrying(begin, end, size, [self.identity(i) for i in folds], step)

    def block_of_lanes(
        self,
        begin: Index,
        end: Index,
        folds: list[int],
        body: Callable[[Index, Vector | None], list[Vector]],
    ) -> list[Vector]:
        code = self.code
        first = [self.identity(i) for i in folds]
        count = code.sub(end, begin)
        if isinstance(count, int) and count <= LANES:
            mask = None if count == LANES else code.first_lanes(count)
            return self.taken_in(folds, first, body(begin, mask)) if count else first
        whole = isinstance(count, int) and count % LANES == 0

        def step(i: Index, sums: list[Vector]) -> list[Vector]:
            mask = None if whole else code.first_lanes(code.sub(end, i))
            return self.taken_in(folds, sums, body(i, mask))

        return self.carrying(begin, end, LANES, first, step)

    def taken_in(self, folds: list[int], sums: list[Vector], new: list[Vector]) -> list[Vector]:
        return [self.combine(i, x, y) for i, x, y in zip(folds, sums, new, strict=True)]

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

        return self.grouped(self.code.loop(begin, end, step, flat, carry), dtypes)

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

    def columns(self) -> None:
        """Columns side by side in the lanes, each added up from row to row.

        for each vector of columns:
            for each block of rows, blocks in groups:
                for each row of the block: store members; folds take in their elements
            store the results of the folds, and what is computed from them
        """
        folded = [g for g, group in enumerate(self.groups) if group[0] in self.kernel.folded]
        kept = [g for g in range(len(self.groups)) if g not in folded]
        last = kept[-1] if kept else None
        rows: Index = 1
        for g in folded:
            rows = self.code.mul(rows, self.extents[g])

        def chunk(found: dict[int, Index], begin: Index, mask: Vector | None) -> None:
            def at_row(r: Index) -> None:
                places = self.values.unravel(Position(r), [self.extents[g] for g in folded])
                where = dict(zip(folded, (p.base for p in places), strict=True))
                self.values.enter_row(self.code.place())
                self.values.enter(self.positions(found | where, last, begin), mask)

            def block(first: Index, end: Index) -> list[Vector]:
                def step(r: Index, sums: list[Vector]) -> list[Vector]:
                    at_row(r)
                    for root in self.kernel.stores:
                        if self.is_full(root[0]):
                            self.store(root, self.values.value(root[0]))
                    return self.taken_in(self.folds, sums, [self.element(i) for i in self.folds])

                identities = [self.identity(i) for i in self.folds]
                return self.carrying(first, end, 1, identities, step)

            end = rows
            if not any(self.is_full(root[0]) for root in self.kernel.stores):
                at = self.positions(found | dict.fromkeys(folded, 0), last, begin)
                end = self.unless_idle(self.folds, at, mask, rows)
            results = self.in_blocks(end, BLOCK, self.folds, block)
            self.finish_columns(found | dict.fromkeys(folded, 0), last, begin, mask, results)

        def row(found: dict[int, Index]) -> None:
            self.chunks(last, lambda begin, mask: chunk(found, begin, mask))

        self.nest([g for g in kept if g != last], row)

    def finish_columns(
        self,
        found: dict[int, Index],
        last: int | None,
        begin: Index,
        mask: Vector | None,
        results: list[Vector],
    ) -> None:
        values = self.values
        values.enter_row(self.code.place())
        values.enter(self.positions(found, last, begin), mask)
        values.fixed = dict(zip(self.folds, results, strict=True))
        for number in self.kernel.members:
            if not self.is_full(number) and (number, 0) in self.kernel.stores:
                self.store((number, 0), values.value(number))
        values.fixed = {}


def _dtype(node: Node) -> Any:
    assert isinstance(node.type, ArrayType)
    return node.type.dtype
