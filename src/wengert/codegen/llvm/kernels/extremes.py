"""Where the largest or smallest element stands: the first of equals, and the first NaN if any.

Lanes hold candidates: an element and its position. Of two candidates the better is known whatever
their order, so the result does not depend on how the elements are dealt out to lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wengert.codegen.llvm.kernels.axes import (
    StridedArrays,
    compacted,
    load_lanes,
    loop_vectors,
    over_lanes,
    picked,
    store_lanes,
    walk,
    walk_vectors,
)
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import bool_, int64, is_float

_SHORT = 64  # up to so many elements, rows lie side by side in lanes


def _emit(largest: bool) -> Callable[[KernelCall], None]:
    """The kernel of argmax or argmin: along one axis, or among all elements."""

    def emit(call: KernelCall) -> None:
        kernel = _Position(call.code, largest)
        (x,), (y,) = call.operands, call.outputs
        axis = call.params["axis"]
        if axis is None:
            _where_filled(call, x.shape, lambda: kernel.overall(x, y))
        else:
            _where_filled(call, x.shape[axis : axis + 1], lambda: kernel.along(x, y, axis))

    return emit


def _where_filled(call: KernelCall, sizes: Sequence[Index], write: Callable[[], None]) -> None:
    """Write the code, to run only if there are elements; among none, positions are 0.

    if sizes are open: y = 0; if all sizes > 0: the code
    """
    code, (y,) = call.code, call.outputs
    held: Index = 1
    for size in sizes:
        held = code.mul(held, size)
    if isinstance(held, int):
        write()
        return
    count: Index = 1
    for size in y.shape:
        count = code.mul(count, size)
    zero = code.constant(0, int64)
    flat = StridedArray(y.pointer, (count,), (1,), int64)
    over_lanes(code, count, lambda j, mask: store_lanes(code, zero, flat, j, mask))
    code.when(code.compare("sgt", held, 0), write)


class _Position:
    def __init__(self, code: Code, largest: bool) -> None:
        self.code = code
        self.largest = largest

    def along(self, x: StridedArray, y: StridedArray, axis: int) -> None:
        """Along one axis, for every position of the others.

        axis is the last:  for each row: the best in each lane, then the first best of all lanes
        else, or short:    for each vector of columns: the best of each, from row to row
        """
        code = self.code
        y = _spread(y, x, axis)
        groups = [axis, 1, len(x.shape) - axis - 1]
        arrays, (before, _, after) = compacted(code, [x, y], groups, keep=1)
        n = x.shape[axis]
        if not after and before and isinstance(n, int) and n <= _SHORT:
            order = [*range(before - 1), before, before - 1]  # rows for columns
            arrays, before, after = [picked(a, order) for a in arrays], before - 1, 1
        if not after:
            walk(code, arrays, before, lambda rest, _: self._row(rest))
            return

        def columns(rest: StridedArrays, _: tuple[Index, ...]) -> None:
            over_lanes(code, rest[0].shape[-1], lambda j, mask: self._columns(rest, j, mask))

        # The axis itself comes last but one, after all other loops.
        order = [i for i in range(before + after + 1) if i != before]
        order.insert(-1, before)
        walk(code, [picked(a, order) for a in arrays], before + after - 1, columns)

    def overall(self, x: StridedArray, y: StridedArray) -> None:
        """Among all elements, counted row by row."""
        code = self.code
        (x,), (axes,) = compacted(code, [x], [len(x.shape)])
        if not axes:
            x, axes = StridedArray(x.pointer, (1,), (1,), x.dtype), 1

        def row(rest: StridedArrays, at: tuple[Index, ...], best: Sequence[Vector]) -> list[Vector]:
            before: Index = 0
            for i, size in zip((*at, 0), x.shape, strict=True):
                before = code.add(code.mul(before, size), i)
            return self._along_lanes(rest[0], before, best)

        first = self._first(x)
        self._finish(walk_vectors(code, [x], axes - 1, row, first), y)

    def _row(self, arrays: StridedArrays) -> None:
        x, y = arrays  # (n), (n) with stride 0
        self._finish(self._along_lanes(x, 0, self._first(x)), y)

    def _columns(self, arrays: StridedArrays, j: Index, mask: Vector | None) -> None:
        """(n, columns), each column in a lane.

        best, position = x[0], 0
        for t in 1 … n: where x[t] is better: best, position = x[t], t
        """
        code = self.code
        x, y = arrays

        def element(t: Index) -> Vector:
            return load_lanes(code, x.at(code, t), j, mask)

        def body(t: Index, best: Sequence[Vector]) -> list[Vector]:
            return self._better(element(t), self._everywhere(t), best, None)

        first = [element(0), self._everywhere(0)]
        _, position = loop_vectors(code, 1, x.shape[0], body, first)
        store_lanes(code, position, y.at(code, 0), j, mask)

    def _first(self, x: StridedArray) -> list[Vector]:
        """The first element is a candidate in every lane."""
        return [self.code.load_splat(x.pointer, x.dtype), self._everywhere(0)]

    def _along_lanes(self, x: StridedArray, before: Index, best: Sequence[Vector]) -> list[Vector]:
        """The best of each lane after one more row, before which so many elements stand."""
        code, size = self.code, x.shape[0]
        e = Arithmetic(code, int64)
        numbers = code.lane_numbers()

        def block(j: Index, mask: Vector | None, best: Sequence[Vector]) -> list[Vector]:
            position = e.add(self._everywhere(code.add(before, j)), numbers)
            return self._better(load_lanes(code, x, j, mask), position, best, mask)

        blocks = code.div(size, code.lanes)
        best = loop_vectors(
            code, 0, blocks, lambda i, best: block(code.mul(i, code.lanes), None, best), best
        )
        rest = code.mod(size, code.lanes)
        return (
            list(best)
            if rest == 0
            else block(code.mul(blocks, code.lanes), code.first_lanes(rest), best)
        )

    def _better(
        self, x: Vector, position: Vector, best: Sequence[Vector], mask: Vector | None
    ) -> list[Vector]:
        """The better of the best so far and a later element, per lane, where the mask holds."""
        e = Arithmetic(self.code, x.dtype)
        found = self._is_better(x, best[0])
        if mask is not None:
            found = e.and_(found, mask)
        return [e.select(found, x, best[0]), e.select(found, position, best[1])]

    def _is_better(self, x: Vector, best: Vector) -> Vector:
        code, e = self.code, Arithmetic(self.code, x.dtype)
        if not is_float(x.dtype):
            return e.gt(x, best) if self.largest else e.lt(x, best)
        # Also where x is NaN, and best not yet.
        how = "ugt" if self.largest else "ult"
        wins = code.each(f"fcmp {how} {{t}} {{0}}, {{1}}", x, best, dtype=bool_)
        return e.and_(wins, code.each("fcmp ord {t} {0}, {0}", best, dtype=bool_))

    def _finish(self, best: Sequence[Vector], y: StridedArray) -> None:
        """Of the best of each lane, write the position of the first best.

        value = the best of all lanes
        y = the least position among lanes whose best is that value, or NaN
        """
        code = self.code
        x, position = best
        e = Arithmetic(code, x.dtype)
        value = code.join(x, e.max if self.largest else e.min)  # NaN where any is
        among = e.eq(x, value)
        if is_float(x.dtype):
            among = e.or_(among, e.ne(x, x))
        last = e.const(2**63 - 1, int64)
        first = code.lane(code.join(e.select(among, position, last), e.min), 0)
        with code.with_lanes(1):
            code.store(Vector((first,), int64), y.pointer)

    def _everywhere(self, position: Index) -> Vector:
        code, dtype = self.code, int64
        if isinstance(position, int):
            return code.constant(position, dtype)
        return code.splat(position, dtype)


def _spread(y: StridedArray, x: StridedArray, axis: int) -> StridedArray:
    """The output, with or without the axis it lost, as seen from the positions of x."""
    strides = list(y.strides)
    if len(strides) == len(x.strides):
        del strides[axis]
    strides.insert(axis, 0)
    return StridedArray(y.pointer, x.shape, tuple(strides), y.dtype)


POSITION = {"argmax": Special(_emit(True)), "argmin": Special(_emit(False))}
