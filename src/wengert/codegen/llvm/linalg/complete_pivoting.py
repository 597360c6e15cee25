"""The factorisation that shows the rank: rows and columns are exchanged so that every pivot is the
largest number left, in a matrix whose rows and columns were first scaled by powers of two.
"""

from __future__ import annotations

from typing import Any

from wengert.codegen.llvm.linalg.exponents import (
    bits_dtype,
    infinity_bits,
    magnitude,
    taken_apart,
    together,
)
from wengert.codegen.llvm.linalg.lu import eliminate, exchange_rows, when_pivot
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    carried,
    fill,
    load_number,
    routine,
    splat_index,
    store_number,
    uncarried,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dtypes import DType, int64


@routine("ptr %a, i64 %step, i64 %n, ptr %down, ptr %right, ptr %spoilt")
def scale(e: Arithmetic, a: str, step: str, n: str, down: str, right: str, spoilt: str) -> None:
    """Divide rows, then columns, by powers of two, so that the largest number of each is in
    [1/2, 1); their exponents go to `down` and `right`.

    Scaling is exact, and without it the pivots of rows of very different size would be lost in each
    other's rounding errors. Where a number is not finite the i64 `spoilt` becomes 1 and the whole
    matrix 0.

        for each row i: down[i] = exponent of its largest number; divide the row by 2**down[i]
        if a number was not finite: a = 0
        for each vector of columns j: right[j] = exponents of their largest numbers; divide by them
    """
    code, whole = e.code, bits_dtype(e.dtype)
    rows = MatrixRows(a, n, step, e.dtype)

    def row(i: Index, _: Any) -> None:
        largest = code.join(_largest(e, rows, i, 0, step, LANES), e.max)
        bad = e.any_lane(e.ge(largest, infinity_bits(e)))
        code.when(bad, lambda: store_number(code, 1, spoilt, int64))
        exponent = taken_apart(e, e.from_bits(largest)).exponent
        store_number(code, code.lane(exponent, 0), code.address(down, i, whole), whole)
        _divide(e, rows, i, 0, step, LANES, exponent)

    def columns(j: Index, _: Any) -> None:
        end = code.mul(n, step)
        exponent = taken_apart(e, e.from_bits(_largest(e, rows, 0, j, end, step))).exponent
        code.store(exponent, code.address(right, j, whole))
        _divide(e, rows, 0, j, end, step, exponent)

    code.loop(0, n, 1, row)
    code.when(code.compare("ne", load_number(code, spoilt, int64), 0), lambda: fill(e, rows, 0))
    code.loop(0, step, LANES, columns)


def _largest(
    e: Arithmetic, rows: MatrixRows, i: Index, j: Index, end: Index, apart: Index
) -> Vector:
    """The largest magnitudes, lane by lane, of the vectors that begin at (i, j) and then every
    `apart` elements, up to `end` elements on.
    """
    code, whole = e.code, bits_dtype(e.dtype)
    start = rows.at(code, i, j)

    def vector(k: Index, parts: list[str]) -> list[str]:
        (best,) = uncarried(code, parts, whole)
        magnitudes = magnitude(e, code.load(code.address(start, k, e.dtype), e.dtype))
        return list(e.max(best, magnitudes).parts)

    parts = code.loop(0, end, apart, vector, carried(code, e.const(0, whole)))
    return uncarried(code, parts, whole)[0]


def _divide(
    e: Arithmetic, rows: MatrixRows, i: Index, j: Index, end: Index, apart: Index, exponent: Vector
) -> None:
    """Divide the same vectors by powers of two."""
    code = e.code
    start, minus = rows.at(code, i, j), e.neg(exponent)

    def vector(k: Index, _: Any) -> None:
        at = code.address(start, k, e.dtype)
        code.store(together(e, code.load(at, e.dtype), minus), at)

    code.loop(0, end, apart, vector)


