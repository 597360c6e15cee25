"""Vector × matrix where the matrix lies along k: squares of it are transposed in registers.

The sums of a block of K are taken in the order of k here too; what runs in parallel is outputs, in
the lanes.

Columns of B that are a multiple of some 1024 bytes apart share a few sets of the first cache, where
their lines push each other out. There squares begin at the edge of a line, so that each line is
read once, by one instruction.

A square is read as many short pieces that lie far apart, which processors do not foresee. So what
the next columns need is asked for while a square is taken in.
"""

from __future__ import annotations

from wengert.codegen.llvm.gemm.pack import transpose
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.codegen.numerics import INNER
from wengert.core.dtypes import DType

ALONG_PARAMS = "ptr %a, i64 %a_inner, ptr %b, i64 %b_col, ptr %c, i64 %columns, i64 %inner"
_CROWDED = 1024  # bytes: columns so far apart, or a multiple of it, meet in the first cache


def define_along(module: Module, name: str, dtype: DType, lanes: int, pack: str) -> None:
    """A function with ALONG_PARAMS: c[j] = sum over k of a[k] b[k, j], where b_inner is 1 and there
    are `lanes` columns at least.

        for each vector of columns j, the last reaching back over some that are done:
            for each block of K:
                sums = 0
                as below for values of k up to the edge of a line, packed by `pack`
                for each square of `lanes` values of k: y = b[k, j], transposed in registers
                    for each of them: sums = fma(a[k], y[k], sums)
                the same for values of k that are left and fill no square, packed again
                totals = sums if this is the first block, else totals + sums
            c[j] = totals
    """
    code = Code(module, lanes)
    along = _Along(code, dtype, pack)
    code.loop(0, "%columns", lanes, along.outputs)
    code.function(name, ALONG_PARAMS)


class _Along:
    """One vector of outputs at a time."""

    def __init__(self, code: Code, dtype: DType, pack: str) -> None:
        self.code, self.dtype, self.pack = code, dtype, pack
        self.e = Arithmetic(code, dtype)
        self.corner = code.room(dtype, code.lanes**2)
        self.kind = code.type(dtype)
        self.zero = self.e.const(0.0).parts[0]
        self.last = code.sub("%columns", code.lanes)

    def outputs(self, j: Index, _: list[str]) -> None:
        code = self.code
        j = code.min(j, self.last)
        b = self._at("%b", code.mul(j, "%b_col"))
        head = self._to_edge(b)
        (total,) = code.loop(
            0,
            "%inner",
            INNER,
            lambda p, totals: [self._block(b, p, head, totals[0])],
            [(self.kind, self.zero)],
        )
        code.store(Vector((total,), self.dtype), self._at("%c", j))

    def _to_edge(self, place: str) -> Index:
        """Numbers up to where squares begin: the edge of a line, where columns crowd; else 0."""
        code, size = self.code, self.dtype.itemsize
        at = code.div(code.let(f"ptrtoint ptr {place} to i64"), size)
        left = code.let(f"and i64 {code.sub(0, at)}, {code.lanes - 1}")
        crowded = code.compare("eq", code.mod("%b_col", _CROWDED // size), 0)
        return code.let(f"select i1 {crowded}, i64 {left}, i64 0")

    def _block(self, b: str, p: Index, head: Index, total: str) -> str:
        """The sum of the blocks so far and of this one, from p on."""
        code, lanes = self.code, self.code.lanes
        end = code.min(code.add(p, INNER), "%inner")
        begin = code.min(code.add(p, head), end)
        whole = code.sub(end, code.mod(code.sub(end, begin), lanes))
        found = self._packed(b, p, begin, self.zero)
        squares = code.loop(
            begin, whole, lanes, lambda k, x: [self._square(b, k, x[0])], [(self.kind, found)]
        )
        found = self._packed(b, whole, end, squares[0])
        more = code.let(f"fadd {self.kind} {total}, {found}")
        first = code.compare("eq", p, 0)
        return code.let(f"select i1 {first}, {self.kind} {found}, {self.kind} {more}")

    def _square(self, b: str, k: Index, total: str) -> str:
        code, source, rows = self.code, self._at(b, k), []
        following = self._at(source, code.mul("%b_col", code.lanes))  # of the next columns
        hints = (("i32", "0"), ("i32", "2"), ("i32", "1"))  # to read, into the second cache, data
        for _ in range(code.lanes):
            rows.append(code.load(source, self.dtype))
            code.call("llvm.prefetch.p0", "void", ("ptr", following), *hints)
            source, following = (self._at(each, "%b_col") for each in (source, following))
        for i, x in enumerate(transpose(code, rows)):
            total = self._product(code.add(k, i), x, total)
        return total

    def _product(self, k: Index, x: Vector, total: str) -> str:
        place = self._at("%a", self.code.mul(k, "%a_inner"))
        factor = self.code.load_splat(place, self.dtype)
        return self.e.fma(factor, x, Vector((total,), self.dtype)).parts[0]

    def _packed(self, b: str, begin: Index, end: Index, total: str) -> str:
        """Take in the values of k from begin to end, fewer than a square has."""
        code, lanes = self.code, self.code.lanes

        def single(k: Index, totals: list[str]) -> list[str]:
            place = self._at(self.corner, code.mul(code.sub(k, begin), lanes))
            return [self._product(k, code.load(place, self.dtype), totals[0])]

        def taken() -> list[str]:
            code.do(
                f"call void @{self.pack}(ptr {self.corner}, i64 {lanes}, i64 {lanes}, "
                f"ptr {self._at(b, begin)}, i64 1, i64 %b_col, "
                f"i64 {code.sub(end, begin)}, i64 {lanes})"
            )
            return code.loop(begin, end, 1, single, [(self.kind, total)])

        some = code.compare("slt", begin, end)
        return code.either(some, [self.kind], taken, lambda: [total])[0]

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)
