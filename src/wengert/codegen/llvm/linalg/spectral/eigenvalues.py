"""Kernel of `eigh_parts`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.codegen.llvm.kernels.kernel_call import KernelCall
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    copy_in,
    copy_out,
    fill,
    fill_identity,
    for_each_matrix,
    is_spoilt,
    load_number,
    room,
    store_number,
    transposed,
)
from wengert.codegen.llvm.linalg.spectral.jacobi import emit_small_eigenvalues
from wengert.codegen.llvm.linalg.spectral.lane_matrices import by_size
from wengert.codegen.llvm.linalg.spectral.reflections import multiply_out
from wengert.codegen.llvm.linalg.spectral.tridiagonal import diagonalise, tridiagonalise
from wengert.codegen.llvm.linalg.spectral.values import (
    copy_numbers,
    lead_with_positive,
    scale_back,
    scale_whole,
    sort_values,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import int64
from wengert.core.types import ArrayType


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    wide = n + 2 * LANES
    return 2 * room(n, n + LANES, itemsize) + 7 * room(1, wide, itemsize) + 2 * room(1, 1, 8)


def _emit_large(call: KernelCall) -> None:
    """For each matrix x:

    a = (x + xᵀ) / 2, times a power of two; zeros where a number is not finite
    a = Q t Qᵀ by reflections, t = R values Rᵀ by rotations; the rows of b become those of (Q R)ᵀ
    values, and rows with them, in order; scaled back; NaN where x was not finite
    """
    code, values = call.code, call.outputs[0]
    dtype, n = values.dtype, call.operands[0].shape[-1]
    vectors = call.params["save"]
    e, scratch = Arithmetic(code, dtype), MatrixScratch(call)
    a, b = (scratch.rows(n, n, dtype, apart=True) for _ in range(2))
    diagonal, beside, taus, cosines, sines = (scratch.line(a.step, dtype) for _ in range(5))
    lines = scratch.rows(2, a.step, dtype).pointer
    failed, exponent = scratch.line(1), scratch.line(1)

    def decompose() -> None:
        fill(e, b, 0)
        tridiagonalise(code, dtype, a.pointer, a.step, n, b.pointer, taus, diagonal, beside, lines)
        if vectors:
            fill_identity(e, a)
            reflections = (b.pointer, b.step, taus, code.sub(n, 1), 1, lines)
            multiply_out(code, dtype, a.pointer, a.step, n, *reflections)
            copy_in(e, transposed(StridedArray(a.pointer, (n, n), (a.step, 1), dtype)), b)
        wanted = "true" if vectors else "false"
        turned = (cosines, sines, b.pointer, b.step, wanted, failed)
        diagonalise(code, dtype, diagonal, beside, n, *turned)
        sort_values(e, diagonal, n, [b] if vectors else [], descending=False)
        scale_back(code, dtype, diagonal, a.step, exponent)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        copy_in(e, operands[0], a)
        copy_in(e, transposed(operands[0]), b)
        _add_halves(e, a, b)
        spoilt = is_spoilt(e, a)
        code.when(spoilt, lambda: fill(e, a, 0))
        store_number(code, 0, failed, int64)
        scale_whole(code, dtype, a.pointer, code.mul(n, a.step), exponent)
        code.when(code.compare("sgt", n, 0), decompose)
        call.fail(code.compare("ne", load_number(code, failed, int64), 0), number)
        line = MatrixRows(diagonal, 1, a.step, dtype)
        code.when(spoilt, lambda: fill(e, line, math.nan))
        copy_numbers(code, diagonal, out.pointer, n, dtype)
        if vectors:
            _finish_vectors(e, b, a, spoilt)
            at = code.address(call.outputs[1].pointer, code.mul(number, code.mul(n, n)), dtype)
            copy_out(e, a, StridedArray(at, (n, n), (n, 1), dtype))

    for_each_matrix(call, 1, matrix)


def _add_halves(e: Arithmetic, a: MatrixRows, b: MatrixRows) -> None:
    """a = a / 2 + b / 2."""
    code, half = e.code, e.const(0.5)

    def vector(i: Index, _: Any) -> None:
        at = code.address(a.pointer, i, e.dtype)
        other = code.load(code.address(b.pointer, i, e.dtype), e.dtype)
        code.store(e.add(e.mul(half, code.load(at, e.dtype)), e.mul(half, other)), at)

    code.loop(0, code.mul(a.count, a.step), LANES, vector)


def _finish_vectors(e: Arithmetic, rows: MatrixRows, columns: MatrixRows, spoilt: str) -> None:
    """Vectors with their signs, from rows into columns."""
    code = e.code

    def sign(i: Index, _: Any) -> None:
        lead_with_positive(code, e.dtype, rows.at(code, i), rows.step, "null", 0)

    code.loop(0, rows.count, 1, sign)
    shape = (rows.count, rows.count)
    copy_in(e, transposed(StridedArray(rows.pointer, shape, (rows.step, 1), e.dtype)), columns)
    code.when(spoilt, lambda: fill(e, columns, math.nan))


EIGENVALUES = {"eigh_parts": by_size(emit_small_eigenvalues, _emit_large, _scratch)}
