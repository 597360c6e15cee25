"""Kernel of `expm`: scaling and squaring with the rational function of degree 13 (Higham, 2005)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.exponents import bits_dtype, taken_apart, together
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    carried,
    copy_in,
    copy_out,
    fill,
    for_each_matrix,
    is_spoilt,
    room,
    uncarried,
)
from wengert.codegen.llvm.linalg.matrix_sums import combine, multiply
from wengert.codegen.llvm.linalg.solvers import solve_in_place
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.special_functions.pade import COEFFICIENTS, LARGEST_NORM
from wengert.core.types import ArrayType

_MATRICES = 7


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    return _MATRICES * room(n, n, itemsize) + room(1, n, 8)


def _emit(call: KernelCall) -> None:
    code, dtype, n = call.code, call.outputs[0].dtype, call.operands[0].shape[-1]
    e, scratch = Arithmetic(code, dtype), MatrixScratch(call)
    rows = [scratch.rows(n, n, dtype) for _ in range(_MATRICES)]
    swaps = scratch.line(n)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        a = rows[0]
        copy_in(e, operands[0], a)
        spoilt = is_spoilt(e, a)
        code.when(spoilt, lambda: fill(e, a, 0))
        halvings = _halve(e, a)
        exponential, other = _rational(e, rows, swaps)

        def square(_: Index, __: Any) -> None:
            multiply(e, exponential, exponential, other)
            combine(e, exponential, [(1.0, other)])

        code.loop(0, halvings, 1, square)
        code.when(spoilt, lambda: fill(e, exponential, math.nan))
        copy_out(e, exponential, out)

    for_each_matrix(call, 2, matrix)


def _halve(e: Arithmetic, a: MatrixRows) -> str:
    """Divide a matrix by the power of two that brings its norm below the limit; its exponent."""
    code = e.code

    def columns(j: Index, parts: list[str]) -> list[str]:
        (best,) = uncarried(code, parts, e.dtype)

        def row(i: Index, sums: list[str]) -> list[str]:
            (so_far,) = uncarried(code, sums, e.dtype)
            return list(e.add(so_far, e.abs(code.load(a.at(code, i, j), e.dtype))).parts)

        sums = code.loop(0, a.count, 1, row, carried(code, e.const(0)))
        return list(e.max(best, uncarried(code, sums, e.dtype)[0]).parts)

    parts = code.loop(0, a.step, LANES, columns, carried(code, e.const(0)))
    norm = code.join(uncarried(code, parts, e.dtype)[0], e.max)
    whole = bits_dtype(e.dtype)
    exponent = taken_apart(e, e.mul(norm, e.const(1 / LARGEST_NORM))).exponent
    halvings = e.max(exponent, e.const(0, whole))
    minus = e.neg(halvings)

    def vector(i: Index, _: Any) -> None:
        at = code.address(a.pointer, i, e.dtype)
        code.store(together(e, code.load(at, e.dtype), minus), at)

    code.loop(0, code.mul(a.count, a.step), LANES, vector)
    count = code.lane(halvings, 0)
    return count if whole.itemsize == 8 else code.let(f"sext i32 {count} to i64")


def _rational(e: Arithmetic, rows: list[MatrixRows], swaps: str) -> tuple[MatrixRows, MatrixRows]:
    """The rational function of a, which is the first of the rows; where it is, and a spare one."""
    a, second, fourth, sixth, odd, even, spare = rows
    multiply(e, a, a, second)
    multiply(e, second, second, fourth)
    multiply(e, second, fourth, sixth)
    powers = [second, fourth, sixth]

    def polynomial(numbers: tuple[float, ...], into: MatrixRows, work: MatrixRows) -> None:
        combine(e, work, list(zip(numbers[4:], powers, strict=True)))
        multiply(e, sixth, work, into)
        terms = [(1.0, into), *zip(numbers[1:4], powers, strict=True)]
        combine(e, into, terms, diagonal=numbers[0])

    polynomial(COEFFICIENTS[1::2], even, spare)
    multiply(e, a, even, odd)
    polynomial(COEFFICIENTS[::2], even, spare)
    combine(e, spare, [(1.0, even), (1.0, odd)])
    combine(e, even, [(1.0, even), (-1.0, odd)])
    solve_in_place(e, even, spare, swaps)
    return spare, odd


EXPONENTIAL = {"expm": Special(_emit, _scratch)}
