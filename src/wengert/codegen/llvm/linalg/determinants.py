"""Kernels of `det`, `det_sign` and `log_abs_det`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.exponents import (
    Scaled,
    bits_dtype,
    one,
    taken_apart,
    times,
    together,
)
from wengert.codegen.llvm.linalg.lu import factor
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    anywhere,
    carried,
    copy_in,
    for_each_matrix,
    room,
    uncarried,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic, polynomial
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.core.dims import Size
from wengert.core.dtypes import bool_, int64
from wengert.core.types import ArrayType


class Determinant(NamedTuple):
    """One determinant: its absolute value, and i1s for a value below 0 and for 0 itself."""

    size: Scaled
    negative: Vector
    zero: Vector


Part: TypeAlias = Callable[[Arithmetic, Determinant], Vector]


def _product_of_pivots(e: Arithmetic, rows: MatrixRows, swaps: str) -> Determinant:
    """The determinant of a factored matrix. If a pivot is 0, so is it, even where others are
    infinite, as in NumPy.

        size, negative, zero = 1, no, no
        for each pivot p, of row k:
            size = size · |p|
            negative = negative xor (p < 0) xor (row k was exchanged)
            zero = zero or p == 0
    """
    code, dtype = e.code, e.dtype
    dtypes = (dtype, bits_dtype(dtype), bool_, bool_)

    def pivot(k: Index, parts: list[str]) -> list[str]:
        significand, exponent, negative, zero = uncarried(code, parts, *dtypes)
        number = code.load(rows.at(code, k, k), dtype)
        swap = code.load(code.address(swaps, k, int64), int64)
        size = times(e, Scaled(significand, exponent), taken_apart(e, e.abs(number)))
        moved = e.ne(swap, Vector((str(k),), int64))
        flipped = e.xor(e.lt(number, e.const(0)), moved)
        now = (*size, e.xor(negative, flipped), e.or_(zero, e.eq(number, e.const(0))))
        return [part for x in now for part in x.parts]

    no = code.constant(False, bool_)
    parts = code.loop(0, rows.count, 1, pivot, carried(code, *one(e), no, no))
    significand, exponent, negative, zero = uncarried(code, parts, *dtypes)
    return Determinant(Scaled(significand, exponent), negative, zero)


def _with_sign(e: Arithmetic, determinant: Determinant, size: Vector) -> Vector:
    signed = e.select(determinant.negative, e.neg(size), size)
    return e.select(determinant.zero, e.const(0), signed)


def _value(e: Arithmetic, determinant: Determinant) -> Vector:
    return _with_sign(e, determinant, together(e, *determinant.size))


def _sign(e: Arithmetic, determinant: Determinant) -> Vector:
    return _with_sign(e, determinant, e.const(1))


def _log_of_size(e: Arithmetic, determinant: Determinant) -> Vector:
    """log |det| = log(significand) + exponent · log(2), with the significand near 1."""
    low = e.lt(determinant.size.significand, e.const(math.sqrt(0.5)))
    exponent = e.sub(determinant.size.exponent, e.cast(low, determinant.size.exponent.dtype))
    significand = e.select(
        low, e.mul(determinant.size.significand, e.const(2)), determinant.size.significand
    )
    log = e.fma(e.cast(exponent, e.dtype), e.const(math.log(2)), _log_near_one(e, significand))
    finite = e.lt(significand, e.const(math.inf))  # else infinite or NaN, and its own logarithm
    return e.select(determinant.zero, e.const(-math.inf), e.select(finite, log, significand))


def _log_near_one(e: Arithmetic, x: Vector) -> Vector:
    """log(x) for x between the roots of 1/2 and 2: 2 atanh(s) with s = (x - 1) / (x + 1).

    s² is below 0.0295; twelve terms of the series leave an error below 1e-19, six below 1e-9.
    """
    terms = 12 if x.dtype.itemsize == 8 else 6
    f = e.sub(x, e.const(1))  # exact
    s = e.div(f, e.add(f, e.const(2)))
    z = e.mul(s, s)
    series = polynomial(e, z, [2 / (2 * k + 1) for k in range(terms, 0, -1)])
    # 2 s = f - s f, so that the largest term is exact.
    return e.sub(f, e.mul(s, e.sub(f, e.mul(z, series))))


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    return room(n, n, itemsize) + room(1, n, 8)


def _special(part: Part) -> Special:
    """For each matrix: P a = L U; out = `part` of the product of pivots, or NaN if a has one."""

    def emit(call: KernelCall) -> None:
        code, dtype, n = call.code, call.outputs[0].dtype, call.operands[0].shape[-1]
        e, scratch = Arithmetic(code, dtype), MatrixScratch(call)
        a, swaps = scratch.rows(n, n, dtype), scratch.line(n)

        def matrix(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
            copy_in(e, operands[0], a)
            spoilt = anywhere(e, a, lambda x: e.ne(x, x))
            factor(code, dtype, a.pointer, a.step, n, swaps)
            with code.with_lanes(1):
                value = part(e, _product_of_pivots(e, a, swaps))
                nan = e.const(math.nan)
                code.store(e.select(Vector((spoilt,), bool_), nan, value), out.pointer)

        for_each_matrix(call, 0, matrix)

    return Special(emit, _scratch)


DETERMINANTS = {
    "det": _special(_value),
    "det_sign": _special(_sign),
    "log_abs_det": _special(_log_of_size),
}
