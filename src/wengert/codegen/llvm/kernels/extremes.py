"""Where the largest or smallest element stands: the first of equals, and the first NaN if any.

Of two candidates, an element and its position, the better is known whatever their order. So the
result does not depend on how the elements are dealt out to lanes and blocks.
"""

from __future__ import annotations

import math
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
from wengert.codegen.llvm.loops.accumulators import all_numbers
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import bool_, int64, is_float

_BLOCK = 64  # vectors of a row among which the best is found before its place is
_UNROLLED = 4  # vectors that are looked at without a loop
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

        axis is the last:  for each row: the best of each block, and where it stands
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
            return self._better(element(t), self._everywhere(t), best)

        first = [element(0), self._everywhere(0)]
        _, position = loop_vectors(code, 1, x.shape[0], body, first)
        store_lanes(code, position, y.at(code, 0), j, mask)

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


POSITION = {"argmax": Special(_emit(True)), "argmin": Special(_emit(False))}
