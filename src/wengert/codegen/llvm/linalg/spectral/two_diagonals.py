"""From two diagonals to one: singular values by rotations."""

from __future__ import annotations

from wengert.codegen.llvm.linalg.matrix_rows import MatrixRows, routine, store_number
from wengert.codegen.llvm.linalg.spectral.reflections import put_scalar, scalar
from wengert.codegen.llvm.linalg.spectral.rotations import repeat, rotate_rows, rotation
from wengert.codegen.llvm.linalg.spectral.tridiagonal import negligible
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Index, Vector
from wengert.core.dtypes import bool_, int64

_TRIES = 60  # sweeps for each value, on average; two are usual


@routine(
    "ptr %diagonal, ptr %beside, i64 %n, ptr %turns, i64 %apart, ptr %u, i64 %u_row, ptr %v, "
    "i64 %v_row, i1 %vectors, ptr %failed"
)
def diagonalise_two(
    e: Arithmetic,
    diagonal: str,
    beside: str,
    n: str,
    turns: str,
    apart: str,
    u: str,
    u_row: str,
    v: str,
    v_row: str,
    vectors: str,
    failed: str,
) -> None:
    """Singular values of two diagonals, in place, in no order and with any sign: QR with implicit
    shifts, which are 0 where that is more accurate (Demmel and Kahan, 1990).

    If `vectors`, rotations of rows are applied to the rows of u, those of columns to the rows of v.
    `turns` are four lines, `apart` from each other. No number is much larger than 1. The i64
    `failed` becomes 1 where too many sweeps were needed.
    """
    code, dtype = e.code, e.dtype
    lines = [code.address(turns, code.mul(apart, k), dtype) for k in range(4)]
    rows_u, rows_v = MatrixRows(u, n, u_row, dtype), MatrixRows(v, n, v_row, dtype)

    def turn(parts: list[str]) -> tuple[str, list[str]]:
        high, budget = parts
        low = _begin_of_block(e, diagonal, beside, high)

        def sweep() -> list[str]:
            with code.with_lanes(1):
                _sweep_down(e, diagonal, beside, lines, low, high)
            count = code.sub(high, low)

            def rotate() -> None:
                for rows, (c, s) in ((rows_v, lines[:2]), (rows_u, lines[2:])):
                    at = [code.address(line, low, dtype) for line in (c, s)]
                    first = rows.at(code, low)
                    rotate_rows(code, dtype, first, rows.step, rows.step, *at, 1, count)

            code.when(vectors, rotate)
            return [high, str(code.sub(budget, 1))]

        done = code.compare("eq", low, high)
        now, rest = code.either(
            done, ["i64", "i64"], lambda: [str(code.sub(high, 1)), budget], sweep
        )
        more, some = code.compare("sgt", now, 0), code.compare("sgt", rest, 0)
        return code.let(f"and i1 {more}, {some}"), [now, rest]

    last = str(code.sub(n, 1))

    def iterate() -> None:
        start = [("i64", last), ("i64", str(code.mul(n, _TRIES)))]
        _, rest = repeat(code, start, turn)
        over = code.compare("sle", rest, 0)
        code.when(over, lambda: store_number(code, 1, failed, int64))

    code.when(code.compare("sgt", last, 0), iterate)


def _begin_of_block(e: Arithmetic, diagonal: str, beside: str, high: Index) -> str:
    """The last row before `high` at which nothing stands above the diagonal of the next."""
    code = e.code

    def look(parts: list[str]) -> tuple[str, list[str]]:
        (low,) = parts

        def further() -> list[str]:
            before = code.sub(low, 1)
            with code.with_lanes(1):
                here, above = scalar(e, diagonal, low), scalar(e, diagonal, before)
                small = negligible(e, scalar(e, beside, before), here, above).parts[0]
            return [code.let(f"xor i1 {small}, true")]

        inside = code.compare("sgt", low, 0)
        (again,) = code.either(inside, ["i1"], further, lambda: ["false"])
        after = code.let(f"select i1 {again}, i64 {code.sub(low, 1)}, i64 {low}")
        return again, [after]

    return repeat(code, [("i64", str(high))], look)[0]


def _sweep_down(
    e: Arithmetic, diagonal: str, beside: str, lines: list[str], low: Index, high: Index
) -> None:
    """One sweep over the rows from low to high."""
    code = e.code
    before = code.sub(high, 1)
    corner = [scalar(e, diagonal, before), scalar(e, beside, before), scalar(e, diagonal, high)]
    shift, first = _smaller_value(e, *corner), scalar(e, diagonal, low)
    size = e.abs(first)
    part = e.div(shift, e.max(size, e.const(2.0**-100)))
    plain = e.lt(e.mul(part, part), e.const(float(_half_eps(e))))

    def without() -> list[str]:
        _sweep_unshifted(e, diagonal, beside, lines, low, high)
        return []

    def shifted() -> list[str]:
        _sweep_shifted(e, diagonal, beside, lines, low, high, shift)
        return []

    vanishing = _any_vanishing(e, diagonal, low, high)
    chosen = code.let(f"or i1 {plain.parts[0]}, {vanishing}")
    code.either(chosen, [], without, shifted)


def _half_eps(e: Arithmetic) -> float:
    return 2.0**-53 if e.dtype.itemsize == 8 else 2.0**-24


