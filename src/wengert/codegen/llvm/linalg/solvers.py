"""Kernels of `solve`, `triangular_solve`, `inv` and `cholesky`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.lu import any_zero, exchange_rows, factor, is_singular
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    as_columns,
    clear_below,
    copy_in,
    copy_out,
    fill,
    fill_identity,
    for_each_matrix,
    is_spoilt,
    load_number,
    room,
    routine,
    store_number,
    transposed,
)
from wengert.codegen.llvm.linalg.small_products import substitute, subtract_product
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, scalar_type
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import int64
from wengert.core.types import ArrayType


def _sizes(types: Sequence[ArrayType]) -> tuple[Size, Size, int]:
    """Rows of a system, columns of its right-hand side, and bytes of a number."""
    a, b = types
    columns = 1 if len(b.shape) == 1 else b.shape[-1]
    return a.shape[-1], columns, np.result_type(a.dtype, b.dtype).itemsize


# Systems and inverses: two triangles, one after the other.


def _solve_scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, columns, itemsize = _sizes(types)
    return room(n, n, itemsize) + room(n, columns, itemsize) + room(1, n, 8)


def _emit_solve(call: KernelCall) -> None:
    """For each matrix: copy a and b in; solve in place; fail if a is singular; copy x out."""
    dtype, vector = call.outputs[0].dtype, len(call.operands[1].shape) == 1
    n = call.operands[0].shape[-1]
    columns = 1 if vector else call.operands[1].shape[-1]
    e, scratch = Arithmetic(call.code, dtype), MatrixScratch(call)
    a, x = scratch.rows(n, n, dtype), scratch.rows(n, columns, dtype)
    swaps = scratch.line(n)

    def system(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        copy_in(e, operands[0], a)
        copy_in(e, as_columns(operands[1]), x)
        call.fail(solve_in_place(e, a, x, swaps), number)
        copy_out(e, x, as_columns(out))

    for_each_matrix(call, 1 if vector else 2, system)


def solve_in_place(e: Arithmetic, a: MatrixRows, x: MatrixRows, swaps: str) -> str:
    """Factor a and solve a @ x = b, where x holds b before and the solution after; an i1: whether a
    is singular. Where an element of a is not finite, a does not count as singular, and x is NaN.

        P a = L U
        for k in 0 … n: exchange rows k and swaps[k] of x
        x = L⁻¹ x; x = U⁻¹ x
        if an element of a was not finite: x = NaN
    """
    code, dtype = e.code, e.dtype
    spoilt = is_spoilt(e, a)
    factor(code, dtype, a.pointer, a.step, a.count, swaps)

    def exchange(k: Index, _: Any) -> None:
        exchange_rows(e, x, k, load_number(code, code.address(swaps, k, int64), int64))

    code.loop(0, a.count, 1, exchange)
    substitute(code, dtype, a.pointer, a.step, 1, x.pointer, x.step, a.count, x.step, "false")
    # An upper triangle read from its end is a lower one.
    up, end = code.sub(0, a.step), x.at(code, code.sub(x.count, 1))
    back = code.sub(0, x.step)
    substitute(code, dtype, a.last(code), up, -1, end, back, a.count, x.step, "true")
    code.when(spoilt, lambda: fill(e, x, math.nan))
    return _unless(code, spoilt, is_singular(code, a))


def _unless(code: Code, exception: str, holds: str) -> str:
    return code.let(f"select i1 {exception}, i1 false, i1 {holds}")


def _inv_scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    return room(n, n, itemsize) * 2 + room(1, n, 8)


def _emit_inv(call: KernelCall) -> None:
    """As `solve`, with the identity on the right-hand side."""
    dtype, n = call.outputs[0].dtype, call.operands[0].shape[-1]
    e, scratch = Arithmetic(call.code, dtype), MatrixScratch(call)
    a, x = scratch.rows(n, n, dtype), scratch.rows(n, n, dtype)
    swaps = scratch.line(n)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        copy_in(e, operands[0], a)
        fill_identity(e, x)
        call.fail(solve_in_place(e, a, x, swaps), number)
        copy_out(e, x, out)

    for_each_matrix(call, 2, matrix)


# One triangle.


def _triangular_scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, columns, itemsize = _sizes(types)
    copied = types[0].dtype.itemsize != itemsize
    return (room(n, n, itemsize) if copied else 0) + room(n, columns, itemsize)


def _emit_triangular_solve(call: KernelCall) -> None:
    """For each matrix: copy b in, and a if its dtype is another; fail if the diagonal has a 0;
    substitute; copy x out.
    """
    dtype, vector = call.outputs[0].dtype, len(call.operands[1].shape) == 1
    n = call.operands[0].shape[-1]
    columns = 1 if vector else call.operands[1].shape[-1]
    e, scratch = Arithmetic(call.code, dtype), MatrixScratch(call)
    copied = call.operands[0].dtype != dtype
    a = scratch.rows(n, n, dtype) if copied else None
    x = scratch.rows(n, columns, dtype)

    def system(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        triangle = operands[0]
        if a is not None:
            copy_in(e, triangle, a)
            triangle = StridedArray(a.pointer, triangle.shape, (a.step, 1), dtype)
        copy_in(e, as_columns(operands[1]), x)
        diagonal = e.code.add(*triangle.strides)
        call.fail(any_zero(e.code, triangle.pointer, diagonal, n, dtype), number)
        _substitute_triangle(e.code, triangle, x, call.params)
        copy_out(e, x, as_columns(out))

    for_each_matrix(call, 1 if vector else 2, system)


def _substitute_triangle(
    code: Code, a: StridedArray, x: MatrixRows, params: dict[str, Any]
) -> None:
    """Solve in place with one triangle of a, which has the dtype of x."""
    if params["trans"]:
        a = transposed(a)
    start, step, (down, right) = x.pointer, x.step, a.strides
    first, n = a.pointer, x.count
    if params["lower"] == params["trans"]:  # an upper triangle is read from its end
        last = code.sub(n, 1)
        first = code.address(first, code.mul(last, code.add(down, right)), a.dtype)
        start, step = x.at(code, last), code.sub(0, step)
        down, right = code.sub(0, down), code.sub(0, right)
    substitute(code, x.dtype, first, down, right, start, step, n, x.step, "true")


# Cholesky's factor.


@routine("ptr %a, i64 %step, i64 %n, ptr %failed")
def factor_symmetric(e: Arithmetic, a: str, step: str, n: str, failed: str) -> None:
    """a = Uᵀ U in place, for the upper triangle; what is below the diagonal is left undefined.

    The i64 `failed` becomes 1 where a pivot is not above 0. Rows are made in blocks of one vector.

        for each block of LANES rows:
            a[block] -= a[all before, block]ᵀ @ a[all before]
            for each row i of the block:
                a[i] -= a[rows of the block before i, i]ᵀ @ a[rows of the block before i]
                if a[i, i] <= 0: failed = 1
                a[i] /= √a[i, i]
    """
    code, dtype = e.code, e.dtype
    rows = MatrixRows(a, n, step, dtype)
    kind = scalar_type(dtype)

    def block(begin: Index, _: Any) -> None:
        size = code.min(code.sub(n, begin), LANES)
        columns = code.sub(step, begin)

        def product(row: Index, above: Index, count: Index, depth: Index) -> None:
            into, left = rows.at(code, row, begin), rows.at(code, above, row)
            upper = rows.at(code, above, begin)
            subtract_product(
                code, dtype, into, step, left, 1, step, upper, step, count, columns, depth
            )

        def row(k: Index, _: Any) -> None:
            i = code.add(begin, k)
            product(i, begin, 1, k)
            pivot = load_number(code, rows.at(code, i, i), dtype)
            bad = code.let(f"fcmp ole {kind} {pivot}, 0.0")
            code.when(bad, lambda: store_number(code, 1, failed, int64))
            _divide_by_root(e, rows.at(code, i, begin), columns, pivot)

        product(begin, 0, size, begin)
        code.loop(0, size, 1, row)

    code.loop(0, n, LANES, block)


def _divide_by_root(e: Arithmetic, row: str, columns: Index, pivot: str) -> None:
    code = e.code
    root = e.sqrt(code.splat(pivot, e.dtype))

    def vector(j: Index, _: Any) -> None:
        at = code.address(row, j, e.dtype)
        code.store(e.div(code.load(at, e.dtype), root), at)

    code.loop(0, columns, LANES, vector)


def _cholesky_scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    return room(n, n, itemsize) * 2 + room(1, 1, 8)


def _emit_cholesky(call: KernelCall) -> None:
    """For each matrix x: a = (x + xᵀ) / 2 = Uᵀ U; fail if a pivot is not above 0; NaN if an element
    is not finite; copy out U, or Uᵀ, with zeros on the other side.
    """
    code, dtype, n = call.code, call.outputs[0].dtype, call.operands[0].shape[-1]
    e, scratch = Arithmetic(code, dtype), MatrixScratch(call)
    a, b = scratch.rows(n, n, dtype), scratch.rows(n, n, dtype)
    failed = scratch.line(1)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        copy_in(e, operands[0], a)
        copy_in(e, transposed(operands[0]), b)
        _average(e, a, b)
        spoilt = is_spoilt(e, a)
        store_number(code, 0, failed, int64)
        factor_symmetric(code, dtype, a.pointer, a.step, n, failed)
        indefinite = code.compare("ne", load_number(code, failed, int64), 0)
        call.fail(_unless(code, spoilt, indefinite), number)
        code.when(spoilt, lambda: fill(e, a, math.nan))
        clear_below(e, a)
        triangle = StridedArray(a.pointer, (n, n), (a.step, 1), dtype)
        if not call.params["upper"]:
            copy_in(e, transposed(triangle), b)
        copy_out(e, a if call.params["upper"] else b, out)

    for_each_matrix(call, 2, matrix)


def _average(e: Arithmetic, a: MatrixRows, b: MatrixRows) -> None:
    """a = (a + b) / 2."""
    code = e.code

    def vector(i: Index, _: Any) -> None:
        at = code.address(a.pointer, i, e.dtype)
        other = code.load(code.address(b.pointer, i, e.dtype), e.dtype)
        code.store(e.mul(e.const(0.5), e.add(code.load(at, e.dtype), other)), at)

    code.loop(0, code.mul(a.count, a.step), LANES, vector)


SOLVERS = {
    "solve": Special(_emit_solve, _solve_scratch),
    "triangular_solve": Special(_emit_triangular_solve, _triangular_scratch),
    "inv": Special(_emit_inv, _inv_scratch),
    "cholesky": Special(_emit_cholesky, _cholesky_scratch),
}
