"""Products of vectors: vector × matrix, where matrix rows lie in one piece, and vector · vector.

The sums of a block of K are taken in the order of k here too. What runs in parallel is outputs, in
the lanes, or blocks of K, which are independent until they are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.llvm.gemm.lane_pieces import LINE, PIECE, lanes_of_pieces, side_by_side
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import INNER
from wengert.core.dtypes import DType

ACROSS_PARAMS = (
    "ptr %a, i64 %a_inner, ptr %b, i64 %b_inner, ptr %c, i64 %columns, i64 %inner, ptr %scratch"
)
DOT_PARAMS = "ptr %a, i64 %a_inner, ptr %b, i64 %b_inner, ptr %c, i64 %inner"
_CHAINS = 8  # sums that hide the latency of one another's fma
_VECTORS = 2  # of sums, which hide that of one another as far as loads leave any to hide
_FEW = 4  # of those that are left
_TOGETHER = 8  # rows of B that one sweep over the outputs takes


def define_across(module: Module, name: str, dtype: DType, lanes: int) -> None:
    """A function with ACROSS_PARAMS: c[j] = sum over k of a[k] b[k, j], where b_col is 1.

    for each block of K:
        sums = c if it is the first, else scratch
        sums[:] = 0
        for each _TOGETHER rows k of the block, then for each that is left:
            for each vector j: sums[j] = fma(a[k], b[k, j], sums[j]), row after row
        if it is not the first: c = c + sums
    """
    code = Code(module, lanes)
    across = _Across(code, dtype)
    code.loop(0, code.max("%inner", 1), INNER, across.block)  # without products the sums are 0
    code.function(name, ACROSS_PARAMS)


class _Across:
    """Some rows of B at a time are read from end to end, in the order in which they lie in memory.
    Between these sweeps the sums stay in memory: those of the first block of K in c, others in
    scratch until they are added.
    """

    def __init__(self, code: Code, dtype: DType) -> None:
        self.code = code
        self.dtype = dtype
        self.e = Arithmetic(code, dtype)
        self.whole = code.sub("%columns", code.mod("%columns", code.lanes))
        self.rest = code.first_lanes(code.sub("%columns", self.whole))
        self.some_left = code.compare("slt", self.whole, "%columns")

    def block(self, p: Index, _: list[str]) -> None:
        code = self.code
        end = code.min(code.add(p, INNER), "%inner")
        most = code.sub(end, code.mod(code.sub(end, p), _TOGETHER))
        first = code.compare("eq", p, 0)
        sums = code.let(f"select i1 {first}, ptr %c, ptr %scratch")
        self._each(lambda j, held: code.store(self.e.const(0.0), self._at(sums, j), held))
        code.loop(p, most, _TOGETHER, lambda k, _: self._sweep(k, _TOGETHER, sums))
        code.loop(most, end, 1, lambda k, _: self._sweep(k, 1, sums))
        later = code.compare("ne", p, 0)
        code.when(later, lambda: self._each(lambda j, held: self._add(sums, j, held)))

    def _each(self, do: Callable[[Index, Vector | None], None]) -> None:
        """`do(first column, mask)` for every vector of outputs; only the last may have a mask."""
        self.code.loop(0, self.whole, self.code.lanes, lambda j, _: do(j, None))
        self.code.when(self.some_left, lambda: do(self.whole, self.rest))

    def _sweep(self, k: Index, count: int, sums: str) -> None:
        """Take so many rows of B, from k on, into all sums."""
        code = self.code
        steps = [code.add(k, i) for i in range(count)]
        places = [self._at("%a", code.mul(step, "%a_inner")) for step in steps]
        factors = [code.load_splat(place, self.dtype) for place in places]
        rows = [self._at("%b", code.mul(step, "%b_inner")) for step in steps]

        def vector(j: Index, held: Vector | None) -> None:
            total = code.load(self._at(sums, j), self.dtype, held)
            for x, row in zip(factors, rows, strict=True):
                total = self.e.fma(x, code.load(self._at(row, j), self.dtype, held), total)
            code.store(total, self._at(sums, j), held)

        self._each(vector)

    def _add(self, sums: str, j: Index, held: Vector | None) -> None:
        code = self.code
        one = code.load(self._at(sums, j), self.dtype, held)
        total = code.load(self._at("%c", j), self.dtype, held)
        code.store(self.e.add(total, one), self._at("%c", j), held)

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)


def define_dot(module: Module, name: str, dtype: DType) -> None:
    """A function with DOT_PARAMS: c[0] = sum over k of a[k] b[k], some blocks of K side by side.

    total = 0
    for each _VECTORS vectors of blocks of K, if both operands are without gaps:
        sums of all of them, each in a lane, from pieces of both that are transposed in registers
        total = total + each of the sums, in order
    for each _CHAINS blocks that are left:
        sums of all of them, each in a chain of its own, by fma from 0 in the order of k
        total = total + each of the sums, in order
    for each _FEW blocks that are left, the very last of which may be shorter: as before
    c[0] = total
    """
    code = Code(module, 1)
    dot = _Dot(code, dtype)
    total: list[tuple[str, str]] = [(dot.kind, dot.zero)]
    done: Index = 0
    # Without gaps, blocks of both can be read as vectors.
    gaps = code.let(f"or i64 {code.sub('%a_inner', 1)}, {code.sub('%b_inner', 1)}")
    dense = code.compare("eq", gaps, 0)
    for blocks, sums, allowed in (
        (_VECTORS * dot.lanes, dot.in_lanes, dense),
        (_CHAINS, dot.in_chains, None),
    ):
        size = blocks * INNER
        whole = code.mul(code.div(code.sub("%inner", done), size), size)
        if allowed is not None:
            whole = code.let(f"select i1 {allowed}, i64 {whole}, i64 0")
        end = code.add(done, whole)
        total = [(dot.kind, code.loop(done, end, size, dot.adding(sums), total)[0])]
        done = end
    parts = code.loop(done, "%inner", _FEW * INNER, dot.rest, total)
    code.store(Vector(tuple(parts), dtype), "%c")
    code.function(name, DOT_PARAMS)


class _Dot:
    """Sums of blocks of K, as scalars."""

    def __init__(self, code: Code, dtype: DType) -> None:
        self.code, self.dtype = code, dtype
        self.lanes = lanes_of_pieces(code.module, dtype)
        self.e = Arithmetic(code, dtype)
        self.kind, self.zero = code.type(dtype), self.e.const(0.0).parts[0]

    def adding(self, sums: Callable[[Index], list[str]]) -> Callable[[Index, list[str]], list[str]]:
        """The body of a loop that adds the sums of blocks from p on, in order."""

        def body(p: Index, carried: list[str]) -> list[str]:
            code, (total,) = self.code, carried
            first, *others = sums(p)
            more = code.let(f"fadd {self.kind} {total}, {first}")
            begins = code.compare("eq", p, 0)
            total = code.let(f"select i1 {begins}, {self.kind} {first}, {self.kind} {more}")
            for one in others:
                total = code.let(f"fadd {self.kind} {total}, {one}")
            return [total]

        return body

    def in_lanes(self, p: Index) -> list[str]:
        """Those of _VECTORS vectors of blocks, one in each lane."""
        code, dtype = self.code, self.dtype

        def piece(k: Index, carried: list[str]) -> list[str]:
            after: list[str] = []
            for n, each in enumerate(carried):
                numbers = []
                for base in ("%a", "%b"):
                    at = code.address(base, code.add(p, k), dtype)
                    blocks = range(n * self.lanes, (n + 1) * self.lanes)
                    places = [code.address(at, r * INNER, dtype) for r in blocks]
                    numbers.append(side_by_side(code, dtype, places))
                total = Vector((each,), dtype)
                for x, y in zip(*numbers, strict=True):
                    total = self.e.fma(x, y, total)
                after += total.parts
            self._ask(p, k)
            return after

        with code.with_lanes(self.lanes):
            carry = [(code.type(dtype), self.e.const(0.0).parts[0])] * _VECTORS
            sums = code.loop(0, INNER, PIECE // dtype.itemsize, piece, carry)
            return [code.lane(Vector((x,), dtype), n) for x in sums for n in range(self.lanes)]

    def _ask(self, p: Index, k: Index) -> None:
        """Ask for lines of the blocks that come next, at k: those of a quarter of them, another one
        each time that k has gone on by a piece.
        """
        code, blocks = self.code, _VECTORS * self.lanes
        quarter = blocks * PIECE // LINE
        part = code.mod(code.div(k, PIECE // self.dtype.itemsize), LINE // PIECE)
        first = code.mul(code.add(code.mul(part, quarter), blocks), INNER)
        hints = (("i32", "0"), ("i32", "2"), ("i32", "1"))  # to read, into the second cache, data
        for base in ("%a", "%b"):
            place = code.address(base, code.add(code.add(p, k), first), self.dtype)
            for n in range(quarter):
                at = code.address(place, n * INNER, self.dtype)
                code.call("llvm.prefetch.p0", "void", ("ptr", at), *hints)

    def in_chains(self, p: Index) -> list[str]:
        """Those of _CHAINS blocks."""
        places = [self.code.add(p, n * INNER) for n in range(_CHAINS)]
        return self._chains(places, 0, INNER, [self.zero] * _CHAINS)

    def rest(self, p: Index, carried: list[str]) -> list[str]:
        """The total with what is left, some blocks or one."""
        code = self.code
        left = code.sub("%inner", p)

        def single() -> list[str]:
            return self.adding(lambda p: self._chains([p], 0, left, [self.zero]))(p, carried)

        one = code.compare("sle", left, INNER)
        return code.either(one, [self.kind], single, lambda: self._last_blocks(p, carried))

    def _last_blocks(self, p: Index, carried: list[str]) -> list[str]:
        """The total with the sums of _FEW blocks, or as many as there are, two at least: chains
        without a block take another one in, and are left out. All go to where the last block ends,
        then the others go on alone.
        """
        code, (total,) = self.code, carried
        left = code.sub("%inner", p)
        last = code.min(code.div(code.sub(left, 1), INNER), _FEW - 1)  # its number
        end = code.min(code.sub(left, code.mul(last, INNER)), INNER)
        before = code.sub(last, 1)
        places = [code.add(p, code.mul(code.min(n, last), INNER)) for n in range(_FEW)]
        sums = self._chains(places, 0, end, [self.zero] * _FEW)
        whole = [code.compare("slt", n, last) for n in range(_FEW - 1)]
        others = [code.add(p, code.mul(code.min(n, before), INNER)) for n in range(_FEW - 1)]
        longer = self._chains(others, end, INNER, sums[:-1])
        for n, (more, one) in enumerate(zip([*longer, sums[-1]], sums, strict=True)):
            if n < _FEW - 1:
                one = code.let(f"select i1 {whole[n]}, {self.kind} {more}, {self.kind} {one}")
            added = code.let(f"fadd {self.kind} {total}, {one}")
            counts = code.compare("sle", n, last)
            new = code.let(f"select i1 {counts}, {self.kind} {added}, {self.kind} {total}")
            begins = code.compare("eq", code.add(p, n), 0)
            total = code.let(f"select i1 {begins}, {self.kind} {one}, {self.kind} {new}")
        return [total]

    def _chains(
        self, places: Sequence[Index], begin: Index, end: Index, sums: Sequence[str]
    ) -> list[str]:
        """Sums, each of which takes in the products from its place on, in the order of k."""
        code, dtype = self.code, self.dtype
        rows = [
            [code.address(f"%{x}", code.mul(place, f"%{x}_inner"), dtype) for x in "ab"]
            for place in places
        ]

        def product(k: Index, carried: list[str]) -> list[str]:
            offsets = [code.mul(k, f"%{x}_inner") for x in "ab"]
            after: list[str] = []
            for row, each in zip(rows, carried, strict=True):
                at = [code.address(x, n, dtype) for x, n in zip(row, offsets, strict=True)]
                x, y = (code.load(place, dtype) for place in at)
                after += self.e.fma(x, y, Vector((each,), dtype)).parts
            return after

        return code.loop(begin, end, 1, product, [(self.kind, x) for x in sums])
