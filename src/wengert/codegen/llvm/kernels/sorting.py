"""argsort: a stable merge sort of keys and positions.

Elements become keys, unsigned integers in the same order, so that NaN, the two zeros, signs and
`descending` are dealt with once. Blocks of 16 keys are ranked in the lanes of a vector, then merged
in pairs, in scratch memory: a run there is a key and a position, a key and a position … in words of
64 bits. Nothing branches on a comparison of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.codegen.llvm.kernels.axes import (
    StridedArrays,
    compacted,
    load_lanes,
    loop_vectors,
    over_lanes,
    picked,
    store_lanes,
    walk,
)
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size
from wengert.core.dtypes import DType, int32, int64, is_float, uint64
from wengert.core.types import ArrayType


def key_type(dtype: DType) -> DType:
    """The unsigned integers that elements of a dtype are sorted as."""
    return np.dtype(f"u{dtype.itemsize}")


def sort_keys(code: Code, x: Vector, descending: bool) -> Vector:
    """Unsigned integers in the order in which the elements are to come; equal for equals."""
    kind = key_type(x.dtype)
    e = Arithmetic(code, kind)
    sign = 2 ** (8 * kind.itemsize - 1)
    if is_float(x.dtype):
        bits = e.bits(e.add(x, e.const(0.0, x.dtype)))  # -0.0 becomes 0.0
        negative = Vector(e.ashr(bits, 8 * kind.itemsize - 1).parts, kind)
        key = e.xor(Vector(bits.parts, kind), e.or_(negative, e.const(sign)))
        key = e.select(e.ne(x, x), e.const(2 * sign - 1), key)
    elif x.dtype.kind == "i":
        key = e.xor(Vector(x.parts, kind), e.const(sign))
    else:
        key = e.cast(x, kind)
    return e.not_(key) if descending else key


_PAIR = 2  # words of a key and its position


def _emit(call: KernelCall) -> None:
    """For each row along the axis: rank blocks of 16 keys; merge them; y = the positions."""
    code, (x,), (y,) = call.code, call.operands, call.outputs
    axis = call.params["axis"]
    groups = [axis, 1, len(x.shape) - axis - 1]
    arrays, (before, _, after) = compacted(code, [x, y], groups, keep=1)
    order = [i for i in range(before + 1 + after) if i != before] + [before]
    sorter = _Sorter(code, key_type(x.dtype), x.shape[axis], call.params["descending"])
    with code.with_lanes(LANES):
        rows = [picked(each, order) for each in arrays]
        walk(code, rows, before + after, lambda row, _: sorter.row(row, call.scratch))


def _scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """Two runs of a whole row, to merge from one into the other."""
    count = types[0].shape[params["axis"]]
    if isinstance(count, int) and count <= LANES:
        return 0
    bytes_needed: Size = count * (2 * _PAIR * uint64.itemsize)
    return bytes_needed


class _Sorter:
    """Sorts one row after the other; all have n elements."""

    def __init__(self, code: Code, kind: DType, n: Index, descending: bool) -> None:
        self.code = code
        self.kind = kind
        self.n = n
        self.descending = descending
        self.block = code.room(kind, LANES)

    def row(self, arrays: StridedArrays, scratch: str) -> None:
        code, n = self.code, self.n
        x, y = arrays
        if isinstance(n, int) and n <= LANES:
            over_lanes(code, n, lambda _, mask: self._rank_into_output(x, y, mask))
            return

        def block(j: Index, _: list[str]) -> None:
            self._rank_into_run(x, scratch, j, code.first_lanes(code.sub(n, j)))

        code.loop(0, n, LANES, block)
        run = self._merged(scratch, code.address(scratch, code.mul(n, _PAIR), uint64))
        positions = StridedArray(code.address(run, 1, int64), (n,), (_PAIR,), int64)

        def copy(j: Index, mask: Vector | None) -> None:
            store_lanes(code, load_lanes(code, positions, j, mask), y, j, mask)

        over_lanes(code, n, copy)

    # Blocks.

    def _rank_into_output(self, x: StridedArray, y: StridedArray, mask: Vector | None) -> None:
        code = self.code
        rank = self._ranks(sort_keys(code, load_lanes(code, x, 0, mask), self.descending), mask)
        (stride,) = y.strides
        e = Arithmetic(code, int64)
        step = e.const(stride) if isinstance(stride, int) else code.splat(stride, int64)
        code.scatter(code.lane_numbers(), y.pointer, e.mul(rank, step), mask)

    def _rank_into_run(self, x: StridedArray, run: str, j: Index, mask: Vector) -> None:
        code = self.code
        e = Arithmetic(code, uint64)
        keys = sort_keys(code, load_lanes(code, x, j, mask), self.descending)
        to = e.shl(self._ranks(keys, mask), 1)
        there = code.address(run, code.mul(j, _PAIR), uint64)
        code.scatter(e.cast(keys, uint64), there, to, mask)
        positions = e.add(code.lane_numbers(int64), code.splat(str(j), int64))
        code.scatter(positions, code.address(there, 1, int64), to, mask)

    def _ranks(self, keys: Vector, mask: Vector | None) -> Vector:
        """How many lanes come before each lane; those outside the mask come last.

        for i in lanes: count += (key[i] < key) or (key[i] == key and i comes before this lane)
        """
        code = self.code
        e = Arithmetic(code, self.kind)
        if mask is not None:
            keys = e.select(mask, keys, e.const(2 ** (8 * self.kind.itemsize) - 1))
        code.store(keys, self.block)
        zero = e.const(0, int32)

        def compare(i: Index, carried: Sequence[Vector]) -> list[Vector]:
            count, distance = carried  # from lane i: an equal one comes before the lanes after it
            other = code.load_splat(code.address(self.block, i, self.kind), self.kind)
            equal_first = e.and_(e.le(other, keys), e.gt(distance, zero))
            before = e.or_(e.lt(other, keys), equal_first)
            return [e.add(count, e.cast(before, int32)), e.sub(distance, e.const(1, int32))]

        first = [zero, code.lane_numbers(int32)]
        return e.cast(loop_vectors(code, 0, LANES, compare, first)[0], int64)

    # Merging. Sizes and places are counted in words, from the beginning of the run or half.

    def _merged(self, run: str, other: str) -> str:
        """Merge sorted blocks into longer ones until one is left: the run that holds it.

        size = one block
        until size >= n: merge pairs of blocks of this size from run to other; exchange the two
        """
        carry = [("i64", str(_PAIR * LANES)), ("ptr", run), ("ptr", other)]
        with self.code.with_lanes(1):
            return self.code.loop(0, self._rounds(), 1, self._round, carry)[1]

    def _rounds(self) -> Index:
        """How often sorted blocks double until they hold n."""
        if isinstance(self.n, int):
            return ((self.n - 1) // LANES).bit_length()
        code = self.code
        blocks = code.div(code.sub(code.max(self.n, 1), 1), LANES)
        zeros = code.call("llvm.ctlz.i64", "i64", ("i64", str(blocks)), ("i1", "false"))
        return code.sub(64, zeros)

    def _round(self, _: Index, carried: list[str]) -> list[str]:
        code = self.code
        n = code.mul(self.n, _PAIR)
        size, source, to = carried
        double = str(code.add(size, size))
        whole = code.let(f"and i64 {n}, {code.sub(0, double)}")

        def halves(begin: Index, _: list[str]) -> None:
            here, there = (code.address(run, begin, uint64) for run in (source, to))
            self._merge_halves(here, there, size, double)

        code.loop(0, whole, double, halves)
        rest = code.compare("slt", whole, n)
        code.when(rest, lambda: self._merge_rest(source, to, whole, size, n))
        return [double, to, source]

    def _merge_halves(self, source: str, to: str, size: str, double: str) -> None:
        """Merge two halves of one size, from both ends at once, so that no half runs out.

        i, j = the beginnings of the halves; p, q = their ends
        for s in 0 … size:
            to[s] = the lesser of source[i] and source[j], which moves up
            to[last - s] = the greater of source[p] and source[q], which moves down
        """
        code = self.code
        last = code.sub(double, _PAIR)

        def step(s: Index, carried: list[str]) -> list[str]:
            i, j, p, q = carried  # of the first and second half: from below, and from above
            less = self._second_less(source, i, j)
            self._move(source, self._choose(less, j, i), to, s)
            more = self._second_less(source, p, q)
            self._move(source, self._choose(more, p, q), to, code.sub(last, s))
            return [
                self._choose(less, i, code.add(i, _PAIR)),
                self._choose(less, code.add(j, _PAIR), j),
                self._choose(more, code.sub(p, _PAIR), p),
                self._choose(more, q, code.sub(q, _PAIR)),
            ]

        first = [0, size, code.sub(size, _PAIR), last]
        code.loop(0, size, _PAIR, step, [("i64", str(each)) for each in first])

    def _merge_rest(self, source: str, to: str, begin: str, size: str, end: Index) -> None:
        """Merge what is left at the end of the row: one half, and less than another or none.

        for s in begin … end: take the second's, if the first is over or the second's is less
        """
        code = self.code
        middle = code.min(code.add(begin, size), end)
        last_of_first, last = code.sub(middle, _PAIR), code.sub(end, _PAIR)

        def step(s: Index, carried: list[str]) -> list[str]:
            i, j = carried
            less = self._second_less(source, code.min(i, last_of_first), code.min(j, last))
            first_over, left = code.compare("sge", i, middle), code.compare("slt", j, end)
            second = code.let(f"or i1 {first_over}, {less}")
            second = code.let(f"and i1 {second}, {left}")
            self._move(source, self._choose(second, j, i), to, s)
            return [
                self._choose(second, i, code.add(i, _PAIR)),
                self._choose(second, code.add(j, _PAIR), j),
            ]

        code.loop(begin, end, _PAIR, step, [("i64", begin), ("i64", str(middle))])

    def _second_less(self, source: str, i: Index, j: Index) -> str:
        """An i1: whether the key at j is less than that at i."""
        code = self.code
        a, b = (code.load(code.address(source, at, uint64), uint64).parts[0] for at in (i, j))
        return code.let(f"icmp ult i64 {b}, {a}")

    def _choose(self, condition: str, x: Index, y: Index) -> str:
        return self.code.let(f"select i1 {condition}, i64 {x}, i64 {y}")

    def _move(self, source: str, place: Index, to: str, at: Index) -> None:
        code = self.code
        pair = code.let(f"load <2 x i64>, ptr {code.address(source, place, uint64)}, align 16")
        code.do(f"store <2 x i64> {pair}, ptr {code.address(to, at, uint64)}, align 16")


SORT = {"argsort": Special(_emit, _scratch)}
