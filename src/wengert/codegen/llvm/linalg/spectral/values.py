"""What eigen- and singular values have in common: a scale before, order and signs after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.codegen.llvm.linalg.exponents import bits_dtype, magnitude, taken_apart, together
from wengert.codegen.llvm.linalg.lu import exchange_rows
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    carried,
    load_number,
    routine,
    splat_index,
    store_number,
    uncarried,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, scalar_type
from wengert.codegen.numerics import LANES
from wengert.core.dtypes import int64
from wengert.core.signatures.matrices import SIGNIFICANT


@routine("ptr %a, i64 %size, ptr %exponent")
def scale_whole(e: Arithmetic, a: str, size: str, exponent: str) -> None:
    """Divide a matrix by the power of two, whose exponent is kept, that brings its largest number
    into [1/2, 1).
    """
    code, whole = e.code, bits_dtype(e.dtype)

    def larger(i: Index, parts: list[str]) -> list[str]:
        (best,) = uncarried(code, parts, whole)
        magnitudes = magnitude(e, code.load(code.address(a, i, e.dtype), e.dtype))
        return list(e.max(best, magnitudes).parts)

    parts = code.loop(0, size, LANES, larger, carried(code, e.const(0, whole)))
    largest = code.join(uncarried(code, parts, whole)[0], e.max)
    exponents = taken_apart(e, e.from_bits(largest)).exponent
    store_number(code, code.lane(exponents, 0), exponent, whole)
    minus = e.neg(exponents)

    def divide(i: Index, _: Any) -> None:
        at = code.address(a, i, e.dtype)
        code.store(together(e, code.load(at, e.dtype), minus), at)

    code.loop(0, size, LANES, divide)


@routine("ptr %line, i64 %end, ptr %exponent")
def scale_back(e: Arithmetic, line: str, end: str, exponent: str) -> None:
    """Multiply a line by a power of two."""
    code = e.code
    by = code.load_splat(exponent, bits_dtype(e.dtype))

    def vector(j: Index, _: Any) -> None:
        at = code.address(line, j, e.dtype)
        code.store(together(e, code.load(at, e.dtype), by), at)

    code.loop(0, end, LANES, vector)


def sort_values(
    e: Arithmetic, values: str, n: Index, rows: Sequence[MatrixRows], descending: bool
) -> None:
    """Bring values into order, and with them rows; the first of equals comes first."""
    code, dtype = e.code, e.dtype
    kind, how = scalar_type(dtype), "ogt" if descending else "olt"

    def place(i: Index, _: Any) -> None:
        first = load_number(code, code.address(values, i, dtype), dtype)

        def better(j: Index, best: list[str]) -> list[str]:
            other = load_number(code, code.address(values, j, dtype), dtype)
            wins = code.let(f"fcmp {how} {kind} {other}, {best[0]}")
            return [
                code.let(f"select i1 {wins}, {kind} {other}, {kind} {best[0]}"),
                code.let(f"select i1 {wins}, i64 {j}, i64 {best[1]}"),
            ]

        start = [(kind, first), ("i64", str(i))]
        chosen, at = code.loop(code.add(i, 1), n, 1, better, start)
        store_number(code, first, code.address(values, at, dtype), dtype)
        store_number(code, chosen, code.address(values, i, dtype), dtype)
        for each in rows:
            exchange_rows(e, each, i, at)

    code.loop(0, n, 1, place)


@routine("ptr %row, i64 %end, ptr %other, i64 %other_end")
def lead_with_positive(e: Arithmetic, row: str, end: str, other: str, other_end: str) -> None:
    """Make the first number positive that is not small, by negating the row; and another with it,
    of `other_end` numbers, which may be none.
    """
    code, dtype = e.code, e.dtype

    def larger(j: Index, parts: list[str]) -> list[str]:
        (best,) = uncarried(code, parts, dtype)
        return list(e.max(best, e.abs(code.load(code.address(row, j, dtype), dtype))).parts)

    parts = code.loop(0, end, LANES, larger, carried(code, e.const(0)))
    limit = e.mul(code.join(uncarried(code, parts, dtype)[0], e.max), e.const(SIGNIFICANT))

    def first(j: Index, parts: list[str]) -> list[str]:
        (best,) = uncarried(code, parts, int64)
        magnitudes = e.abs(code.load(code.address(row, j, dtype), dtype))
        number = e.add(code.lane_numbers(), splat_index(code, j))
        return list(e.min(best, e.select(e.ge(magnitudes, limit), number, best)).parts)

    parts = code.loop(0, end, LANES, first, carried(code, e.const(2**62, int64)))
    place = code.lane(code.join(uncarried(code, parts, int64)[0], e.min), 0)
    leading = load_number(code, code.address(row, place, dtype), dtype)
    negative = code.let(f"fcmp olt {scalar_type(dtype)} {leading}, 0.0")

    def both() -> None:
        negate(e, row, end)
        negate(e, other, other_end)

    code.when(negative, both)


def negate(e: Arithmetic, line: str, end: Index) -> None:
    """-x for each x of a line; 0 stays without a sign."""
    code = e.code

    def vector(j: Index, _: Any) -> None:
        at = code.address(line, j, e.dtype)
        code.store(e.sub(e.const(0), code.load(at, e.dtype)), at)

    code.loop(0, end, LANES, vector)


def copy_numbers(code: Code, source: str, target: str, count: Index, dtype: Any) -> None:
    """Copy numbers to an output."""
    code.copy(target, source, code.mul(count, dtype.itemsize))
