"""StridedArray: where a kernel finds the elements of an operand or puts those of a result."""

from __future__ import annotations

from dataclasses import dataclass

from wengert.codegen.llvm.text.vectors import Code, Index
from wengert.core.dtypes import DType


@dataclass(frozen=True, slots=True)
class StridedArray:
    """A pointer, and per axis a size and a stride counted in elements."""

    pointer: str
    shape: tuple[Index, ...]
    strides: tuple[Index, ...]
    dtype: DType

    def at(self, code: Code, *position: Index) -> StridedArray:
        """The part at these positions of the first axes."""
        offset: Index = 0
        for i, stride in zip(position, self.strides, strict=False):
            offset = code.add(offset, code.mul(i, stride))
        pointer = code.address(self.pointer, offset, self.dtype)
        rest = len(position)
        return StridedArray(pointer, self.shape[rest:], self.strides[rest:], self.dtype)


def row_major(code: Code, shape: tuple[Index, ...]) -> tuple[Index, ...]:
    """The strides of an array without gaps."""
    strides: list[Index] = []
    step: Index = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step = code.mul(step, size)
    return tuple(strides)
