"""Kernel of `sqrtm`: the iteration of Denman and Beavers, scaled (Higham, Functions of Matrices,
2008, chapter 6).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

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
    load_number,
    room,
    splat_index,
    store_number,
)
from wengert.codegen.llvm.linalg.matrix_sums import combine, largest, multiply
from wengert.codegen.llvm.linalg.solvers import solve_in_place
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import int64
from wengert.core.signatures.matrices import ROOT_STEPS, SETTLING
from wengert.core.types import ArrayType

_MATRICES = 5


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    return _MATRICES * room(n, n, itemsize) + room(1, n, 8) + 2 * room(1, 1, 8)


def _emit(call: KernelCall) -> None:
    """For each matrix a: x = a, y = 1; step until x stays; fail unless x @ x is a."""
    code, dtype, n = call.code, call.outputs[0].dtype, call.operands[0].shape[-1]
    e, scratch = Arithmetic(code, dtype), MatrixScratch(call)
    rows = [scratch.rows(n, n, dtype) for _ in range(_MATRICES)]
    x, y, square, work = rows[0], rows[1], rows[2], rows[4]
    swaps, going, last = scratch.line(n), scratch.line(1), scratch.line(1, dtype)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        copy_in(e, operands[0], x)
        spoilt = is_spoilt(e, x)
        code.when(spoilt, lambda: fill_identity(e, x))
        fill_identity(e, y)
        store_number(code, 1, going, int64)
        code.store(e.const(math.inf), last)

        def again(_: Index, __: Any) -> None:
            on = code.compare("ne", load_number(code, going, int64), 0)
            code.when(on, lambda: _step(e, rows, swaps, going, last))

        code.loop(0, ROOT_STEPS, 1, again)
        copy_in(e, operands[0], work)
        code.when(spoilt, lambda: fill_identity(e, work))
        multiply(e, x, x, square)
        call.fail(_is_no_root(e, x, square, work), number)
        code.when(spoilt, lambda: fill(e, x, math.nan))
        copy_out(e, x, out)

    for_each_matrix(call, 2, matrix)


def _step(e: Arithmetic, rows: list[MatrixRows], swaps: str, going: str, last: str) -> None:
    """x, y = (g x + y⁻¹ / g) / 2, (g y + x⁻¹ / g) / 2, with a scale g for as long as x moves far;
    going = 0 where x has settled, or moves no less than before.
    """
    code = e.code
    x, y, inverse_x, inverse_y, work = rows
    for given, inverse in ((x, inverse_x), (y, inverse_y)):
        combine(e, work, [(1.0, given)])
        fill_identity(e, inverse)
        solve_in_place(e, work, inverse, swaps)
    before = code.load(last, e.dtype)
    ratios = [
        e.div(largest(e, inverse), largest(e, given))
        for given, inverse in ((x, inverse_x), (y, inverse_y))
    ]
    scale = e.sqrt(e.sqrt(e.mul(ratios[0], ratios[1])))
    scale = e.select(e.gt(before, e.const(SETTLING)), scale, e.const(1))
    combine(e, work, [(1.0, x)])
    _average(e, x, inverse_y, scale)
    _average(e, y, inverse_x, scale)
    change = e.div(largest(e, x, work), largest(e, x))
    near = e.lt(change, e.const(SETTLING))
    stays = e.and_(near, e.ge(change, e.mul(before, e.const(0.5))))
    moves = e.gt(change, e.const(4 * float(np.finfo(e.dtype).eps)))
    on = e.any_lane(e.and_(moves, e.not_(stays)))
    store_number(code, code.let(f"zext i1 {on} to i64"), going, int64)
    code.store(change, last)


def _average(e: Arithmetic, x: MatrixRows, inverse: MatrixRows, scale: Vector) -> None:
    """x = (scale · x + inverse / scale) / 2."""
    code = e.code

    def vector(i: Index, _: Any) -> None:
        at = code.address(x.pointer, i, e.dtype)
        other = code.load(code.address(inverse.pointer, i, e.dtype), e.dtype)
        total = e.fma(scale, code.load(at, e.dtype), e.div(other, scale))
        code.store(e.mul(e.const(0.5), total), at)

    code.loop(0, code.mul(x.count, x.step), LANES, vector)


def _is_no_root(e: Arithmetic, x: MatrixRows, square: MatrixRows, given: MatrixRows) -> str:
    """An i1: whether the square of x is not the matrix that was given."""
    size = largest(e, x)
    part = math.sqrt(float(np.finfo(e.dtype).eps))
    away = largest(e, square, given)
    count = e.cast(splat_index(e.code, x.count), e.dtype)
    limit = e.mul(e.mul(size, size), e.mul(count, e.const(part)))
    return e.any_lane(e.not_(e.le(away, limit)))


ROOT = {"sqrtm": Special(_emit, _scratch)}
