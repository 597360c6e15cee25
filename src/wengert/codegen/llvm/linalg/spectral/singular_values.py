"""Kernels of `svd_tall` and `qr_tall`, for matrices with at least as many rows as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    clear_below,
    copy_in,
    copy_out,
    fill,
    for_each_matrix,
    is_spoilt,
    load_number,
    room,
    store_number,
    transposed,
)
from wengert.codegen.llvm.linalg.spectral.bidiagonal import bidiagonalise, triangularise
from wengert.codegen.llvm.linalg.spectral.jacobi import emit_small_singular_values
from wengert.codegen.llvm.linalg.spectral.lane_matrices import by_size
from wengert.codegen.llvm.linalg.spectral.reflections import multiply_out
from wengert.codegen.llvm.linalg.spectral.two_diagonals import diagonalise_two
from wengert.codegen.llvm.linalg.spectral.values import (
    copy_numbers,
    lead_with_positive,
    negate,
    scale_back,
    scale_whole,
    sort_values,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, scalar_type
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import int64
from wengert.core.types import ArrayType


def _as_array(rows: MatrixRows, columns: Index) -> StridedArray:
    return StridedArray(rows.pointer, (rows.count, columns), (rows.step, 1), rows.dtype)


def _begin_identity(e: Arithmetic, rows: MatrixRows, count: Index) -> None:
    """So many ones on the diagonal, and zeros."""
    code = e.code
    fill(e, rows, 0)
    code.loop(
        0,
        count,
        1,
        lambda i, _: store_number(code, "1.0", rows.at(code, i, i), e.dtype),
    )


def _put(e: Arithmetic, call: KernelCall, which: int, number: Index, rows: MatrixRows) -> None:
    """Copy rows to matrix `number` of an output."""
    code, out = call.code, call.outputs[which]
    m, n = out.shape[-2:]
    at = code.address(out.pointer, code.mul(number, code.mul(m, n)), e.dtype)
    copy_out(e, rows, StridedArray(at, (m, n), (n, 1), e.dtype))


@dataclass(frozen=True, slots=True)
class _Work:
    """The memory of one decomposition."""

    a: MatrixRows  # (m, n)
    u: MatrixRows  # (n, m): reflections of rows, then the columns of U
    v: MatrixRows  # (n, n): reflections of columns, then the columns of V
    p: MatrixRows  # (n, n)
    diagonal: str
    beside: str
    left: str  # taus
    right: str
    turns: MatrixRows
    line: str
    failed: str
    exponent: str

    @staticmethod
    def take(call: KernelCall) -> _Work:
        m, n = call.operands[0].shape[-2:]
        dtype, scratch = call.outputs[0].dtype, MatrixScratch(call)
        a, u = (scratch.rows(*size, dtype, apart=True) for size in ((m, n), (n, m)))
        v, p = (scratch.rows(n, n, dtype, apart=True) for _ in range(2))
        diagonal, beside, left, right = (scratch.line(a.step, dtype) for _ in range(4))
        turns = scratch.rows(4, a.step, dtype)
        line = scratch.line(call.code.add(a.step, u.step), dtype)
        failed, exponent = scratch.line(1), scratch.line(1)
        return _Work(a, u, v, p, diagonal, beside, left, right, turns, line, failed, exponent)


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    (*_, m, n), itemsize = types[0].shape, types[0].dtype.itemsize
    matrices = (
        room(m, n + LANES, 1) + room(n, m + LANES, 1) + 2 * room(n, n + LANES, 1)
    ) * itemsize
    lines = 8 * room(1, n + 2 * LANES, itemsize) + room(1, m + n + 4 * LANES, itemsize)
    return matrices + lines + 2 * room(1, 1, 8)


def _emit_svd_large(call: KernelCall) -> None:
    code, dtype = call.code, call.outputs[0].dtype
    n = call.operands[0].shape[-1]
    e, vectors, w = Arithmetic(code, dtype), call.params["save"], _Work.take(call)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        spoilt = _take_in(e, operands[0], w)
        code.when(code.compare("sgt", n, 0), lambda: _decompose(e, w, n, call.params))
        call.fail(code.compare("ne", load_number(code, w.failed, int64), 0), number)
        code.when(spoilt, lambda: fill(e, MatrixRows(w.diagonal, 1, w.a.step, dtype), math.nan))
        copy_numbers(code, w.diagonal, out.pointer, n, dtype)
        if vectors:
            for rows, into, which in ((w.u, w.a, 1), (w.v, w.p, 2)):
                copy_in(e, transposed(_as_array(rows, into.count)), into)
                code.when(spoilt, partial(fill, e, into, math.nan))
                _put(e, call, which, number, into)

    for_each_matrix(call, 1, matrix)


def _take_in(e: Arithmetic, x: StridedArray, w: _Work) -> str:
    """The matrix at a scale of about 1, and an i1: whether one of its elements is not finite; then
    zeros.
    """
    code = e.code
    copy_in(e, x, w.a)
    spoilt = is_spoilt(e, w.a)
    code.when(spoilt, lambda: fill(e, w.a, 0))
    store_number(code, 0, w.failed, int64)
    size = code.mul(w.a.count, w.a.step)
    scale_whole(code, e.dtype, w.a.pointer, size, w.exponent)
    fill(e, w.u, 0)
    fill(e, w.v, 0)
    return spoilt


def _decompose(e: Arithmetic, w: _Work, n: Index, params: dict[str, Any]) -> None:
    code, dtype, vectors = e.code, e.dtype, params["save"]
    m, y = w.a.count, code.address(w.line, w.a.step, dtype)
    left, right = (w.u.pointer, w.u.step, w.left), (w.v.pointer, w.v.step, w.right)
    a = (w.a.pointer, w.a.step, m)
    bidiagonalise(code, dtype, *a, n, *left, *right, w.diagonal, w.beside, w.line, y)
    if vectors:
        _begin_identity(e, w.a, n)
        multiply_out(code, dtype, *a, *left, n, 0, w.line)
        copy_in(e, transposed(_as_array(w.a, n)), w.u)
        _begin_identity(e, w.p, n)
        p = (w.p.pointer, w.p.step, n)
        multiply_out(code, dtype, *p, *right, code.sub(n, 1), 1, w.line)
        copy_in(e, transposed(_as_array(w.p, n)), w.v)
    rows = (w.u.pointer, w.u.step, w.v.pointer, w.v.step, "true" if vectors else "false")
    turns = (w.turns.pointer, w.turns.step)
    diagonalise_two(code, dtype, w.diagonal, w.beside, n, *turns, *rows, w.failed)
    _without_signs(e, w, n, vectors)
    sort_values(e, w.diagonal, n, [w.u, w.v] if vectors else [], descending=True)
    scale_back(code, dtype, w.diagonal, w.a.step, w.exponent)
    if vectors:
        first, other = (w.v, w.u) if params["signs_of_v"] else (w.u, w.v)

        def lead(i: Index, _: Any) -> None:
            rows = (first.at(code, i), first.step, other.at(code, i), other.step)
            lead_with_positive(code, dtype, *rows)

        code.loop(0, n, 1, lead)


def _without_signs(e: Arithmetic, w: _Work, n: Index, vectors: bool) -> None:
    """Singular values are not negative; a sign moves to the columns of V."""
    code, dtype = e.code, e.dtype

    def number(i: Index, _: Any) -> None:
        at = code.address(w.diagonal, i, dtype)
        negative = code.let(f"fcmp olt {scalar_type(dtype)} {load_number(code, at, dtype)}, 0.0")
        if vectors:
            code.when(negative, lambda: negate(e, w.v.at(code, i), w.v.step))
        with code.with_lanes(1):
            code.store(e.abs(code.load(at, dtype)), at)

    code.loop(0, n, 1, number)


def _emit_qr(call: KernelCall) -> None:
    code, dtype = call.code, call.outputs[0].dtype
    n = call.operands[0].shape[-1]
    e, w = Arithmetic(code, dtype), _Work.take(call)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        spoilt = _take_in(e, operands[0], w)
        m = w.a.count
        left = (w.u.pointer, w.u.step, w.left)
        a = (w.a.pointer, w.a.step, m)
        triangularise(code, dtype, *a, n, *left, w.diagonal, w.line)
        _take_triangle(e, w, n)
        _begin_identity(e, w.a, n)
        multiply_out(code, dtype, *a, *left, n, 0, w.line)
        _lead_with_diagonal(e, w, n)
        for rows, which in ((w.a, 0), (w.p, 1)):
            code.when(spoilt, partial(fill, e, rows, math.nan))
            if which:
                clear_below(e, rows)
            _put(e, call, which, number, rows)

    for_each_matrix(call, 2, matrix)


def _each(code: Any, count: Index, body: Callable[[Index], None]) -> None:
    code.loop(0, count, 1, lambda i, _: body(i))


def _take_triangle(e: Arithmetic, w: _Work, n: Index) -> None:
    """R at its own scale into p."""
    code, dtype = e.code, e.dtype

    def row(i: Index) -> None:
        def vector(j: Index, _: Any) -> None:
            code.store(code.load(w.a.at(code, i, j), dtype), w.p.at(code, i, j))

        code.loop(0, w.p.step, LANES, vector)
        number = load_number(code, code.address(w.diagonal, i, dtype), dtype)
        store_number(code, number, w.p.at(code, i, i), dtype)

    _each(code, n, row)
    scale_back(code, dtype, w.p.pointer, code.mul(n, w.p.step), w.exponent)


def _lead_with_diagonal(e: Arithmetic, w: _Work, n: Index) -> None:
    """Rows of R and columns of Q with the sign that makes R's diagonal positive."""
    code, dtype = e.code, e.dtype

    def sign(i: Index) -> None:
        diagonal = load_number(code, w.p.at(code, i, i), dtype)
        negative = code.let(f"fcmp olt {scalar_type(dtype)} {diagonal}, 0.0")
        kind = scalar_type(dtype)
        chosen = code.let(f"select i1 {negative}, {kind} -1.0, {kind} 1.0")
        store_number(code, chosen, code.address(w.left, i, dtype), dtype)
        code.when(negative, lambda: negate(e, w.p.at(code, i), w.p.step))

    _each(code, n, sign)

    def row(i: Index) -> None:
        def vector(j: Index, _: Any) -> None:
            at = w.a.at(code, i, j)
            signs = code.load(code.address(w.left, j, dtype), dtype)
            code.store(e.add(e.mul(signs, code.load(at, dtype)), e.const(0)), at)

        code.loop(0, w.a.step, LANES, vector)

    _each(code, w.a.count, row)


SINGULAR_VALUES = {
    "svd_tall": by_size(emit_small_singular_values, _emit_svd_large, _scratch),
    "qr_tall": Special(_emit_qr, _scratch),
}
