"""Matrices with no more columns than rows: to two diagonals, or to a triangle, by reflections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    Routine,
    carried,
    routine,
    splat_index,
    uncarried,
)
from wengert.codegen.llvm.linalg.spectral.reflections import (
    clear_line,
    put_scalar,
    reflection,
    scalar,
    scale_line,
    steady_reflection,
    sweep_one,
    sweep_two,
    total,
    whole_vectors,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import LANES


def _take_column(
    e: Arithmetic, a: MatrixRows, k: Index, target: str, less: list[tuple[str, str]]
) -> None:
    """Copy column k of a, from row k on, less p x[k] of each pair (p, x), to a line."""
    code, dtype = e.code, e.dtype
    down = e.mul(code.lane_numbers(), splat_index(code, a.step))
    minus = [e.neg(code.load_splat(code.address(x, k, dtype), dtype)) for _, x in less]

    def vector(i: Index, _: Any) -> None:
        mask = code.first_lanes(code.sub(a.count, i))
        numbers = code.gather(a.at(code, i, k), down, dtype, mask)
        for (p, _), factor in zip(less, minus, strict=True):
            numbers = e.fma(factor, code.load(code.address(p, i, dtype), dtype), numbers)
        numbers = e.select(mask, numbers, e.const(0))
        code.store(numbers, code.address(target, i, dtype))

    code.loop(whole_vectors(code, k), a.count, LANES, vector)


def _triangularise(name: str, reflect: Routine) -> Routine:
    """a = Q r: the triangle r above the diagonal of a, and its diagonal in a line.

    Q is the product of the reflections of u (one row for each, full of zeros) and taus. `line` has
    room for one row of a.
    """

    def write(
        e: Arithmetic,
        a: str,
        step: str,
        m: str,
        n: str,
        u: str,
        u_row: str,
        taus: str,
        diagonal: str,
        line: str,
    ) -> None:
        code, dtype = e.code, e.dtype
        matrix, left = MatrixRows(a, m, step, dtype), MatrixRows(u, n, u_row, dtype)
        clear_line(e, line, step)

        def column(k: Index, _: Any) -> None:
            old, mine = left.at(code, code.max(code.sub(k, 1), 0)), left.at(code, k)
            _take_column(e, matrix, k, mine, [(old, line)])
            tau, beta = code.address(taus, k, dtype), code.address(diagonal, k, dtype)
            reflect(code, dtype, mine, k, u_row, tau, beta)
            begin = whole_vectors(code, k)
            sums = code.address(line, begin, dtype)
            by, pending = code.address(mine, k, dtype), code.address(old, k, dtype)
            into, rows = matrix.at(code, k, begin), code.sub(m, k)
            columns = code.sub(step, begin)
            sweep_one(code, dtype, into, step, rows, columns, by, sums, pending, sums)
            scale_line(code, dtype, line, begin, step, tau)
            _less(e, into, sums, columns)

        code.loop(0, n, 1, column)

    write.__name__ = name
    return Routine(
        "ptr %a, i64 %step, i64 %m, i64 %n, ptr %u, i64 %u_row, ptr %taus, ptr %diagonal, "
        "ptr %line",
        write,
    )


triangularise = _triangularise("triangularise", reflection)
triangularise_steadily = _triangularise("triangularise_steadily", steady_reflection)


def _less(e: Arithmetic, row: str, other: str, count: Index) -> None:
    """row -= other."""
    code, dtype = e.code, e.dtype

    def vector(j: Index, _: Any) -> None:
        at = code.address(row, j, dtype)
        numbers = code.load(code.address(other, j, dtype), dtype)
        code.store(e.sub(code.load(at, dtype), numbers), at)

    code.loop(0, count, LANES, vector)


@routine(
    "ptr %a, i64 %step, i64 %m, i64 %n, ptr %u, i64 %u_row, ptr %left, ptr %v, i64 %v_row, "
    "ptr %right, ptr %diagonal, ptr %beside, ptr %x, ptr %y"
)
def bidiagonalise(
    e: Arithmetic,
    a: str,
    step: str,
    m: str,
    n: str,
    u: str,
    u_row: str,
    left: str,
    v: str,
    v_row: str,
    right: str,
    diagonal: str,
    beside: str,
    x: str,
    y: str,
) -> None:
    """a = Q b Pᵀ, with the diagonal of b in a line and what stands above it in another, n > 0.

    Q is the product of the reflections of u and the taus `left`, P that of v and `right`; u and v
    are Rows full of zeros. The lines x and y have room for a row and for a column; a is lost.

        x = y = 0
        for k < n:
            u[k], left[k], diagonal[k] = the reflection of column k of a - u[k-1] xᵀ - y v[k-1]ᵀ
            a -= u[k-1] xᵀ + y v[k-1]ᵀ from row k on; x = tau aᵀ u[k]
            if k + 1 < n:
                v[k], right[k], beside[k] = the reflection of row k of a - x, behind the diagonal
                y = tau (a v[k] - (x · v[k]) u[k])
    """
    code, dtype = e.code, e.dtype
    matrix = MatrixRows(a, m, step, dtype)
    rows_u, rows_v = MatrixRows(u, n, u_row, dtype), MatrixRows(v, n, v_row, dtype)
    clear_line(e, x, step)
    clear_line(e, y, u_row)

    def column(k: Index, _: Any) -> None:
        """Less u xᵀ + y vᵀ, of the step before, a gets new u, x, v and y."""
        before = code.max(code.sub(k, 1), 0)
        old_u, old_v = rows_u.at(code, before), rows_v.at(code, before)
        mine = rows_u.at(code, k)
        _take_column(e, matrix, k, mine, [(old_u, x), (y, old_v)])
        tau, beta = code.address(left, k, dtype), code.address(diagonal, k, dtype)
        reflection(code, dtype, mine, k, u_row, tau, beta)
        begin = whole_vectors(code, k)
        sums = code.address(x, begin, dtype)
        sweep_two(
            code,
            dtype,
            matrix.at(code, k, begin),
            step,
            code.sub(m, k),
            code.sub(step, begin),
            code.address(mine, k, dtype),
            sums,
            code.address(old_u, k, dtype),
            sums,
            code.address(y, k, dtype),
            code.address(old_v, begin, dtype),
        )
        scale_line(code, dtype, x, begin, step, tau)
        code.when(code.compare("slt", code.add(k, 1), n), lambda: row(k, mine))

    def row(k: Index, mine: str) -> None:
        """The reflection of the columns that makes row k, less x, one number; and y."""
        first = code.add(k, 1)
        begin = whole_vectors(code, first)
        other = rows_v.at(code, k)

        def vector(j: Index, _: Any) -> None:
            numbers = e.sub(
                code.load(matrix.at(code, k, j), dtype), code.load(code.address(x, j, dtype), dtype)
            )
            code.store(numbers, code.address(other, j, dtype))

        code.loop(begin, v_row, LANES, vector)
        tau, beta = code.address(right, k, dtype), code.address(beside, k, dtype)
        reflection(code, dtype, other, first, v_row, tau, beta)

        def along(j: Index, so_far: Vector) -> Vector:
            each = code.load(code.address(other, j, dtype), dtype)
            return e.fma(code.load(code.address(x, j, dtype), dtype), each, so_far)

        inner = code.lane(total(e, begin, v_row, along), 0)
        _times_vector(e, matrix, first, other, v_row, (inner, mine, tau), y)

    code.loop(0, n, 1, column)


_BESIDE = 4  # rows whose sums are made at once


def _times_vector(
    e: Arithmetic,
    a: MatrixRows,
    first: Index,
    v: str,
    end: Index,
    correction: tuple[str, str, str],
    y: str,
) -> None:
    """y = tau (a v - inner u), from row `first` on, where v is 0 before column `first`."""
    code, dtype = e.code, e.dtype
    inner, u, tau = correction
    begin = whole_vectors(code, first)

    def rows(size: int) -> Callable[[Index, Any], None]:
        kinds = [dtype] * size

        def several(i: Index, _: Any) -> None:
            at = [a.at(code, code.add(i, r)) for r in range(size)]

            def vector(j: Index, parts: list[str]) -> list[str]:
                factor = code.load(code.address(v, j, dtype), dtype)
                after: list[str] = []
                for start, so_far in zip(at, uncarried(code, parts, *kinds), strict=True):
                    each = code.load(code.address(start, j, dtype), dtype)
                    after.extend(e.fma(each, factor, so_far).parts)
                return after

            sums = code.loop(begin, end, LANES, vector, carried(code, *[e.const(0)] * size))
            for r, row_sums in enumerate(uncarried(code, sums, *kinds)):
                joined = Vector((code.lane(code.join(row_sums, e.add), 0),), dtype)
                with code.with_lanes(1):
                    place = code.add(i, r)
                    minus = e.neg(Vector((inner,), dtype))
                    rest = e.fma(minus, scalar(e, u, place), joined)
                    put_scalar(e, e.mul(scalar(e, tau), rest), y, place)

        return several

    count = code.sub(a.count, first)
    whole = code.add(first, code.mul(code.div(count, _BESIDE), _BESIDE))
    code.loop(first, whole, _BESIDE, rows(_BESIDE))
    code.loop(whole, a.count, 1, rows(1))
