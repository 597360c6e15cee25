"""scatter: zeros, to which updates are added at positions, in the order of the positions.

That order is part of the result: what lands on one place adds up from the first index to the last.
An index outside is noted, and its update left out. last_at says which comes last.
"""

from __future__ import annotations

from wengert.codegen.llvm.kernels.axes import (
    StridedArrays,
    compacted,
    load_lanes,
    over_lanes,
    store_lanes,
    walk,
)
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import int64


def _emit(call: KernelCall) -> None:
    """y = 0
    for each position of the updates, in order:
        where = the indices there; fail if one is outside, else y[where] += updates there
    """
    code, (updates, *indices), (y,) = call.code, call.operands, call.outputs
    axis, count = call.params["axis"], len(indices)
    sizes, steps = (each[axis : axis + count] for each in (y.shape, y.strides))
    _fill_with_zeros(code, y)
    before, after = axis, len(y.shape) - axis - count
    block = len(updates.shape) - before - after
    # All arrays as seen from the positions of the updates.
    none = (0,) * block
    target = (*y.strides[:before], *none, *y.strides[axis + count :])
    views = [updates, StridedArray(y.pointer, updates.shape, target, y.dtype)]
    views += [_broadcast(code, index, updates, before, block) for index in indices]
    views, (outer, inner, _) = compacted(code, views, [before, block, after])

    def one(arrays: StridedArrays, at: tuple[Index, ...]) -> None:
        x, out, *those = arrays
        number: Index = 0
        for i, size in zip(at[outer:], views[0].shape[outer:], strict=False):
            number = code.add(code.mul(number, size), i)
        offset, inside = _offset(code, those, sizes, steps)
        call.fail(code.let(f"xor i1 {inside}, true"), number)
        there = StridedArray(
            code.address(out.pointer, offset, out.dtype), out.shape, out.strides, x.dtype
        )
        code.when(inside, lambda: _add(code, x, there))

    walk(code, views, outer + inner, one)


def _broadcast(
    code: Code, index: StridedArray, updates: StridedArray, before: int, block: int
) -> StridedArray:
    """An index array as seen from the updates: the same along all axes but those of the block."""
    strides: list[Index] = [0] * len(updates.shape)
    first = before + block - len(index.shape)
    for axis, (size, stride) in enumerate(zip(index.shape, index.strides, strict=True), first):
        if size == updates.shape[axis]:
            strides[axis] = stride
        elif isinstance(size, str):  # it may turn out to be 1
            one = code.compare("eq", size, 1)
            strides[axis] = code.let(f"select i1 {one}, i64 0, i64 {stride}")
    return StridedArray(index.pointer, updates.shape, tuple(strides), index.dtype)


def _offset(
    code: Code, indices: StridedArrays, sizes: tuple[Index, ...], strides: tuple[Index, ...]
) -> tuple[Index, str]:
    """Where one index per axis points to, and an i1: whether all are inside.

    for each index: i += size if i < 0; inside = inside and 0 <= i < size; offset += i · stride
    """
    offset: Index = 0
    inside = "true"
    for index, size, stride in zip(indices, sizes, strides, strict=True):
        with code.with_lanes(1):
            loaded = code.load(index.pointer, index.dtype)
            i = Arithmetic(code, int64).cast(loaded, int64).parts[0]
        if index.dtype.kind == "i":
            negative = code.compare("slt", i, 0)
            i = code.let(f"select i1 {negative}, i64 {code.add(i, size)}, i64 {i}")
        held = code.let(f"icmp ult i64 {i}, {size}")
        inside = held if inside == "true" else code.let(f"and i1 {inside}, {held}")
        offset = code.add(offset, code.mul(i, stride))
    return offset, inside


def _add(code: Code, x: StridedArray, y: StridedArray) -> None:
    """y += x."""
    e = Arithmetic(code, y.dtype)
    if not x.shape:
        with code.with_lanes(1):
            total = e.add(code.load(y.pointer, y.dtype), code.load(x.pointer, x.dtype))
            code.store(total, y.pointer)
        return

    def block(rest: StridedArrays, j: Index, mask: Vector | None) -> None:
        x, y = (load_lanes(code, each, j, mask) for each in rest)
        store_lanes(code, e.add(y, x), rest[1], j, mask)

    def row(rest: StridedArrays, _: tuple[Index, ...]) -> None:
        over_lanes(code, rest[0].shape[0], lambda j, mask: block(rest, j, mask))

    walk(code, [x, y], len(x.shape) - 1, row)


def _fill_with_zeros(code: Code, y: StridedArray) -> None:
    count: Index = 1
    for size in y.shape:
        count = code.mul(count, size)
    flat = StridedArray(y.pointer, (count,), (1,), y.dtype)
    zero = code.constant(0, y.dtype)
    over_lanes(code, count, lambda j, mask: store_lanes(code, zero, flat, j, mask))


def _emit_last(call: KernelCall) -> None:
    """For each position the number of the last index that is it, else -1."""
    code, (index,), (y,) = call.code, call.operands, call.outputs
    none = code.constant(-1, y.dtype)
    over_lanes(code, y.shape[0], lambda j, mask: store_lanes(code, none, y, j, mask))

    def one(arrays: StridedArrays, at: tuple[Index, ...]) -> None:
        offset, inside = _offset(code, arrays, y.shape, y.strides)
        call.fail(code.let(f"xor i1 {inside}, true"), at[0])
        there = code.address(y.pointer, offset, y.dtype)

        def note() -> None:
            with code.with_lanes(1):
                code.store(Vector((str(at[0]),), int64), there)

        code.when(inside, note)

    walk(code, [index], 1, one)


SCATTER = {"scatter": Special(_emit), "last_at": Special(_emit_last)}
