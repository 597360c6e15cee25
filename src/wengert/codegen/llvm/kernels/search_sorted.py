"""searchsorted: one binary search after the other.

Each search begins between the bounds that the last one left, as NumPy's does: searches in order are
short, and even in an array that is not sorted the answers are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from wengert.codegen.llvm.kernels.axes import StridedArrays, compacted, walk_vectors
from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Vector
from wengert.core.dtypes import DType, bool_, int64, is_float


def _emit(call: KernelCall) -> None:
    """low, high = 0, n
    for each key, in order:
        y = low = high = the place of the key, searched from where the last one was found
    """
    code, (row, keys), (y,) = call.code, call.operands, call.outputs
    search = _Search(code, row, np.result_type(row.dtype, keys.dtype), call.params["side"])
    (keys, y), (axes,) = compacted(code, [keys, y], [len(keys.shape)])
    with code.with_lanes(1):

        def one(
            arrays: StridedArrays, _: tuple[Index, ...], before: Sequence[Vector]
        ) -> list[Vector]:
            x, out = arrays
            key = search.number(x.pointer, x.dtype)
            low, high = search.bounds(key, before)
            position = search.between(low, high, key)
            code.store(Vector((position,), int64), out.pointer)
            place = Vector((position,), int64)
            return [place, place, key]

        first = [search.index(0), search.index(row.shape[0]), code.constant(0, search.dtype)]
        walk_vectors(code, [keys, y], axes, one, first)


class _Search:
    """Searches in one row, in the dtype that it and the keys have in common."""

    def __init__(self, code: Code, row: StridedArray, dtype: DType, side: str) -> None:
        self.code = code
        self.row = row
        self.dtype = dtype
        self.left = side == "left"

    def number(self, pointer: str, dtype: DType) -> Vector:
        return Arithmetic(self.code, dtype).cast(self.code.load(pointer, dtype), self.dtype)

    @staticmethod
    def index(value: Index) -> Vector:
        return Vector((str(value),), int64)

    def bounds(self, key: Vector, before: Sequence[Vector]) -> tuple[str, str]:
        """Between which places a key is searched: `before` is where the last search ended, and for
        which key.

            if the key comes after the last one: low, n
            else: 0, min(high + 1, n)
        """
        code, n = self.code, self.row.shape[0]
        low, high = (x.parts[0] for x in before[:2])
        above = self._is_below(before[2], key)
        raised = code.min(code.add(high, 1), n)
        return (
            code.let(f"select i1 {above}, i64 {low}, i64 0"),
            code.let(f"select i1 {above}, i64 {n}, i64 {raised}"),
        )

    def between(self, low: str, high: str, key: Vector) -> str:
        """The first place from low up to high whose element is not below the key.

        while low < high:
            middle = low + (high - low) // 2
            if row[middle] is below the key: low = middle + 1
            else: high = middle
        """
        code = self.code

        def halve(bounds: list[str]) -> list[str]:
            low, high = bounds
            half = code.let(f"lshr i64 {code.sub(high, low)}, 1")
            middle = str(code.add(low, half))
            element = self.number(self.row.at(code, middle).pointer, self.row.dtype)
            below = self._is_below(element, key)
            return [
                code.let(f"select i1 {below}, i64 {code.add(middle, 1)}, i64 {low}"),
                code.let(f"select i1 {below}, i64 {high}, i64 {middle}"),
            ]

        return _until_equal(code, [low, high], halve)[0]

    def _is_below(self, x: Vector, key: Vector) -> str:
        """An i1: whether the key comes after x: also after an equal one for the right side."""
        if self.left:
            return self._less(x, key)
        return self.code.let(f"xor i1 {self._less(key, x)}, true")

    def _less(self, x: Vector, y: Vector) -> str:
        """An i1; NaN is larger than all others."""
        e = Arithmetic(self.code, x.dtype)
        if not is_float(x.dtype):
            return e.lt(x, y).parts[0]
        less = self.code.each("fcmp ult {t} {0}, {1}", x, y, dtype=bool_)
        return e.and_(less, e.eq(x, x)).parts[0]


def _until_equal(code: Code, first: list[str], body: Callable[[list[str]], list[str]]) -> list[str]:
    """while low < high: low, high = body([low, high])."""
    k, before = code.fresh(), code.block
    names = [f"%low{k}", f"%high{k}"]
    code.do(f"br label %head{k}")
    code.label(f"head{k}")
    position = len(code.lines)
    inside = code.compare("slt", *names)
    code.do(f"br i1 {inside}, label %body{k}, label %exit{k}")
    code.label(f"body{k}")
    after = body(names)
    code.do(f"br label %head{k}")
    code.lines[position:position] = [
        f"  {name} = phi i64 [ {begin}, %{before} ], [ {end}, %{code.block} ]"
        for name, begin, end in zip(names, first, after, strict=True)
    ]
    code.label(f"exit{k}")
    return names


SEARCH = {"searchsorted": Special(_emit)}
