"""Packing: a block of a matrix, of any strides, copied to where register tiles read it quickly.

The copy has the columns of one vector side by side. Where those of the source are side by side
too, rows are copied; where its rows are, square blocks are transposed in registers.
"""

from __future__ import annotations

from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector
from wengert.core.dtypes import DType

PACK_PARAMS = (
    "ptr %to, i64 %to_row, i64 %to_vector, ptr %from, i64 %from_row, i64 %from_column, "
    "i64 %rows, i64 %columns"
)


def define_pack(module: Module, name: str, dtype: DType, lanes: int) -> None:
    """A function with PACK_PARAMS: to[r, c] = from[r, c], with strides in elements.

    Column c of the copy is in vector c // lanes; vectors are `to_vector` apart. Whole vectors are
    written, and at least `lanes` rows: the copy needs room for numbers that mean nothing.

        if columns of the source lie side by side: copy its rows, vector by vector
        elif its rows do: transpose square blocks in registers
        else: one element after the other
    """
    code = Code(module, lanes)
    by_rows = code.compare("eq", "%from_column", 1)

    def by_blocks() -> list[str]:
        sideways = code.compare("eq", "%from_row", 1)
        code.either(
            sideways, (), lambda: _transposed(code, dtype), lambda: _one_by_one(code, dtype)
        )
        return []

    code.either(by_rows, (), lambda: _rows(code, dtype), by_blocks)
    code.function(name, PACK_PARAMS)


def _rows(code: Code, dtype: DType) -> list[str]:
    """for r in rows: for each vector c of columns: to[r, c] = from[r, c]; the last has a mask."""
    whole = code.sub("%columns", code.mod("%columns", code.lanes))
    rest = code.first_lanes(code.sub("%columns", whole))
    some_left = code.compare("slt", whole, "%columns")

    def row(r: Index, _: list[str]) -> None:
        source = code.address("%from", code.mul(r, "%from_row"), dtype)
        target = code.address("%to", code.mul(r, "%to_row"), dtype)

        def vector(c: Index, carried: list[str]) -> list[str]:
            code.store(code.load(code.address(source, c, dtype), dtype), carried[0])
            return [code.address(carried[0], "%to_vector", dtype)]

        (place,) = code.loop(0, whole, code.lanes, vector, [("ptr", target)])

        def tail() -> None:
            code.store(code.load(code.address(source, whole, dtype), dtype, rest), place)

        code.when(some_left, tail)

    code.loop(0, "%rows", 1, row)
    return []


def _transposed(code: Code, dtype: DType) -> list[str]:
    """Square blocks of `lanes` rows and columns.

        for each `lanes` columns c:
            for each `lanes` rows r, the last reaching back over rows that are copied already:
                read column c, c + 1 … of the source as vectors from r on, transpose, write rows

    Past the last column of the source, that one is read again.
    """
    lanes = code.lanes
    last_row = code.max(code.sub("%rows", lanes), 0)
    last_column = code.sub("%columns", 1)
    held = code.first_lanes("%rows")  # all lanes, unless this is one block with fewer rows

    def block_column(c: Index, _: list[str]) -> None:
        sources = [
            code.address(
                "%from", code.mul(code.min(code.add(c, i), last_column), "%from_column"), dtype
            )
            for i in range(lanes)
        ]
        column = code.address("%to", code.mul(code.div(c, lanes), "%to_vector"), dtype)

        def block(r: Index, _: list[str]) -> None:
            at = code.min(r, last_row)
            columns = [code.load(code.address(s, at, dtype), dtype, held) for s in sources]
            place = code.address(column, code.mul(at, "%to_row"), dtype)
            for x in transpose(code, columns):
                code.store(x, place)
                place = code.address(place, "%to_row", dtype)

        code.loop(0, "%rows", lanes, block)

    code.loop(0, "%columns", lanes, block_column)
    return []


def transpose(code: Code, rows: list[Vector]) -> list[Vector]:
    """A square of vectors with rows and columns exchanged. The upper right and the lower left
    quarter change places, then the quarters of each quarter, and so on down to squares of 16 bytes:
    within these, instructions interleave the lanes of two vectors.
    """
    small = 16 // rows[0].dtype.itemsize
    half = code.lanes // 2
    while half >= small:
        exchanged = list(rows)
        for r in range(code.lanes):
            if not r & half:
                exchanged[r], exchanged[r + half] = _exchange(code, rows[r], rows[r + half], half)
        rows = exchanged
        half //= 2
    return [
        x for r in range(0, code.lanes, small) for x in transpose_parts(code, rows[r : r + small])
    ]


def _exchange(code: Code, x: Vector, y: Vector, half: int) -> tuple[Vector, Vector]:
    """Two vectors after an exchange: of every 2 · half lanes, the second half in x and the first
    half in y have changed places.
    """
    n = code.lanes
    low = [i if not i & half else n + i - half for i in range(n)]
    high = [i + half for i in low]
    return picked(code, x, y, low), picked(code, x, y, high)


def transpose_parts(code: Code, rows: list[Vector]) -> list[Vector]:
    """Squares of 16 bytes transposed, side by side in the lanes."""
    n, size = code.lanes, len(rows)
    low = [s + i // 2 + n * (i % 2) for s in range(0, n, size) for i in range(size)]
    high = [i + size // 2 for i in low]
    for _ in range(size.bit_length() - 1):
        pairs = [(rows[i], rows[i + size // 2]) for i in range(size // 2)]
        rows = [picked(code, x, y, order) for x, y in pairs for order in (low, high)]
    return rows


def picked(code: Code, x: Vector, y: Vector, order: list[int]) -> Vector:
    """Lanes of x, and behind them of y, in this order. These vectors have one piece."""
    kind = code.type(x.dtype)
    picks = ", ".join(f"i32 {i}" for i in order)
    text = f"shufflevector {kind} {x.parts[0]}, {kind} {y.parts[0]}, <{len(order)} x i32> <{picks}>"
    return Vector((code.let(text),), x.dtype)


def _one_by_one(code: Code, dtype: DType) -> list[str]:
    """for c in columns: for r in rows: to[r, c] = from[r, c]."""
    lanes = code.lanes
    with code.with_lanes(1):

        def column(c: Index, _: list[str]) -> None:
            source = code.address("%from", code.mul(c, "%from_column"), dtype)
            vector = code.mul(code.div(c, lanes), "%to_vector")
            target = code.address("%to", code.add(vector, code.mod(c, lanes)), dtype)

            def element(r: Index, _: list[str]) -> None:
                x = code.load(code.address(source, code.mul(r, "%from_row"), dtype), dtype)
                code.store(x, code.address(target, code.mul(r, "%to_row"), dtype))

            code.loop(0, "%rows", 1, element)

        code.loop(0, "%columns", 1, column)
    return []