def _any_vanishing(e: Arithmetic, diagonal: str, low: Index, high: Index) -> str:
    """An i1: whether a number of the diagonal is as good as 0; it becomes so. A sweep without a
    shift then splits the block.
    """
    code = e.code
    limit = e.const(_half_eps(e) ** 2)

    def look(i: Index, so_far: list[str]) -> list[str]:
        number = scalar(e, diagonal, i)
        small = e.le(e.abs(number), limit)
        put_scalar(e, e.select(small, e.const(0), number), diagonal, i)
        return [code.let(f"or i1 {so_far[0]}, {small.parts[0]}")]

    return code.loop(low, code.add(high, 1), 1, look, [("i1", "false")])[0]


def _smaller_value(e: Arithmetic, f: Vector, g: Vector, h: Vector) -> Vector:
    """The smaller singular value of [[f, g], [0, h]]: the product of both over the larger."""
    f, g, h = e.abs(f), e.abs(g), e.abs(h)
    square = e.mul(g, g)
    more, less = e.add(f, h), e.sub(f, h)
    larger = e.add(e.sqrt(e.fma(more, more, square)), e.sqrt(e.fma(less, less, square)))
    both = e.mul(e.mul(e.const(2), f), h)
    return e.div(both, e.max(larger, e.const(2.0**-100)))


def _sweep_unshifted(
    e: Arithmetic, diagonal: str, beside: str, lines: list[str], low: Index, high: Index
) -> None:
    code, kind = e.code, e.code.type(e.dtype)

    def rotate(i: Index, parts: list[str]) -> list[str]:
        c, old_c, old_s = (Vector((part,), e.dtype) for part in parts)
        after = code.add(i, 1)
        c, s, r = rotation(e, e.mul(scalar(e, diagonal, i), c), scalar(e, beside, i))

        def above() -> None:
            put_scalar(e, e.mul(old_s, r), beside, code.sub(i, 1))

        code.when(code.compare("sgt", i, low), above)
        below = e.mul(scalar(e, diagonal, after), s)
        old_c, old_s, number = rotation(e, e.mul(old_c, r), below)
        put_scalar(e, number, diagonal, i)
        for line, x in zip(lines, (c, s, old_c, old_s), strict=True):
            put_scalar(e, x, line, i)
        return [x.parts[0] for x in (c, old_c, old_s)]

    one, zero = e.const(1).parts[0], e.const(0).parts[0]
    carry = [(kind, one), (kind, one), (kind, zero)]
    c, old_c, old_s = (Vector((part,), e.dtype) for part in code.loop(low, high, 1, rotate, carry))
    rest = e.mul(scalar(e, diagonal, high), c)
    put_scalar(e, e.mul(rest, old_c), diagonal, high)
    put_scalar(e, e.mul(rest, old_s), beside, code.sub(high, 1))


def _sweep_shifted(
    e: Arithmetic,
    diagonal: str,
    beside: str,
    lines: list[str],
    low: Index,
    high: Index,
    shift: Vector,
) -> None:
    """One sweep over a block, from low to high, with a shift: rotations of columns and of rows in
    turn chase a number that stands beside the diagonals d and b to their end.

        f, g = (|d[low]| - shift) (sign(d[low]) + shift / d[low]), b[low]
        for i in low … high:
            c, s, r = rotation(f, g); b[i - 1] = r, if i > low
            f, b[i] = c d[i] + s b[i], c b[i] - s d[i]
            g, d[i + 1] = s d[i + 1], c d[i + 1]
            lines 0 and 1 get c and s
            c, s, d[i] = rotation(f, g)
            f, d[i + 1] = c b[i] + s d[i + 1], c d[i + 1] - s b[i]
            g, b[i + 1] = s b[i + 1], c b[i + 1]
            lines 2 and 3 get c and s
        b[high - 1] = f
    """
    code, kind = e.code, e.code.type(e.dtype)
    first = scalar(e, diagonal, low)
    ratio = e.add(e.copysign(e.const(1), first), e.div(shift, first))
    f = e.mul(e.sub(e.abs(first), shift), ratio)
    g = scalar(e, beside, low)

    def rotate(i: Index, parts: list[str]) -> list[str]:
        f, g = (Vector((part,), e.dtype) for part in parts)
        after = code.add(i, 1)
        d, b, d_after = scalar(e, diagonal, i), scalar(e, beside, i), scalar(e, diagonal, after)
        c, s, r = rotation(e, f, g)
        code.when(code.compare("sgt", i, low), lambda: put_scalar(e, r, beside, code.sub(i, 1)))
        f, b = e.fma(c, d, e.mul(s, b)), e.fma(c, b, e.neg(e.mul(s, d)))
        g, d_after = e.mul(s, d_after), e.mul(c, d_after)
        put_scalar(e, c, lines[0], i)
        put_scalar(e, s, lines[1], i)
        c, s, r = rotation(e, f, g)
        put_scalar(e, r, diagonal, i)
        f = e.fma(c, b, e.mul(s, d_after))
        put_scalar(e, e.fma(c, d_after, e.neg(e.mul(s, b))), diagonal, after)
        put_scalar(e, c, lines[2], i)
        put_scalar(e, s, lines[3], i)
        # Past the end of the block this number is left as it is.
        inside = code.compare("slt", after, high)
        beyond = scalar(e, beside, after)
        kept = e.select(Vector((inside,), bool_), e.mul(c, beyond), beyond)
        put_scalar(e, kept, beside, after)
        return [f.parts[0], e.mul(s, beyond).parts[0]]

    carry = [(kind, f.parts[0]), (kind, g.parts[0])]
    last = code.loop(low, high, 1, rotate, carry)
    put_scalar(e, Vector((last[0],), e.dtype), beside, code.sub(high, 1))
