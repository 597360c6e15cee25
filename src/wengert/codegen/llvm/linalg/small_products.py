"""The two loops in which factorisations spend their time: a product of matrices subtracted from a
third, and forward substitution. Both have one order for every sum, whatever the sizes.
"""

from __future__ import annotations

from typing import Any

from wengert.codegen.llvm.linalg.matrix_rows import carried, routine, uncarried
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Index
from wengert.codegen.numerics import LANES

_TILE = 4  # rows whose sums are in registers at once


@routine(
    "ptr %c, i64 %c_row, ptr %a, i64 %a_row, i64 %a_column, ptr %b, i64 %b_row, "
    "i64 %rows, i64 %columns, i64 %depth"
)
def subtract_product(
    e: Arithmetic,
    c: str,
    c_row: str,
    a: str,
    a_row: str,
    a_column: str,
    b: str,
    b_row: str,
    rows: str,
    columns: str,
    depth: str,
) -> None:
    """c -= a @ b with sums in the order of depth; c and b are MatrixRows, a has any strides.

    for each _TILE rows i of c, then for each row that is left:
        for each vector of columns j: sums = c[i, j]; for d in depth: sums -= a[i, d] b[d, j]
    """
    code, dtype = e.code, e.dtype

    def tiles(size: int, i: Index) -> None:
        left = [code.address(a, code.mul(code.add(i, r), a_row), dtype) for r in range(size)]
        start = code.mul(i, c_row)

        def tile(j: Index, _: Any) -> None:
            first = code.add(start, j)
            at = [code.address(c, code.add(first, code.mul(r, c_row)), dtype) for r in range(size)]
            _tile(e, at, left, a_column, code.address(b, j, dtype), b_row, depth)

        code.loop(0, columns, LANES, tile)

    whole = code.mul(code.div(rows, _TILE), _TILE)
    code.loop(0, whole, _TILE, lambda i, _: tiles(_TILE, i))
    code.loop(whole, rows, 1, lambda i, _: tiles(1, i))


def _tile(
    e: Arithmetic,
    at: list[str],
    left: list[str],
    left_step: Index,
    right: str,
    right_step: Index,
    depth: Index,
) -> None:
    """One vector j of some rows i of c.

    sums = c[i, j]
    for d in 0 … depth: sums[i] = fma(-left[i, d], right[d, j], sums[i])
    c[i, j] = sums
    """
    code, dtype, size = e.code, e.dtype, len(at)

    def product(_: Index, now: list[str]) -> list[str]:
        vector, numbers = now[0], now[1 : 1 + size]
        upper = code.load(vector, dtype)
        parts: list[str] = []
        totals = uncarried(code, now[1 + size :], *[dtype] * size)
        for total, number in zip(totals, numbers, strict=True):
            minus = e.neg(code.load_splat(number, dtype))
            parts.extend(e.fma(minus, upper, total).parts)
        moved = [code.address(number, left_step, dtype) for number in numbers]
        return [code.address(vector, right_step, dtype), *moved, *parts]

    pointers = [("ptr", pointer) for pointer in (right, *left)]
    sums = carried(code, *(code.load(pointer, dtype) for pointer in at))
    last = code.loop(0, depth, 1, product, [*pointers, *sums])
    for total, pointer in zip(uncarried(code, last[1 + size :], *[dtype] * size), at, strict=True):
        code.store(total, pointer)


@routine("ptr %a, i64 %a_row, i64 %a_column, ptr %x, i64 %x_row, i64 %n, i64 %columns, i1 %divided")
def substitute(
    e: Arithmetic,
    a: str,
    a_row: str,
    a_column: str,
    x: str,
    x_row: str,
    n: str,
    columns: str,
    divided: str,
) -> None:
    """Turn the right-hand side x of a lower triangular system into its solution, in place.

    a has any strides, x is MatrixRows, read from the first to the last or the other way round.
    Unless `divided`, the diagonal of a counts as ones. Every element is one sum, in the order of
    the rows before its own.

        for each block of LANES rows:
            x[block] -= a[block, all before] @ x[all before]
            for each row i of the block:
                x[i] -= a[i, rows of the block before i] @ x[rows of the block before i]
                if divided: x[i] /= a[i, i]
    """
    code, dtype = e.code, e.dtype

    def block(begin: Index, _: Any) -> None:
        size = code.min(code.sub(n, begin), LANES)

        def product(row: Index, above: Index, count: Index, depth: Index) -> None:
            into, upper = (code.address(x, code.mul(i, x_row), dtype) for i in (row, above))
            offset = code.add(code.mul(row, a_row), code.mul(above, a_column))
            left = (code.address(a, offset, dtype), a_row, a_column)
            subtract_product(code, dtype, into, x_row, *left, upper, x_row, count, columns, depth)

        def row(k: Index, _: Any) -> None:
            i = code.add(begin, k)
            product(i, begin, 1, k)
            pivot = code.address(a, code.mul(i, code.add(a_row, a_column)), dtype)
            at = code.address(x, code.mul(i, x_row), dtype)
            code.when(divided, lambda: _divide_row(e, at, columns, pivot))

        product(begin, 0, size, begin)
        code.loop(0, size, 1, row)

    code.loop(0, n, LANES, block)


def _divide_row(e: Arithmetic, row: str, columns: Index, pivot: str) -> None:
    code = e.code
    by = code.load_splat(pivot, e.dtype)

    def vector(j: Index, _: Any) -> None:
        at = code.address(row, j, e.dtype)
        code.store(e.div(code.load(at, e.dtype), by), at)

    code.loop(0, columns, LANES, vector)
