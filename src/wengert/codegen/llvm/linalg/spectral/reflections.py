"""Householder's reflections I - tau v vᵀ of rows: made, applied and multiplied out.

A reflection of the rows of a matrix needs the sums vᵀ a before it, and changes every row after it.
`sweep` does the changes of one and the sums of the next in one pass, so that each step of a
factorisation goes through the matrix once. Every sum is in the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.codegen.llvm.linalg.matrix_rows import (
    MatrixRows,
    Routine,
    carried,
    load_number,
    routine,
    splat_index,
    store_number,
    uncarried,
)
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dtypes import bool_
from wengert.core.signatures.matrices import SIGNIFICANT

_WIDE = 2  # vectors of columns whose sums are in registers at once

# Sums of squares below these lose digits, or are lost: in a matrix whose largest number is about 1
# the numbers behind them do not matter.
_LOST = {4: 2.0**-100, 8: 2.0**-900}


def whole_vectors(code: Code, position: Index) -> Index:
    """Where the vector begins that holds a position."""
    return code.mul(code.div(position, LANES), LANES)


def scalar(e: Arithmetic, pointer: str, at: Index = 0) -> Vector:
    """One number of memory, for code with one lane."""
    code = e.code
    return Vector((load_number(code, code.address(pointer, at, e.dtype), e.dtype),), e.dtype)


def put_scalar(e: Arithmetic, x: Vector, pointer: str, at: Index = 0) -> None:
    code = e.code
    store_number(code, x.parts[0], code.address(pointer, at, e.dtype), e.dtype)


def lost(e: Arithmetic) -> Vector:
    return e.const(_LOST[e.dtype.itemsize])


def total(
    e: Arithmetic, begin: Index, end: Index, term: Callable[[Index, Vector], Vector]
) -> Vector:
    """The sum of vectors from `begin` to `end`, term(j, sum so far), over all lanes: in each."""
    code = e.code

    def vector(j: Index, parts: list[str]) -> list[str]:
        (before,) = uncarried(code, parts, e.dtype)
        return list(term(j, before).parts)

    parts = code.loop(begin, end, LANES, vector, carried(code, e.const(0)))
    (sums,) = uncarried(code, parts, e.dtype)
    return code.join(sums, e.add)


def _reflection(name: str, away: Callable[[Arithmetic, Vector, Vector], Vector]) -> Routine:
    """Turn x into the v with (I - tau v vᵀ) x = beta e_first, where v[first] is 1.

    Numbers before `first` count as 0 and become so. x ends with whole vectors. `away` gives beta
    from the length of x and from x[first], from which it must be apart.

        alpha, tail = x[first], the sum of all squares behind it
        if tail == 0 or alpha² + tail is lost among the smallest numbers:
            tau, beta, v = 0, alpha, e_first
        else:
            beta = away(√(alpha² + tail), alpha); tau = (beta - alpha) / beta
            v = x / (alpha - beta) behind first
    """

    def reflect(e: Arithmetic, x: str, first: str, end: str, tau: str, beta: str) -> None:
        code = e.code
        begin = whole_vectors(code, first)
        place = splat_index(code, first)

        def numbers(j: Index) -> Vector:
            return e.add(code.lane_numbers(), splat_index(code, j))

        def square(j: Index, before: Vector) -> Vector:
            loaded = code.load(code.address(x, j, e.dtype), e.dtype)
            rest = e.select(e.gt(numbers(j), place), loaded, e.const(0))
            return e.fma(rest, rest, before)

        tail = Vector((code.lane(total(e, begin, end, square), 0),), e.dtype)
        with code.with_lanes(1):
            alpha = scalar(e, x, first)
            squares = e.fma(alpha, alpha, tail)
            flat = e.or_(e.eq(tail, e.const(0)), e.lt(squares, lost(e)))
            norm = away(e, e.sqrt(squares), alpha)
            safe = e.select(flat, e.const(1), norm)
            factor = e.div(e.sub(norm, alpha), safe)
            put_scalar(e, e.select(flat, e.const(0), factor), tau)
            put_scalar(e, e.select(flat, alpha, norm), beta)
            by = e.select(flat, e.const(1), e.sub(alpha, norm)).parts[0]
            kept = flat.parts[0]
        divisor = code.splat(by, e.dtype)
        some = code.splat(kept, bool_)

        def vector(j: Index, _: Any) -> None:
            at = code.address(x, j, e.dtype)
            after = e.gt(numbers(j), place)
            tail = e.select(some, e.const(0), e.div(code.load(at, e.dtype), divisor))
            one = e.select(e.eq(numbers(j), place), e.const(1), e.const(0))
            code.store(e.select(after, tail, one), at)

        code.loop(begin, end, LANES, vector)

    reflect.__name__ = name
    return Routine("ptr %x, i64 %first, i64 %end, ptr %tau, ptr %beta", reflect)


def _steadily_away(e: Arithmetic, length: Vector, alpha: Vector) -> Vector:
    """Away from numbers that are clearly negative, and else as from positive ones: the sign of a
    number next to 0, which is a rounding error, does not decide.
    """
    positive = e.ge(alpha, e.mul(length, e.const(-SIGNIFICANT)))
    return e.select(positive, e.neg(length), length)


reflection = _reflection("reflection", lambda e, length, alpha: e.neg(e.copysign(length, alpha)))
steady_reflection = _reflection("steady_reflection", _steadily_away)


def clear_line(e: Arithmetic, line: str, end: Index) -> None:
    """Fill a line with zeros."""
    code = e.code

    def vector(j: Index, _: Any) -> None:
        code.store(e.const(0), code.address(line, j, e.dtype))

    code.loop(0, end, LANES, vector)


_SWEEP = "ptr %a, i64 %a_row, i64 %rows, i64 %columns, ptr %by, ptr %sums"


def _sweep(pairs: int) -> Routine:
    """a -= p xᵀ for so many pairs of p (a number per row) and x (a row); then sums = byᵀ a.

    by and sums may be null in pairs: then nothing is summed. Columns are whole vectors.
    """
    names = [f"ptr %p{k}, ptr %x{k}" for k in range(pairs)]

    def sweep(e: Arithmetic, a: str, a_row: str, rows: str, columns: str, *others: str) -> None:
        code, dtype = e.code, e.dtype
        by, sums, *given = others

        def columns_from(j: Index, size: int) -> None:
            x = [[at(each, j, k) for k in range(size)] for each in given[1::2]]
            x_loaded = [[code.load(p, dtype) for p in each] for each in x]

            def row(i: Index, parts: list[str]) -> list[str]:
                pointer, *rest = parts
                minus = [
                    e.neg(code.load_splat(code.address(p, i, dtype), dtype)) for p in given[::2]
                ]
                factor = code.load_splat(code.address(by, i, dtype), dtype)
                after: list[str] = []
                for k, before in enumerate(uncarried(code, rest, *[dtype] * size)):
                    numbers = code.load(at(pointer, 0, k), dtype)
                    for m, each in zip(minus, x_loaded, strict=True):
                        numbers = e.fma(m, each[k], numbers)
                    code.store(numbers, at(pointer, 0, k))
                    after.extend(e.fma(factor, numbers, before).parts)
                return [code.address(pointer, a_row, dtype), *after]

            zeros = carried(code, *[e.const(0)] * size)
            last = code.loop(0, rows, 1, row, [("ptr", code.address(a, j, dtype)), *zeros])
            for k, column_sums in enumerate(uncarried(code, last[1:], *[dtype] * size)):
                code.store(column_sums, at(sums, j, k))

        def at(line: str, j: Index, k: int) -> str:
            return code.address(line, code.add(j, k * LANES), dtype)

        wide = code.mul(code.div(columns, _WIDE * LANES), _WIDE * LANES)
        code.loop(0, wide, _WIDE * LANES, lambda j, _: columns_from(j, _WIDE))
        code.loop(wide, columns, LANES, lambda j, _: columns_from(j, 1))

    sweep.__name__ = f"sweep_{pairs}"
    return Routine(", ".join([_SWEEP, *names]), sweep)


sweep_one, sweep_two = _sweep(1), _sweep(2)


@routine(
    "ptr %q, i64 %q_row, i64 %rows, ptr %v, i64 %v_row, ptr %taus, i64 %count, "
    "i64 %offset, ptr %line"
)
def multiply_out(
    e: Arithmetic,
    q: str,
    q_row: str,
    rows: str,
    v: str,
    v_row: str,
    taus: str,
    count: str,
    offset: str,
    line: str,
) -> None:
    """q = H_0 H_1 … H_(count-1) q for a q that begins as the identity.

    v[k] is the vector of H_k, in which 1 is the first number that is not 0, at k + offset. `line`
    has room for as many numbers as a row of q.
    """
    code, dtype = e.code, e.dtype
    matrix = MatrixRows(q, rows, q_row, dtype)
    vectors = MatrixRows(v, count, v_row, dtype)
    clear_line(e, line, q_row)

    def step(number: Index, _: Any) -> None:
        k = code.sub(code.sub(count, 1), number)
        first = code.add(k, offset)
        begin = whole_vectors(code, first)
        before = code.min(code.add(k, 1), code.sub(count, 1))  # H of the last is done twice: as 0
        sums = code.address(line, begin, dtype)
        sweep_one(
            code,
            dtype,
            matrix.at(code, first, begin),
            q_row,
            code.sub(rows, first),
            code.sub(q_row, begin),
            vectors.at(code, k, first),
            sums,
            vectors.at(code, before, first),
            sums,
        )
        scale_line(code, dtype, line, begin, q_row, code.address(taus, k, dtype))

    code.loop(0, count, 1, step)
    last = code.address(line, whole_vectors(code, offset), dtype)

    def finish() -> None:
        at = matrix.at(code, offset, whole_vectors(code, offset))
        columns = code.sub(q_row, whole_vectors(code, offset))
        by = vectors.at(code, 0, offset)
        sweep_one(code, dtype, at, q_row, code.sub(rows, offset), columns, by, last, by, last)

    code.when(code.compare("sgt", count, 0), finish)


@routine("ptr %line, i64 %begin, i64 %end, ptr %by")
def scale_line(e: Arithmetic, line: str, begin: str, end: str, by: str) -> None:
    """A line times a number."""
    code = e.code
    factor = code.load_splat(by, e.dtype)

    def vector(j: Index, _: Any) -> None:
        at = code.address(line, j, e.dtype)
        code.store(e.mul(factor, code.load(at, e.dtype)), at)

    code.loop(begin, end, LANES, vector)
