"""One special kernel as a function of its own, called with NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from objects_by_text import object_of

from wengert.codegen.llvm.kernels.kernel_call import KernelCall, Special
from wengert.codegen.llvm.machine.native import Native, object_code
from wengert.codegen.llvm.text.arrays import StridedArray, row_major
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.codegen.targets.cpu.target import host
from wengert.core.dims import Dim, Size, substitute
from wengert.core.op import Op
from wengert.core.types import ArrayType, type_of

_GUARD = 128  # bytes before and after every array that a kernel writes
_FILL = 0xA5


class Failed(Exception):
    """A kernel noted errors; holds the first position it noted."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class _Guarded:
    """Memory full of nonsense, with guards around it that must not change."""

    def __init__(self, size: int) -> None:
        whole = np.full(size + 2 * _GUARD + 64, _FILL, np.uint8)
        begin = _GUARD + (-(whole.ctypes.data + _GUARD)) % 64
        self.before, self.bytes, self.after = (
            whole[:begin],
            whole[begin : begin + size],
            whole[begin + size :],
        )

    def check(self) -> None:
        assert (self.before == _FILL).all(), "written before the beginning"
        assert (self.after == _FILL).all(), "written past the end"


class _Writer:
    """Writes the function: all numbers are constants, or all are read from a table."""

    def __init__(self, code: Code, dynamic: bool) -> None:
        self.code = code
        self.dynamic = dynamic
        self.table: list[int] = []

    def number(self, value: int) -> Index:
        if not self.dynamic:
            return value
        at = self.code.let_first(f"getelementptr i64, ptr %table, i64 {len(self.table)}")
        self.table.append(value)
        return self.code.let_first(f"load i64, ptr {at}, align 8")

    def operand(self, name: str, x: np.ndarray[Any, Any]) -> StridedArray:
        shape = tuple(self.number(size) for size in x.shape)
        # A view of no elements, or of one along an axis, may have any stride there.
        strides = tuple(self.number(stride // x.itemsize) for stride in x.strides)
        return StridedArray(name, shape, strides, x.dtype)

    def output(self, name: str, kind: ArrayType) -> StridedArray:
        sizes = tuple(self.number(int(size)) for size in kind.shape)
        return StridedArray(name, sizes, row_major(self.code, sizes), kind.dtype)

    def fail(self, condition: str, position: Index) -> None:
        def note() -> None:
            before = self.code.let("load i64, ptr %failed, align 8")
            first = self.code.let(f"icmp slt i64 {before}, 0")
            kept = self.code.let(f"select i1 {first}, i64 {position}, i64 {before}")
            self.code.do(f"store i64 {kept}, ptr %failed, align 8")

        self.code.when(condition, note)


def _scratch(
    special: Special, types: Sequence[ArrayType], params: dict[str, Any], dynamic: bool
) -> int:
    """The bytes that a kernel asks for: knowing the sizes, or not."""
    return _number(special.scratch, types, params, dynamic)


def _number(
    asked: Callable[[Sequence[ArrayType], dict[str, Any]], Size],
    types: Sequence[ArrayType],
    params: dict[str, Any],
    dynamic: bool,
) -> int:
    if not dynamic:
        return int(asked(types, params))
    sizes: dict[str, Size] = {f"n{size}": size for t in types for size in t.shape}
    unknown = [t.with_shape(tuple(Dim(f"n{size}") for size in t.shape)) for t in types]
    return int(substitute(asked(unknown, params), sizes))


def _units(
    special: Special,
    types: Sequence[ArrayType],
    params: dict[str, Any],
    writer: _Writer,
    chunks: int,
) -> list[tuple[Index, Index]]:
    """All that workers could divide between them, in so many chunks."""
    if special.units is None:
        return [(0, 1)]
    count = _number(special.units, types, params, writer.dynamic)
    ends = [writer.number(count * i // chunks) for i in range(1, chunks + 1)]
    return list(zip([0, *ends], ends, strict=False))


def run_special(
    special: Special,
    op: Op,
    operands: Sequence[np.ndarray[Any, Any]],
    params: dict[str, Any],
    *,
    width: int = 16,
    lanes: int = 16,
    dynamic: bool = False,
    chunks: int = 1,
) -> tuple[np.ndarray[Any, Any], ...]:
    """The outputs of a kernel for these operands and canonical params; raises Failed.

    `width` is that of the hardware vectors, `dynamic` leaves all sizes and strides to run time,
    `chunks` are one after the other what workers would do at once.
    """
    types = tuple(type_of(x) for x in operands)
    assert op.type is not None
    found = op.type(*types, **params)
    results = found if isinstance(found, tuple) else (found,)
    code = Code(Module(host() if width is None else replace(host(), width=width)), lanes)
    writer = _Writer(code, dynamic)
    names = [f"%x{i}" for i in range(len(operands))], [f"%y{i}" for i in range(len(results))]
    given = tuple(writer.operand(*pair) for pair in zip(names[0], operands, strict=True))
    wanted = tuple(writer.output(*pair) for pair in zip(names[1], results, strict=True))
    for units in _units(special, types, params, writer, chunks):
        special.emit(KernelCall(code, given, wanted, params, "%scratch", writer.fail, units))
    pointers = [*names[0], *names[1], "%scratch", "%table", "%failed"]
    code.function("kernel", ", ".join(f"ptr {name}" for name in pointers), "")
    native = Native(object_code(code.module.text(), object_of), ("kernel",))
    kernel = native.function("kernel", *[ctypes.c_void_p] * len(pointers))
    outs = [_Guarded(int(t.size) * t.dtype.itemsize) for t in results]
    scratch = _Guarded(_scratch(special, types, params, dynamic))
    table, failed = np.array(writer.table, np.int64), np.full(1, -1, np.int64)
    written = [out.bytes for out in (*outs, scratch)]
    kernel(*(x.ctypes.data for x in (*operands, *written, table, failed)))
    for each in (*outs, scratch):
        each.check()
    if failed[0] >= 0:
        raise Failed(int(failed[0]))
    return tuple(
        out.bytes.view(t.dtype).reshape(t.shape) for out, t in zip(outs, results, strict=True)
    )


# How the same kernel can be asked for; all must give the same bits.
VARIANTS: tuple[dict[str, Any], ...] = (
    {"width": 16},
    {"width": 8},
    {"width": 4, "dynamic": True},
    {"width": 16, "lanes": 1},
)


def run_variants(
    special: Special, op: Op, operands: Sequence[np.ndarray[Any, Any]], params: dict[str, Any]
) -> tuple[np.ndarray[Any, Any], ...]:
    """The outputs, which are the same to the bit in every variant."""
    first, *others = (run_special(special, op, operands, params, **v) for v in VARIANTS)
    for variant, found in zip(VARIANTS[1:], others, strict=True):
        for x, y in zip(first, found, strict=True):
            assert _bits(x) == _bits(y), f"{op.name}: {variant} differs from {VARIANTS[0]}"
    return first


def _bits(x: np.ndarray[Any, Any]) -> bytes:
    """All bits, but one NaN for all: which of two NaNs an instruction passes on is its choice."""
    return (
        np.where(np.isnan(x), x.dtype.type(np.nan), x).tobytes()
        if x.dtype.kind == "f"
        else x.tobytes()
    )


def strided(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The same array as views: transposed, backwards, with gaps, inside a larger one."""
    gaps = np.repeat(x, 3, axis=-1)[..., ::3] if x.ndim else x
    backwards = np.flip(np.ascontiguousarray(np.flip(x)))
    inside = np.pad(x, [(1, 2)] * x.ndim)[tuple(slice(1, size + 1) for size in x.shape)]
    return [x, np.asfortranarray(x), backwards, gaps, inside]
