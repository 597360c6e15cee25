"""Programs whose sums are taken in whatever order is fastest, to measure ours by. No option of
Wengert's makes them: the functions that write sums are replaced while such a program is compiled.

- A fold along a block keeps four results, so that one addition does not wait for another.
- A matrix × vector and a dot have k in the lanes: nothing is transposed.
- Blocks of K of a product of matrices are twice as long, so that sums are written half as often.

Other code, its loops and its math stay as they are, so a difference is one of order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any
from unittest.mock import patch

import numpy as np

from wengert.codegen.llvm.gemm import blocks, product
from wengert.codegen.llvm.gemm.along import ALONG_PARAMS
from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.gemm.vector import DOT_PARAMS
from wengert.codegen.llvm.loops.folds import FoldingLoops
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module, Vector

RESULTS = 4  # of a fold or a dot, side by side
ROWS = 4  # of a matrix × vector, side by side
INNER = 512  # products that are added up before a new sum begins

_folding = FoldingLoops.folding


@contextmanager
def free_order() -> Iterator[None]:
    """What is compiled here adds in any order, as long as both operands of a product of vectors are
    without gaps. `WENGERT_CACHE` has to be 0.
    """
    with ExitStack() as stack:
        for owner, name, new in (
            (FoldingLoops, "folding", folding),
            (product, "define_along", define_along),
            (product, "define_dot", define_dot),
            (blocks, "INNER", INNER),
            (blocks, "_ROW_OF_A", INNER + blocks.LONGEST),
        ):
            stack.enter_context(patch.object(owner, name, new))
        product._defined.cache_clear()
        stack.callback(product._defined.cache_clear)
        yield


def folding(
    self: FoldingLoops,
    begin: Index,
    end: Index,
    step: int,
    folds: list[int],
    sums: list[Vector],
    elements: Callable[[Index], list[Vector]],
    unrolled: int = 1,
) -> list[Vector]:
    """As the method of this name, with RESULTS results of each fold that are combined at the end,
    where the loop can be written for so many steps at once.
    """
    if isinstance(begin, int) and isinstance(end, int) and not (end - begin) % (step * RESULTS):
        unrolled = RESULTS
    if unrolled != RESULTS or not folds:
        return _folding(self, begin, end, step, folds, sums, elements, unrolled)
    code, every = self.code, folds * RESULTS

    def all_elements(i: Index) -> list[Vector]:
        return [x for n in range(RESULTS) for x in elements(code.add(i, n * step))]

    first = [*sums, *[self.identity(i) for i in folds] * (RESULTS - 1)]
    folded = _folding(self, begin, end, step * RESULTS, every, first, all_elements)
    parts = [folded[n : n + len(folds)] for n in range(0, len(folded), len(folds))]
    return reduce(lambda x, y: self.taken_in(folds, x, y), parts)


def define_along(module: Module, name: str, dtype: np.dtype[Any]) -> None:
    """A function with ALONG_PARAMS: for each ROWS columns, the last reaching back, all at once."""
    code = Code(module, registers(module, dtype).lanes)
    e = Arithmetic(code, dtype)

    def columns(j: Index, _: list[str]) -> None:
        at = code.min(j, code.sub("%columns", ROWS))
        places = [
            code.address("%b", code.mul(code.add(at, r), "%b_col"), dtype) for r in range(ROWS)
        ]
        for r, total in enumerate(_dots(code, e, "%a", places)):
            code.do(
                f"store {_scalar(dtype)} {total}, "
                f"ptr {code.address('%c', code.add(at, r), dtype)}, align {dtype.itemsize}"
            )

    code.loop(0, "%columns", ROWS, columns)
    code.function(name, ALONG_PARAMS)


def define_dot(module: Module, name: str, dtype: np.dtype[Any]) -> None:
    """A function with DOT_PARAMS."""
    code = Code(module, registers(module, dtype).lanes)
    (total,) = _dots(code, Arithmetic(code, dtype), "%a", ["%b"])
    code.do(f"store {_scalar(dtype)} {total}, ptr %c, align {dtype.itemsize}")
    code.function(name, DOT_PARAMS)


def _dots(code: Code, e: Arithmetic, a: str, places: list[str]) -> list[str]:
    """The products of a vector with others, as scalars, each in RESULTS vectors of sums."""
    dtype, kind, zero = e.dtype, code.type(e.dtype), e.const(0.0).parts[0]
    count = max(RESULTS // len(places), 2)
    size = count * code.lanes

    def step(
        k: Index, sums: list[str], mask: Vector | None = None, count: int = count
    ) -> list[str]:
        new_sums = list(sums)
        for n in range(count):
            at = code.add(k, n * code.lanes)
            x = code.load(code.address(a, at, dtype), dtype, mask)
            for r, place in enumerate(places):
                y = code.load(code.address(place, at, dtype), dtype, mask)
                i = r * (len(sums) // len(places)) + n
                new_sums[i] = e.fma(x, y, Vector((sums[i],), dtype)).parts[0]
        return new_sums

    whole = code.sub("%inner", code.mod("%inner", size))
    first = [(kind, zero)] * (len(places) * count)
    sums = code.loop(0, whole, size, step, first)

    def rest(k: Index, sums: list[str]) -> list[str]:
        return step(k, sums, code.first_lanes(code.sub("%inner", k)), 1)

    sums = code.loop(whole, "%inner", code.lanes, rest, [(kind, x) for x in sums])
    totals = []
    for r in range(len(places)):
        own = [Vector((x,), dtype) for x in sums[r * count : (r + 1) * count]]
        totals.append(code.lane(code.join(reduce(e.add, own), e.add), 0))
    return totals


def _scalar(dtype: np.dtype[Any]) -> str:
    return "float" if dtype.itemsize == 4 else "double"
