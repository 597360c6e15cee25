"""Products with few rows: vector × matrix, where the matrix lies along its columns or along k, and
vector · vector.

The sums of a block of K are taken in the order of k here too. What runs in parallel is outputs, in
the lanes, or blocks of K, which are independent until they are added up.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.codegen.llvm.gemm.pack import transpose
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import INNER
from wengert.core.dtypes import DType

ACROSS_PARAMS = (
    "ptr %a, i64 %a_inner, ptr %b, i64 %b_inner, ptr %c, i64 %columns, i64 %inner, ptr %scratch"
)
ALONG_PARAMS = (
    "ptr %a, i64 %a_row, i64 %a_inner, ptr %b, i64 %b_col, ptr %c, i64 %c_row, "
    "i64 %rows, i64 %columns, i64 %inner"
)
DOT_PARAMS = "ptr %a, i64 %a_inner, ptr %b, i64 %b_inner, ptr %c, i64 %inner"
_CHAINS = 8  # sums that hide the latency of one another's fma
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


def define_along(module: Module, name: str, dtype: DType, lanes: int, pack: str) -> None:
    """A function with ALONG_PARAMS: C = A B for one or two rows, where b_inner is 1 and there are
    `lanes` columns at least.

        for each vector of columns j, the last reaching back over some that are done:
            for each block of K:
                sums = 0
                for each square of `lanes` values of k: y = B[k, j], transposed in registers
                    for each of them: sums = fma(A[row, k], y[k], sums) for both rows
                the same for values of k that fill no square, packed by `pack`
                totals = sums if this is the first block, else totals + sums
            C[row, j] = totals
    """
    code = Code(module, lanes)
    along = _Along(code, dtype, pack)
    code.loop(0, "%columns", lanes, along.outputs)
    code.function(name, ALONG_PARAMS)


class _Along:
    """One vector of outputs at a time. Where there is one row only, the second is the first once
    more.
    """

    def __init__(self, code: Code, dtype: DType, pack: str) -> None:
        self.code = code
        self.dtype = dtype
        self.pack = pack
        self.e = Arithmetic(code, dtype)
        self.corner = code.room(dtype, code.lanes**2)
        self.zeros = [(code.type(dtype), self.e.const(0.0).parts[0])] * 2
        two = code.compare("eq", "%rows", 2)
        self.a, self.c = (
            ("%" + x, code.let(f"select i1 {two}, ptr {other}, ptr %{x}"))
            for x in "ac"
            for other in [self._at("%" + x, f"%{x}_row")]
        )
        self.last = code.sub("%columns", code.lanes)

    def outputs(self, j: Index, _: list[str]) -> None:
        code = self.code
        j = code.min(j, self.last)
        b = self._at("%b", code.mul(j, "%b_col"))
        totals = code.loop(0, "%inner", INNER, lambda p, sums: self._block(b, p, sums), self.zeros)
        for total, c in zip(totals[::-1], self.c[::-1], strict=True):
            code.store(Vector((total,), self.dtype), self._at(c, j))

    def _block(self, b: str, p: Index, totals: list[str]) -> list[str]:
        code = self.code
        end = code.min(code.add(p, INNER), "%inner")
        whole = code.sub(end, code.mod(code.sub(end, p), code.lanes))
        sums = code.loop(p, whole, code.lanes, lambda k, x: self._square(b, k, x), self.zeros)
        kinds = [code.type(self.dtype)] * 2
        short = code.compare("slt", whole, end)
        sums = code.either(short, kinds, lambda: self._remaining(b, whole, end, sums), lambda: sums)
        return [_added(code, p, x, y, self.dtype) for x, y in zip(totals, sums, strict=True)]

    def _square(self, b: str, k: Index, sums: list[str]) -> list[str]:
        code = self.code
        source = self._at(b, k)
        found = []
        for _ in range(code.lanes):
            found.append(code.load(source, self.dtype))
            source = self._at(source, "%b_col")
        for i, x in enumerate(transpose(code, found)):
            sums = self._products(code.add(k, i), x, sums)
        return sums

    def _products(self, k: Index, x: Vector, sums: list[str]) -> list[str]:
        after: list[str] = []
        for a, total in zip(self.a, sums, strict=True):
            factor = self.code.load_splat(self._at(a, self.code.mul(k, "%a_inner")), self.dtype)
            after += self.e.fma(factor, x, Vector((total,), self.dtype)).parts
        return after

    def _remaining(self, b: str, begin: Index, end: Index, sums: list[str]) -> list[str]:
        code = self.code
        code.do(
            f"call void @{self.pack}(ptr {self.corner}, i64 {code.lanes}, i64 {code.lanes}, "
            f"ptr {self._at(b, begin)}, i64 1, i64 %b_col, "
            f"i64 {code.sub(end, begin)}, i64 {code.lanes})"
        )

        def single(k: Index, sums: list[str]) -> list[str]:
            place = code.mul(code.sub(k, begin), code.lanes)
            return self._products(k, code.load(self._at(self.corner, place), self.dtype), sums)

        kind = code.type(self.dtype)
        return code.loop(begin, end, 1, single, [(kind, x) for x in sums])

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)


def _added(code: Code, p: Index, total: str, one: str, dtype: DType) -> str:
    """The sum of the blocks so far: this block's, if it is the first."""
    kind = code.type(dtype)
    more = code.let(f"fadd {kind} {total}, {one}")
    first = code.compare("eq", p, 0)
    return code.let(f"select i1 {first}, {kind} {one}, {kind} {more}")


def define_dot(module: Module, name: str, dtype: DType) -> None:
    """A function with DOT_PARAMS: c[0] = sum over k of a[k] b[k], some blocks of K side by side.

    total = 0
    for each _CHAINS blocks of K:
        sums of all of them, each in a chain of its own, by fma from 0 in the order of k
        total = total + each of the sums, in order
    for each block that is left: total = total + its sum
    c[0] = total
    """
    code = Code(module, 1)
    e = Arithmetic(code, dtype)
    kind, zero = code.type(dtype), e.const(0.0).parts[0]
    steps = [code.mul(INNER, f"%{x}_inner") for x in "ab"]

    def blocks(chains: int, p: Index, end: Index) -> list[str]:
        def product(k: Index, sums: list[str]) -> list[str]:
            found: list[str] = []
            a, b = (code.address(f"%{x}", code.mul(k, f"%{x}_inner"), dtype) for x in "ab")
            for each in sums:
                x, y = code.load(a, dtype), code.load(b, dtype)
                found += e.fma(x, y, Vector((each,), dtype)).parts
                a, b = code.address(a, steps[0], dtype), code.address(b, steps[1], dtype)
            return found

        return code.loop(p, end, 1, product, [(kind, zero)] * chains)

    def group(p: Index, carried: list[str]) -> list[str]:
        first, *others = blocks(_CHAINS, p, code.add(p, INNER))
        total = _added(code, p, carried[0], first, dtype)
        for one in others:
            total = code.let(f"fadd {kind} {total}, {one}")
        return [total]

    def rest(p: Index, carried: list[str]) -> list[str]:
        end = code.min(code.add(p, INNER), "%inner")
        return [_added(code, p, carried[0], blocks(1, p, end)[0], dtype)]

    many = INNER * _CHAINS
    whole = code.sub("%inner", code.mod("%inner", many))
    total = code.loop(0, whole, many, group, [(kind, zero)])
    total = code.loop(whole, "%inner", INNER, rest, [(kind, total[0])])
    code.store(Vector(tuple(total), dtype), "%c")
    code.function(name, DOT_PARAMS)