@routine(
    "ptr %a, i64 %step, i64 %n, ptr %rows, ptr %columns, ptr %down, ptr %right, ptr %pivots, "
    "ptr %odd"
)
def factor_completely(
    e: Arithmetic,
    a: str,
    step: str,
    n: str,
    rows: str,
    columns: str,
    down: str,
    right: str,
    pivots: str,
    odd: str,
) -> None:
    """P a Q = L D R in place: L below the diagonal and R above it, both with ones on their own.

    No number of L and R exceeds 1, and where the rank ends the pivots are 0. `rows` and `columns`
    become the order in which those of a were taken, `down` and `right` are brought into it, and
    the i64 `odd` becomes 1 where P and Q together have determinant -1.

        rows = columns = 0, 1, 2 …
        for k in 0 … n:
            i, j = where the largest number stands, from row k and column k on
            exchange rows k and i, columns k and j, of the matrix and of the lines beside it
            pivots[k] = a[k, k]
            if a[k, k] != 0: eliminate below it; divide what is right of it by it
            odd = odd xor (k != i) xor (k != j)
    """
    code, whole = e.code, bits_dtype(e.dtype)
    matrix = MatrixRows(a, n, step, e.dtype)
    _count(e, (rows, columns), step)

    lines = ((rows, int64), (down, whole)), ((columns, int64), (right, whole))

    def pivot(k: Index, parity: list[str]) -> list[str]:
        i, j = _place_of_largest(e, matrix, k)
        exchange_rows(e, matrix, k, i)
        _exchange_columns(code, matrix, k, j)
        for pair, other in zip(lines, (i, j), strict=True):
            for line, dtype in pair:
                _exchange(code, line, dtype, k, other)
        number = load_number(code, matrix.at(code, k, k), e.dtype)
        store_number(code, number, code.address(pivots, k, e.dtype), e.dtype)
        when_pivot(e, matrix, k, lambda number: _eliminate_both(e, matrix, k, number))
        flips = [code.compare("ne", k, other) for other in (i, j)]
        flip = code.let(f"xor i1 {flips[0]}, {flips[1]}")
        return [code.let(f"xor i64 {parity[0]}, {code.let(f'zext i1 {flip} to i64')}")]

    (parity,) = code.loop(0, n, 1, pivot, [("i64", "0")])
    store_number(code, parity, odd, int64)


def _count(e: Arithmetic, lines: tuple[str, ...], end: Index) -> None:
    """0, 1, 2 … in each line."""
    code = e.code

    def vector(i: Index, _: Any) -> None:
        numbers = e.add(code.lane_numbers(), splat_index(code, i))
        for line in lines:
            code.store(numbers, code.address(line, i, int64))

    code.loop(0, end, LANES, vector)


def _place_of_largest(e: Arithmetic, rows: MatrixRows, k: Index) -> tuple[Index, Index]:
    """Row and column, both from k on, of the largest number; the first of equals.

    in each lane: best, where = 0, (k, k)
    for each row i from k on: for each vector j of columns, where a column is inside:
        if |a[i, j]| > best: best, where = |a[i, j]|, (i, j)
    of all lanes with the largest best: the first where
    """
    code, whole = e.code, bits_dtype(e.dtype)
    begin = code.mul(code.div(k, LANES), LANES)
    first, end = splat_index(code, k), splat_index(code, rows.count)

    def row(i: Index, parts: list[str]) -> list[str]:
        start = code.mul(i, rows.step)

        def vector(j: Index, parts: list[str]) -> list[str]:
            best, where = uncarried(code, parts, whole, int64)
            column = e.add(code.lane_numbers(), splat_index(code, j))
            inside = e.and_(e.ge(column, first), e.lt(column, end))
            magnitudes = magnitude(e, code.load(rows.at(code, i, j), e.dtype))
            larger = e.and_(inside, e.gt(magnitudes, best))
            place = e.add(column, splat_index(code, start))
            now = (e.select(larger, magnitudes, best), e.select(larger, place, where))
            return [part for x in now for part in x.parts]

        given = [(kind, part) for (kind, _), part in zip(kinds, parts, strict=True)]
        return code.loop(begin, rows.step, LANES, vector, given)

    corner = splat_index(code, code.mul(k, code.add(rows.step, 1)))
    kinds = carried(code, e.const(0, whole), corner)
    best, where = uncarried(code, code.loop(k, rows.count, 1, row, kinds), whole, int64)
    largest = code.join(best, e.max)
    never = e.const(2**62, int64)
    place = code.lane(code.join(e.select(e.eq(best, largest), where, never), e.min), 0)
    return code.div(place, rows.step), code.mod(place, rows.step)


def _exchange_columns(code: Code, rows: MatrixRows, i: Index, j: Index) -> None:
    def exchange() -> None:
        code.loop(
            0,
            rows.count,
            1,
            lambda row, _: _exchange(code, rows.at(code, row), rows.dtype, i, j),
        )

    code.when(code.compare("ne", i, j), exchange)


def _exchange(code: Code, line: str, dtype: DType, i: Index, j: Index) -> None:
    """Exchange two numbers of a line."""
    at = [code.address(line, place, dtype) for place in (i, j)]
    numbers = [load_number(code, p, dtype) for p in at]
    store_number(code, numbers[0], at[1], dtype)
    store_number(code, numbers[1], at[0], dtype)


def _eliminate_both(e: Arithmetic, rows: MatrixRows, k: Index, pivot: str) -> None:
    """Subtract row k from those below it, then divide what is right of the pivot by it."""
    code = e.code
    begin = code.mul(code.div(k, LANES), LANES)
    eliminate(e, rows, k, begin, rows.step)
    by, place = code.splat(pivot, e.dtype), splat_index(code, k)

    def vector(j: Index, _: Any) -> None:
        at = rows.at(code, k, j)
        after = e.gt(e.add(code.lane_numbers(), splat_index(code, j)), place)
        old = code.load(at, e.dtype)
        code.store(e.select(after, e.div(old, by), old), at)

    code.loop(begin, rows.step, LANES, vector)
