"""Dense matrices for factorisations: rows filled up to whole vectors, and the loops over them.

A factorisation works on copies of its operands in scratch memory, so that operands of any strides
and dtypes cost one pass only, and no loop inside needs a mask. What is written once per program and
dtype, whatever the sizes, is a `Routine`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.codegen.llvm.kernels.kernel_call import KernelCall
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import DType, bool_, int64

_SHARED = 512  # bytes: rows as far apart as a multiple of this meet in a cache


class Routine:
    """A function of the program: written into its module at the first call for a dtype."""

    def __init__(self, params: str, write: Callable[..., None]) -> None:
        self.name = "linalg_" + write.__name__.strip("_")
        self.params = params
        self.write = write

    def __call__(self, code: Code, dtype: DType, *values: Index) -> None:
        kinds, names = zip(*(each.split() for each in self.params.split(", ")), strict=True)
        name = f"{self.name}_{dtype.name}"
        beginning = f"define internal void @{name}("
        if not any(text.startswith(beginning) for text in code.module.functions):
            inner = Code(code.module)
            self.write(Arithmetic(inner, dtype), *names)
            inner.function(name, self.params)
        given = ", ".join(f"{kind} {value}" for kind, value in zip(kinds, values, strict=True))
        code.do(f"call void @{name}({given})")


def routine(params: str) -> Callable[[Callable[..., None]], Routine]:
    """Make a Routine of a Python function that takes an Arithmetic and the names of `params`."""
    return lambda write: Routine(params, write)


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """A matrix in scratch memory: its rows are `step` elements apart, a multiple of the lanes."""

    pointer: str
    count: Index
    step: Index
    dtype: DType

    def at(self, code: Code, row: Index, column: Index = 0) -> str:
        """The pointer to an element."""
        return code.address(self.pointer, code.add(code.mul(row, self.step), column), self.dtype)

    def last(self, code: Code) -> str:
        """The pointer to the last element of the diagonal; a matrix read backwards begins there."""
        end = code.sub(self.count, 1)
        return self.at(code, end, end)


class MatrixScratch:
    """Hands out scratch memory from its beginning on; `room` is what an array takes at most."""

    def __init__(self, call: KernelCall) -> None:
        self.code = call.code
        self.pointer = call.scratch
        self.used: Index = 0  # bytes

    def rows(self, count: Index, columns: Index, dtype: DType, apart: bool = False) -> MatrixRows:
        """`apart` are rows that are read down their columns: a power of two between them would put
        them all into the same few places of a cache. They need room for LANES more columns.
        """
        code = self.code
        step = code.mul(code.div(code.add(columns, LANES - 1), LANES), LANES)
        pointer = self.pointer
        if self.used != 0:
            pointer = code.let(f"getelementptr i8, ptr {self.pointer}, i64 {self.used}")
        step = code.add(step, self._gap(step, dtype)) if apart else step
        size = code.mul(code.mul(count, step), dtype.itemsize)
        self.used = code.add(self.used, size)
        return MatrixRows(pointer, count, step, dtype)

    def _gap(self, step: Index, dtype: DType) -> Index:
        if isinstance(step, int):
            return 0 if step * dtype.itemsize % _SHARED else LANES
        rest = self.code.mod(self.code.mul(step, dtype.itemsize), _SHARED)
        return self.code.let(f"select i1 {self.code.compare('eq', rest, 0)}, i64 {LANES}, i64 0")

    def line(self, count: Index, dtype: DType = int64) -> str:
        """So many numbers, filled up to whole vectors."""
        return self.rows(1, count, dtype).pointer


def room(count: Size, columns: Size, itemsize: int) -> Size:
    """Bytes that `MatrixScratch.rows` uses at most."""
    return count * (columns + LANES - 1) * itemsize


def _repeated(code: Code, size: Index, whole: Index, i: Index) -> Index:
    """A position on an axis of size `whole` as one on an axis that is repeated where it is 1."""
    if size == whole:
        return i
    if isinstance(size, int):
        return 0 if size == 1 else i
    return code.let(f"select i1 {code.compare('eq', size, 1)}, i64 0, i64 {i}")


def for_each_matrix(
    call: KernelCall,
    rank: int,
    body: Callable[[tuple[StridedArray, ...], StridedArray, Index], None],
) -> None:
    """Loop over the leading axes of the output, all but `rank`.

    `body` gets the operands without theirs, the part of the output, and the position in the batch.
    """
    code, out = call.code, call.outputs[0]
    batch = out.shape[: len(out.shape) - rank]

    def part(x: StridedArray, positions: list[Index]) -> StridedArray:
        own = max(len(x.shape) - 2, 0)
        first = len(batch) - own
        axes = zip(x.shape, batch[first:], positions[first:], strict=False)
        return x.at(code, *(_repeated(code, *axis) for axis in axes))

    def nest(positions: list[Index], number: Index) -> None:
        axis = len(positions)
        if axis == len(batch):
            operands = tuple(part(x, positions) for x in call.operands)
            body(operands, out.at(code, *positions), number)
            return
        before = code.mul(number, batch[axis])
        code.loop(
            0,
            batch[axis],
            1,
            lambda i, _: nest([*positions, i], code.add(before, i)),
        )

    with code.with_lanes(LANES):
        nest([], 0)


def as_columns(x: StridedArray) -> StridedArray:
    """A vector as a matrix of one column."""
    return (
        StridedArray(x.pointer, (*x.shape, 1), (*x.strides, 1), x.dtype) if len(x.shape) == 1 else x
    )


def transposed(x: StridedArray) -> StridedArray:
    return StridedArray(x.pointer, x.shape[::-1], x.strides[::-1], x.dtype)


def splat_index(code: Code, value: Index) -> Vector:
    """An Index in every lane."""
    if isinstance(value, int):
        return code.constant(value, int64)
    return code.splat(value, int64)


def copy_in(e: Arithmetic, x: StridedArray, to: MatrixRows) -> None:
    """Fill rows with a matrix of any strides and dtype; 0 past its last column.

    for i in rows: for each vector j of columns: to[i, j] = x[i, j] as to's dtype
    """
    code = e.code
    (count, columns), (down, right) = x.shape, x.strides
    positions = None if right == 1 else e.mul(code.lane_numbers(), splat_index(code, right))

    def row(i: Index, _: Any) -> None:
        start = code.address(x.pointer, code.mul(i, down), x.dtype)

        def vector(j: Index, _: Any) -> None:
            mask = code.first_lanes(code.sub(columns, j))
            at = code.address(start, code.mul(j, right), x.dtype)
            if positions is None:
                numbers = code.load(at, x.dtype, mask)
            else:
                numbers = code.gather(at, positions, x.dtype, mask)
            code.store(e.cast(numbers, to.dtype), to.at(code, i, j))

        code.loop(0, to.step, LANES, vector)

    code.loop(0, count, 1, row)


def copy_out(e: Arithmetic, rows: MatrixRows, out: StridedArray) -> None:
    """Write rows to an output, whose rows have no gaps.

    for i in rows: for each vector j of columns: out[i, j] = rows[i, j]
    """
    code = e.code
    count, columns = out.shape

    def row(i: Index, _: Any) -> None:
        def vector(j: Index, _: Any) -> None:
            mask = code.first_lanes(code.sub(columns, j))
            at = code.address(out.pointer, code.add(code.mul(i, out.strides[0]), j), out.dtype)
            code.store(code.load(rows.at(code, i, j), out.dtype), at, mask)

        code.loop(0, columns, LANES, vector)

    code.loop(0, count, 1, row)


def fill(e: Arithmetic, rows: MatrixRows, value: float) -> None:
    """Write the same number everywhere."""
    code = e.code

    def vector(i: Index, _: Any) -> None:
        code.store(e.const(value), code.address(rows.pointer, i, e.dtype))

    code.loop(0, code.mul(rows.count, rows.step), LANES, vector)


def fill_identity(e: Arithmetic, rows: MatrixRows) -> None:
    """Ones on the diagonal, and zeros."""
    code = e.code
    fill(e, rows, 0)

    def diagonal(i: Index, _: Any) -> None:
        store_number(code, "1.0", rows.at(code, i, i), e.dtype)

    code.loop(0, rows.count, 1, diagonal)


def clear_below(e: Arithmetic, rows: MatrixRows) -> None:
    """Zeros below the diagonal."""
    code = e.code

    def row(i: Index, _: Any) -> None:
        def vector(j: Index, _: Any) -> None:
            at = rows.at(code, i, j)
            column = e.add(code.lane_numbers(), splat_index(code, j))
            below = e.lt(column, splat_index(code, i))
            code.store(e.select(below, e.const(0), code.load(at, e.dtype)), at)

        code.loop(0, i, LANES, vector)

    code.loop(0, rows.count, 1, row)


def anywhere(e: Arithmetic, rows: MatrixRows, holds: Callable[[Vector], Vector]) -> str:
    """An i1: whether something holds for any element; it must not hold for 0, which pads rows."""
    code = e.code

    def vector(i: Index, parts: list[str]) -> list[str]:
        x = code.load(code.address(rows.pointer, i, e.dtype), e.dtype)
        (so_far,) = uncarried(code, parts, bool_)
        return list(e.or_(so_far, holds(x)).parts)

    start = carried(code, code.constant(False, bool_))
    parts = code.loop(0, code.mul(rows.count, rows.step), LANES, vector, start)
    return e.any_lane(*uncarried(code, parts, bool_))


def is_spoilt(e: Arithmetic, rows: MatrixRows) -> str:
    """An i1: whether an element is not finite."""
    return anywhere(e, rows, lambda x: e.not_(e.lt(e.abs(x), e.const(math.inf))))


def load_number(code: Code, pointer: str, dtype: DType) -> str:
    """One number as a scalar."""
    with code.with_lanes(1):
        return code.load(pointer, dtype).parts[0]


def store_number(code: Code, value: Index, pointer: str, dtype: DType) -> None:
    with code.with_lanes(1):
        code.store(Vector((str(value),), dtype), pointer)


def carried(code: Code, *vectors: Vector) -> list[tuple[str, str]]:
    """Vectors as a loop carries them."""
    return [(code.type(x.dtype), part) for x in vectors for part in x.parts]


def uncarried(code: Code, parts: Sequence[str], *dtypes: DType) -> list[Vector]:
    """The vectors that `carried` took apart."""
    size = code.pieces
    return [Vector(tuple(parts[i * size : (i + 1) * size]), d) for i, d in enumerate(dtypes)]
