"""Kernel of `banded_solve`: elimination within a band, with rows exchanged.

The rows of a matrix begin at their first element in the band, and those that are eliminated move to
the left, so that a row never has more elements than there are diagonals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.lu import any_zero, exchange_rows, largest_below
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    carried,
    copy_in,
    copy_out,
    fill,
    for_each_matrix,
    is_spoilt,
    load_number,
    room,
    uncarried,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, scalar_type
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.types import ArrayType


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    diagonals, b = types
    itemsize = np.result_type(diagonals.dtype, b.dtype).itemsize
    n = diagonals.shape[-1]
    return room(n, diagonals.shape[-2] + LANES, itemsize) + room(n, b.shape[-1], itemsize)


def _emit(call: KernelCall) -> None:
    dtype = call.outputs[0].dtype
    (width, n), columns = call.operands[0].shape[-2:], call.operands[1].shape[-1]
    e, scratch = Arithmetic(call.code, dtype), MatrixScratch(call)
    # A vector that begins one element later still ends in its own row.
    a = scratch.rows(n, call.code.add(width, LANES), dtype)
    x = scratch.rows(n, columns, dtype)

    def system(operands: tuple[StridedArray, ...], out: StridedArray, number: Index) -> None:
        code = e.code
        fill(e, a, 0)
        _fill_rows(e, operands[0], a, call.params["below"], call.params["above"])
        copy_in(e, operands[1], x)
        spoilt = is_spoilt(e, a)
        _eliminate(e, a, x, width, call.params["below"])
        singular = any_zero(code, a.pointer, a.step, n, dtype)
        call.fail(code.let(f"select i1 {spoilt}, i1 false, i1 {singular}"), number)
        _substitute_back(e, a, x, width)
        code.when(spoilt, lambda: fill(e, x, math.nan))
        copy_out(e, x, out)

    for_each_matrix(call, 2, system)


def _fill_rows(e: Arithmetic, given: StridedArray, a: MatrixRows, below: int, above: int) -> None:
    """a[i, c] = given[above + i - j, j] for the columns j of row i that are in the band, of which
    the first is at c = 0.
    """
    code = e.code
    n, (down, right) = a.count, given.strides

    def row(i: Index, _: Any) -> None:
        first = code.max(0, code.sub(i, below))
        end = code.min(n, code.add(i, above + 1))

        def element(j: Index, _: Any) -> None:
            place = code.mul(code.sub(code.add(i, above), j), down)
            at = code.address(given.pointer, code.add(place, code.mul(j, right)), given.dtype)
            with code.with_lanes(1):
                number = e.cast(code.load(at, given.dtype), e.dtype)
                code.store(number, a.at(code, i, code.sub(j, first)))

        code.loop(first, end, 1, element)

    code.loop(0, n, 1, row)


def _eliminate(e: Arithmetic, a: MatrixRows, x: MatrixRows, width: Index, below: int) -> None:
    """for k in 0 … n: of the rows from k on that have column k, now their first
    exchange row k with the one whose number there is largest, in a and in x
    for each other row i:
        by = a[i, 0] / a[k, 0]
        a[i, c] = a[i, c + 1] - by · a[k, c + 1] for all c
        x[i] -= by · x[k]
    """
    code = e.code
    kind = scalar_type(e.dtype)

    def column(k: Index, _: Any) -> None:
        end = code.min(a.count, code.add(k, below + 1))
        place = largest_below(e, a, k, 0, end)
        exchange_rows(e, a, k, place)
        exchange_rows(e, x, k, place)
        pivot = load_number(code, a.at(code, k), e.dtype)
        upper, right = a.at(code, k, 1), x.at(code, k)

        def row(i: Index, _: Any) -> None:
            number = load_number(code, a.at(code, i), e.dtype)
            minus = e.neg(code.splat(code.let(f"fdiv {kind} {number}, {pivot}"), e.dtype))
            lower, start, other = a.at(code, i, 1), a.at(code, i), x.at(code, i)

            def shifted(c: Index, _: Any) -> None:
                above = code.load(code.address(upper, c, e.dtype), e.dtype)
                here = code.load(code.address(lower, c, e.dtype), e.dtype)
                code.store(e.fma(minus, above, here), code.address(start, c, e.dtype))

            def in_place(c: Index, _: Any) -> None:
                at = code.address(other, c, e.dtype)
                above = code.load(code.address(right, c, e.dtype), e.dtype)
                code.store(e.fma(minus, above, code.load(at, e.dtype)), at)

            code.loop(0, width, LANES, shifted)
            code.loop(0, x.step, LANES, in_place)

        code.loop(code.add(k, 1), end, 1, row)

    code.loop(0, a.count, 1, column)


def _substitute_back(e: Arithmetic, a: MatrixRows, x: MatrixRows, width: Index) -> None:
    """for i in n - 1 … 0: x[i] = (x[i] - a[i, 1] x[i + 1] - a[i, 2] x[i + 2] …) / a[i, 0]"""
    code = e.code

    def row(k: Index, _: Any) -> None:
        i = code.sub(code.sub(a.count, 1), k)
        pivot = code.load_splat(a.at(code, i), e.dtype)
        end = code.min(width, code.add(k, 1))

        def vector(j: Index, _: Any) -> None:
            at = x.at(code, i, j)

            def less(c: Index, parts: list[str]) -> list[str]:
                (so_far,) = uncarried(code, parts, e.dtype)
                minus = e.neg(code.load_splat(a.at(code, i, c), e.dtype))
                other = code.load(x.at(code, code.add(i, c), j), e.dtype)
                return list(e.fma(minus, other, so_far).parts)

            parts = code.loop(1, end, 1, less, carried(code, code.load(at, e.dtype)))
            code.store(e.div(uncarried(code, parts, e.dtype)[0], pivot), at)

        code.loop(0, x.step, LANES, vector)

    code.loop(0, a.count, 1, row)


BANDED = {"banded_solve": Special(_emit, _scratch)}
