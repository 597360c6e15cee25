"""Largest elements of windows: where they are, and elements taken from there or added there.

Workers divide planes. An element is compared with those before it in its window, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as all_of
from math import prod
from typing import Any

from wengert.codegen.llvm.kernels.axes import (
    StridedArrays,
    loop_vectors,
    over_lanes,
    store_lanes,
    walk,
)
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dims import Size
from wengert.core.dtypes import bool_, int64, is_float
from wengert.core.types import ArrayType

_FEW = 16  # elements of a window that are compared without a loop


def _planes(types: Sequence[ArrayType], _params: dict[str, Any]) -> Size:
    return types[0].shape[0]


def _largest(call: KernelCall) -> None:
    """for each plane: for each position: the largest of the window's elements that are there."""
    code, (x,), (y,) = call.code, call.operands, call.outputs
    lanes = code.lanes if _suits_vectors(x, call.params) else 1
    with code.with_lanes(lanes):

        def plane(number: Index, _: list[str]) -> None:
            windows = _Windows(code, x.at(code, number), call.params)
            (windows.write_vectors if lanes > 1 else windows.write)(y.at(code, number))

        code.loop(*call.units, 1, plane)


def _few_and_inside(params: dict[str, Any]) -> bool:
    """Whether windows have few elements, all of which are there."""
    padded = any(pair != (0, 0) for pair in params["padding"])
    return not padded and prod(params["window"]) <= _FEW


def _suits_vectors(x: StridedArray, params: dict[str, Any]) -> bool:
    """Whether neighbouring positions lie along the lanes, with loads of what lies side by side."""
    return _few_and_inside(params) and x.strides[-1] == 1 and params["stride"][-1] in (1, 2)


class _Windows:
    """The windows of one plane."""

    def __init__(self, code: Code, x: StridedArray, params: dict[str, Any]) -> None:
        self.code, self.x, self.e = code, x, Arithmetic(code, x.dtype)
        self.window, self.stride = params["window"], params["stride"]
        self.before = [pair[0] for pair in params["padding"]]
        self.dilation = params["dilation"]
        self.unrolled = _few_and_inside(params)

    def write(self, y: StridedArray) -> None:
        find = self._largest_of_few if self.unrolled else self._largest_inside

        def position(arrays: StridedArrays, at: tuple[Index, ...]) -> None:
            code = self.code
            begin = [
                code.sub(code.mul(t, s), b)
                for t, s, b in zip(at, self.stride, self.before, strict=True)
            ]
            code.store(find(begin), arrays[0].pointer)

        walk(self.code, [y], len(y.shape), position)

    def write_vectors(self, y: StridedArray) -> None:
        """Positions of a row along the lanes."""
        code = self.code

        def row(arrays: StridedArrays, at: tuple[Index, ...]) -> None:
            outer = [code.mul(t, s) for t, s in zip(at, self.stride, strict=False)]

            def lanes(j: Index, mask: Vector | None) -> None:
                store_lanes(code, self._largest_in_lanes(outer, j, mask, y), arrays[0], j, mask)

            over_lanes(code, y.shape[-1], lanes)

        walk(code, [y], len(y.shape) - 1, row)

    def _largest_in_lanes(
        self, outer: Sequence[Index], j: Index, mask: Vector | None, y: StridedArray
    ) -> Vector:
        """As `_largest_of_few`, for as many neighbouring positions as there are lanes."""
        code, step = self.code, self.stride[-1]
        numbers = Arithmetic(code, int64)
        steps = numbers.mul(code.lane_numbers(), numbers.const(step))
        left = code.lanes if mask is None else code.sub(y.shape[-1], j)
        best: list[Vector] = []
        for k in all_of(*map(range, self.window)):
            *offsets, last = (i * d for i, d in zip(k, self.dilation, strict=True))
            at = [code.add(i, offset) for i, offset in zip(outer, offsets, strict=True)]
            at.append(code.add(code.mul(j, step), last))
            element = self._load(self.x.at(code, *at).pointer, step, left, mask)
            first: Index = 0
            for i, size in zip(at, self.x.shape, strict=True):
                first = code.add(code.mul(first, size), i)
            begin = numbers.const(first) if isinstance(first, int) else code.splat(first, int64)
            place = numbers.add(begin, steps)
            best = self._better(element, place, best) if best else [element, place]
        return best[1]

    def _load(self, pointer: str, step: int, count: Index, mask: Vector | None) -> Vector:
        """So many elements that are one or two apart, and no more of memory than that takes."""
        code, dtype = self.code, self.x.dtype
        if step == 1:
            return code.load(pointer, dtype, mask)
        held = code.sub(code.mul(count, 2), 1)
        low = code.load(pointer, dtype, None if mask is None else code.first_lanes(held))
        behind = code.address(pointer, code.lanes, dtype)
        high = code.load(behind, dtype, code.first_lanes(code.sub(held, code.lanes)))
        pieces, kind = (*low.parts, *high.parts), code.type(dtype)
        even = ", ".join(f"i32 {2 * i}" for i in range(code.width))
        parts = []
        for x, y in zip(pieces[::2], pieces[1::2], strict=True):
            pair = f"{kind} {x}, {kind} {y}"
            parts.append(code.let(f"shufflevector {pair}, <{code.width} x i32> <{even}>"))
        return Vector(tuple(parts), dtype)

    def _better(self, element: Vector, here: Vector, best: Sequence[Vector]) -> list[Vector]:
        """The better of an element and the best before it: a larger one, or the first NaN."""
        code, e = self.code, self.e
        if is_float(element.dtype):
            above = code.each("fcmp ugt {t} {0}, {1}", element, best[0], dtype=bool_)
            known = code.each("fcmp ord {t} {0}, {0}", best[0], dtype=bool_)
            better = e.and_(above, known)
        else:
            better = e.gt(element, best[0])
        return [e.select(better, element, best[0]), e.select(better, here, best[1])]

    def _element(self, at: Sequence[Index]) -> tuple[Vector, Vector]:
        """The element at a position, and its place in the plane."""
        code = self.code
        flat: Index = 0
        for i, size in zip(at, self.x.shape, strict=True):
            flat = code.add(code.mul(flat, size), i)
        place = Vector((str(flat),), int64)
        return code.load(self.x.at(code, *at).pointer, self.x.dtype), place

    def _largest_of_few(self, begin: Sequence[Index]) -> Vector:
        """All elements of a window one after the other, without a loop."""
        code = self.code
        best: list[Vector] = []
        for k in all_of(*map(range, self.window)):
            offsets = (i * d for i, d in zip(k, self.dilation, strict=True))
            at = [code.add(i, offset) for i, offset in zip(begin, offsets, strict=True)]
            element, place = self._element(at)
            best = self._better(element, place, best) if best else [element, place]
        return best[1]

    def _largest_inside(self, begin: Sequence[Index]) -> Vector:
        """Those elements of a window that are inside the plane, in loops."""
        code = self.code
        bounds = []
        for axis, first in enumerate(begin):
            d, size = self.dilation[axis], self.x.shape[axis]
            low = code.div(code.add(code.max(code.sub(0, first), 0), d - 1), d)
            high = code.div(code.max(code.add(code.sub(size, first), d - 1), 0), d)
            bounds.append((low, code.min(high, self.window[axis])))

        def place(axis: int, k: Index) -> Index:
            return code.add(begin[axis], code.mul(k, self.dilation[axis]))

        start = self._element([place(axis, low) for axis, (low, _) in enumerate(bounds)])

        def level(axis: int, at: list[Index], best: Sequence[Vector]) -> Sequence[Vector]:
            if axis == len(bounds):
                return self._better(*self._element(at), best)

            def inside(k: Index, best: list[Vector]) -> Sequence[Vector]:
                return level(axis + 1, [*at, place(axis, k)], best)

            return loop_vectors(code, *bounds[axis], inside, best)

        # The first is compared with itself, and stays.
        return level(0, [], start)[1]


