"""Rows: loops with folds over the last axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wengert.codegen.llvm.loops.lane_folds import LaneFolds, is_whole
from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import BLOCK, LANES
from wengert.codegen.targets.cpu.splitting import (
    LONG_PART,
    chunk,
    is_partial,
    is_short,
    vector_group,
)


class RowLoops(LaneFolds):
    """One function for one kernel of kind rows."""

    sums_down: Mapping[int, str]  # of each sum down the rows: where those of this block begin

    def body(self) -> None:
        """Row by row, along each as often as folds depend on one another.

        for each row:
            for depth in 0 … deepest:  # of a member: how many folds lie behind it in turn
                compute and store members of the row as a whole that are known now
                go along the row: folds of this depth take in elements, members are stored

        Where sums go down the rows too, rows come in blocks.
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

        def row(outer_at: dict[int, Index]) -> None:
            self.values.fixed = {}
            self.values.in_memory = set()
            self.values.along_row = {}
            for depth in range(deepest + 1):
                self.finish_row(outer_at, last, depths, depth)
                self.row_loop(outer_at, last, depths, depth)

        outer = [g for g in range(len(self.groups)) if g not in inner]
        if self.kernel.down:
            self.blocks_of_rows(outer, last, row)
        else:
            self.nest(outer, row)

    def blocks_of_rows(
        self, outer: list[int], last: int, row: Callable[[dict[int, Index]], None]
    ) -> None:
        """Rows in blocks, for each of which its sums down the rows are left in memory. A kernel of
        columns adds these up, as after blocks that workers have added.

        for each block of rows, or each in this chunk:
            partial[block] = identities
            for each row of the block: go along it; what is summed down is added to partial[block]
        """
        code, down = self.code, self.kernel.down
        rows: Index = 1
        for g in outer:
            rows = code.mul(rows, self.extents[g])
        divided = self.frame.worker is not None
        first, end = chunk(code, rows, BLOCK) if divided else (0, rows)

        def block(begin: Index, _: list[str]) -> None:
            columns, after = self.extents[last], code.min(code.add(begin, BLOCK), end)
            self.sums_down = {
                i: self.place_of_block(down, columns, begin, n, 0) for n, i in enumerate(down)
            }

            def clear(j: Index, _: list[str]) -> None:
                for i, place in self.sums_down.items():
                    code.store(self.identity(i), code.address(place, j, self.dtype(i)))

            def one(r: Index, _: list[str]) -> None:
                places = self.values.unravel(Position(r), [self.extents[g] for g in outer])
                row(dict(zip(outer, (place.base for place in places), strict=True)))

            code.loop(0, columns, LANES, clear)
            code.loop(begin, after, 1, one)

        code.loop(first, end, BLOCK, block)

    def add_down(self, number: int, begin: Index) -> None:
        """Let a sum down the rows take in a vector of this row."""
        code, dtype = self.code, self.dtype(number)
        place = code.address(self.sums_down[number], begin, dtype)
        code.store(self.combine(number, code.load(place, dtype), self.element(number)), place)

    def row_in_parts(self, last: int) -> None:
        """One long row: workers add up parts of it. `write_end_of_parts` adds up their sums.

        for each part in this chunk: partial[part] = its sums

        A part is a group of blocks, or one block.
        """
        code, depths, folds = self.code, self.program.depths(self.kernel), self.folds
        self.finish_row({}, last, depths, 0, stored=False)
        self.values.enter_row(code.place())
        stores = [root for root in self.kernel.stores if self.is_full(root[0])]

        def vector(begin: Index, mask: Vector | None) -> list[Vector]:
            self.values.enter(self.positions({}, last, begin), mask)
            self.store_all(stores)
            return [self.element(i) for i in folds]

        whole = self.extents[last]

        def leave(begin: Index, sums: list[Vector]) -> None:
            for n, total in enumerate(sums):
                code.store(total, self.place_of_part(begin, n))

        def group(begin: Index, _: list[str]) -> None:
            count = self.count_from(begin, LONG_PART, whole)
            leave(begin, self.group(begin, count, folds, vector, is_whole(whole)))

        begin, end = self.bounds[last]
        if not stores:
            at = self.positions({last: 0}, None, 0)
            end = self.unless_idle(folds, at, None, end, begin)
        if self.part == LONG_PART:
            code.loop(begin, end, LONG_PART, group)
        else:
            count = code.sub(end, begin)
            self.group(begin, count, folds, vector, is_whole(whole), leave)

    def place_of_part(self, begin: Index, fold: int) -> str:
        """Where the sum of a part lies, in every lane."""
        assert self.kernel.partial is not None
        code, room = self.code, self.frame.word(self.kernel.partial, "ptr")
        number = code.add(code.mul(code.div(begin, self.part), len(self.folds)), fold)
        return code.let(f"getelementptr i8, ptr {room}, i64 {code.mul(number, LANES * 8)}")

    def write_end_of_parts(self, name: str) -> None:
        """void(frame): the function that ends a row in parts. It adds up the sums of the parts, in
        the order in which a single worker does.

            sums = identities
            for each group of blocks:
                sums = sums + partial[group], or + the sum of partial[block] of its blocks, in order
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

        first = [self.identity(i) for i in folds]

        def add_group(at: Index, sums: list[Vector]) -> list[Vector]:
            after = code.min(code.add(at, LONG_PART), extent)
            return self.taken_in(folds, sums, self.carrying(at, after, self.part, first, add))

        if self.part == LONG_PART or (isinstance(extent, int) and extent <= LONG_PART):
            sums = self.carrying(0, extent, self.part, first, add)
        else:
            sums = self.carrying(0, extent, LONG_PART, first, add_group)
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

        def body(outer_at: dict[int, Index], begin: Index, mask: Vector | None) -> None:
            remembered: list[dict[int, Vector]] = [{} for _ in range(count)]
            self.values.fixed, self.values.in_memory = {}, set()
            self.values.seen = {}

            def at(r: int) -> None:
                self.values.enter(self.positions(outer_at | {last: r}, vector, begin), mask)
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

        def row(outer_at: dict[int, Index]) -> None:
            self.values.enter_row(self.code.place())
            self.chunks(vector, lambda begin, mask: body(outer_at, begin, mask), count)

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
        outer_at: dict[int, Index],
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
        values.enter(self.positions(outer_at | {last: 0}, None, 0), None)
        for number in self.kernel.members:
            if self.is_full(number) or number in self.kernel.down:
                continue
            fold = number in self.folds
            if depths[number] + fold != depth:
                continue
            value = values.fixed[number] if fold else values.value(number)
            values.fixed[number] = value
            if stored and (number, 0) in self.kernel.stores:
                self.store((number, 0), value)

    def row_loop(
        self, outer_at: dict[int, Index], last: int, depths: dict[int, int], depth: int
    ) -> None:
        """Go along the row once.

        for each vector of the row, in the order of the lanes:
            store members of this depth; remember those that a later depth reads again
            each fold of this depth takes in its element
        """
        folds = [i for i in self.folds if depths[i] == depth]
        down = [i for i in self.kernel.down if depths[i] == depth]
        stores = [
            root
            for root in self.kernel.stores
            if self.is_full(root[0]) and depths[root[0]] == depth
        ]
        if not folds and not stores and not down:
            return
        self.values.enter_row(self.code.place())
        kept = {
            i: self.frame.own(slot, self.frame.size(size))
            for i, (slot, size) in zip(self.kernel.kept, self.kernel.scratch, strict=False)
            if depths[i] == depth
        }

        def body(begin: Index, mask: Vector | None) -> list[Vector]:
            self.values.enter(self.positions(outer_at, last, begin), mask)
            self.store_all(stores)
            for i, pointer in kept.items():
                self.values.store_along_row(i, pointer)
            for i in down:
                self.add_down(i, begin)
            return [self.element(i) for i in folds]

        extent = self.extents[last]
        if not stores and not kept and not down:
            at = self.positions(outer_at | {last: 0}, None, 0)
            extent = self.unless_idle(folds, at, None, extent)
        results = self.fold_lanes(extent, folds, body)
        self.values.fixed |= dict(zip(folds, results, strict=True))
        self.values.in_memory |= set(stores)
        self.values.along_row |= kept
