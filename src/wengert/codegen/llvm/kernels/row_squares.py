"""Rows that run side by side in the lanes: squares of their elements are transposed in registers,
taken from column to column, and transposed back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from wengert.codegen.llvm.gemm.pack import transpose
from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.kernels.axes import StridedArrays
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Vector

# (instructions, operands at t, output at t - 1) -> output at t
Step: TypeAlias = Callable[[Arithmetic, Sequence[Vector], Vector], Vector]


class RowSquares:
    """Arrays of shape (rows, n), the elements of a row side by side; the last is the output, whose
    first column is that of the last operand.
    """

    def __init__(self, code: Code, step: Step, arrays: StridedArrays) -> None:
        self.code, self.step, self.arrays = code, step, arrays
        self.dtype, self.count = arrays[-1].dtype, arrays[-1].shape[1]
        self.lanes = registers(code.module, self.dtype).lanes
        self.e = Arithmetic(code, self.dtype)

    def write(self, i: Index, _: list[str]) -> None:
        """As many rows as there are lanes, from row i on.

        h = y[:, 0] = x[:, 0]
        for t in 1 … the first place where vectors of y begin at the edge of a line:
            h = y[:, t] = step(x[:, t], h)
        for each square of columns from there on: the same, column by column in registers
        for each t that is left: the same
        """
        code, lanes = self.code, self.lanes
        with code.with_lanes(lanes):
            rows = [[x.at(code, code.add(i, r)).pointer for r in range(lanes)] for x in self.arrays]
            *xs, y = rows
            first = self._column(xs[-1], 0)
            self._store_column(first, y, 0)
            begin = code.min(code.add(self._to_edge(y[0]), 1), self.count)
            whole = code.sub(self.count, code.mod(code.sub(self.count, begin), lanes))

            def along(begin: Index, end: Index, step: int, before: str) -> str:
                def body(t: Index, carried: list[str]) -> list[str]:
                    h = Vector(tuple(carried), self.dtype)
                    return list((self._square if step > 1 else self._single)(rows, t, h).parts)

                return code.loop(begin, end, step, body, [(code.type(self.dtype), before)])[0]

            h = along(1, begin, 1, first.parts[0])
            h = along(begin, whole, lanes, h)
            along(whole, self.count, 1, h)

    def _to_edge(self, place: str) -> Index:
        """Elements behind the first one, up to the edge of a vector's worth of bytes."""
        code = self.code
        at = code.div(code.let(f"ptrtoint ptr {place} to i64"), self.dtype.itemsize)
        return code.let(f"and i64 {code.sub(-1, at)}, {self.lanes - 1}")

    def _single(self, rows: Sequence[Sequence[str]], t: Index, h: Vector) -> Vector:
        *xs, y = rows
        h = self.step(self.e, [self._column(x, t) for x in xs], h)
        self._store_column(h, y, t)
        return h

    def _square(self, rows: Sequence[Sequence[str]], t: Index, h: Vector) -> Vector:
        code, (*xs, y) = self.code, rows
        self._fetch_ahead(rows, t)
        squares = [
            transpose(code, [code.load(self._at(place, t), self.dtype) for place in x]) for x in xs
        ]
        columns = []
        for terms in zip(*squares, strict=True):
            h = self.step(self.e, terms, h)
            columns.append(h)
        for place, value in zip(y, transpose(code, columns), strict=True):
            code.store(value, self._at(place, t))
        return h

    def _fetch_ahead(self, rows: Sequence[Sequence[str]], t: Index) -> None:
        """Prefetch the beginning of the next rows: as much as is read here, but as it lies in
        memory, while this goes from row to row.
        """
        code, line = self.code, 64 // self.dtype.itemsize
        for places, x in zip(rows, self.arrays, strict=True):
            following = self._at(places[0], code.mul(x.strides[0], self.lanes))
            begin = self._at(following, code.mul(t, self.lanes))
            hints = ("i32", str(int(x is self.arrays[-1]))), ("i32", "2"), ("i32", "1")
            for n in range(0, self.lanes**2, line):
                code.call("llvm.prefetch.p0", "void", ("ptr", self._at(begin, n)), *hints)

    def _column(self, places: Sequence[str], t: Index) -> Vector:
        """One element of each row."""
        code, kind, column = self.code, self.code.type(self.dtype), "poison"
        for lane, place in enumerate(places):
            with code.with_lanes(1):
                (x,) = code.load(self._at(place, t), self.dtype).parts
                one = code.type(self.dtype)
            column = code.let(f"insertelement {kind} {column}, {one} {x}, i32 {lane}")
        return Vector((column,), self.dtype)

    def _store_column(self, value: Vector, places: Sequence[str], t: Index) -> None:
        code = self.code
        for lane, place in enumerate(places):
            x = code.lane(value, lane)
            with code.with_lanes(1):
                code.store(Vector((x,), self.dtype), self._at(place, t))

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)
