"""Jacobi's method for small matrices: pairs of columns are turned until all are orthogonal."""

from __future__ import annotations

from wengert.codegen.llvm.kernels.kernel_call import KernelCall
from wengert.codegen.llvm.linalg.matrix_rows import carried, splat_index, uncarried
from wengert.codegen.llvm.linalg.spectral.lane_matrices import (
    LaneMatrix,
    cosine_and_sine,
    each,
    fill_identities,
    for_each_group,
    half_eps,
    lead_lanes,
    level,
    read_lanes,
    sort_lanes,
    tangent,
    turned,
    unlevel,
    until_still,
    write_lanes,
)
from wengert.codegen.llvm.linalg.spectral.reflections import lost
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.core.dtypes import int64


def emit_small_eigenvalues(call: KernelCall) -> None:
    """`eigh_parts` of matrices that fit into lanes."""
    code, dtype = call.code, call.outputs[0].dtype
    n, vectors = call.operands[0].shape[-1], call.params["save"]
    e = Arithmetic(code, dtype)
    a = LaneMatrix(call.scratch, n, n, dtype)
    v = LaneMatrix(a.end(code), n, n, dtype)
    values = LaneMatrix(v.end(code), n, 1, dtype)

    def group(x: StridedArray, places: Vector, first: Index, inside: Vector) -> None:
        read_lanes(e, x, places, inside, a)
        _make_symmetric(e, a)
        exponent, spoilt = level(e, a)
        if vectors:
            fill_identities(e, v)
        kept = v if vectors else None
        call.fail(until_still(e, n, lambda p, q: _turn_symmetric(e, a, kept, p, q)), first)
        each(code, 0, n, lambda i: values.put(code, a.get(code, i, i), i))
        sort_lanes(e, values, [v] if vectors else [], descending=False)
        unlevel(e, values, exponent)
        write_lanes(e, values, call.outputs[0], first, inside, spoilt)
        if vectors:
            lead_lanes(e, v, [])
            write_lanes(e, v, call.outputs[1], first, inside, spoilt)

    for_each_group(call, group)


def _make_symmetric(e: Arithmetic, a: LaneMatrix) -> None:
    code, half = e.code, e.const(0.5)

    def pair(i: Index, j: Index) -> None:
        mean = e.add(e.mul(half, a.get(code, i, j)), e.mul(half, a.get(code, j, i)))
        a.put(code, mean, i, j)
        a.put(code, mean, j, i)

    each(code, 0, a.rows, lambda i: each(code, 0, code.add(i, 1), lambda j: pair(i, j)))


def _turn_symmetric(
    e: Arithmetic, a: LaneMatrix, v: LaneMatrix | None, p: Index, q: Index
) -> Vector:
    """Turn columns and rows p and q so that the number where they meet becomes 0. Returns a mask:
    where it was not as good as 0 before.
    """
    code = e.code
    x, y, beside = a.get(code, p, p), a.get(code, q, q), a.get(code, p, q)
    eps = half_eps(e)
    limit = e.fma(e.const(eps), e.min(e.abs(x), e.abs(y)), e.const(eps * eps))
    small = e.le(e.abs(beside), limit)
    t = tangent(e, e.mul(e.const(2), beside), e.sub(y, x), small)
    c, s = cosine_and_sine(e, t)

    def row(k: Index) -> None:
        for at, number in zip(
            (p, q), turned(e, c, s, a.get(code, k, p), a.get(code, k, q)), strict=True
        ):
            a.put(code, number, k, at)
            a.put(code, number, at, k)
        if v is not None:
            for at, number in zip(
                (p, q), turned(e, c, s, v.get(code, k, p), v.get(code, k, q)), strict=True
            ):
                v.put(code, number, k, at)

    each(code, 0, a.rows, row)
    # Where the four meet, the loop left nonsense.
    move = e.mul(t, beside)
    a.put(code, e.sub(x, move), p, p)
    a.put(code, e.add(y, move), q, q)
    a.put(code, e.const(0), p, q)
    a.put(code, e.const(0), q, p)
    return e.not_(small)


def emit_small_singular_values(call: KernelCall) -> None:
    """`svd_tall` of matrices that fit into lanes."""
    code, dtype = call.code, call.outputs[0].dtype
    m, n = call.operands[0].shape[-2:]
    vectors = call.params["save"]
    e = Arithmetic(code, dtype)
    a = LaneMatrix(call.scratch, m, n, dtype)
    v = LaneMatrix(a.end(code), n, n, dtype)
    values = LaneMatrix(v.end(code), n, 1, dtype)
    line = LaneMatrix(values.end(code), m, 1, dtype)

    def group(x: StridedArray, places: Vector, first: Index, inside: Vector) -> None:
        read_lanes(e, x, places, inside, a)
        exponent, spoilt = level(e, a)
        if vectors:
            fill_identities(e, v)
        kept = v if vectors else None
        call.fail(until_still(e, n, lambda p, q: _turn_columns(e, a, kept, p, q)), first)
        each(code, 0, n, lambda j: values.put(code, e.sqrt(_product(e, a, j, j)), j))
        sort_lanes(e, values, [a, v] if vectors else [], descending=True)
        if vectors:
            _normalise(e, a, values, line)
            leader, other = (v, a) if call.params["signs_of_v"] else (a, v)
            lead_lanes(e, leader, [other])
            write_lanes(e, a, call.outputs[1], first, inside, spoilt)
            write_lanes(e, v, call.outputs[2], first, inside, spoilt)
        unlevel(e, values, exponent)
        write_lanes(e, values, call.outputs[0], first, inside, spoilt)

    for_each_group(call, group)


