"""Small matrices side by side, one in each lane: what a loop does with one number it does with the
same number of sixteen matrices.

A lane must not see the others. Iterations go on until every lane is done, so a lane that is done
must not change any more: its rotations are by 0, which is exact but for the sign of a 0, and that
goes when results are written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.linalg.exponents import bits_dtype, magnitude, taken_apart, together
from wengert.codegen.llvm.linalg.matrix_rows import carried, splat_index, store_number, uncarried
from wengert.codegen.llvm.linalg.spectral.rotations import repeat
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import DType, bool_, int64
from wengert.core.signatures.matrices import SIGNIFICANT
from wengert.core.types import ArrayType

SMALL = 6  # columns at most
LOW = 24  # rows at most
_SWEEPS = 40  # at most; six are usual

# Bytes of scratch memory: two matrices, and lines of rows.
_LANE_BYTES = (LOW * SMALL + SMALL * SMALL + 2 * LOW) * LANES * 8


def by_size(
    small: Callable[[KernelCall], None],
    large: Callable[[KernelCall], None],
    scratch: Callable[[Sequence[ArrayType], dict[str, Any]], Size],
) -> Special:
    """A kernel with code for matrices that fit into lanes, and other code for all others."""

    def emit(call: KernelCall) -> None:
        code, (m, n) = call.code, call.operands[0].shape[-2:]
        if isinstance(m, int) and isinstance(n, int):
            (small if m <= LOW and n <= SMALL else large)(call)
            return
        low, narrow = code.compare("sle", m, LOW), code.compare("sle", n, SMALL)
        fits = code.let(f"and i1 {low}, {narrow}")
        code.when(fits, lambda: small(call))
        code.when(code.let(f"xor i1 {fits}, true"), lambda: large(call))

    def room_for_both(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
        m, n = types[0].shape[-2:]
        if isinstance(m, int) and isinstance(n, int):
            return _LANE_BYTES if m <= LOW and n <= SMALL else scratch(types, params)
        return _LANE_BYTES + scratch(types, params)

    return Special(emit, room_for_both)


@dataclass(frozen=True, slots=True)
class LaneMatrix:
    """A vector for each element: the element of every matrix."""

    pointer: str
    rows: Index
    columns: Index
    dtype: DType

    def at(self, code: Code, i: Index, j: Index = 0) -> str:
        place = code.add(code.mul(i, self.columns), j)
        return code.address(self.pointer, code.mul(place, LANES), self.dtype)

    def get(self, code: Code, i: Index, j: Index = 0) -> Vector:
        return code.load(self.at(code, i, j), self.dtype)

    def put(self, code: Code, x: Vector, i: Index, j: Index = 0) -> None:
        code.store(x, self.at(code, i, j))

    def end(self, code: Code) -> str:
        """Where the next one can begin."""
        return self.at(code, self.rows)


def each(code: Code, begin: Index, end: Index, body: Callable[[Index], None]) -> None:
    code.loop(begin, end, 1, lambda i, _: body(i))


def for_each_group(
    call: KernelCall, body: Callable[[StridedArray, Vector, Index, Vector], None]
) -> None:
    """Loop over the matrices of a batch, LANES at a time.

    `body` gets the operand, where its matrices begin (a position for each lane), the number of the
    first and which lanes hold one.
    """
    code, x = call.code, call.operands[0]
    batch, strides = x.shape[:-2], x.strides[:-2]
    total: Index = 1
    for size in batch:
        total = code.mul(total, size)
    places = code.room(int64, LANES)

    def group(first: Index, _: Any) -> None:
        count = code.min(code.sub(total, first), LANES)

        def lane(k: Index) -> None:
            number, offset = code.add(first, k), 0
            place: Index = offset
            for size, stride in zip(reversed(batch), reversed(strides), strict=True):
                place = code.add(place, code.mul(code.mod(number, size), stride))
                number = code.div(number, size)
            store_number(code, place, code.address(places, k, int64), int64)

        each(code, 0, count, lane)
        inside = code.first_lanes(count)
        body(x, code.load(places, int64, inside), first, inside)

    with code.with_lanes(LANES):
        code.loop(0, total, LANES, group)


def read_lanes(
    e: Arithmetic, x: StridedArray, places: Vector, inside: Vector, into: LaneMatrix
) -> None:
    """Gather the matrices; 0 in the other lanes."""
    code = e.code
    down, right = x.strides[-2:]

    def element(i: Index, j: Index) -> None:
        offset = code.add(code.mul(i, down), code.mul(j, right))
        at = code.address(x.pointer, offset, x.dtype)
        into.put(code, code.gather(at, places, x.dtype, inside), i, j)

    each(code, 0, into.rows, lambda i: each(code, 0, into.columns, lambda j: element(i, j)))


def write_lanes(
    e: Arithmetic, rows: LaneMatrix, out: StridedArray, first: Index, inside: Vector, spoilt: Vector
) -> None:
    """Scatter the matrices to an output from matrix `first` on; `spoilt` is added to all."""
    code = e.code
    size = code.mul(rows.rows, rows.columns)
    apart = e.mul(code.lane_numbers(), splat_index(code, size))
    start = code.address(out.pointer, code.mul(first, size), out.dtype)

    def element(k: Index) -> None:
        at = code.address(start, k, out.dtype)
        numbers = code.load(code.address(rows.pointer, code.mul(k, LANES), out.dtype), out.dtype)
        code.scatter(e.add(numbers, spoilt), at, apart, inside)

    each(code, 0, size, element)


def level(e: Arithmetic, a: LaneMatrix) -> tuple[Vector, Vector]:
    """Bring each matrix to a scale of about 1; the exponents of its powers of two, and NaN for
    those with a number that is not finite, which become 0, else 0.
    """
    code, whole = e.code, bits_dtype(e.dtype)
    size = code.mul(code.mul(a.rows, a.columns), LANES)

    def larger(i: Index, parts: list[str]) -> list[str]:
        (best,) = uncarried(code, parts, whole)
        magnitudes = magnitude(e, code.load(code.address(a.pointer, i, e.dtype), e.dtype))
        return list(e.max(best, magnitudes).parts)

    parts = code.loop(0, size, LANES, larger, carried(code, e.const(0, whole)))
    largest = e.from_bits(uncarried(code, parts, whole)[0])
    good = e.lt(largest, e.const(math.inf))
    exponent = taken_apart(e, largest).exponent
    minus = e.neg(exponent)

    def divide(i: Index, _: Any) -> None:
        at = code.address(a.pointer, i, e.dtype)
        scaled = together(e, code.load(at, e.dtype), minus)
        code.store(e.select(good, scaled, e.const(0)), at)

    code.loop(0, size, LANES, divide)
    return exponent, e.select(good, e.const(0), e.const(math.nan))


def unlevel(e: Arithmetic, line: LaneMatrix, exponent: Vector) -> None:
    """Values of the scaled matrices as those of the ones given."""
    code = e.code
    each(code, 0, line.rows, lambda i: line.put(code, together(e, line.get(code, i), exponent), i))


def fill_identities(e: Arithmetic, v: LaneMatrix) -> None:
    code = e.code

    def row(i: Index) -> None:
        each(code, 0, v.columns, lambda j: v.put(code, e.const(0), i, j))
        v.put(code, e.const(1), i, i)

    each(code, 0, v.rows, row)


def tangent(e: Arithmetic, twice: Vector, gap: Vector, small: Vector) -> Vector:
    """tan of the angle that turns the off-diagonal number twice / 2 into 0, of two numbers on the
    diagonal that are `gap` apart: the smaller of the two. 0 where `small`.
    """
    ratio = e.div(gap, e.select(small, e.const(1), twice))
    size = e.abs(ratio)
    steep = e.gt(size, e.const(2.0**50))  # then its square may overflow, and 1 is lost beside it
    square = e.select(steep, e.const(0), ratio)
    root = e.select(steep, size, e.sqrt(e.fma(square, square, e.const(1))))
    smaller = e.copysign(e.div(e.const(1), e.add(size, root)), ratio)
    return e.select(small, e.const(0), smaller)


def cosine_and_sine(e: Arithmetic, t: Vector) -> tuple[Vector, Vector]:
    c = e.div(e.const(1), e.sqrt(e.fma(t, t, e.const(1))))
    return c, e.mul(t, c)


def turned(e: Arithmetic, c: Vector, s: Vector, x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """c x - s y and s x + c y."""
    return e.fma(c, x, e.neg(e.mul(s, y))), e.fma(s, x, e.mul(c, y))


def until_still(e: Arithmetic, n: Index, turn: Callable[[Index, Index], Vector]) -> str:
    """turn(p, q) for all pairs of columns, again and again until it holds in no lane for any; an
    i1: whether it still did after many times.
    """
    code = e.code
    no = carried(code, code.constant(False, bool_))

    def row(p: Index, so_far: list[str]) -> list[str]:
        def pair(q: Index, parts: list[str]) -> list[str]:
            (before,) = uncarried(code, parts, bool_)
            return list(e.or_(before, turn(p, q)).parts)

        given = [(kind, part) for (kind, _), part in zip(no, so_far, strict=True)]
        return code.loop(code.add(p, 1), n, 1, pair, given)

    def sweep(parts: list[str]) -> tuple[str, list[str]]:
        (moved,) = uncarried(code, code.loop(0, n, 1, row, no), bool_)
        some, rest = e.any_lane(moved), code.sub(parts[0], 1)
        more = code.compare("sgt", rest, 0)
        return code.let(f"and i1 {some}, {more}"), [str(rest), some]

    return repeat(code, [("i64", str(_SWEEPS)), ("i1", "false")], sweep)[1]


def sort_lanes(
    e: Arithmetic, values: LaneMatrix, columns: list[LaneMatrix], descending: bool
) -> None:
    """Bring the values of each matrix into order, and with them columns, neighbour by neighbour."""
    code, n = e.code, values.rows

    def exchange(j: Index) -> None:
        after = code.add(j, 1)
        x, y = values.get(code, j), values.get(code, after)
        wrong = e.lt(x, y) if descending else e.gt(x, y)

        def both(place: LaneMatrix, *at: tuple[Index, ...]) -> None:
            x, y = (place.get(code, *each) for each in at)
            place.put(code, e.select(wrong, y, x), *at[0])
            place.put(code, e.select(wrong, x, y), *at[1])

        def columns_of(rows: LaneMatrix) -> None:
            each(code, 0, rows.rows, lambda i: both(rows, (i, j), (i, after)))

        both(values, (j,), (after,))
        for rows in columns:
            columns_of(rows)

    def over(i: Index) -> None:
        each(code, 0, code.sub(code.sub(n, 1), i), exchange)

    each(code, 0, code.sub(n, 1), over)


def lead_lanes(e: Arithmetic, leader: LaneMatrix, others: list[LaneMatrix]) -> None:
    """Negate columns so that the first number of the leader's that is not small is positive."""
    code = e.code

    def column(j: Index) -> None:
        def larger(i: Index, parts: list[str]) -> list[str]:
            (best,) = uncarried(code, parts, e.dtype)
            return list(e.max(best, e.abs(leader.get(code, i, j))).parts)

        parts = code.loop(0, leader.rows, 1, larger, carried(code, e.const(0)))
        limit = e.mul(uncarried(code, parts, e.dtype)[0], e.const(SIGNIFICANT))

        def first(i: Index, parts: list[str]) -> list[str]:
            (sign,) = uncarried(code, parts, e.dtype)
            numbers = leader.get(code, i, j)
            here = e.and_(e.eq(sign, e.const(0)), e.ge(e.abs(numbers), limit))
            return list(e.select(here, e.copysign(e.const(1), numbers), sign).parts)

        parts = code.loop(0, leader.rows, 1, first, carried(code, e.const(0)))
        (sign,) = uncarried(code, parts, e.dtype)
        for rows in (leader, *others):
            multiply(rows, j, sign)

    def multiply(rows: LaneMatrix, j: Index, sign: Vector) -> None:
        def element(i: Index) -> None:
            rows.put(code, e.mul(sign, rows.get(code, i, j)), i, j)

        each(code, 0, rows.rows, element)

    each(code, 0, leader.columns, column)


def half_eps(e: Arithmetic) -> float:
    """The rounding error of 1."""
    return float(np.finfo(e.dtype).eps) / 2
