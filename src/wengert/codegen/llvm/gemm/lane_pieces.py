"""Vectors that are filled from several places of memory, one for each lane: from pieces of 16
bytes, which are transposed in registers.

Loading a piece into any 16 bytes of a register, and exchanging numbers within 16 bytes, is at least
twice as fast as exchanging numbers between such parts.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.codegen.llvm.gemm.pack import transpose_parts
from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.text.vectors import Code, Module, Vector, scalar_type
from wengert.core.dtypes import DType

PIECE, LINE = 16, 64  # bytes; of a line of the caches
_PIECES = 2  # of a vector, at most: every further one would have to be put in by an instruction


def lanes_of_pieces(module: Module, dtype: DType) -> int:
    """Lanes of such vectors."""
    return min(registers(module, dtype).lanes, _PIECES * PIECE // dtype.itemsize)


def side_by_side(code: Code, dtype: DType, places: Sequence[str]) -> list[Vector]:
    """As many vectors as a piece has numbers: vector t has number t from places[i] on in lane i."""
    count = PIECE // dtype.itemsize
    rows = [_joined(code, dtype, places[i::count]) for i in range(count)]
    return transpose_parts(code, rows)


def repeated(code: Code, dtype: DType, place: str, count: int) -> Vector:
    """So many numbers, over and over."""
    if count == 1:
        return code.load_splat(place, dtype)
    scalar = scalar_type(dtype)
    kind = f"<{count} x {scalar}>"
    loaded = code.let(f"load {kind}, ptr {place}, align {dtype.itemsize}")
    order = ", ".join(f"i32 {i % count}" for i in range(code.lanes))
    text = f"shufflevector {kind} {loaded}, {kind} poison, <{code.lanes} x i32> <{order}>"
    return Vector((code.let(text),), dtype)


def _joined(code: Code, dtype: DType, places: Sequence[str]) -> Vector:
    """A vector of pieces from these places, one behind the other."""
    count, scalar = PIECE // dtype.itemsize, scalar_type(dtype)
    kind = f"<{count} x {scalar}>"
    pieces = [code.let(f"load {kind}, ptr {at}, align {dtype.itemsize}") for at in places]
    while len(pieces) > 1:
        order = ", ".join(f"i32 {i}" for i in range(2 * count))
        pairs = zip(pieces[::2], pieces[1::2], strict=True)
        kind = f"<{count} x {scalar}>"
        pieces = [
            code.let(f"shufflevector {kind} {x}, {kind} {y}, <{2 * count} x i32> <{order}>")
            for x, y in pairs
        ]
        count *= 2
    return Vector((pieces[0],), dtype)