def _flat_place(code: Code, x: StridedArray, place: Index) -> str:
    """The pointer to an element of a plane that is counted row by row."""
    step: Index = 1
    packed = True
    for size, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        packed = packed and (size == 1 or stride == step)
        step = size * step if isinstance(size, int) and isinstance(step, int) else ""
    if packed:
        return code.address(x.pointer, place, x.dtype)
    offset: Index = 0
    for size, stride in zip(reversed(x.shape[1:]), reversed(x.strides[1:]), strict=True):
        offset = code.add(offset, code.mul(code.mod(place, size), stride))
        place = code.div(place, size)
    offset = code.add(offset, code.mul(place, x.strides[0]))
    return code.address(x.pointer, offset, x.dtype)


def _safe(call: KernelCall, number: Index, place: str, size: Index) -> str:
    """A position in a plane of this size; one that is outside is noted, and 0 is read."""
    code = call.code
    outside = code.let(f"icmp uge i64 {place}, {size}")
    call.fail(outside, number)
    return code.let(f"select i1 {outside}, i64 0, i64 {place}")


def _size(code: Code, shape: Sequence[Index]) -> Index:
    total: Index = 1
    for size in shape:
        total = code.mul(total, size)
    return total


def _take(call: KernelCall) -> None:
    """y[plane, …] = x[plane, positions[plane, …]]."""
    code, (x, positions), (y,) = call.code, call.operands, call.outputs
    size = _size(code, x.shape[1:])
    with code.with_lanes(1):

        def plane(number: Index, _: list[str]) -> None:
            own = x.at(code, number)

            def one(arrays: StridedArrays, _: tuple[Index, ...]) -> None:
                place = code.let(f"load i64, ptr {arrays[0].pointer}, align 8")
                at = _flat_place(code, own, _safe(call, number, place, size))
                code.store(code.load(at, x.dtype), arrays[1].pointer)

            rows = [positions.at(code, number), y.at(code, number)]
            some = code.compare("sgt", size, 0)
            code.when(some, lambda: walk(code, rows, len(y.shape) - 1, one))

        code.loop(*call.units, 1, plane)


def _put(call: KernelCall) -> None:
    """y = 0; y[plane, positions[plane, …]] += x[plane, …], in order."""
    code, (x, positions), (y,) = call.code, call.operands, call.outputs
    e = Arithmetic(code, x.dtype)
    size = _size(code, y.shape[1:])
    with code.with_lanes(1):

        def plane(number: Index, _: list[str]) -> None:
            own = y.at(code, number)
            code.clear(own.pointer, code.mul(size, y.dtype.itemsize))

            def one(arrays: StridedArrays, _: tuple[Index, ...]) -> None:
                place = code.let(f"load i64, ptr {arrays[0].pointer}, align 8")
                at = code.address(own.pointer, _safe(call, number, place, size), y.dtype)
                element = code.load(arrays[1].pointer, x.dtype)
                code.store(e.add(code.load(at, y.dtype), element), at)

            rows = [positions.at(code, number), x.at(code, number)]
            some = code.compare("sgt", size, 0)
            code.when(some, lambda: walk(code, rows, len(x.shape) - 1, one))

        code.loop(*call.units, 1, plane)


PLANES = {
    "largest_positions": Special(_largest, units=_planes),
    "take_from_planes": Special(_take, units=_planes),
    "put_in_planes": Special(_put, units=_planes),
}