def _product(e: Arithmetic, a: LaneMatrix, p: Index, q: Index) -> Vector:
    """The inner product of two columns."""
    code = e.code

    def row(i: Index, parts: list[str]) -> list[str]:
        (so_far,) = uncarried(code, parts, e.dtype)
        return list(e.fma(a.get(code, i, p), a.get(code, i, q), so_far).parts)

    parts = code.loop(0, a.rows, 1, row, carried(code, e.const(0)))
    return uncarried(code, parts, e.dtype)[0]


def _turn_columns(e: Arithmetic, a: LaneMatrix, v: LaneMatrix | None, p: Index, q: Index) -> Vector:
    """Turn columns p and q so that they become orthogonal. Returns a mask: where they were not.

    A column of almost nothing is left as it is: its vector is found in another way.
    """
    code = e.code
    x, y, inner = _product(e, a, p, p), _product(e, a, q, q), _product(e, a, p, q)
    # As many roundings as the product itself has.
    rounding = e.mul(e.const(half_eps(e)), e.cast(splat_index(code, a.rows), e.dtype))
    limit = e.mul(e.mul(rounding, e.sqrt(x)), e.sqrt(y))
    small = e.or_(e.le(e.abs(inner), limit), e.lt(e.min(x, y), lost(e)))
    c, s = cosine_and_sine(e, tangent(e, e.mul(e.const(2), inner), e.sub(y, x), small))
    for rows in (a,) if v is None else (a, v):

        def row(k: Index, rows: LaneMatrix = rows) -> None:
            pair = turned(e, c, s, rows.get(code, k, p), rows.get(code, k, q))
            for at, each_one in zip((p, q), pair, strict=True):
                rows.put(code, each_one, k, at)

        each(code, 0, rows.rows, row)
    return e.not_(small)


def _normalise(e: Arithmetic, a: LaneMatrix, values: LaneMatrix, line: LaneMatrix) -> None:
    """Columns of length 1, orthogonal to those before them where there is almost nothing, too."""
    code = e.code

    def column(j: Index) -> None:
        length = values.get(code, j)
        empty = e.lt(e.mul(length, length), lost(e))
        divisor = e.select(empty, e.const(1), length)
        each(code, 0, a.rows, lambda i: a.put(code, e.div(a.get(code, i, j), divisor), i, j))
        code.when(e.any_lane(empty), lambda: _complete(e, a, j, empty, line))

    each(code, 0, a.columns, column)


def _complete(e: Arithmetic, a: LaneMatrix, j: Index, empty: Vector, line: LaneMatrix) -> None:
    """Make column j, where empty, of what no column before it has: of the unit vector of which most
    is left.

        line = the unit vector of which most is left
        twice: for k < j: line -= (column k · line) column k
        column j = line / its length
    """
    code = e.code
    where = _least_covered(e, a, j)

    def unit(i: Index) -> None:
        here = e.eq(where, splat_index(code, i))
        line.put(code, e.select(here, e.const(1), e.const(0)), i)

    each(code, 0, a.rows, unit)
    for _ in range(2):  # the second time rounding errors of the first
        each(code, 0, j, lambda k: _make_orthogonal(e, a, k, line))
    length = e.sqrt(_product(e, line, 0, 0))

    def take(i: Index) -> None:
        number = e.div(line.get(code, i), length)
        a.put(code, e.select(empty, number, a.get(code, i, j)), i, j)

    each(code, 0, a.rows, take)


def _least_covered(e: Arithmetic, a: LaneMatrix, j: Index) -> Vector:
    """The row whose squares in the columns before j have the smallest sum: of its unit vector most
    is left.
    """
    code = e.code

    def left(i: Index, parts: list[str]) -> list[str]:
        best, where = uncarried(code, parts, e.dtype, int64)

        def less(k: Index, rest: list[str]) -> list[str]:
            (so_far,) = uncarried(code, rest, e.dtype)
            number = a.get(code, i, k)
            return list(e.fma(e.neg(number), number, so_far).parts)

        parts = code.loop(0, j, 1, less, carried(code, e.const(1)))
        (rest,) = uncarried(code, parts, e.dtype)
        more = e.gt(rest, best)
        chosen = (e.select(more, rest, best), e.select(more, splat_index(code, i), where))
        return [part for x in chosen for part in x.parts]

    start = carried(code, e.const(-1), e.const(0, int64))
    _, where = uncarried(code, code.loop(0, a.rows, 1, left, start), e.dtype, int64)
    return where


def _make_orthogonal(e: Arithmetic, a: LaneMatrix, k: Index, line: LaneMatrix) -> None:
    """line -= (column k · line) column k."""
    code = e.code

    def along(i: Index, parts: list[str]) -> list[str]:
        (so_far,) = uncarried(code, parts, e.dtype)
        return list(e.fma(a.get(code, i, k), line.get(code, i), so_far).parts)

    (inner,) = uncarried(code, code.loop(0, a.rows, 1, along, carried(code, e.const(0))), e.dtype)
    minus = e.neg(inner)

    def less(i: Index) -> None:
        line.put(code, e.fma(minus, a.get(code, i, k), line.get(code, i)), i)

    each(code, 0, a.rows, less)
