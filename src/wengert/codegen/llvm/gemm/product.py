"""Matrix products: functions shared by all products of a dtype in a module, for sizes and strides
known at run time.

The order of every sum is fixed: K in blocks of INNER; inside a block sequential fma from 0.0 in the
order of k; then the sums of the blocks are added in order. Tiles, packing and the choice of the
axis that lies along the lanes do not touch it, so the bits of an element depend on its row of A and
its column of B only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from wengert.codegen.llvm.gemm.along import define_along, least_sizes
from wengert.codegen.llvm.gemm.blocks import (
    LONGEST,
    PARAMS,
    at_most,
    block_columns,
    call_finish,
    define_blocks,
    packed_elements,
)
from wengert.codegen.llvm.gemm.integer import define_integer
from wengert.codegen.llvm.gemm.tile import registers
from wengert.codegen.llvm.gemm.vector import define_across, define_dot
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.targets.cpu.target import Target
from wengert.core.dims import Dim, Size
from wengert.core.dtypes import DType, is_float

__all__ = ["PARAMS", "gemm", "scratch_bytes"]

_BYTES_OF_SWEEP = 16384  # of the sums that one sweep over rows of B goes through
_FEW_ROWS = 2  # have functions of their own


def gemm(module: Module, dtype: DType, m: Size | None = None, n: Size | None = None) -> str:
    """The name of a function that multiplies matrices of this dtype; it takes PARAMS.

    C[m, n] = sum over k of A[m, k] B[k, n], with strides counted in elements; those of A and B are
    any, the columns of C lie side by side. `finish(frame, batch, r0, r1, c0, c1)`, unless null, is
    called once for every block of C when it holds its final sums. Where m and n are given as
    numbers, the module gets only what those sizes need; the bits are the same.
    """
    name = f"gemm_{dtype.name}"
    if not is_float(dtype):
        defined_once(module, name, dtype, _define_integer)
        return name
    tiles(module, dtype)
    known = [size for size in (m, n) if isinstance(size, int)]
    if len(known) == 2 and min(known) > _FEW_ROWS:
        name = f"{name}_matrix"
        defined_once(module, name, dtype, _define_matrix)
        return name
    thin = f"{name}_thin"
    defined_once(module, thin, dtype, _define_thin)
    if any(size > 1 for size in known):  # no product of two vectors
        return thin
    defined_once(module, f"{name}_dot", dtype, _define_dot)
    defined_once(module, name, dtype, _define_any)
    return name


def tiles(module: Module, dtype: DType) -> str:
    """Have the functions in the module that pack and multiply blocks of floats, and the beginning
    of their names.
    """
    name = tiles_name(dtype)
    defined_once(module, name, dtype, define_blocks)
    return name


def tiles_name(dtype: DType) -> str:
    """How the names of these functions begin."""
    return f"gemm_{dtype.name}_blocks"


def scratch_bytes(
    m: Size,
    n: Size,
    k: Size,
    dtype: DType,
    b_strides: tuple[Size | None, Size | None] = (None, None),
) -> int:
    """How much scratch memory a product of these sizes needs at most; sizes may be Dims.

    Less may do where the strides b_inner and b_col are known.
    """
    if not is_float(dtype):
        return 0
    needs = [packed_elements(m, n, k, dtype, b_strides)]
    if isinstance(n, Dim) or n < LONGEST:  # rows may lie along the lanes
        few = at_most(n, LONGEST - 1)
        turned = few * at_most(m, block_columns(dtype))
        needs.append(turned + packed_elements(few, m, k, dtype))
    if m == 1 or isinstance(m, Dim):
        needs.append(at_most(n, _BYTES_OF_SWEEP // dtype.itemsize))
    return max(needs) * dtype.itemsize


_Define: TypeAlias = Callable[[Module, str, DType], None]


def defined_once(module: Module, name: str, dtype: DType, define: _Define) -> None:
    """Have a function in the module, with those that `define` writes beside it."""
    if not any(text.startswith(f"define internal void @{name}(") for text in module.functions):
        made = _defined(module.target, name, dtype, define)
        module.functions += made.functions
        module.declared |= made.declared


@lru_cache(maxsize=32)
def _defined(target: Target, name: str, dtype: DType, define: _Define) -> Module:
    """A module with these functions alone. They are the same in every program."""
    module = Module(target)
    define(module, name, dtype)
    return module


def _define_integer(module: Module, name: str, dtype: DType) -> None:
    define_integer(module, name, PARAMS, dtype)


def _define_matrix(module: Module, name: str, dtype: DType) -> None:
    _Choice(module, name, f"gemm_{dtype.name}_blocks", dtype).define_matrix()


def _define_thin(module: Module, name: str, dtype: DType) -> None:
    """The function for all sizes, those of one vector too."""
    lanes, blocks = registers(module, dtype).lanes, f"gemm_{dtype.name}_blocks"
    define_across(module, f"{name}_across", dtype, lanes)
    define_along(module, f"{name}_along", dtype)
    _Choice(module, name, blocks, dtype).define_rows()
    _Choice(module, name, f"{name}_rows", dtype).define_matrix()


def _define_dot(module: Module, name: str, dtype: DType) -> None:
    define_dot(module, name, dtype)


def _define_any(module: Module, name: str, dtype: DType) -> None:
    _Choice(module, name, f"{name}_thin", dtype).define_any()


class _Choice:
    """A function that decides how a product is computed: by one of the functions for few rows or by
    blocks, and with which axis of C along the lanes.
    """

    def __init__(self, module: Module, name: str, inner: str, dtype: DType) -> None:
        self.code = Code(module, registers(module, dtype).lanes)
        self.name = name
        self.inner = inner  # the function for products whose columns lie along the lanes
        self.dtype = dtype

    def define_rows(self) -> None:
        """Columns along the lanes; one or two rows have functions of their own."""
        across = self._all(("eq", "%m", 1), ("eq", "%b_col", 1))
        columns, inner = least_sizes(self.code.module, self.dtype)
        along = self._all(
            ("sle", "%m", _FEW_ROWS),
            ("eq", "%b_inner", 1),
            ("sge", "%n", columns),
            ("sge", "%k", inner),
        )

        def others() -> None:
            self._either(along, self._along, self._straight)

        self._either(across, self._across, others)
        self.code.function(f"{self.name}_rows", PARAMS)

    def define_matrix(self) -> None:
        """Rows along the lanes where columns are too few for that, else columns."""
        self._either(self._swaps(), self._swapped, self._straight)
        self.code.function(self.name, PARAMS)

    def define_any(self) -> None:
        """The product of two vectors, and all others."""
        single = self._all(("eq", "%m", 1), ("eq", "%n", 1))
        others = f"call void @{self.inner}({PARAMS})"
        self._either(single, self._dot, lambda: self.code.do(others))
        self.code.function(self.name, PARAMS)

    def _swaps(self) -> str:
        """Whether rows of C should lie along the lanes: there are enough, and columns are very few,
        or few while A has its rows side by side.
        """
        lanes = self.code.lanes
        few = self._all(("sle", "%n", max(lanes // 4, 1)), ("sge", "%m", lanes))
        short = self._all(("slt", "%n", lanes), ("eq", "%a_row", 1), ("sge", "%m", lanes))
        return self.code.let(f"or i1 {few}, {short}")

    def _straight(self) -> None:
        one = self.code.compare("eq", "%n", 1)
        b_col = self.code.let(f"select i1 {one}, i64 1, i64 %b_col")  # any will do for one column
        self.code.do(f"call void @{self.inner}({PARAMS.replace('%b_col', b_col)})")

    def _swapped(self) -> None:
        """C's transpose, some rows of C at a time, from the transposes of B and A.

        for each block of rows i of C:
            scratch = Bᵀ A[i]ᵀ, or C itself where it is one column without gaps
            C[i] = scratchᵀ
            finish(i, all columns)
        """
        code = self.code
        columns = code.min("%m", block_columns(self.dtype))
        direct = self._all(("eq", "%n", 1), ("eq", "%c_row", 1))
        indirect = code.let(f"xor i1 {direct}, true")
        rest = self._at("%scratch", code.mul("%n", columns))

        def rows(i: Index, _: list[str]) -> None:
            count = code.min(code.sub("%m", i), columns)
            target = self._at("%c", code.mul(i, "%c_row"))
            place = code.let(f"select i1 {direct}, ptr {target}, ptr %scratch")
            a = self._at("%a", code.mul(i, "%a_row"))
            code.do(
                f"call void @{self.inner}(ptr %b, i64 %b_col, i64 %b_inner, ptr {a}, "
                f"i64 %a_inner, i64 %a_row, ptr {place}, i64 {columns}, i64 %n, i64 {count}, "
                f"i64 %k, ptr {rest}, ptr null, ptr null, i64 0)"
            )
            code.when(indirect, lambda: self._copy_back(columns, target, count))
            call_finish(code, (i, code.add(i, count), 0, "%n"))

        code.loop(0, "%m", block_columns(self.dtype), rows)

    def _copy_back(self, row: Index, target: str, count: Index) -> None:
        """C[i, j] = scratch[j, i] for so many i."""
        code, dtype = self.code, self.dtype
        with code.with_lanes(1):

            def line(i: Index, _: list[str]) -> None:
                source = self._at("%scratch", i)
                place = self._at(target, code.mul(i, "%c_row"))

                def element(j: Index, _: list[str]) -> None:
                    code.store(
                        code.load(self._at(source, code.mul(j, row)), dtype), self._at(place, j)
                    )

                code.loop(0, "%n", 1, element)

            code.loop(0, count, 1, line)

    def _across(self) -> None:
        code = self.code
        limit = _BYTES_OF_SWEEP // self.dtype.itemsize

        def part(j: Index, _: list[str]) -> None:
            columns = code.min(code.sub("%n", j), limit)
            code.do(
                f"call void @{self.name}_across(ptr %a, i64 %a_inner, ptr {self._at('%b', j)}, "
                f"i64 %b_inner, ptr {self._at('%c', j)}, i64 {columns}, i64 %k, ptr %scratch)"
            )
            call_finish(code, (0, 1, j, code.add(j, columns)))

        code.loop(0, "%n", limit, part)

    def _along(self) -> None:
        code = self.code

        def row(i: Index, _: list[str]) -> None:
            a, c = (self._at(f"%{x}", code.mul(i, f"%{x}_row")) for x in "ac")
            code.do(
                f"call void @{self.name}_along(ptr {a}, i64 %a_inner, ptr %b, i64 %b_col, "
                f"ptr {c}, i64 %n, i64 %k)"
            )

        code.loop(0, "%m", 1, row)
        call_finish(code, (0, "%m", 0, "%n"))

    def _dot(self) -> None:
        self.code.do(
            f"call void @{self.name}_dot(ptr %a, i64 %a_inner, ptr %b, i64 %b_inner, ptr %c, "
            "i64 %k)"
        )
        call_finish(self.code, (0, 1, 0, 1))

    def _all(self, *conditions: tuple[str, Index, Index]) -> str:
        """Whether all comparisons hold."""
        held, *others = [self.code.compare(*each) for each in conditions]
        for each in others:
            held = self.code.let(f"and i1 {held}, {each}")
        return held

    def _either(self, condition: str, then: Callable[[], None], other: Callable[[], None]) -> None:
        def branch(write: Callable[[], None]) -> Callable[[], list[str]]:
            def written() -> list[str]:
                write()
                return []

            return written

        self.code.either(condition, (), branch(then), branch(other))

    def _at(self, base: str, position: Index) -> str:
        return self.code.address(base, position, self.dtype)
