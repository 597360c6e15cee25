"""Matrix products in blocks: for every block of columns and of K one of B, for every block of rows
one of A, each packed where that pays, and C in strips of register tiles. A block of A stays in the
first cache while all strips of the block of B, in the second, pass by.
"""

from __future__ import annotations

from wengert.codegen.llvm.gemm.pack import define_pack
from wengert.codegen.llvm.gemm.strips import MatrixPlace, Strips
from wengert.codegen.llvm.gemm.tile import define_strip, registers
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.numerics import INNER
from wengert.core.dims import Dim, Size
from wengert.core.dtypes import DType

# Of every function that multiplies matrices; strides count elements.
PARAMS = (
    "ptr %a, i64 %a_row, i64 %a_inner, ptr %b, i64 %b_inner, i64 %b_col, ptr %c, i64 %c_row, "
    "i64 %m, i64 %n, i64 %k, ptr %scratch, ptr %finish, ptr %frame, i64 %batch"
)
LONGEST = 16  # lanes of a vector, at most
_ROW_OF_A = INNER + LONGEST  # from row to row of packed A; no power of two, for the caches' sake
_BYTES_OF_COLUMNS = 3072  # of one row of a block of B; whole strips, and half the second cache
_BYTES_OF_ROWS = 128  # of one column of a block of A; whole tiles, and whole squares to transpose
_MANY_ROWS, _MANY_COLUMNS = 64, 128  # from which on packing B and A pays
_LARGE = 65536  # bytes of a block from which on it is packed


def block_columns(dtype: DType) -> int:
    """Columns of a block of C."""
    return _BYTES_OF_COLUMNS // dtype.itemsize


