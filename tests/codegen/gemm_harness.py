"""Matrix products compiled and called: the function under test, and a slow one that says what the
order of sums is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from wengert.codegen.llvm.gemm.product import PARAMS, gemm, scratch_bytes
from wengert.codegen.llvm.machine.native import Native, object_code
from wengert.codegen.llvm.text.arithmetic import Arithmetic
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.numerics import INNER
from wengert.codegen.targets.cpu.target import Target, host
from wengert.core.dtypes import DType

_POINTER, _INTEGER = ctypes.c_void_p, ctypes.c_int64
_ARGUMENTS = (
    *(_POINTER, _INTEGER, _INTEGER) * 2,
    *(_POINTER, _INTEGER, _INTEGER, _INTEGER, _INTEGER),
    *(_POINTER, _POINTER, _POINTER, _INTEGER),
)
FINISH = ctypes.CFUNCTYPE(None, _POINTER, *[_INTEGER] * 5)
_GUARD = 0xA5


def module_text(dtype: DType, width: int | Target, sizes: tuple[int, ...] = ()) -> str:
    """A module with the product function of a dtype, and `product` that calls it; m and n may be
    known. It is for this machine with vectors of a width, or for another target.
    """
    module = Module(width if isinstance(width, Target) else replace(host(), width=width))
    name = gemm(module, dtype, *sizes)
    code = Code(module)
    code.do(f"call void @{name}({PARAMS})")
    code.function("product", PARAMS, "")
    return module.text()


@lru_cache
def _product(dtype: DType, width: int | Target, sizes: tuple[int, ...]) -> tuple[Native, Any]:
    native = Native(object_code(module_text(dtype, width, sizes)), ("product",))
    return native, native.function("product", *_ARGUMENTS)


@lru_cache
def _literal(dtype: DType) -> tuple[Native, Any]:
    """The order of sums, literally: one element at a time, one product at a time."""
    code = Code(Module(), lanes=1)
    e = Arithmetic(code, dtype)
    kind, zero = code.type(dtype), e.const(0.0).parts[0]

    def element(i: Index, j: Index) -> None:
        a = code.address("%a", code.mul(i, "%a_row"), dtype)
        b = code.address("%b", code.mul(j, "%b_col"), dtype)

        def product(p: Index, carried: list[str]) -> tuple[str, ...]:
            x = code.load(code.address(a, code.mul(p, "%a_inner"), dtype), dtype)
            y = code.load(code.address(b, code.mul(p, "%b_inner"), dtype), dtype)
            return e.fma(x, y, e.const(0.0)._replace(parts=tuple(carried))).parts

        def block(p: Index, carried: list[str]) -> tuple[str, ...]:
            end = code.min(code.add(p, INNER), "%k")
            (one,) = code.loop(p, end, 1, product, [(kind, zero)])
            first = code.compare("eq", p, 0)
            more = code.let(f"fadd {kind} {carried[0]}, {one}")
            return (code.let(f"select i1 {first}, {kind} {one}, {kind} {more}"),)

        (total,) = code.loop(0, "%k", INNER, block, [(kind, zero)])
        at = code.address("%c", code.add(code.mul(i, "%c_row"), j), dtype)
        code.do(f"store {kind} {total}, ptr {at}")

    def row(i: Index, _: list[str]) -> None:
        code.loop(0, "%n", 1, lambda j, _: element(i, j))

    code.loop(0, "%m", 1, row)
    code.function("literal", PARAMS, "")
    native = Native(object_code(code.module.text()), ("literal",))
    return native, native.function("literal", *_ARGUMENTS)


def product(
    a: np.ndarray,
    b: np.ndarray,
    width: int | Target = 16,
    finish: Callable[[np.ndarray, tuple[int, ...]], None] | None = None,
    sizes: tuple[int, ...] = (),
) -> np.ndarray:
    """A B by the function under test, into rows with a gap between them; what lies in the gaps and
    behind the scratch memory must stay.
    """
    (m, k), n = a.shape, b.shape[1]
    gap = 3 if n > 1 else 0
    whole = np.full((m, n + gap), 77).astype(a.dtype)
    c = whole[:, :n]
    room = scratch_bytes(m, n, k, a.dtype)
    scratch = np.full(room + 64, _GUARD, np.uint8)

    def call_back(_frame: int, batch: int, *block: int) -> None:
        assert batch == 5
        assert finish is not None
        finish(c, block)

    back = FINISH(call_back) if finish else None
    _call(_product(a.dtype, width, sizes)[1], a, b, c, scratch.ctypes.data, back)
    assert (whole[:, n:] == np.array(77).astype(a.dtype)).all(), "wrote between the rows of C"
    assert (scratch[room:] == _GUARD).all(), "wrote behind the scratch memory"
    return c


def literal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A B by the slow function."""
    c = np.empty((a.shape[0], b.shape[1]), a.dtype)
    _call(_literal(a.dtype)[1], a, b, c, None, None)
    return c


def _call(
    function: Any, a: np.ndarray, b: np.ndarray, c: np.ndarray, scratch: Any, finish: Any
) -> None:
    size = a.itemsize
    steps = [[s // size for s in x.strides] for x in (a, b, c)]
    at = [x.ctypes.data for x in (a, b, c)]
    sizes = (a.shape[0], b.shape[1], a.shape[1])
    finish = ctypes.cast(finish, _POINTER) if finish else None
    function(
        *(at[0], *steps[0], at[1], *steps[1], at[2], steps[2][0]),
        *(*sizes, scratch, finish, None, 5),
    )


def plain(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x)


def transposed(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.T).T


def backwards(x: np.ndarray) -> np.ndarray:
    """The same matrix with both strides negative."""
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def spread(x: np.ndarray) -> np.ndarray:
    """The same matrix with gaps between elements, both ways."""
    room = np.full((x.shape[0] * 2, x.shape[1] * 3), 99, x.dtype)
    room[::2, ::3] = x
    return room[::2, ::3]


LAYOUTS = (plain, transposed, backwards, spread)
