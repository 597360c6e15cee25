"""KernelCall: what the writer of a special kernel is given, a kernel that is no map, fold or gemm.

The kernels themselves are in this folder and in `linalg`; `registry.py` has them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index, Module
from wengert.core.dims import Size
from wengert.core.types import ArrayType

Fail: TypeAlias = Callable[[str, Index], None]
Report: TypeAlias = Callable[[StridedArray], None]


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call of an op inside the function that `code` is writing.

    Operands have any strides. Outputs are row-major, apart from the operands, and hold nothing yet.
    Sizes that a parameter names are those of the arrays' shapes: a Dim there has no number yet.
    """

    code: Code
    operands: tuple[StridedArray, ...]
    outputs: tuple[StridedArray, ...]
    params: dict[str, Any]
    scratch: str  # pointer to the bytes that `Special.scratch` asked for, aligned to 64
    fail: Fail  # fail(i1, position): where the i1 holds, note an error at this position
    units: tuple[Index, Index] = (0, 1)  # of those that `Special.units` counts: from, up to
    report: Report | None = None  # of the op that prints: report(array) has it printed


def no_scratch(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """For kernels that work in registers and in their outputs."""
    return 0


@dataclass(frozen=True, slots=True)
class Special:
    """How one op is written, and how much memory it needs besides operands and outputs."""

    emit: Callable[[KernelCall], None]
    scratch: Callable[[Sequence[ArrayType], dict[str, Any]], Size] = no_scratch  # bytes
    # How many units workers divide between them: each is computed as a whole, in the same way
    # whichever worker computes its neighbours. None: one worker does it all.
    units: Callable[[Sequence[ArrayType], dict[str, Any]], Size] | None = None
    # Put the functions that many programs share into a module; it is compiled beside other work.
    common: Callable[[Module, Sequence[ArrayType], dict[str, Any]], None] | None = None
    # The fewest units that a chunk should have: each chunk begins with work of its own.
    least: Callable[[Sequence[ArrayType], dict[str, Any]], Size] | None = None
