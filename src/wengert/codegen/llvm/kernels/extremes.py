"""Where the largest or smallest element stands: the first of equals, and the first NaN if any.

Of two candidates, an element and its position, the better is known whatever their order. So the
result does not depend on how the elements are dealt out to lanes and blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

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
from wengert.codegen.llvm.kernels.divided_axes import own_part, places_beside
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.loops.accumulators import all_numbers
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dims import Size
from wengert.core.dtypes import bool_, int64, is_float
from wengert.core.types import ArrayType

_BLOCK = 64  # vectors of a row among which the best is found before its place is
_UNROLLED = 4  # vectors that are looked at without a loop
_SIDE_BY_SIDE = 4  # vectors of columns: neighbours in memory are read at once
_SHORT = 64  # up to so many elements, rows lie side by side in lanes


def _emit(largest: bool) -> Callable[[KernelCall], None]:
    """The kernel of argmax or argmin: along one axis, or among all elements. Among none, positions
    are 0.
    """

    def emit(call: KernelCall) -> None:
        (x,), (y,) = call.operands, call.outputs
        axis = call.params["axis"]
        kernel = _Position(call.code, largest)
        if axis is None:
            held: Index = 1
            for size in x.shape:
                held = call.code.mul(held, size)
            _where_filled(call.code, held, y, lambda: kernel.overall(x, y))
        else:
            kernel.along(call, x, y, axis)

    return emit


def _units(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    return 1 if params["axis"] is None else places_beside(types, params)


def _where_filled(code: Code, held: Index, y: StridedArray, write: Callable[[], None]) -> None:
    """Write the code, to run only where there are elements; how many may be known at run time only.

    if there are none: y = 0; else: the code
    """
    if isinstance(held, int):
        write()
        return
    zero = code.constant(0, int64)

    def row(rest: StridedArrays, _: tuple[Index, ...]) -> None:
        over_lanes(
            code, rest[0].shape[0], lambda j, mask: store_lanes(code, zero, rest[0], j, mask)
        )

    filled = y if y.shape else StridedArray(y.pointer, (1,), (1,), int64)
    code.when(code.compare("eq", held, 0), lambda: walk(code, [filled], len(filled.shape) - 1, row))
    code.when(code.compare("sgt", held, 0), write)


class _Position:
    def __init__(self, code: Code, largest: bool) -> None:
        self.code = code
        self.largest = largest

    def along(self, call: KernelCall, x: StridedArray, y: StridedArray, axis: int) -> None:
        """Along one axis, for every position of the others that is this worker's.

        axis is the last:  for each row: the best of each block, and where it stands
        else, or short:    for vectors of columns: the best of each, from row to row
        """
        code = self.code
        groups = [axis, 1, len(x.shape) - axis - 1]
        arrays, (before, _, after) = compacted(code, [x, _spread(y, x, axis)], groups, keep=1)
        arrays = own_part(call, x.shape, arrays, before, after)
        others = [i for i in range(before + after + 1) if i != before]
        written = picked(arrays[1], others)
        n = x.shape[axis]
        _where_filled(code, n, written, lambda: self._write_along(arrays, before, after, n))

    def _write_along(self, arrays: list[StridedArray], before: int, after: int, n: Index) -> None:
        code = self.code
        if not after and before and isinstance(n, int) and n <= _SHORT:
            order = [*range(before - 1), before, before - 1]  # rows for columns
            arrays, before, after = [picked(a, order) for a in arrays], before - 1, 1
        if not after:
            walk(code, arrays, before, lambda rest, _: self._row(rest))
            return

        # The axis itself comes last but one, after all other loops.
        order = [i for i in range(before + after + 1) if i != before]
        order.insert(-1, before)
        ordered = [picked(a, order) for a in arrays]
        walk(code, ordered, before + after - 1, lambda rest, _: self._columns(rest))

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

    def _columns(self, arrays: StridedArrays) -> None:
        """(n, columns): several vectors of columns side by side, then one by one."""
        code, columns = self.code, arrays[0].shape[-1]
        block = _SIDE_BY_SIDE * code.lanes
        main = code.mul(code.div(columns, block), block)
        if main != 0:
            code.loop(0, main, block, lambda j, _: self._best_of_columns(arrays, j, None, block))

        def one(j: Index, mask: Vector | None) -> None:
            self._best_of_columns(arrays, code.add(main, j), mask, code.lanes)

        over_lanes(code, code.sub(columns, main), one)

    def _best_of_columns(
        self, arrays: StridedArrays, j: Index, mask: Vector | None, count: int
    ) -> None:
        """So many columns from j on, each in a lane.

        best, position = x[0], 0
        for t in 1 … n: where x[t] is better: best, position = x[t], t
        """
        code = self.code
        x, y = arrays
        places = [code.add(j, i) for i in range(0, count, code.lanes)]

        def elements(t: Index) -> list[Vector]:
            return [load_lanes(code, x.at(code, t), place, mask) for place in places]

        def body(t: Index, best: Sequence[Vector]) -> list[Vector]:
            position = self._everywhere(t)
            pairs = zip(elements(t), best[::2], best[1::2], strict=True)
            return [v for now, *kept in pairs for v in self._better(now, position, kept)]

        first = [v for element in elements(0) for v in (element, self._everywhere(0))]
        last = loop_vectors(code, 1, x.shape[0], body, first)
        for place, position in zip(places, last[1::2], strict=True):
            store_lanes(code, position, y.at(code, 0), place, mask)

    def _first(self, x: StridedArray) -> list[Vector]:
        """The first element is the best so far, at position 0."""
        return [self.code.load_splat(x.pointer, x.dtype), self._everywhere(0)]

    def _along_lanes(self, x: StridedArray, before: Index, best: Sequence[Vector]) -> list[Vector]:
        """The best after one more row, before which so many elements stand; the same in all lanes.

        for each block of the row, and for what is left: best = the better of best and the block
        """
        code, size = self.code, x.shape[0]
        block = _BLOCK * code.lanes
        main = code.mul(code.div(size, block), block)

        def whole(n: Index, best: Sequence[Vector]) -> list[Vector]:
            return self._block(x, before, code.mul(n, block), block, best)

        best = loop_vectors(code, 0, code.div(size, block), whole, best)
        rest = code.sub(size, main)
        return list(best) if rest == 0 else self._block(x, before, main, rest, best)

    def _block(
        self, x: StridedArray, before: Index, begin: Index, count: Index, best: Sequence[Vector]
    ) -> list[Vector]:
        """The better of the best so far and the first best of a block.

            go along the block: the best element in each lane, and whether one is NaN
            if one is better than the best so far: go again, to where it stands first

        Blocks seldom have a better one, so that hardly more is done than to find the largest.
        """
        code, e = self.code, Arithmetic(self.code, x.dtype)
        kept = [best[0], code.constant(True, bool_)]
        lanes = code.lanes
        main = code.mul(code.div(count, lanes), lanes)
        unrolled = _UNROLLED if isinstance(main, int) and main % (_UNROLLED * lanes) == 0 else 1

        def step(n: Index, kept: Sequence[Vector]) -> list[Vector]:
            at = code.add(begin, code.mul(n, unrolled * lanes))
            places = (code.add(at, u * lanes) for u in range(unrolled))
            return self._kept(e, [load_lanes(code, x, j, None) for j in places], kept)

        kept = loop_vectors(code, 0, code.div(main, unrolled * lanes), step, kept)
        if count != main:
            mask = code.first_lanes(code.sub(count, main))
            element = load_lanes(code, x, code.add(begin, main), mask)
            kept = self._kept(e, [e.select(mask, element, best[0])], kept)
        candidate, ordered = kept
        better = self._beyond(e, candidate, best[0])
        known = e.eq(best[0], best[0])  # a NaN is the best already
        better = e.or_(better, e.and_(e.not_(ordered), known))
        kinds = [code.type(v.dtype) for v in best for _ in v.parts]

        def search() -> list[str]:
            return [p for v in self._first_of_block(x, before, begin, count, kept) for p in v.parts]

        parts = code.either(
            e.any_lane(better), kinds, search, lambda: [p for v in best for p in v.parts]
        )
        names = iter(parts)
        return [Vector(tuple(next(names) for _ in v.parts), v.dtype) for v in best]

    def _beyond(self, e: Arithmetic, x: Vector, y: Vector) -> Vector:
        """Where x is larger than y (or smaller); a NaN is neither."""
        return e.gt(x, y) if self.largest else e.lt(x, y)

    def _kept(
        self, e: Arithmetic, elements: Sequence[Vector], kept: Sequence[Vector]
    ) -> list[Vector]:
        """The best of each lane that is a number, and whether all were."""
        best, ordered = kept
        for x in elements:
            best = e.select(self._beyond(e, x, best), x, best)
        if is_float(best.dtype):
            ordered = e.and_(ordered, all_numbers(e, elements))
        return [best, ordered]

    def _first_of_block(
        self, x: StridedArray, before: Index, begin: Index, count: Index, kept: Sequence[Vector]
    ) -> list[Vector]:
        """The first best of a block, and where it stands: the first NaN, if there is one."""
        code, e = self.code, Arithmetic(self.code, x.dtype)
        candidate, ordered = kept
        value = code.join(candidate, lambda a, b: e.select(self._beyond(e, a, b), a, b))
        some = e.any_lane(e.not_(ordered))
        unknown = code.splat(some, bool_)
        whole = isinstance(count, int) and count % code.lanes == 0

        def hits(i: Index) -> Vector:
            mask = None if whole else code.first_lanes(code.sub(count, i))
            element = load_lanes(code, x, code.add(begin, i), mask)
            hit = e.select(unknown, e.ne(element, element), e.eq(element, value))
            return hit if mask is None else e.and_(hit, mask)

        def missed(i: Index, _: list[str]) -> str:
            return code.let(f"xor i1 {e.any_lane(hits(i))}, true")

        at, _ = code.repeat(missed, lambda i, _: None, (), 0, code.lanes)
        numbers = Arithmetic(code, int64)
        position = numbers.add(
            self._everywhere(code.add(before, code.add(begin, at))), code.lane_numbers()
        )
        among = numbers.select(hits(at), position, numbers.const(2**63 - 1))
        if is_float(x.dtype):
            value = e.select(unknown, e.const(math.nan), value)
        return [value, code.join(among, numbers.min)]

    def _better(self, x: Vector, position: Vector, best: Sequence[Vector]) -> list[Vector]:
        """The better of the best so far and a later element, per lane."""
        e = Arithmetic(self.code, x.dtype)
        better = self._is_better(x, best[0])
        return [e.select(better, x, best[0]), e.select(better, position, best[1])]

    def _is_better(self, x: Vector, best: Vector) -> Vector:
        code, e = self.code, Arithmetic(self.code, x.dtype)
        if not is_float(x.dtype):
            return e.gt(x, best) if self.largest else e.lt(x, best)
        # Also where x is NaN, and best not yet.
        how = "ugt" if self.largest else "ult"
        wins = code.each(f"fcmp {how} {{t}} {{0}}, {{1}}", x, best, dtype=bool_)
        return e.and_(wins, code.each("fcmp ord {t} {0}, {0}", best, dtype=bool_))

    def _finish(self, best: Sequence[Vector], y: StridedArray) -> None:
        """Write the position of the best."""
        code = self.code
        first = code.lane(best[1], 0)
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


POSITION = {
    "argmax": Special(_emit(True), units=_units),
    "argmin": Special(_emit(False), units=_units),
}
