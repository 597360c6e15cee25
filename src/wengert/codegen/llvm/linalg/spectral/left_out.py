"""The kernel of `orthogonal_complement`: where the reflections of a matrix bring the last axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    copy_in,
    copy_out,
    fill,
    fill_identity,
    for_each_matrix,
    is_spoilt,
    room,
    transposed,
)
from wengert.codegen.llvm.linalg.spectral.bidiagonal import triangularise_steadily
from wengert.codegen.llvm.linalg.spectral.reflections import multiply_out
from wengert.codegen.llvm.linalg.spectral.values import lead_with_positive, scale_whole
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.types import ArrayType


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    (*_, m, n), itemsize = types[0].shape, types[0].dtype.itemsize
    matrices = room(m, n + LANES, 1) + room(n, m + LANES, 1) + 2 * room(m, m + LANES, 1)
    lines = 2 * room(1, n + 2 * LANES, 1) + room(1, m + n + 4 * LANES, 1)
    return (matrices + lines) * itemsize + room(1, 1, 8)


def _emit_complement(call: KernelCall) -> None:
    code, dtype = call.code, call.outputs[0].dtype
    m, n = call.operands[0].shape[-2:]
    left_out = call.outputs[0].shape[-1]
    e, scratch = Arithmetic(code, dtype), MatrixScratch(call)
    a, mirrors = (scratch.rows(*size, dtype, apart=True) for size in ((m, n), (n, m)))
    axes, columns = (scratch.rows(m, m, dtype, apart=True) for _ in range(2))
    taus, diagonal = (scratch.line(a.step, dtype) for _ in range(2))
    line, exponent = scratch.line(code.add(a.step, axes.step), dtype), scratch.line(1)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        copy_in(e, operands[0], a)
        spoilt = is_spoilt(e, a)
        code.when(spoilt, lambda: fill(e, a, 0))
        scale_whole(code, dtype, a.pointer, code.mul(a.count, a.step), exponent)
        fill(e, mirrors, 0)
        by = (mirrors.pointer, mirrors.step, taus)
        triangularise_steadily(code, dtype, a.pointer, a.step, m, n, *by, diagonal, line)
        fill_identity(e, axes)
        multiply_out(code, dtype, axes.pointer, axes.step, m, *by, n, 0, line)
        _lead(e, axes, columns, n, left_out)
        code.when(spoilt, lambda: fill(e, axes, math.nan))
        copy_out(e, axes, out)

    for_each_matrix(call, 2, matrix)


def _lead(e: Arithmetic, axes: MatrixRows, columns: MatrixRows, n: Index, left_out: Index) -> None:
    """The columns from n on as the first ones, each with the sign that makes it lead with a
    positive number.
    """
    code, dtype, m = e.code, e.dtype, axes.count
    last = StridedArray(axes.at(code, 0, n), (m, left_out), (axes.step, 1), dtype)
    copy_in(e, transposed(last), columns)

    def lead(i: Index, _: Any) -> None:
        row = columns.at(code, i)
        lead_with_positive(code, dtype, row, columns.step, row, 0)

    code.loop(0, left_out, 1, lead)
    first = StridedArray(columns.pointer, (left_out, m), (columns.step, 1), dtype)
    copy_in(e, transposed(first), axes)


COMPLEMENT = {"orthogonal_complement": Special(_emit_complement, _scratch)}
