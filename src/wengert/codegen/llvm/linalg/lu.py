"""The factorisation of a square matrix into triangles, with rows exchanged so that no multiplier
exceeds 1, and the steps it shares with the one that exchanges columns too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.codegen.llvm.linalg.exponents import bits_dtype, magnitude
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    load_number,
    routine,
    splat_index,
    store_number,
)
from wengert.codegen.llvm.linalg.small_products import subtract_product
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, scalar_type
from wengert.codegen.numerics import LANES
from wengert.core.dtypes import DType, int64


@routine("ptr %a, i64 %step, i64 %n, ptr %swaps")
def factor(e: Arithmetic, a: str, step: str, n: str, swaps: str) -> None:
    """P a = L U in place: U on and above the diagonal, L below it, with ones on its own.

    swaps[k] is the row that was exchanged with row k at step k: the one with the largest number in
    column k, the first of equals; NaN counts as the largest, so that it reaches the results.
    Columns are eliminated in blocks of one vector; every element is one sum in their order.

        for each block of LANES columns:
            for each column k of the block:
                swaps[k] = the row, from k on, with the largest number in column k
                exchange rows k and swaps[k]
                if a[k, k] != 0: eliminate column k below the diagonal, within the block
            bring the columns to the right of the block up to date
    """
    code = e.code
    rows = MatrixRows(a, n, step, e.dtype)

    def block(begin: Index, _: Any) -> None:
        end = code.min(code.add(begin, LANES), n)

        def column(k: Index, _: Any) -> None:
            largest = largest_below(e, rows, k, k, n)
            store_number(code, largest, code.address(swaps, k, int64), int64)
            exchange_rows(e, rows, k, largest)
            when_pivot(e, rows, k, lambda _pivot: eliminate(e, rows, k, begin))

        code.loop(begin, end, 1, column)
        _finish_block(code, rows, begin, end)

    code.loop(0, n, LANES, block)


def largest_below(e: Arithmetic, rows: MatrixRows, k: Index, column: Index, end: Index) -> str:
    """The row, from k up to `end`, with the largest number in a column.

    best, place = -1, k
    for i in k … end: if the bits of |a[i, column]| are above best: best, place = those bits, i
    """
    code = e.code
    kind = scalar_type(bits_dtype(e.dtype))

    def row(i: Index, best: list[str]) -> list[str]:
        with code.with_lanes(1):
            number = magnitude(e, code.load(rows.at(code, i, column), e.dtype)).parts[0]
        larger = code.let(f"icmp sgt {kind} {number}, {best[0]}")
        return [
            code.let(f"select i1 {larger}, {kind} {number}, {kind} {best[0]}"),
            code.let(f"select i1 {larger}, i64 {i}, i64 {best[1]}"),
        ]

    return code.loop(k, end, 1, row, [(kind, "-1"), ("i64", str(k))])[1]


def exchange_rows(e: Arithmetic, rows: MatrixRows, i: Index, j: Index) -> None:
    """if i != j: for each vector of columns: exchange those of rows i and j."""
    code = e.code

    def exchange() -> None:
        one, other = rows.at(code, i), rows.at(code, j)

        def vector(column: Index, _: Any) -> None:
            at = [code.address(start, column, e.dtype) for start in (one, other)]
            vectors = [code.load(p, e.dtype) for p in at]
            code.store(vectors[0], at[1])
            code.store(vectors[1], at[0])

        code.loop(0, rows.step, LANES, vector)

    code.when(code.compare("ne", i, j), exchange)


def when_pivot(e: Arithmetic, rows: MatrixRows, k: Index, then: Callable[[str], None]) -> None:
    """Write code that runs only if pivot k is not 0. If it is 0, so is all that it would eliminate:
    it was the largest number there was.
    """
    code = e.code
    pivot = load_number(code, rows.at(code, k, k), e.dtype)
    code.when(code.let(f"fcmp une {scalar_type(e.dtype)} {pivot}, 0.0"), lambda: then(pivot))


def eliminate(
    e: Arithmetic, rows: MatrixRows, k: Index, begin: Index, end: Index | None = None
) -> None:
    """Subtract row k from those below it, in the vector of columns that begins at `begin` and holds
    column k; and, if `end` is given, in all vectors after it up to there.

        for each row i below k:
            by = a[i, k] / a[k, k]
            a[i, j] -= by · a[k, j] for the columns j after k of that vector
            a[i, k] = by
            for each vector j after it, up to end: a[i, j] -= by · a[k, j]
    """
    code = e.code
    pivot = load_number(code, rows.at(code, k, k), e.dtype)
    start = rows.at(code, k, begin)
    upper = code.load(start, e.dtype)
    place = splat_index(code, code.sub(k, begin))
    after, here = e.gt(code.lane_numbers(), place), e.eq(code.lane_numbers(), place)

    def row(i: Index, _: Any) -> None:
        number = load_number(code, rows.at(code, i, k), e.dtype)
        by = code.let(f"fdiv {scalar_type(e.dtype)} {number}, {pivot}")
        at, multiplier = rows.at(code, i, begin), code.splat(by, e.dtype)
        old, minus = code.load(at, e.dtype), e.neg(multiplier)
        new = e.select(after, e.fma(minus, upper, old), old)
        code.store(e.select(here, multiplier, new), at)

        def vector(j: Index, _: Any) -> None:
            above, below = (code.address(p, j, e.dtype) for p in (start, at))
            new = e.fma(minus, code.load(above, e.dtype), code.load(below, e.dtype))
            code.store(new, below)

        if end is not None:
            code.loop(LANES, code.sub(end, begin), LANES, vector)

    code.loop(code.add(k, 1), rows.count, 1, row)


def _finish_block(code: Code, rows: MatrixRows, begin: Index, end: Index) -> None:
    """Bring the columns to the right of a block of eliminated ones up to date.

    for each row i of the block but the first: a[i, right] -= a[i, block before i] @ a[those, right]
    for all rows i below the block:            a[i, right] -= a[i, block] @ a[block, right]
    """
    step, right = rows.step, code.add(begin, LANES)
    columns = code.sub(step, right)
    above = rows.at(code, begin, right)

    def product(row: Index, count: Index, depth: Index) -> None:
        into, left = rows.at(code, row, right), rows.at(code, row, begin)
        subtract_product(
            code, rows.dtype, into, step, left, step, 1, above, step, count, columns, depth
        )

    def beside(i: Index, _: Any) -> None:
        product(i, 1, code.sub(i, begin))

    code.loop(code.add(begin, 1), end, 1, beside)
    product(end, code.sub(rows.count, end), LANES)


def any_zero(code: Code, pointer: str, step: Index, count: Index, dtype: DType) -> str:
    """An i1: whether one of so many numbers, `step` apart, is 0."""

    def number(k: Index, so_far: list[str]) -> list[str]:
        each = load_number(code, code.address(pointer, code.mul(k, step), dtype), dtype)
        zero = code.let(f"fcmp oeq {scalar_type(dtype)} {each}, 0.0")
        return [code.let(f"or i1 {so_far[0]}, {zero}")]

    return code.loop(0, count, 1, number, [("i1", "false")])[0]


def is_singular(code: Code, rows: MatrixRows) -> str:
    """An i1: whether a factored matrix has a pivot that is exactly 0."""
    return any_zero(code, rows.pointer, code.add(rows.step, 1), rows.count, rows.dtype)
