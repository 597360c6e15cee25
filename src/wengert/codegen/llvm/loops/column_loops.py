"""Columns: loops with folds over other axes than the last.

Each column is added up from row to row. Where that leaves a choice, rows are read as they lie in
memory: some of them side by side, from the first column of a tile to the last, while the sums of
the tile lie in memory on the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from wengert.codegen.llvm.loops.folds import FoldingLoops
from wengert.codegen.llvm.loops.maps import LONG
from wengert.codegen.llvm.text.positions import Position
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import BLOCK, GROUP, LANES
from wengert.codegen.targets.cpu.splitting import is_partial

_ROWS = 8  # that are read side by side: as many as a cache has places for lines at equal distances
_ROOM = 32 * 1024  # bytes of the stack for sums, in all
_WIDEST = 1024  # columns of a tile


class ColumnLoops(FoldingLoops):
    """One function for one kernel of kind columns."""

    def body(self) -> None:
        """The columns, in tiles where that pays.

        for each tile, or vector, of columns:
            for each block of rows, blocks in groups:
                for each row of the block: store members; folds take in their elements
            store the results of the folds, and what is computed from them
        """
        self.prepare()
        if is_partial(self.kernel, self.groups):
            self.blocks_of_chunk()
            return
        tiled = self.is_tiled()

        def row(outer_at: dict[int, Index]) -> None:
            if tiled:
                self.tiles(outer_at)
            else:
                self.chunks(self.last, partial(self.chunk, outer_at))

        self.nest([g for g in self.kept if g != self.last], row)

    def prepare(self) -> None:
        """Say what the rows and columns are."""
        groups = range(len(self.groups))
        self.folded = [g for g in groups if self.groups[g][0] in self.kernel.folded]
        self.kept = [g for g in groups if g not in self.folded]
        self.last = self.kept[-1] if self.kept else None
        self.rows: Index = 1
        for g in self.folded:
            self.rows = self.code.mul(self.rows, self.extents[g])
        self.full = [root for root in self.kernel.stores if self.is_full(root[0])]

    # Blocks of rows, by several workers.

    def blocks_of_chunk(self) -> None:
        """Many rows: workers add up blocks of them. `write_end_of_parts` adds up their sums.

        for each block in this chunk:
            for each tile of columns: partial[block] = their sums
        """
        assert self.last is not None
        code, columns = self.code, self.extents[self.last]
        first, end = self.bounds[self.folded[0]]
        width = self.tile_width(1)

        def block(r: Index, _: list[str]) -> None:
            after = code.min(code.add(r, BLOCK), end)

            def tile(begin: Index, _: list[str]) -> None:
                rooms = [[self.place_of_part(r, n, begin) for n in range(len(self.folds))]]
                stop = code.min(code.add(begin, width), columns)
                _Tile(self, {}, rooms, begin, stop, lambda _: None).sum_rows(0, r, after)

            code.loop(0, columns, width, tile)

        code.loop(first, end, BLOCK, block)

    def place_of_part(self, row: Index, fold: int, column: Index) -> str:
        """Where the sums of a block lie, from a column on."""
        assert self.last is not None
        return self.place_of_block(self.folds, self.extents[self.last], row, fold, column)

    def write_end_of_parts(self, name: str) -> None:
        """void(frame): the function that ends columns in blocks. It adds up the sums of the blocks,
        in the order in which a single worker does, and stores the results.
        """
        self.prepare()
        self.tiles({}, added=True)
        self.code.function(name, self.params.replace("ptr %frame", "ptr noalias %frame"))

    # One vector of columns after the other.

    def chunk(self, outer_at: dict[int, Index], begin: Index, mask: Vector | None) -> None:
        """One vector of columns, from the first row to the last."""

        def block(first: Index, end: Index) -> list[Vector]:
            identities = [self.identity(i) for i in self.folds]
            return self.add_rows(outer_at, begin, mask, identities, first, end)

        end = self.rows
        if not self.full:
            at = self.positions(outer_at | dict.fromkeys(self.folded, 0), self.last, begin)
            end = self.unless_idle(self.folds, at, mask, end)
        self.finish(outer_at, begin, mask, self.in_blocks(end, BLOCK, self.folds, block))

    def add_rows(
        self,
        outer_at: dict[int, Index],
        begin: Index,
        mask: Vector | None,
        sums: list[Vector],
        first: Index,
        end: Index,
    ) -> list[Vector]:
        """The sums of a vector of columns when these rows are added."""

        def elements(r: Index) -> list[Vector]:
            places = self.values.unravel(Position(r), [self.extents[g] for g in self.folded])
            where = dict(zip(self.folded, (p.base for p in places), strict=True))
            self.values.enter_row(self.code.place())
            self.values.enter(self.positions(outer_at | where, self.last, begin), mask)
            for root in self.full:
                self.store(root, self.values.value(root[0]))
            return [self.element(i) for i in self.folds]

        return self.folding(first, end, 1, self.folds, sums, elements)

    def finish(
        self, outer_at: dict[int, Index], begin: Index, mask: Vector | None, results: list[Vector]
    ) -> None:
        """Store the results of a vector of columns, and what is computed from them."""
        values, at = self.values, outer_at | dict.fromkeys(self.folded, 0)
        values.enter_row(self.code.place())
        values.enter(self.positions(at, self.last, begin), mask)
        values.fixed = dict(zip(self.folds, results, strict=True))
        for number in self.kernel.members:
            if not self.is_full(number) and (number, 0) in self.kernel.stores:
                self.store((number, 0), values.value(number))
        values.fixed = {}

    # Tiles.

    def is_tiled(self) -> bool:
        """Whether there are many rows and columns, and the columns lie side by side in memory."""
        if self.last is None or (not self.full and self.idle_conditions(self.folds)):
            return False
        columns, rows = self.extents[self.last], self.rows
        narrow = isinstance(columns, int) and columns < 2 * LANES
        low = isinstance(rows, int) and rows <= 2 * _ROWS
        return not narrow and not low and self.reads_along(self.last)

    def tiles(self, outer_at: dict[int, Index], added: bool = False) -> None:
        """Tile by tile, then the last columns that fill no vector. Blocks may have been `added` up
        before.

        A long body is written once: every vector of a tile has a mask then.
        """
        assert self.last is not None
        code, (first, end) = self.code, self.bounds[self.last]
        columns = self.extents[self.last]
        whole = isinstance(columns, int) and columns % LANES == 0  # shares are whole vectors
        masked = (added or len(self.kernel.members) >= LONG) and not whole
        main = end if masked or whole else code.let(f"and i64 {end}, {-LANES}")

        def mask_at(j: Index) -> Vector | None:
            return code.first_lanes(code.sub(end, j)) if masked else None

        levels = max(self.levels(), 2) if added else self.levels()
        width = self.tile_width(levels)
        # As much as for many columns: functions that differ in numbers only are alike.
        most = self.widest(levels)
        rooms = [[code.room(self.dtype(i), most) for i in self.folds] for _ in range(levels)]

        def tile(begin: Index, _: list[str]) -> None:
            stop = code.min(code.add(begin, width), main)
            _Tile(self, outer_at, rooms, begin, stop, mask_at, added).write()

        code.loop(first, main, width, tile)
        if main is not end:
            # A chunk behind the end has no columns left.
            rest = code.sub(end, main if first == 0 else code.max(main, first))
            last = partial(self.chunk, outer_at, main)
            code.when(code.compare("sgt", rest, 0), lambda: last(code.first_lanes(rest)))

    def levels(self) -> int:
        """How many kinds of sums there are: of blocks, of groups, of all."""
        if not isinstance(self.rows, int):
            return 3
        return 1 + (self.rows > BLOCK) + (self.rows > BLOCK * GROUP)

    def tile_width(self, levels: int) -> int:
        """Columns of a tile."""
        assert self.last is not None
        columns, width = self.extents[self.last], self.widest(levels)
        return min(width, -(-columns // LANES) * LANES) if isinstance(columns, int) else width

    def widest(self, levels: int) -> int:
        """Columns of a tile where there are many."""
        size = levels * sum(self.dtype(i).itemsize for i in self.folds)
        return max(min(_ROOM // size, _WIDEST) // LANES, 1) * LANES


@dataclass(frozen=True)
class _Tile:
    """Columns from `begin` to `end`, whose sums lie in `rooms`: of each level and fold."""

    loops: ColumnLoops
    outer_at: dict[int, Index]
    rooms: list[list[str]]
    begin: Index
    end: Index
    mask_at: Callable[[Index], Vector | None]
    added: bool = False  # whether the sums of blocks are in memory already

    def write(self) -> None:
        """Sums of blocks into those of groups, these into that of all, which is stored."""
        rows, top = self.loops.rows, len(self.rooms) - 1
        self.sum_rows(top, 0, rows)

        def finish(j: Index) -> None:
            self.loops.finish(self.outer_at, j, self.mask_at(j), self.load(top, j))

        self.along(finish)

    def sum_rows(self, level: int, first: Index, end: Index) -> None:
        """The sums of some rows, by sums of the level below.

        sums = identities
        for each block (or group) of the rows: sums = sums + those of the block
        """
        loops, code = self.loops, self.loops.code
        identities = [loops.identity(i) for i in loops.folds]
        self.along(lambda j: self.store(level, j, identities))

        def add(below: Callable[[Index], list[Vector]], j: Index) -> None:
            self.store(level, j, loops.taken_in(loops.folds, self.load(level, j), below(j)))

        def step(r: Index, _: list[str]) -> None:
            after = code.min(code.add(r, size), end)
            if level == 1 and self.added:
                self.along(partial(add, partial(self.load_part, r)))
            elif level:
                self.sum_rows(level - 1, r, after)
                self.along(partial(add, partial(self.load, level - 1)))
            else:
                self.along(partial(self.add_rows, r, after))

        size = (_ROWS, BLOCK, BLOCK * GROUP)[level]
        code.loop(first, end, size, step)

    def add_rows(self, first: Index, end: Index, j: Index) -> None:
        """Add a few rows to the sums of a block, for one vector of columns."""
        sums = self.load(0, j)
        self.store(0, j, self.loops.add_rows(self.outer_at, j, self.mask_at(j), sums, first, end))

    def along(self, body: Callable[[Index], None]) -> None:
        """For each vector of the tile."""
        self.loops.code.loop(self.begin, self.end, LANES, lambda j, _: body(j))

    def load_part(self, row: Index, j: Index) -> list[Vector]:
        """The sums of the block that begins with a row."""
        loops = self.loops
        places = [loops.place_of_part(row, n, j) for n in range(len(loops.folds))]
        return [
            loops.code.load(p, loops.dtype(i)) for p, i in zip(places, loops.folds, strict=True)
        ]

    def load(self, level: int, j: Index) -> list[Vector]:
        loops = self.loops
        return [
            loops.code.load(self.place(level, n, j), loops.dtype(i))
            for n, i in enumerate(loops.folds)
        ]

    def store(self, level: int, j: Index, sums: list[Vector]) -> None:
        for n, x in enumerate(sums):
            self.loops.code.store(x, self.place(level, n, j))

    def place(self, level: int, fold: int, j: Index) -> str:
        code, dtype = self.loops.code, self.loops.dtype(self.loops.folds[fold])
        return code.address(self.rooms[level][fold], code.sub(j, self.begin), dtype)
