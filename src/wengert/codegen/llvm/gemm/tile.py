"""Register tiles: a strip of C, a few vectors wide, for one block of K.

A strip walks down the rows of A in tiles of so many rows as the registers hold, then in smaller
ones for the rows that are left. In a tile every sum has its own lane of its own register and takes
its products in the order of k, so neither the height of a tile nor the place of an element in it
touches a bit of the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.core.dtypes import DType, bool_

STRIP_PARAMS = (
    "ptr %a, i64 %a_row, i64 %a_inner, ptr %b, i64 %b_inner, i64 %b_vector, "
    "ptr %c, i64 %c_row, i64 %rows, i64 %columns, i64 %inner, i1 %first"
)
_ROWS_PER_POINTER = 4  # rows of A that one pointer serves, with the offsets 0, s, 2s and 3s
_AHEAD = 24  # values of k that A is asked for before they are read
_LONG = 128  # k from which on a tile lasts long enough to have its part of C fetched meanwhile


class Registers(NamedTuple):
    """What the vector registers hold of one dtype."""

    lanes: int  # of one register
    # Of strips of 1, 2 … vectors: the heights of tiles, falling; the last is 1. A tile is high
    # enough for its sums to hide the latency of one another's fma.
    heights: tuple[tuple[int, ...], ...]
    # Whether a tile takes so long for each k that A can be read as it lies, with its rows side by
    # side: a cache line for each k, which is asked for ahead.
    reads_across: bool

    @property
    def vectors(self) -> int:
        """Width of a strip, at most."""
        return len(self.heights)

    @property
    def rows(self) -> int:
        """Height of most tiles."""
        return self.heights[-1][0]


def registers(module: Module, dtype: DType) -> Registers:
    """The shape of tiles: one register for A, a strip's vectors for B, most others for sums.

    Of the shapes that fit, those closest to a square load least for every fma. No tile is higher
    than 8: rows of A that lie a multiple of 4 KB apart share a set of the first cache, which holds
    8 lines on many processors, and a higher tile would read every line of them again and again.
    """
    many = (8, 4, 2, 1), (8, 4, 2, 1), (8, 2, 1)
    heights = many if module.target.registers == 32 else ((8, 2, 1), (6, 2, 1))
    lanes = min(module.width, module.target.register_bytes // dtype.itemsize)
    return Registers(lanes, heights, module.target.register_bytes == 64)


def define_strip(module: Module, name: str, dtype: DType, vectors: int) -> None:
    """A function with STRIP_PARAMS: C[rows, columns] = or += A B over one block of K.

    Columns of C lie side by side, those of B in vectors `b_vector` apart. They fill all vectors but
    the last. `first` says that this is the first block of K.

        for height in the heights of tiles, falling:
            for each tile of so many of the rows that are left:
                sums = the products of its rows of A and the strip of B
                C = sums if first else C + sums
    """
    shape = registers(module, dtype)
    code = Code(module, shape.lanes)
    last = _kept(code, code.first_lanes(code.sub("%columns", (vectors - 1) * shape.lanes)), dtype)
    done: Index = 0
    for rows in shape.heights[vectors - 1]:
        left = code.sub("%rows", done)
        end = code.sub("%rows", code.mod(left, rows))

        def tile(i: Index, _: list[str], rows: int = rows) -> None:
            a = code.address("%a", code.mul(i, "%a_row"), dtype)
            c = code.address("%c", code.mul(i, "%c_row"), dtype)
            if rows == shape.rows and vectors == shape.vectors:
                _prefetch(code, c, dtype, rows, vectors)
            _write(code, _sums(code, a, dtype, rows, vectors, last), c, last)

        code.loop(done, end, rows, tile)
        done = end
    code.function(name, STRIP_PARAMS)


def _kept(code: Code, mask: Vector, dtype: DType) -> Vector:
    """A mask in the form that registers hold it in: bits, or before AVX-512 numbers as wide as
    those it is for. LLVM would turn bits into numbers again and again.
    """
    if code.module.target.register_bytes == 64:  # which have registers for masks
        return mask
    return code.each("sext {t} {0} to {r}", mask, dtype=np.dtype(f"i{dtype.itemsize}"))


def _mask(code: Code, kept: Vector) -> Vector:
    if kept.dtype == bool_:
        return kept
    return code.each("icmp slt {t} {0}, zeroinitializer", kept, dtype=bool_)


def _sums(
    code: Code, a: str, dtype: DType, rows: int, vectors: int, last: Vector
) -> list[list[Vector]]:
    """The sums of one tile over the block of K, each by fma from zero in the order of k.

    sums[r, v] = 0
    for k in the block:
        y[v] = vector v of row k of B
        for each row r: x = A[r, k] in every lane; for each v: sums[r, v] = fma(x, y[v], sums[r, v])
        ask for A[first and last r, k + _AHEAD], where A is read as it lies
    """
    e = Arithmetic(code, dtype)
    kind, pieces = code.type(dtype), code.pieces
    starts = range(0, rows, _ROWS_PER_POINTER)
    pointers = [code.address(a, code.mul(r, "%a_row"), dtype) for r in starts]
    offsets = [code.mul(r, "%a_row") for r in range(min(rows, _ROWS_PER_POINTER))]
    zero = e.const(0.0).parts[0]
    shape, ahead = registers(code.module, dtype), code.mul(_AHEAD, "%a_inner")
    asks = shape.reads_across and rows == shape.heights[vectors - 1][0]

    def step(_: Index, carried: list[str]) -> list[str]:
        b, *rest = carried
        at, sums = rest[: len(starts)], rest[len(starts) :]
        columns = []
        for v in range(vectors):
            place = code.address(b, code.mul(v, "%b_vector"), dtype)
            columns.append(code.load(place, dtype, _mask(code, last) if v == vectors - 1 else None))
        after: list[str] = []
        for r in range(rows):
            base = at[r // _ROWS_PER_POINTER]
            place = code.address(base, offsets[r % _ROWS_PER_POINTER], dtype)
            x = code.load_splat(place, dtype)
            if asks and r in (0, rows - 1):  # rows side by side lie in two lines at most
                _ask_for(code, code.address(place, ahead, dtype))
            for v, y in enumerate(columns):
                first = (r * vectors + v) * pieces
                after += e.fma(x, y, Vector(tuple(sums[first : first + pieces]), dtype)).parts
        moved = [opaque(code, code.address(p, "%a_inner", dtype)) for p in at]
        return [code.address(b, "%b_inner", dtype), *moved, *after]

    carry = [("ptr", "%b"), *(("ptr", p) for p in pointers)]
    carry += [(kind, zero)] * (rows * vectors * pieces)
    parts = code.loop(0, "%inner", 1, step, carry)[1 + len(starts) :]
    each = [Vector(tuple(parts[i : i + pieces]), dtype) for i in range(0, len(parts), pieces)]
    return [each[i : i + vectors] for i in range(0, len(each), vectors)]


def _ask_for(code: Code, place: str) -> None:
    """Fetch the cache line of a place that is read later."""
    hints = [("i32", "0"), ("i32", "3"), ("i32", "1")]  # to read, to keep, data
    code.call("llvm.prefetch.p0", "void", ("ptr", place), *hints)


def opaque(code: Code, pointer: str) -> str:
    """The same pointer, hidden from LLVM's loop strength reduction. That would replace a few
    pointers and offsets by one pointer that is moved on for every row: a chain of additions that
    takes as long as the fmas.
    """
    return code.let(f"freeze ptr {pointer}")


def _prefetch(code: Code, c: str, dtype: DType, rows: int, vectors: int) -> None:
    """Fetch the part of C that the sums will go to, while these are computed.

        if the block of K is long: for each row: for each cache line of the tile: prefetch it

    Asked for is the last number of every 64 bytes. Where lines begin in between, the first one has
    been fetched by the strip before.
    """
    line = 64 // dtype.itemsize

    def each() -> None:
        hints = [("i32", "1"), ("i32", "3"), ("i32", "1")]  # to write, to keep, data
        place = c
        for _ in range(rows):
            for end in range(line, vectors * code.lanes + 1, line):
                at = code.address(place, end - 1, dtype)
                code.call("llvm.prefetch.p0", "void", ("ptr", at), *hints)
            place = code.address(place, "%c_row", dtype)

    code.when(code.compare("sge", "%inner", _LONG), each)


def _write(code: Code, sums: list[list[Vector]], c: str, last: Vector) -> None:
    """Put a tile's sums into C, or add them to what earlier blocks of K left there: all are read
    before any is written, since a read waits for a write whose address ends in the same bits.
    """
    dtype = sums[0][0].dtype
    e = Arithmetic(code, dtype)

    def each(add: bool) -> list[str]:
        place, held = c, _mask(code, last)
        writes: list[tuple[Vector, str, Vector | None]] = []
        for row in sums:
            for v, x in enumerate(row):
                mask = held if v == len(row) - 1 else None
                at = code.address(place, v * code.lanes, dtype)
                writes.append((e.add(code.load(at, dtype, mask), x) if add else x, at, mask))
            place = code.address(place, "%c_row", dtype)
        for x, at, mask in writes:
            code.store(x, at, mask)
        return []

    code.either("%first", (), lambda: each(False), lambda: each(True))
