"""Kernels of `cofactors` and `cofactors_tangent`, right for singular matrices too.

Cofactors of a product are the product of the cofactors. With P x Q = L D R, where L and R are
triangles with ones on the diagonal and D holds the pivots, those of x are det(P) det(Q) times
Pᵀ L⁻ᵀ cof(D) R⁻ᵀ Qᵀ, and cof(D) has no division: for each pivot the product of the others. The
pivots are the largest numbers left, which keeps L and R far from singular, whatever x is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.complete_pivoting import factor_completely, scale
from wengert.codegen.llvm.linalg.exponents import (
    NOTHING,
    Scaled,
    bits_dtype,
    infinity_bits,
    leading_exponent,
    load_scaled,
    magnitude,
    one,
    store_scaled,
    taken_apart,
    times,
    together,
)
from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    MatrixScratch,
    carried,
    copy_in,
    fill,
    for_each_matrix,
    load_number,
    room,
    splat_index,
    store_number,
    transposed,
    uncarried,
)
from wengert.codegen.llvm.linalg.small_products import substitute, subtract_product
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import int64
from wengert.core.types import ArrayType


@dataclass(frozen=True, slots=True)
class _Place:
    """Scratch memory: a factored matrix with all that belongs to it, and two more matrices."""

    matrix: MatrixRows
    work: MatrixRows
    turned: MatrixRows
    rows: str  # the order of its rows and columns
    columns: str
    down: str  # the exponents of their scales
    right: str
    pivots: str
    before: tuple[str, str]  # products of the pivots before and after each, as Scaled
    after: tuple[str, str]
    odd: str  # i64: whether the order changed the sign
    spoilt: str  # i64: whether a number was not finite
    exponent: str  # that all results have in common


def _place(call: KernelCall) -> _Place:
    """Hand out the scratch memory that `_scratch` asked for."""
    dtype, n = call.outputs[0].dtype, call.operands[0].shape[-1]
    whole, scratch = bits_dtype(dtype), MatrixScratch(call)
    matrix, work, turned = (scratch.rows(n, n, dtype) for _ in range(3))
    rows, columns = (scratch.line(n) for _ in range(2))
    down, right = (scratch.line(n, whole) for _ in range(2))
    pivots = scratch.line(n, dtype)
    before, after = ((scratch.line(n, dtype), scratch.line(n, whole)) for _ in range(2))
    odd, spoilt, exponent = (scratch.line(1) for _ in range(3))
    return _Place(
        matrix,
        work,
        turned,
        rows,
        columns,
        down,
        right,
        pivots,
        before,
        after,
        odd,
        spoilt,
        exponent,
    )


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    n, itemsize = types[0].shape[-1], types[0].dtype.itemsize
    lines = room(1, n, 8) * 2 + room(1, n, itemsize) * 7 + room(1, 1, 8) * 3
    return room(n, n, itemsize) * 3 + lines


def _factor(e: Arithmetic, x: StridedArray, place: _Place) -> None:
    """P x Q = L D R in `matrix`, of x scaled, and the products of the pivots beside each."""
    code, matrix = e.code, place.matrix
    store_number(code, 0, place.spoilt, int64)
    copy_in(e, x, matrix)
    given = (matrix.pointer, matrix.step, matrix.count)
    scale(code, e.dtype, *given, place.down, place.right, place.spoilt)
    orders = (place.rows, place.columns, place.down, place.right)
    factor_completely(code, e.dtype, *given, *orders, place.pivots, place.odd)
    with code.with_lanes(1):
        _running_products(e, place)


def _load_pivot(e: Arithmetic, place: _Place, i: Index) -> Scaled:
    code = e.code
    return taken_apart(e, code.load(code.address(place.pivots, i, e.dtype), e.dtype))


def _running(
    e: Arithmetic,
    begin: Index,
    end: Index,
    first: Scaled,
    body: Callable[[Index, Scaled], Scaled],
) -> None:
    """A loop that carries a product."""
    code, dtypes = e.code, (e.dtype, bits_dtype(e.dtype))

    def step(i: Index, parts: list[str]) -> list[str]:
        product = body(i, Scaled(*uncarried(code, parts, *dtypes)))
        return [part for x in product for part in x.parts]

    code.loop(begin, end, 1, step, carried(code, *first))


def _running_products(e: Arithmetic, place: _Place) -> None:
    """For each pivot the product of those before it, and of those after it.

    product = 1; for i in 0 … n:  before[i] = product; product = product · pivots[i]
    product = 1; for i in n … 0:  after[i] = product;  product = product · pivots[i]
    """
    code, n = e.code, place.matrix.count

    def store_before(i: Index, product: Scaled) -> Scaled:
        store_scaled(code, product, *place.before, i)
        return times(e, product, _load_pivot(e, place, i))

    def store_after(k: Index, product: Scaled) -> Scaled:
        i = code.sub(code.sub(n, 1), k)
        store_scaled(code, product, *place.after, i)
        return times(e, product, _load_pivot(e, place, i))

    for body in (store_before, store_after):
        _running(e, 0, n, one(e), body)


Use: TypeAlias = Callable[[Index, Index, Scaled], None]  # of the product for one pair of pivots


def _without_one(e: Arithmetic, place: _Place, use: Use) -> None:
    """for each pivot i: use(i, i, before[i] · after[i]), the product of the others."""
    code = e.code

    def pivot(i: Index, _: Any) -> None:
        parts = (load_scaled(code, *line, i, e.dtype) for line in (place.before, place.after))
        use(i, i, times(e, *parts))

    code.loop(0, place.matrix.count, 1, pivot)


def _without_two(e: Arithmetic, place: _Place, use: Use) -> None:
    """For each pair of pivots i < j: use(i, j, the product of the others).

    for i in 0 … n:
        product = before[i]
        for j in i + 1 … n: use(i, j, product · after[j]); product = product · pivots[j]
    """
    code, n = e.code, place.matrix.count

    def row(i: Index, _: Any) -> None:
        def pair(j: Index, product: Scaled) -> Scaled:
            after = load_scaled(code, *place.after, j, e.dtype)
            use(i, j, times(e, product, after))
            return times(e, product, _load_pivot(e, place, j))

        before = load_scaled(code, *place.before, i, e.dtype)
        _running(e, code.add(i, 1), n, before, pair)

    code.loop(0, n, 1, row)


def _write_products(
    e: Arithmetic, place: _Place, visit: Callable[[Arithmetic, _Place, Use], None]
) -> None:
    """Products of pivots as a symmetric matrix in `work`, without the exponent they share.

    work = 0
    exponent = the largest exponent of all products
    for each product p of the pair (i, j): work[i, j] = work[j, i] = p / 2**exponent
    """
    code, work, whole = e.code, place.work, bits_dtype(e.dtype)
    fill(e, work, 0)

    def raise_exponent(_i: Index, _j: Index, product: Scaled) -> None:
        largest = e.max(code.load(place.exponent, whole), leading_exponent(e, product))
        code.store(largest, place.exponent)

    def write(i: Index, j: Index, product: Scaled) -> None:
        rest = e.sub(product.exponent, code.load(place.exponent, whole))
        value = together(e, product.significand, rest)
        for at in (work.at(code, i, j), work.at(code, j, i)):
            code.store(value, at)

    with code.with_lanes(1):
        code.store(e.const(NOTHING, whole), place.exponent)
        visit(e, place, raise_exponent)
        visit(e, place, write)


def _as_array(rows: MatrixRows) -> StridedArray:
    return StridedArray(rows.pointer, (rows.count, rows.count), (rows.step, 1), rows.dtype)


def _inside(e: Arithmetic, dx: StridedArray, place: _Place) -> None:
    """A tangent of x as one of D, f = L⁻¹ P dx Q R⁻¹; fᵀ is left in `turned`."""
    code, matrix, work, turned = e.code, place.matrix, place.work, place.turned
    _scaled_tangent(e, dx, place)
    n, step = matrix.count, matrix.step
    substitute(code, e.dtype, matrix.pointer, step, 1, work.pointer, step, n, step, "false")
    copy_in(e, transposed(_as_array(work)), turned)
    substitute(code, e.dtype, matrix.pointer, 1, step, turned.pointer, step, n, step, "false")


def _scaled_tangent(e: Arithmetic, dx: StridedArray, place: _Place) -> None:
    """P dx Q, scaled as x was, in `work`.

    for each row i, for each vector j of columns:
        numbers = dx[rows[i], columns[j]]; if not all are finite: spoilt = 1
        work[i, j] = numbers / 2**(down[i] + right[j])
    """
    code, work, whole = e.code, place.work, bits_dtype(e.dtype)
    below, beside = dx.strides

    def row(i: Index, _: Any) -> None:
        down = code.load_splat(code.address(place.down, i, whole), whole)
        source = load_number(code, code.address(place.rows, i, int64), int64)
        start = code.address(dx.pointer, code.mul(source, below), dx.dtype)

        def vector(j: Index, _: Any) -> None:
            mask = code.first_lanes(code.sub(work.count, j))
            order = code.load(code.address(place.columns, j, int64), int64)
            positions = e.mul(order, splat_index(code, beside))
            numbers = e.cast(code.gather(start, positions, dx.dtype, mask), e.dtype)
            bad = e.any_lane(e.ge(magnitude(e, numbers), infinity_bits(e)))
            code.when(bad, lambda: store_number(code, 1, place.spoilt, int64))
            right = code.load(code.address(place.right, j, whole), whole)
            code.store(together(e, numbers, e.neg(e.add(down, right))), work.at(code, i, j))

        code.loop(0, work.count, LANES, vector)

    code.loop(0, work.count, 1, row)


def _outside(e: Arithmetic, place: _Place, out: StridedArray) -> None:
    """Cofactors of D, or a tangent of them, from `work` to those of x: L⁻ᵀ work R⁻ᵀ, reordered.

    work = L⁻ᵀ work; turned = workᵀ; turned = R⁻¹ turned
    for each column j, for each vector i of rows:
        out[rows[i], columns[j]] = sign · turned[j, i] · 2**(total exponent - down[i] - right[j])
    """
    code, matrix, work, turned = e.code, place.matrix, place.work, place.turned
    n, step, last = matrix.count, matrix.step, matrix.last(code)
    # Upper triangles read from their ends are lower ones.
    up, end = code.sub(0, step), code.sub(n, 1)
    substitute(code, e.dtype, last, -1, up, work.at(code, end), up, n, step, "false")
    copy_in(e, transposed(_as_array(work)), turned)
    substitute(code, e.dtype, last, up, -1, turned.at(code, end), up, n, step, "false")
    sign = _sign_or_nan(e, place)
    total = _total_exponent(e, place)

    def column(j: Index, _: Any) -> None:
        whole = total.dtype
        right = code.load_splat(code.address(place.right, j, whole), whole)
        to = load_number(code, code.address(place.columns, j, int64), int64)

        def vector(i: Index, _: Any) -> None:
            down = code.load(code.address(place.down, i, whole), whole)
            exponent = e.sub(total, e.add(down, right))
            value = e.mul(sign, code.load(turned.at(code, j, i), e.dtype))
            order = code.load(code.address(place.rows, i, int64), int64)
            positions = e.mul(order, splat_index(code, out.strides[0]))
            start = code.address(out.pointer, to, e.dtype)
            mask = code.first_lanes(code.sub(n, i))
            code.scatter(together(e, value, exponent), start, positions, mask)

        code.loop(0, n, LANES, vector)

    code.loop(0, n, 1, column)


def _sign_or_nan(e: Arithmetic, place: _Place) -> Vector:
    """What all results are multiplied with: the sign of the exchanges, or NaN."""
    code = e.code
    odd, spoilt = (
        e.ne(code.load_splat(flag, int64), e.const(0, int64)) for flag in (place.odd, place.spoilt)
    )
    sign = e.select(odd, e.const(-1), e.const(1))
    return e.select(spoilt, e.const(np.nan), sign)


def _total_exponent(e: Arithmetic, place: _Place) -> Vector:
    """Of the determinant of all scales, and the one that was kept apart."""
    code, whole = e.code, bits_dtype(e.dtype)

    def add(i: Index, parts: list[str]) -> list[str]:
        (total,) = uncarried(code, parts, whole)
        for line in (place.down, place.right):
            total = e.add(total, code.load(code.address(line, i, whole), whole))
        return list(total.parts)

    with code.with_lanes(1):
        first = code.load(place.exponent, whole)
        (total,) = code.loop(0, place.matrix.count, 1, add, carried(code, first))
    return code.splat(total, whole)


def _emit_cofactors(call: KernelCall) -> None:
    e, place = Arithmetic(call.code, call.outputs[0].dtype), _place(call)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, _number: Index) -> None:
        _factor(e, operands[0], place)
        _write_products(e, place, _without_one)
        _outside(e, place, out)

    for_each_matrix(call, 2, matrix)


def _tangent_of_cofactors(e: Arithmetic, place: _Place) -> None:
    """Cofactors of D in direction f, whose transpose is in `turned`, from the products in `work`.

    On the diagonal Σ_k p_ik f_kk, off it -p_ij f_ji, where p_ij is the product of the pivots
    without two.

        along[i] = -Σ_k f_kk p_ki     # in the place of the pivots, which are no longer needed
        for all i, j: work[i, j] = -work[i, j] · turned[i, j]
        for each i:   work[i, i] = -along[i]
    """
    code, work, turned = e.code, place.work, place.turned
    step, along = work.step, MatrixRows(place.pivots, 1, work.step, e.dtype)
    fill(e, along, 0)
    diagonal, n = code.add(step, 1), work.count
    subtract_product(
        code, e.dtype, along.pointer, 0, turned.pointer, 0, diagonal, work.pointer, step, 1, step, n
    )

    def vector(i: Index, _: Any) -> None:
        at = code.address(work.pointer, i, e.dtype)
        other = code.load(code.address(turned.pointer, i, e.dtype), e.dtype)
        code.store(e.neg(e.mul(code.load(at, e.dtype), other)), at)

    def on_diagonal(i: Index, _: Any) -> None:
        with code.with_lanes(1):
            code.store(e.neg(code.load(along.at(code, 0, i), e.dtype)), work.at(code, i, i))

    code.loop(0, code.mul(n, step), LANES, vector)
    code.loop(0, n, 1, on_diagonal)


def _emit_tangent(call: KernelCall) -> None:
    e, place = Arithmetic(call.code, call.outputs[0].dtype), _place(call)

    def matrix(operands: tuple[StridedArray, ...], out: StridedArray, _number: Index) -> None:
        _factor(e, operands[0], place)
        _inside(e, operands[1], place)
        _write_products(e, place, _without_two)
        _tangent_of_cofactors(e, place)
        _outside(e, place, out)

    for_each_matrix(call, 2, matrix)


COFACTORS = {
    "cofactors": Special(_emit_cofactors, _scratch),
    "cofactors_tangent": Special(_emit_tangent, _scratch),
}
