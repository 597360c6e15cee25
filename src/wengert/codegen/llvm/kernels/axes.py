"""Loops over the axes of arrays that share a shape, for kernels that treat some axes in their own
way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import int64

StridedArrays: TypeAlias = Sequence[StridedArray]


def loop_vectors(
    code: Code,
    begin: Index,
    end: Index,
    body: Callable[[Index, list[Vector]], Sequence[Vector]],
    first: Sequence[Vector],
) -> list[Vector]:
    """A loop of step 1 that carries vectors; their last values."""

    def from_parts(parts: list[str]) -> list[Vector]:
        names = iter(parts)
        return [Vector(tuple(next(names) for _ in x.parts), x.dtype) for x in first]

    def step(i: Index, parts: list[str]) -> list[str]:
        return [part for x in body(i, from_parts(parts)) for part in x.parts]

    carry = [(code.type(x.dtype), part) for x in first for part in x.parts]
    return from_parts(code.loop(begin, end, 1, step, carry))


def walk(
    code: Code,
    arrays: StridedArrays,
    depth: int,
    body: Callable[[StridedArrays, tuple[Index, ...]], None],
) -> None:
    """Loops over the first `depth` axes: body(what is left of the arrays there, the positions)."""

    def level(arrays: StridedArrays, position: tuple[Index, ...]) -> None:
        if len(position) == depth:
            body(arrays, position)
            return

        def inside(i: Index, _: list[str]) -> None:
            level([x.at(code, i) for x in arrays], (*position, i))

        size = arrays[0].shape[0]
        if size == 1:
            inside(0, [])
        else:
            code.loop(0, size, 1, inside)

    level(arrays, ())


def walk_vectors(
    code: Code,
    arrays: StridedArrays,
    depth: int,
    body: Callable[[StridedArrays, tuple[Index, ...], list[Vector]], Sequence[Vector]],
    first: Sequence[Vector],
    position: tuple[Index, ...] = (),
) -> list[Vector]:
    """As `walk`, with vectors carried from one place to the next; their last values."""
    if len(position) == depth:
        return list(body(arrays, position, list(first)))

    def inside(i: Index, carried: list[Vector]) -> list[Vector]:
        there = [x.at(code, i) for x in arrays]
        return walk_vectors(code, there, depth, body, carried, (*position, i))

    return loop_vectors(code, 0, arrays[0].shape[0], inside, first)


def over_lanes(code: Code, size: Index, body: Callable[[Index, Vector | None], None]) -> None:
    """body(position of the first lane, mask or None) for all lanes full of an axis, then for the
    rest.
    """
    lanes = code.lanes
    whole = code.mul(code.div(size, lanes), lanes)
    if whole == lanes:
        body(0, None)
    elif whole != 0:
        code.loop(0, whole, lanes, lambda j, _: body(j, None))
    rest = code.sub(size, whole)
    if isinstance(rest, int):
        if rest:
            body(whole, code.first_lanes(rest))
    elif lanes > 1:
        more = code.compare("sgt", rest, 0)
        code.when(more, lambda: body(whole, code.first_lanes(rest)))


def load_lanes(code: Code, x: StridedArray, j: Index, mask: Vector | None) -> Vector:
    """Elements of an array of one axis from position j on, whatever its stride."""
    pointer = x.at(code, j).pointer
    (stride,) = x.strides
    if code.lanes == 1 or stride == 1:
        return code.load(pointer, x.dtype, mask)
    if stride == 0:
        return code.load_splat(pointer, x.dtype)
    return code.gather(pointer, _positions(code, stride), x.dtype, mask)


def store_lanes(code: Code, value: Vector, y: StridedArray, j: Index, mask: Vector | None) -> None:
    """Write the lanes to an array of one axis from position j on, whatever its stride."""
    pointer = y.at(code, j).pointer
    (stride,) = y.strides
    if code.lanes == 1 or stride == 1:
        code.store(value, pointer, mask)
    else:
        code.scatter(value, pointer, _positions(code, stride), mask)


def _positions(code: Code, stride: Index) -> Vector:
    each = code.constant(stride, int64) if isinstance(stride, int) else code.splat(stride, int64)
    return code.each("mul {t} {0}, {1}", code.lane_numbers(), each)


def picked(x: StridedArray, axes: Sequence[int]) -> StridedArray:
    """The array with these axes only, in this order; at position 0 of the others."""
    return StridedArray(
        x.pointer, tuple(x.shape[a] for a in axes), tuple(x.strides[a] for a in axes), x.dtype
    )


def part_of_axis(code: Code, x: StridedArray, axis: int, begin: Index, end: Index) -> StridedArray:
    """The array from `begin` up to `end` of one axis."""
    pointer = x.at(code, *[0] * axis, begin).pointer
    shape = (*x.shape[:axis], code.sub(end, begin), *x.shape[axis + 1 :])
    return StridedArray(pointer, shape, x.strides, x.dtype)


def compacted(
    code: Code, arrays: StridedArrays, groups: Sequence[int], keep: int | None = None
) -> tuple[list[StridedArray], list[int]]:
    """The arrays with fewer axes, and how many are left of each group of neighbouring axes.

    Axes of size 1 go, and two become one where no array has a gap between them; only inside groups,
    whose lengths are given. The group numbered `keep` stays as it is.
    """
    axes = list(range(len(arrays[0].shape)))
    columns: list[tuple[Index, tuple[Index, ...]]] = []  # size, strides
    counts = []
    for number, length in enumerate(groups):
        begin = len(columns)
        for axis in axes[:length]:
            size, strides = arrays[0].shape[axis], tuple(x.strides[axis] for x in arrays)
            if size == 1 and number != keep:
                continue
            if len(columns) > begin and number != keep:
                outer, steps = columns[-1]
                if all(_product(size, s) == step for s, step in zip(strides, steps, strict=True)):
                    columns[-1] = (code.mul(outer, size), strides)
                    continue
            columns.append((size, strides))
        counts.append(len(columns) - begin)
        axes = axes[length:]
    shape = tuple(size for size, _ in columns)
    steps_of = [tuple(strides[i] for _, strides in columns) for i in range(len(arrays))]
    merged = [
        StridedArray(x.pointer, shape, s, x.dtype) for x, s in zip(arrays, steps_of, strict=True)
    ]
    return merged, counts


def _product(size: Index, stride: Index) -> Index | None:
    """size · stride where it is known without an instruction."""
    if isinstance(size, int) and isinstance(stride, int):
        return size * stride
    if stride in (0, 1):
        return 0 if stride == 0 else size
    return None
