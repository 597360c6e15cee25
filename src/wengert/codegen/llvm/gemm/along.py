"""Vector × matrix where the matrix lies along k.

The sums of a block of K are taken in the order of k here, too. The lanes are columns of the output,
or blocks of K, which are independent until they are added up; the number of blocks decides which.
Distances between columns of B are often such that they share a few sets of the first cache and
evict each other; those between blocks of K are not.

The lanes read places that are far apart, which processors do not prefetch. So the lines of the
next columns are prefetched explicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from wengert.codegen.llvm.gemm.lane_pieces import (
    LINE,
    PIECE,
    lanes_of_pieces,
    repeated,
    side_by_side,
)
from wengert.codegen.llvm.gemm.pack import picked, transpose_parts
from wengert.codegen.llvm.gemm.tile import opaque
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import INNER
from wengert.core.dtypes import DType

ALONG_PARAMS = "ptr %a, i64 %a_inner, ptr %b, i64 %b_col, ptr %c, i64 %columns, i64 %inner"
_CHAINS = 4  # vectors of sums that hide the latency of one another's fma
_PER_POINTER = 4  # columns of B that one pointer serves, with the offsets 0, s, 2s and 3s


def least_sizes(module: Module, dtype: DType) -> tuple[int, int]:
    """Columns and values of k that there must be."""
    count = PIECE // dtype.itemsize
    return _CHAINS // count * lanes_of_pieces(module, dtype), count


def define_along(module: Module, name: str, dtype: DType) -> None:
    """A function with ALONG_PARAMS: c[j] = sum over k of a[k] b[k, j], where b_inner is 1 and sizes
    are no smaller than `least_sizes`.

        for blocks in 4, 2, 1 (of float64: 2, 1):
            for each so many blocks of K that are left:
                for each 32 / blocks columns j (of float64: 16 / blocks), side by side:
                    sums of all blocks, each in the order of k
                    c[j] = or += the sums, block after block

    The last columns reach back over some that are done, and are computed from what c held before.
    Where columns are too few for several blocks, these are taken one by one.
    """
    code = Code(module, lanes_of_pieces(module, dtype))
    along = _Along(code, dtype)
    done: Index = 0
    blocks = along.count
    while blocks > 1:
        span = blocks * INNER
        end = code.sub("%inner", code.mod(code.sub("%inner", done), span))
        if blocks < along.count:
            enough = code.compare("sge", "%columns", along.columns(_CHAINS, blocks))
            end = code.let(f"select i1 {enough}, i64 {end}, i64 {done}")
        code.loop(done, end, span, partial(along.some_blocks, blocks))
        done = end
        blocks //= 2
    code.loop(done, "%inner", INNER, along.one_block)
    code.function(name, ALONG_PARAMS)


class _Along:
    """Chains are vectors of sums. Of each part of a vector, the lanes are some columns, and for
    each of these the blocks of K.
    """

    def __init__(self, code: Code, dtype: DType) -> None:
        self.code, self.dtype = code, dtype
        self.e = Arithmetic(code, dtype)
        self.kind = code.type(dtype)
        self.zero = self.e.const(0.0).parts[0]
        self.count = PIECE // dtype.itemsize  # numbers of a piece
        self.offsets = [code.mul(r, "%b_col") for r in range(_PER_POINTER)]
        self.turned = code.room(dtype, self.count * INNER)
        self.unfinished = code.room(dtype, _CHAINS * code.lanes)

    def columns(self, chains: int, blocks: int) -> int:
        return chains * self.code.lanes // blocks

    def some_blocks(self, blocks: int, p: Index, _: list[str]) -> None:
        """So many whole blocks, from p on."""
        code, columns = self.code, self.columns(_CHAINS, blocks)
        self._turn(p, blocks)

        def sums(j: Index) -> list[list[Vector]]:
            begin = self._at(self._at("%b", code.mul(j, "%b_col")), p)
            totals = self._sums(begin, _CHAINS, blocks, INNER, (self.turned, blocks))
            return self._by_block(totals, blocks)

        self._each(0, columns, p, self._kept(), sums)

    def one_block(self, p: Index, _: list[str]) -> None:
        """The block from p on, or what there is of it."""
        code, kept = self.code, self._kept()
        end = code.min(code.add(p, INNER), "%inner")
        size = code.sub(end, p)
        whole = code.sub(size, code.mod(size, self.count))
        some = code.compare("slt", whole, size)
        factors = self._at("%a", code.mul(p, "%a_inner")), "%a_inner"
        done: Index = 0
        chains = _CHAINS
        while chains:

            def sums(j: Index, chains: int = chains) -> list[list[Vector]]:
                begin = self._at("%b", code.mul(j, "%b_col"))
                totals = self._sums(self._at(begin, p), chains, 1, whole, factors)
                parts = code.either(
                    some,
                    [self.kind] * chains,
                    lambda: self._rest(begin, code.add(p, whole), end, totals),
                    lambda: totals,
                )
                return [[x] for x in self._vectors(parts)]

            columns = self.columns(chains, 1)
            done = self._each(done, columns, p, kept, sums, half=chains > 1)
            chains //= 2

    def _turn(self, p: Index, blocks: int) -> None:
        """turned[t, i] = a[p + i · INNER + t]."""
        code, dtype = self.code, self.dtype

        def line(t: Index, _: list[str]) -> None:
            for i in range(blocks):
                k = code.add(code.add(p, i * INNER), t)
                number = code.load(self._at("%a", code.mul(k, "%a_inner")), dtype)
                code.store(number, self._at(self.turned, code.add(code.mul(t, blocks), i)))

        with code.with_lanes(1):
            code.loop(0, INNER, 1, line)

    def _sums(
        self, begin: str, chains: int, blocks: int, size: Index, factors: tuple[str, Index]
    ) -> list[str]:
        """Chains of sums over so many values of k, a multiple of a piece, in each block from
        `begin` on; `factors` says where they are and how far apart.
        """
        code, count, columns = self.code, self.count, self.columns(chains, blocks)
        starts = range(0, columns, _PER_POINTER)
        bases = [self._at(begin, code.mul(r, "%b_col")) for r in starts]
        place, apart = factors
        apart_by = [code.mul(i, apart) for i in range(count + 1)]

        def step(t: Index, carried: list[str]) -> list[str]:
            x, at, sums = carried[0], carried[1 : 1 + len(bases)], carried[1 + len(bases) :]
            numbers = [
                repeated(code, self.dtype, self._at(x, apart_by[i]), blocks) for i in range(count)
            ]
            self._ask(begin, columns, blocks, t)
            totals = []
            for chain, total in enumerate(sums):
                own = self._columns_of(chain, blocks)
                places = [
                    self._at(self._column(at, r), i * INNER) for r in own for i in range(blocks)
                ]
                for n, y in zip(numbers, side_by_side(code, self.dtype, places), strict=True):
                    total = self._product(n, y, total)
                totals.append(total)
            moved = [opaque(code, self._at(pointer, count)) for pointer in at]
            return [opaque(code, self._at(x, apart_by[count])), *moved, *totals]

        carry = [("ptr", place), *(("ptr", x) for x in bases)]
        carry += [(self.kind, self.zero)] * chains
        return code.loop(0, size, count, step, carry)[1 + len(bases) :]

    def _columns_of(self, chain: int, blocks: int) -> list[int]:
        """The columns in the lanes of a chain: such that those of so many chains as there are
        blocks, taken block by block, are side by side.
        """
        lanes, few = self.code.lanes, self.count // blocks
        first = chain // blocks * lanes + chain % blocks * few
        return [first + part + n for part in range(0, lanes, self.count) for n in range(few)]

    def _by_block(self, sums: Sequence[str], blocks: int) -> list[list[Vector]]:
        """The sums of each vector of columns, block by block."""
        code, lanes, count = self.code, self.code.lanes, self.count
        by_block = []
        for g in range(0, len(sums), blocks):
            chains = self._vectors(sums[g : g + blocks])
            if blocks == count:
                by_block.append(transpose_parts(code, chains))
                continue
            assert (blocks, count) == (2, 4)
            orders = [
                [part + b + x for part in range(0, lanes, count) for x in (0, 2, lanes, lanes + 2)]
                for b in range(blocks)
            ]
            by_block.append([picked(code, chains[0], chains[1], order) for order in orders])
        return by_block

    def _rest(self, begin: str, whole: Index, end: Index, sums: Sequence[str]) -> list[str]:
        """The sums with the values of k from `whole` on, fewer than a piece has: the last piece
        reaches back over some that are done, which are left out.
        """
        code, count, lanes = self.code, self.count, self.code.lanes
        first = code.sub(end, count)
        for n, x in enumerate(sums):
            code.store(Vector((x,), self.dtype), self._at(self.unfinished, n * lanes))

        def chain(r: Index, _: list[str]) -> None:
            place = self._at(self.unfinished, r)
            start = self._at(self._at(begin, code.mul(r, "%b_col")), first)
            columns = [self._at(start, code.mul(n, "%b_col")) for n in range(lanes)]
            (total,) = code.load(place, self.dtype).parts
            for i, x in enumerate(side_by_side(code, self.dtype, columns)):
                k = code.add(first, i)
                more = self._product(self._factor(k), x, total)
                new = code.compare("sge", k, whole)
                total = code.let(f"select i1 {new}, {self.kind} {more}, {self.kind} {total}")
            code.store(Vector((total,), self.dtype), place)

        code.loop(0, len(sums) * lanes, lanes, chain)
        places = [self._at(self.unfinished, n * lanes) for n in range(len(sums))]
        return [code.load(place, self.dtype).parts[0] for place in places]

    # Both

    def _each(
        self,
        begin: Index,
        columns: int,
        p: Index,
        kept: Sequence[Vector],
        sums: Callable[[Index], list[list[Vector]]],
        half: bool = False,
    ) -> Index:
        """c[j] = or += the sums of so many columns j at a time from `begin` on; and what is left.

        The last are taken where any are left, or with `half` more than half of so many.
        """
        code, lanes = self.code, self.code.lanes
        rest = code.mod(code.sub("%columns", begin), columns)
        last = code.sub("%columns", columns)
        some = code.compare("sgt", rest, columns // 2 if half else 0)
        room = code.compare("sge", last, 0)
        both = code.let(f"and i1 {some}, {room}")
        whole = code.sub("%columns", rest)
        done = code.let(f"select i1 {both}, i64 %columns, i64 {whole}")

        def group(j: Index, _: list[str]) -> None:
            at = code.min(j, last)
            back = code.compare("ne", at, j)
            for v, blocks in enumerate(sums(at)):
                place = self._at("%c", code.add(at, v * lanes))
                self._add(blocks, place, p, back, kept[columns // lanes - 1 - v])

        code.loop(begin, done, columns, group)
        return done

    def _kept(self) -> list[Vector]:
        """What c holds for the last vectors of columns, from the end on."""
        code = self.code
        ends = [code.max(code.sub("%columns", n * code.lanes), 0) for n in range(1, _CHAINS + 1)]
        return [code.load(self._at("%c", at), self.dtype) for at in ends]

    def _add(self, blocks: list[Vector], place: str, p: Index, back: str, kept: Vector) -> None:
        """Put the sums of blocks to what is there, in order; those of the first begin it."""
        code, kind, (first, *others) = self.code, self.kind, blocks
        here = code.load(place, self.dtype)
        old = code.let(f"select i1 {back}, {kind} {kept.parts[0]}, {kind} {here.parts[0]}")
        more = self.e.add(Vector((old,), self.dtype), first)
        begins = code.compare("eq", p, 0)
        total = code.let(f"select i1 {begins}, {kind} {first.parts[0]}, {kind} {more.parts[0]}")
        (added,) = self._vectors([total])
        for one in others:
            added = self.e.add(added, one)
        code.store(added, place)

    def _ask(self, begin: str, columns: int, blocks: int, t: Index) -> None:
        """Ask for the lines of the next columns at t: those of a quarter of the places, another one
        each time that t has gone on by a piece.
        """
        code, parts = self.code, LINE // PIECE
        part = code.mod(code.div(t, self.count), parts)
        quarter = max(columns // parts, 1)
        column = code.add(code.mul(part, quarter), columns)
        place = opaque(code, self._at(self._at(begin, code.mul(column, "%b_col")), t))
        hints = (("i32", "0"), ("i32", "2"), ("i32", "1"))  # to read, into the second cache, data
        for n in range(quarter):
            row = self._at(place, self.offsets[n % _PER_POINTER])
            for i in range(blocks):
                at = self._at(row, i * INNER)
                code.call("llvm.prefetch.p0", "void", ("ptr", at), *hints)
            if n % _PER_POINTER == _PER_POINTER - 1:
                place = opaque(code, self._at(place, code.mul(_PER_POINTER, "%b_col")))

    def _column(self, pointers: Sequence[str], r: int) -> str:
        return self._at(pointers[r // _PER_POINTER], self.offsets[r % _PER_POINTER])

    def _product(self, x: Vector, y: Vector, total: str) -> str:
        return self.e.fma(x, y, Vector((total,), self.dtype)).parts[0]

    def _factor(self, k: Index) -> Vector:
        return self.code.load_splat(self._at("%a", self.code.mul(k, "%a_inner")), self.dtype)

    def _vectors(self, parts: Sequence[str]) -> list[Vector]:
        return [Vector((each,), self.dtype) for each in parts]

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)
