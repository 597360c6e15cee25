"""Lane folds: the order `lanes` of folds along a row. Vectors come in blocks, whose lanes join, and
blocks in groups.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from wengert.codegen.cost.costly import is_costly
from wengert.codegen.llvm.loops.folds import FoldingLoops
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import BLOCK, GROUP, LANES

# (place, mask) -> the elements of a vector from that place on
RowElements: TypeAlias = Callable[[Index, Vector | None], list[Vector]]
# (where a block begins, its sums)
LeaveBlock: TypeAlias = Callable[[Index, list[Vector]], None]

_SIZE = BLOCK * LANES  # elements of a block
_BRIEF = 6  # members of a body that is written several times
_UNROLLED = 4  # vectors of a block that are taken in one after the other, without a loop


class LaneFolds(FoldingLoops):
    """One function for one kernel whose folds go along rows."""

    def fold_lanes(self, extent: Index, folds: list[int], body: RowElements) -> list[Vector]:
        """Results of folds in the order `lanes`, the same in every lane.

        sum over groups of (sum over blocks of (join the lanes of (sum over vectors)))
        """
        size = _SIZE * GROUP
        if isinstance(extent, int) and extent <= _SIZE:
            return self.joined(folds, self.block(0, extent, folds, body, is_whole(extent)))
        if isinstance(extent, int) and extent <= size:
            return self.group(0, extent, folds, body, is_whole(extent))

        def step(i: Index, sums: list[Vector]) -> list[Vector]:
            count = self.count_from(i, size, extent)
            return self.taken_in(folds, sums, self.group(i, count, folds, body, is_whole(extent)))

        return self.carrying(0, extent, size, [self.identity(i) for i in folds], step)

    def count_from(self, begin: Index, size: int, extent: Index) -> Index:
        """How many of the next `size` elements there are."""
        if isinstance(extent, int) and extent % size == 0:
            return size
        return self.code.min(self.code.sub(extent, begin), size)

    def group(
        self,
        begin: Index,
        count: Index,
        folds: list[int],
        body: RowElements,
        whole: bool,
        leave: LeaveBlock | None = None,
    ) -> list[Vector]:
        """The sums of a group of blocks, which are added up in order.

            for each few blocks: sums = sums + the first of them, then + the second …
            for each block that is left: sums = sums + the block

        Blocks of a brief body go side by side: so one addition does not wait for another. With
        `leave`, each block goes there, and nothing is added.
        """
        code, sums = self.code, [self.identity(i) for i in folds]
        done: Index = 0

        def taken(at: Index, sums: list[Vector], block: list[Vector]) -> list[Vector]:
            if leave is None:
                return self.taken_in(folds, sums, block)
            leave(at, block)
            return sums

        def few(blocks: int) -> Callable[[Index, list[Vector]], list[Vector]]:
            def step(i: Index, sums: list[Vector]) -> list[Vector]:
                at = code.add(begin, i)
                lane_sums = self.blocks(at, blocks, folds, body)
                for n in range(blocks):
                    block = self.joined(folds, lane_sums[n * len(folds) : (n + 1) * len(folds)])
                    sums = taken(code.add(at, n * _SIZE), sums, block)
                return sums

            return step

        for blocks in sorted({self.beside(folds), 1}, reverse=True) if self.is_brief() else ():
            size = blocks * _SIZE
            after = code.add(done, code.mul(code.div(code.sub(count, done), size), size))
            if after != done:
                sums = self.carrying(done, after, size, sums, few(blocks))
            done = after

        def rest(i: Index, sums: list[Vector]) -> list[Vector]:
            at, left = code.add(begin, i), code.min(code.sub(count, i), _SIZE)
            return taken(at, sums, self.joined(folds, self.block(at, left, folds, body, whole)))

        if isinstance(count, int) and isinstance(done, int) and count - done <= _SIZE:
            return rest(done, sums) if count > done else sums
        return self.carrying(done, count, _SIZE, sums, rest)

    def blocks(
        self, begin: Index, number: int, folds: list[int], body: RowElements
    ) -> list[Vector]:
        """The sums of so many whole blocks, lane by lane; those of the first block come first."""
        code = self.code

        def elements(i: Index) -> list[Vector]:
            at = (code.add(begin, code.add(i, n * _SIZE)) for n in range(number))
            return [x for place in at for x in body(place, None)]

        every, unrolled = folds * number, 1 if number > 1 else _UNROLLED
        first = [self.identity(i) for i in every]
        return self.folding(0, _SIZE, LANES, every, first, elements, unrolled)

    def block(
        self, begin: Index, count: Index, folds: list[int], body: RowElements, whole: bool
    ) -> list[Vector]:
        """The sums of one block, lane by lane. Unless all of it is whole vectors, the last one has
        a mask; of a body that is not brief, and so is written once, all have.
        """
        code, sums = self.code, [self.identity(i) for i in folds]

        def masked(i: Index) -> list[Vector]:
            return body(code.add(begin, i), code.first_lanes(code.sub(count, i)))

        def unmasked(i: Index) -> list[Vector]:
            return body(code.add(begin, i), None)

        brief = self.is_brief() or (isinstance(count, int) and count < LANES)
        main = count if whole else code.mul(code.div(count, LANES), LANES) if brief else 0
        if main == _SIZE and brief:
            return self.blocks(begin, 1, folds, body)
        sums = self.folded(0, main, folds, sums, unmasked)
        return self.folded(main, count, folds, sums, masked)

    def folded(
        self,
        begin: Index,
        end: Index,
        folds: list[int],
        sums: list[Vector],
        elements: Callable[[Index], list[Vector]],
    ) -> list[Vector]:
        """As `folding` vector by vector, without a loop where there is one vector at most."""
        if begin == end:
            return sums
        if isinstance(begin, int) and isinstance(end, int) and end - begin <= LANES:
            return self.taken_in(folds, sums, elements(begin))
        return self.folding(begin, end, LANES, folds, sums, elements)

    def joined(self, folds: list[int], sums: list[Vector]) -> list[Vector]:
        """The sums of a block, its lanes joined."""
        return [
            self.code.join(x, partial(self.combine, i)) for i, x in zip(folds, sums, strict=True)
        ]

    def is_brief(self) -> bool:
        """Whether the members along the row are so few and plain that writing them several times
        costs little, and loops and waiting cost more than they do.
        """
        folds = (*self.folds, *self.kernel.down)
        along = [i for i in self.kernel.members if i in folds or self.is_full(i)]
        nodes = [self.program.node(i) for i in along]
        return len(nodes) <= _BRIEF and not any(is_costly(node.op) for node in nodes)

    def beside(self, folds: list[int]) -> int:
        """How many blocks go side by side: as many as an addition takes cycles, if registers hold
        them. The largest or smallest number takes one cycle, and so one block.
        """
        if all(self.fold_of(i).keeps for i in folds):
            return 1
        target = self.code.module.target
        size = sum(LANES * self.dtype(i).itemsize for i in folds)
        held = max(target.registers * target.register_bytes // 2 // size, 1)
        return next(number for number in (4, 2, 1) if number <= held)


def is_whole(extent: Index) -> bool:
    """Whether a row consists of whole vectors."""
    return isinstance(extent, int) and extent % LANES == 0
