"""Strips: one block of C for one block of K, by the functions for strips of a few vectors."""

from __future__ import annotations

from typing import TypeAlias

from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.text.vectors import Code, Index
from wengert.core.dtypes import DType

MatrixPlace: TypeAlias = tuple[str, Index, Index]  # a pointer and two strides


class Strips:
    """Writes the calls into a function; `name` is how the names of the strips' functions begin."""

    def __init__(self, code: Code, name: str, dtype: DType) -> None:
        shape = registers(code.module, dtype)
        self.code, self.name, self.dtype = code, name, dtype
        self.vectors = shape.vectors
        self.width = shape.lanes * shape.vectors

    def write(
        self,
        a: MatrixPlace,
        b: MatrixPlace,
        c: tuple[str, Index],
        sizes: tuple[Index, Index, Index],
        first: str,
    ) -> None:
        """C = or += A B, for matrices of m, n and k: the columns of C side by side, those of B in
        vectors; its strides are that of k and that from vector to vector.

            for each strip of columns: C[strip] = or += A B[strip]
        """
        code, (m, n, k) = self.code, sizes
        step = self._strip_width(n)

        def strip(s: Index, _: list[str]) -> None:
            width = code.min(code.sub(n, s), step)
            source = self._at(b[0], code.mul(code.div(s, code.lanes), b[2]))
            given = (
                f"ptr {a[0]}, i64 {a[1]}, i64 {a[2]}, ptr {source}, i64 {b[1]}, i64 {b[2]}, "
                f"ptr {self._at(c[0], s)}, i64 {c[1]}, i64 {m}, i64 {width}, i64 {k}, i1 {first}"
            )
            self._strip(self.vectors, width, given)

        code.loop(0, n, step, strip)

    def _strip_width(self, columns: Index) -> Index:
        """Columns of a strip: as many vectors as fit; but four vectors are taken as two and two,
        which is faster than three and one.
        """
        code = self.code
        if self.vectors < 3:
            return self.width
        few = code.compare("sle", columns, 4 * code.lanes)
        many = code.compare("sgt", columns, 3 * code.lanes)
        four = code.let(f"and i1 {few}, {many}")
        return code.let(f"select i1 {four}, i64 {2 * code.lanes}, i64 {self.width}")

    def _strip(self, vectors: int, width: Index, given: str) -> None:
        """Call the function for strips of as few vectors as hold this width.

        if width > (vectors - 1) · lanes: strip_of_vectors(…)
        else: the same with one vector less
        """
        code = self.code

        def this() -> list[str]:
            code.do(f"call void @{self.name}_strip{vectors}({given})")
            return []

        def narrower() -> list[str]:
            self._strip(vectors - 1, width, given)
            return []

        if vectors == 1:
            this()
        else:
            wide = code.compare("sgt", width, (vectors - 1) * code.lanes)
            code.either(wide, (), this, narrower)

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)
