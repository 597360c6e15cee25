"""Running sums, products and linear recurrences.

Each output is made from the one before it, in that order on every target. `recurrence` rounds a·h +
b once. What runs side by side are the other axes. Workers divide those before the axis, or those
behind it where they are more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from wengert.codegen.llvm.kernels.axes import (
    StridedArrays,
    compacted,
    load_lanes,
    loop_vectors,
    over_lanes,
    part_of_axis,
    store_lanes,
    walk,
)
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.kernels.row_squares import RowSquares, Step
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size, product
from wengert.core.dtypes import is_float
from wengert.core.types import ArrayType

_ROWS = 4  # side by side: as many as one addition takes cycles
_NARROW = 64  # up to so many columns stay in registers from row to row; more are read back
_MANY = 8  # places before the axis that are enough for workers to divide


def _add_product(e: Arithmetic, terms: Sequence[Vector], before: Vector) -> Vector:
    a, b = terms
    if is_float(b.dtype):
        return e.fma(a, before, b)
    return e.add(e.mul(a, before), b)


def _emit(step: Step, begun: bool = False) -> Callable[[KernelCall], None]:
    """y[0] = x[0]; for t in 1 … n: y[t] = step(x[t], y[t - 1]), in the way that suits the shape.
    If it is `begun`, the last operand is what would be y[-1], and y[0] is a step as any other.
    """

    def emit(call: KernelCall) -> None:
        code, (y,) = call.code, call.outputs
        axis = call.params["axis"]
        n = y.shape[axis]
        groups = [axis, 1, len(y.shape) - axis - 1]
        operands = [*call.operands]
        if begun:
            operands[-1] = _along(operands[-1], y, axis)
        arrays, (before, _, after) = compacted(code, [*operands, y], groups, keep=1)
        arrays = _own_part(call, arrays, before, after)
        kernel = _Running(code, step, begun)

        def write() -> None:
            if after:
                columns = arrays[0].shape[-1]
                narrow = after == 1 and isinstance(columns, int) and columns <= _NARROW
                each = kernel.narrow if narrow else kernel.wide
                walk(code, arrays, before, lambda rest, _: each(rest))
            else:
                with code.with_lanes(1):
                    walk(code, arrays, max(before - 1, 0), lambda rest, _: kernel.rows(rest))

        if isinstance(n, str):
            code.when(code.compare("sgt", n, 0), write)
        elif n:
            write()

    return emit


def _are_behind(shape: Sequence[Index | Size], axis: int) -> bool:
    """Whether workers divide the axes behind the one that the kernel goes along."""
    front, back = (_product(sizes) for sizes in (shape[:axis], shape[axis + 1 :]))
    return front is not None and back is not None and front < _MANY and front * LANES < back


def _product(sizes: Sequence[Index | Size]) -> int | None:
    """Of sizes that are known."""
    known = [n for n in sizes if isinstance(n, int)]
    return prod(known) if len(known) == len(sizes) else None


def _places(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """How many places the axes that workers divide have together."""
    shape, axis = types[0].shape, params["axis"]
    return product(shape[axis + 1 :] if _are_behind(shape, axis) else shape[:axis])


def _own_part(
    call: KernelCall, arrays: list[StridedArray], before: int, after: int
) -> list[StridedArray]:
    """The part of the arrays that this call computes. `before` and `after` say how many axes are
    left before and behind the one that the kernel goes along. A single one is divided in whole
    vectors; of several, the first is divided.
    """
    code, axis = call.code, call.params["axis"]
    shape = call.outputs[0].shape
    behind = _are_behind(shape, axis)
    count = after if behind else before
    if not count:
        return arrays
    along = before + 1 if behind else 0
    size = arrays[0].shape[along]
    if count == 1:
        step = LANES if behind or not after else 1
        ends = [code.min(_rounded_up(code, each, step), size) for each in call.units]
    else:
        sizes = shape[axis + 1 :] if behind else shape[:axis]
        total: Index = 1
        for each in sizes:
            total = code.mul(total, each)
        ends = [code.div(code.mul(each, size), code.max(total, 1)) for each in call.units]
    return [part_of_axis(code, x, along, *ends) for x in arrays]


def _rounded_up(code: Code, count: Index, step: int) -> Index:
    return count if step == 1 else code.mul(code.div(code.add(count, step - 1), step), step)


def _along(h: StridedArray, y: StridedArray, axis: int) -> StridedArray:
    """What comes before the first step, as an array that is the same at every step."""
    return StridedArray(h.pointer, y.shape, (*h.strides[:axis], 0, *h.strides[axis:]), h.dtype)


class _Running:
    """The three ways to go along the axis; the last of the arrays is the output, and the one before
    it what comes before the first step, if that is given.
    """

    def __init__(self, code: Code, step: Step, begun: bool) -> None:
        self.code = code
        self.step = step
        self.begun = begun

    def rows(self, arrays: StridedArrays) -> None:
        """(rows, n) or (n): the axis is the last. An addition takes several cycles; so that they
        are not lost, some rows run side by side.

            for each vector of rows, if all elements lie side by side: run along squares of them
            for each _ROWS rows, then for each that is left: run along the axis
        """
        if len(arrays[0].shape) == 1:
            self._chains([arrays], None)
            return
        code, count = self.code, arrays[0].shape[0]
        done: Index = 0
        if _are_dense_floats(arrays):
            squares = RowSquares(code, self.step, arrays)
            done = code.mul(code.div(count, squares.lanes), squares.lanes)
            if done != 0:
                code.loop(0, done, squares.lanes, squares.write)

        def together(rows: int) -> Callable[[Index, list[str]], None]:
            return lambda i, _: self._chains(
                [[x.at(code, code.add(i, r)) for x in arrays] for r in range(rows)], None
            )

        left = code.sub(count, done)
        whole = code.add(done, code.mul(code.div(left, _ROWS), _ROWS))
        code.loop(done, whole, _ROWS, together(_ROWS))
        code.loop(whole, count, 1, together(1))

    def narrow(self, arrays: StridedArrays) -> None:
        """(n, columns): for each vector of columns: run along the axis, with the values in it."""
        code = self.code

        def block(j: Index, mask: Vector | None) -> None:
            there = [
                StridedArray(x.at(code, 0, j).pointer, x.shape, x.strides, x.dtype) for x in arrays
            ]
            self._chains([there], mask)

        over_lanes(code, arrays[0].shape[-1], block)

    def wide(self, arrays: StridedArrays) -> None:
        """(n, …, columns): whole rows one after the other, as they lie in memory.

        y[0] = x[0]
        for t in 1 … n: for each vector j of a row: y[t, j] = step(x[t, j], y[t - 1, j])
        """
        code, depth = self.code, len(arrays[0].shape) - 2

        def row(t: Index, previous: Index | None) -> None:
            now = [x.at(code, t) for x in arrays]
            last = arrays[-1].at(code, t if previous is None else previous)

            def block(rest: StridedArrays, j: Index, mask: Vector | None) -> None:
                *xs, y, h = rest
                if previous is None:
                    carried = self._first(xs, y, j, mask)
                else:
                    carried = load_lanes(code, h, j, mask)
                store_lanes(code, self._next(xs, y, carried, j, mask), y, j, mask)

            def columns(rest: StridedArrays, _: tuple[Index, ...]) -> None:
                over_lanes(code, rest[0].shape[0], lambda j, mask: block(rest, j, mask))

            walk(code, [*now, last], depth, columns)

        row(0, None)
        code.loop(1, arrays[0].shape[0], 1, lambda t, _: row(t, code.sub(t, 1)))

    def _chains(self, chains: Sequence[StridedArrays], mask: Vector | None) -> None:
        """Run along the axis, for arrays of shape (n) or (n, columns), several side by side.

        h = y[0] = x[0]
        for t in 1 … n: h = y[t] = step(x[t], h)
        """
        code = self.code

        def advance(t: Index, before: Sequence[Vector | None]) -> list[Vector]:
            after = []
            for arrays, h in zip(chains, before, strict=True):
                *xs, y = (_at(code, x, t) for x in arrays)
                value = self._next(xs, y, h, 0, mask)
                store_lanes(code, value, y, 0, mask)
                after.append(value)
            return after

        begin = []
        for arrays in chains:
            *xs, y = (_at(code, x, 0) for x in arrays)
            begin.append(self._first(xs, y, 0, mask))
        first = advance(0, begin)
        loop_vectors(code, 1, chains[0][0].shape[0], advance, first)

    def _first(
        self, xs: StridedArrays, y: StridedArray, j: Index, mask: Vector | None
    ) -> Vector | None:
        """What comes before the first step, if it is given."""
        if not self.begun:
            return None
        given = load_lanes(self.code, xs[-1], j, mask)
        return Arithmetic(self.code, y.dtype).cast(given, y.dtype)

    def _next(
        self,
        xs: StridedArrays,
        y: StridedArray,
        before: Vector | None,
        j: Index,
        mask: Vector | None,
    ) -> Vector:
        """The output from position j on, from the output before it."""
        e = Arithmetic(self.code, y.dtype)
        xs = xs[:-1] if self.begun else xs
        given = xs[-1:] if before is None else xs  # the first output is the last operand's element
        terms = [e.cast(load_lanes(self.code, x, j, mask), y.dtype) for x in given]
        return terms[0] if before is None else self.step(e, terms, before)


def _are_dense_floats(arrays: StridedArrays) -> bool:
    """Whether arrays are floats of one dtype, the elements of each row side by side."""
    dtypes = {x.dtype for x in arrays}
    return len(dtypes) == 1 and all(is_float(x.dtype) and x.strides[-1] == 1 for x in arrays)


def _at(code: Code, x: StridedArray, t: Index) -> StridedArray:
    """The row at t; a single element is a row of one."""
    there = x.at(code, t)
    return there if there.shape else StridedArray(there.pointer, (1,), (1,), x.dtype)


CUMULATE = {
    "cumsum": Special(_emit(lambda e, terms, before: e.add(before, terms[0])), units=_places),
    "cumprod": Special(_emit(lambda e, terms, before: e.mul(before, terms[0])), units=_places),
    "recurrence": Special(_emit(_add_product), units=_places),
    "recurrence_from": Special(_emit(_add_product, begun=True), units=_places),
}