def packed_elements(
    m: Size,
    n: Size,
    k: Size,
    dtype: DType,
    b_strides: tuple[Size | None, Size | None] = (None, None),
) -> int:
    """How much scratch memory the blocks of such a product need at most."""
    large, inner = _LARGE // dtype.itemsize, at_most(k, INNER)
    vectors = at_most(n, block_columns(dtype), LONGEST)
    of_b = vectors * (max(inner, LONGEST) + 1)
    rows = at_most(m, _BYTES_OF_ROWS // dtype.itemsize)
    of_a = (rows + LONGEST) * _ROW_OF_A
    if isinstance(n, int) and n < _MANY_COLUMNS:
        of_a = 0
    if b_strides[1] == 1 and isinstance(m, int):
        step = b_strides[0]
        if m < _MANY_ROWS or (isinstance(step, int) and step * inner <= large):
            of_b = vectors if of_a else 0  # A lies behind as many numbers, packed or not
    return of_b + of_a


def at_most(size: Size, limit: int, step: int = 1) -> int:
    """A bound of a size, rounded up to steps; a Dim may be as large as the limit."""
    known = limit if isinstance(size, Dim) else min(size, limit)
    return -(-known // step) * step


def call_finish(code: Code, block: tuple[Index, Index, Index, Index]) -> None:
    """Tell `finish`, if there is one, that rows r0 to r1 and columns c0 to c1 are final."""
    wanted = code.let("icmp ne ptr %finish, null")
    given = ", ".join(f"i64 {x}" for x in block)
    code.when(wanted, lambda: code.do(f"call void %finish(ptr %frame, i64 %batch, {given})"))


def define_blocks(module: Module, name: str, dtype: DType) -> None:
    """The function with PARAMS for any product, and those that it is made of.

    for each block of columns j of C:
        for each block of K:
            B' = that block of B, packed where it pays
            for each block of rows i of C:
                A' = that block of A, packed where it pays
                for each strip of columns: C[i, strip] = or += A' B'[strip]
                if this is the last block of K: finish(i, j)
    """
    shape = registers(module, dtype)
    for vectors in range(1, shape.vectors + 1):
        define_strip(module, f"{name}_strip{vectors}", dtype, vectors)
    define_pack(module, f"{name}_pack", dtype, shape.lanes)
    blocks = _Blocks(module, name, dtype)
    blocks.code.loop(0, "%n", blocks.columns, blocks.block_of_columns)
    blocks.code.function(name, PARAMS)


class _Blocks:
    def __init__(self, module: Module, name: str, dtype: DType) -> None:
        shape = registers(module, dtype)
        self.code = Code(module, shape.lanes)
        self.name = name
        self.dtype = dtype
        self.strips = Strips(self.code, name, dtype)
        self.columns = block_columns(dtype)
        self.rows = _BYTES_OF_ROWS // dtype.itemsize // shape.rows * shape.rows
        self.large = _LARGE // dtype.itemsize
        self.reads_across = shape.reads_across

    def block_of_columns(self, j: Index, _: list[str]) -> None:
        code = self.code
        columns = code.min(code.sub("%n", j), self.columns)
        b = self._at("%b", code.mul(j, "%b_col"))

        def block_of_inner(p: Index, _: list[str]) -> None:
            inner = code.min(code.sub("%k", p), INNER)
            place = self._block_of_b(self._at(b, code.mul(p, "%b_inner")), inner, columns)

            def block_of_rows(i: Index, _: list[str]) -> None:
                rows = code.min(code.sub("%m", i), self.rows)
                self._block(place, (i, rows), (j, columns), (p, inner))

            code.loop(0, "%m", self.rows, block_of_rows)

        # Where there is no product at all, one block of none makes every sum 0.
        code.loop(0, code.max("%k", 1), INNER, block_of_inner)

    def _block_of_b(self, b: str, inner: Index, columns: Index) -> MatrixPlace:
        """Where the block of B is, packed or not: a pointer, the stride of k and that of vectors.

        if B's columns are strided, or many rows read it and its rows lie far apart: pack it
        """
        code = self.code
        step = self._vector_of_b(inner)

        def pack() -> list[str]:
            self._pack(("%scratch", code.lanes, step), (b, "%b_inner", "%b_col"), (inner, columns))
            return ["%scratch", str(code.lanes), str(step)]

        strided = code.compare("ne", "%b_col", 1)
        many = code.compare("sge", "%m", _MANY_ROWS)
        large = code.compare("sgt", code.mul("%b_inner", inner), self.large)
        both = code.let(f"and i1 {many}, {large}")
        wanted = code.let(f"or i1 {strided}, {both}")
        here = [b, "%b_inner", str(code.lanes)]
        x, y, z = code.either(wanted, ("ptr", "i64", "i64"), pack, lambda: here)
        return x, y, z

    def _vector_of_b(self, inner: Index) -> Index:
        """How far apart vectors of packed B lie: a row more than they need. Otherwise they would
        all fall into the same places of a cache.
        """
        code = self.code
        return code.mul(code.add(code.max(inner, code.lanes), 1), code.lanes)

    def _block_of_a(self, a: str, rows: Index, inner: Index, behind_b: Index) -> MatrixPlace:
        """Where the block of A is, packed or not, and its strides. It is packed where its rows lie
        side by side, unless tiles read it across: they would wait for a cache line for each k.
        """
        code = self.code
        here = (a, "%a_row", "%a_inner")
        if self.reads_across:
            return here

        def pack() -> list[str]:
            target = self._at("%scratch", behind_b)
            self._pack((target, _ROW_OF_A, code.lanes), (a, "%a_row", "%a_inner"), (rows, inner))
            return [target, str(_ROW_OF_A), "1"]

        across = code.compare("eq", "%a_row", 1)
        many = code.compare("sge", "%n", _MANY_COLUMNS)
        wanted = code.let(f"and i1 {across}, {many}")
        x, y, z = code.either(wanted, ("ptr", "i64", "i64"), pack, lambda: [*here])
        return x, y, z

    def _pack(self, to: MatrixPlace, source: MatrixPlace, sizes: tuple[Index, Index]) -> None:
        self.code.do(
            f"call void @{self.name}_pack(ptr {to[0]}, i64 {to[1]}, i64 {to[2]}, "
            f"ptr {source[0]}, i64 {source[1]}, i64 {source[2]}, i64 {sizes[0]}, i64 {sizes[1]})"
        )

    def _block(
        self,
        b: MatrixPlace,
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
        inner: tuple[Index, Index],
    ) -> None:
        """One block of C for one block of K; the beginning and size of each axis are given.

        A' = the block of A, packed behind that of B where it pays
        for each strip of columns: C[rows, strip] = or += A' B[strip]
        if this is the last block of K: finish(rows, columns)
        """
        code = self.code
        (i, m), (j, n), (p, k) = rows, columns, inner
        offset = code.add(code.mul(i, "%a_row"), code.mul(p, "%a_inner"))
        behind_b = code.mul(code.div(code.add(n, code.lanes - 1), code.lanes), b[2])
        a = self._block_of_a(self._at("%a", offset), m, k, behind_b)
        c = self._at("%c", code.add(code.mul(i, "%c_row"), j))
        first = code.compare("eq", p, 0)

        self.strips.write(a, b, (c, "%c_row"), (m, n, k), first)
        last = code.compare("sge", code.add(p, INNER), "%k")
        block = (i, code.add(i, m), j, code.add(j, n))
        code.when(last, lambda: call_finish(code, block))

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)
