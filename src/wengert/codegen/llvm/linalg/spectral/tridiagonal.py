"""Symmetric matrices: to three diagonals by reflections, and from there to one by rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    load_number,
    routine,
    splat_index,
    store_number,
)
from wengert.codegen.llvm.linalg.spectral.reflections import (
    clear_line,
    put_scalar,
    reflection,
    scalar,
    sweep_two,
    total,
    whole_vectors,
)
from wengert.codegen.llvm.linalg.spectral.rotations import repeat, rotate_rows, rotation
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dtypes import int64

_TRIES = 60  # sweeps for each value, on average; two are usual


@routine("ptr %a, i64 %step, i64 %n, ptr %v, ptr %taus, ptr %diagonal, ptr %beside, ptr %lines")
def tridiagonalise(
    e: Arithmetic,
    a: str,
    step: str,
    n: str,
    v: str,
    taus: str,
    diagonal: str,
    beside: str,
    lines: str,
) -> None:
    """a = Q t Qᵀ, with the three diagonals of t in `diagonal` and `beside`, for n > 0.

    Q is the product of the reflections of v (Rows as those of a, full of zeros) and taus; a is
    lost. `lines` has room for two rows, w and sums.

        w = 0
        for k < n:
            row k of a -= v[k-1][k] w + w[k] v[k-1]; diagonal[k] = a[k, k]
            if k + 1 < n:
                v[k], taus[k], beside[k] = the reflection of row k behind the diagonal
                a -= v[k-1] wᵀ + w v[k-1]ᵀ behind row k; sums = a v[k]
                w = tau sums - (tau² v[k]ᵀ sums / 2) v[k]
    """
    code, dtype = e.code, e.dtype
    matrix, vectors = MatrixRows(a, n, step, dtype), MatrixRows(v, n, step, dtype)
    w, sums = lines, code.address(lines, step, dtype)
    clear_line(e, w, step)

    def row(k: Index, before: Index) -> None:
        """Bring row k up to date: less v wᵀ + w vᵀ of the step before it."""
        old = vectors.at(code, before)
        mine, other = (code.load_splat(code.address(p, k, dtype), dtype) for p in (old, w))
        minus = [e.neg(mine), e.neg(other)]

        def vector(j: Index, _: Any) -> None:
            at = matrix.at(code, k, j)
            numbers = e.fma(
                minus[0], code.load(code.address(w, j, dtype), dtype), code.load(at, dtype)
            )
            numbers = e.fma(minus[1], code.load(code.address(old, j, dtype), dtype), numbers)
            code.store(numbers, at)

        code.loop(whole_vectors(code, k), step, LANES, vector)
        number = load_number(code, matrix.at(code, k, k), dtype)
        store_number(code, number, code.address(diagonal, k, dtype), dtype)

    def column(k: Index, _: Any) -> None:
        before, first = code.max(code.sub(k, 1), 0), code.add(k, 1)
        row(k, before)
        begin = whole_vectors(code, first)
        mine, tau = vectors.at(code, k), code.address(taus, k, dtype)

        def copy(j: Index, _: Any) -> None:
            code.store(code.load(matrix.at(code, k, j), dtype), code.address(mine, j, dtype))

        code.loop(begin, step, LANES, copy)
        old, count = vectors.at(code, before), code.sub(n, first)
        # Vector 0 is written while w is still 0, whatever `old` is.
        reflection(code, dtype, mine, first, step, tau, code.address(beside, k, dtype))
        sweep_two(
            code,
            dtype,
            matrix.at(code, first, begin),
            step,
            count,
            code.sub(step, begin),
            code.address(mine, first, dtype),
            code.address(sums, begin, dtype),
            code.address(old, first, dtype),
            code.address(w, begin, dtype),
            code.address(w, first, dtype),
            code.address(old, begin, dtype),
        )
        _update_of(e, mine, sums, tau, w, first, step)

    last = code.sub(n, 1)
    code.loop(0, last, 1, column)
    row(last, code.max(code.sub(last, 1), 0))


def _update_of(
    e: Arithmetic, v: str, sums: str, tau: str, w: str, first: Index, end: Index
) -> None:
    """w = tau (a v) - (tau² vᵀ a v / 2) v, with which (I - tau v vᵀ) a (I - tau v vᵀ) is a - v wᵀ -
    w vᵀ; 0 before `first`.
    """
    code, dtype = e.code, e.dtype
    begin, place = whole_vectors(code, first), splat_index(code, first)

    def known(j: Index) -> Vector:
        number = e.add(code.lane_numbers(), splat_index(code, j))
        numbers = code.load(code.address(sums, j, dtype), dtype)
        return e.select(e.lt(number, place), e.const(0), numbers)

    def product(j: Index, before: Vector) -> Vector:
        return e.fma(code.load(code.address(v, j, dtype), dtype), known(j), before)

    factor = code.load_splat(tau, dtype)
    half = e.mul(e.mul(e.const(-0.5), factor), e.mul(factor, total(e, begin, end, product)))

    def vector(j: Index, _: Any) -> None:
        numbers = e.fma(half, code.load(code.address(v, j, dtype), dtype), e.mul(factor, known(j)))
        code.store(numbers, code.address(w, j, dtype))

    code.loop(begin, end, LANES, vector)


@routine(
    "ptr %diagonal, ptr %beside, i64 %n, ptr %cosines, ptr %sines, ptr %rows, i64 %step, "
    "i1 %vectors, ptr %failed"
)
def diagonalise(
    e: Arithmetic,
    diagonal: str,
    beside: str,
    n: str,
    cosines: str,
    sines: str,
    rows: str,
    step: str,
    vectors: str,
    failed: str,
) -> None:
    """Eigenvalues of three diagonals, in place and in no order: QL with implicit shifts.

    If `vectors`, the rotations are applied to rows. No number is much larger than 1. The i64
    `failed` becomes 1 where too many sweeps were needed.
    """
    code = e.code
    matrix = MatrixRows(rows, n, step, e.dtype)
    last = code.sub(n, 1)
    tries = code.mul(n, _TRIES)

    def value(l: Index, left: list[str]) -> list[str]:
        def sweep(parts: list[str]) -> tuple[str, list[str]]:
            (budget,) = parts
            m = _end_of_block(e, diagonal, beside, l, last)
            open_ = code.compare("ne", m, l)

            def turn() -> list[str]:
                with code.with_lanes(1):
                    _sweep_up(e, diagonal, beside, cosines, sines, l, m)

                def rotate() -> None:
                    end = code.sub(m, 1)
                    at = [code.address(p, end, e.dtype) for p in (cosines, sines)]
                    back, count = code.sub(0, step), code.sub(m, l)
                    rotate_rows(code, e.dtype, matrix.at(code, m), back, step, *at, -1, count)

                code.when(vectors, rotate)
                return [str(code.sub(budget, 1))]

            (now,) = code.either(open_, ["i64"], turn, lambda: [budget])
            some = code.compare("sgt", now, 0)
            return code.let(f"and i1 {open_}, {some}"), [now]

        return repeat(code, [("i64", left[0])], sweep)

    (rest,) = code.loop(0, last, 1, value, [("i64", str(tries))])
    code.when(code.compare("sle", rest, 0), lambda: _note(e, n, failed))


def _note(e: Arithmetic, n: Index, failed: str) -> None:
    """Note the failure; not that of a single row, which needs no sweeps and has none left over."""
    code = e.code
    several = code.compare("sgt", n, 1)
    code.when(several, lambda: store_number(code, 1, failed, int64))


def negligible(e: Arithmetic, x: Vector, *beside: Vector) -> Vector:
    """Whether a number beside the diagonal may count as 0: against its neighbours on it, or
    against the matrix, whose numbers are about 1.
    """
    eps = float(np.finfo(e.dtype).eps) / 2
    near = e.abs(beside[0])
    for each in beside[1:]:
        near = e.add(near, e.abs(each))
    limit = e.fma(e.const(eps), near, e.const(eps * eps))
    return e.le(e.abs(x), limit)


def _end_of_block(e: Arithmetic, diagonal: str, beside: str, l: Index, last: Index) -> str:
    """The first m from l on where nothing stands beside the diagonal."""
    code = e.code

    def look(parts: list[str]) -> tuple[str, list[str]]:
        (m,) = parts

        def further() -> list[str]:
            with code.with_lanes(1):
                here, below = scalar(e, diagonal, m), scalar(e, diagonal, code.add(m, 1))
                small = negligible(e, scalar(e, beside, m), here, below).parts[0]
            # NaN is never small; there is none.
            return [code.let(f"xor i1 {small}, true")]

        inside = code.compare("slt", m, last)
        (again,) = code.either(inside, ["i1"], further, lambda: ["false"])
        after = code.let(f"select i1 {again}, i64 {code.add(m, 1)}, i64 {m}")
        return again, [after]

    return repeat(code, [("i64", str(l))], look)[0]


def _sweep_up(
    e: Arithmetic, diagonal: str, beside: str, cosines: str, sines: str, l: Index, m: Index
) -> None:
    """One sweep over the rows from m to l, with the eigenvalue of the corner at l as its shift."""
    code, kind = e.code, e.code.type(e.dtype)
    first, corner = scalar(e, diagonal, l), scalar(e, beside, l)
    g = e.div(e.sub(scalar(e, diagonal, code.add(l, 1)), first), e.mul(e.const(2), corner))
    r = e.sqrt(e.fma(g, g, e.const(1)))
    shift = e.div(corner, e.add(g, e.copysign(r, g)))
    g = e.add(e.sub(scalar(e, diagonal, m), first), shift)

    def rotate(number: Index, parts: list[str]) -> list[str]:
        g, s, c, p = (Vector((part,), e.dtype) for part in parts)
        i = code.sub(code.sub(m, 1), number)
        b = scalar(e, beside, i)
        f, b = e.mul(s, b), e.mul(c, b)
        c, s, r = rotation(e, g, f)
        put_scalar(e, r, beside, code.add(i, 1))
        g = e.sub(scalar(e, diagonal, code.add(i, 1)), p)
        r = e.fma(e.sub(scalar(e, diagonal, i), g), s, e.mul(e.mul(e.const(2), c), b))
        p = e.mul(s, r)
        put_scalar(e, e.add(g, p), diagonal, code.add(i, 1))
        put_scalar(e, c, cosines, i)
        put_scalar(e, s, sines, i)
        return [x.parts[0] for x in (e.sub(e.mul(c, r), b), s, c, p)]

    one, zero = e.const(1).parts[0], e.const(0).parts[0]
    carry = [(kind, x) for x in (g.parts[0], one, one, zero)]
    last = code.loop(0, code.sub(m, l), 1, rotate, carry)
    g, p = Vector((last[0],), e.dtype), Vector((last[3],), e.dtype)
    put_scalar(e, e.sub(scalar(e, diagonal, l), p), diagonal, l)
    put_scalar(e, g, beside, l)
    put_scalar(e, e.const(0), beside, m)
