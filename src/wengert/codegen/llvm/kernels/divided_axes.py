"""Which axes workers divide, for kernels that go along one axis and treat all others alike.

They divide the axes before it, or those behind it where they are more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from wengert.codegen.llvm.kernels.axes import part_of_axis
from wengert.codegen.llvm.kernels.kernel_call import KernelCall
from wengert.codegen.llvm.text.arrays import StridedArray
from wengert.codegen.llvm.text.vectors import Code, Index
from wengert.codegen.numerics import LANES
from wengert.core.dims import Size, product
from wengert.core.types import ArrayType

_MANY = 8  # places before the axis that are enough for workers to divide


def places_beside(types: Sequence[ArrayType], params: dict[str, Any]) -> Size:
    """How many places the axes that workers divide have together: the `units` of such a kernel."""
    shape, axis = types[0].shape, params["axis"]
    return product(shape[axis + 1 :] if _are_behind(shape, axis) else shape[:axis])


def own_part(
    call: KernelCall,
    shape: Sequence[Index],  # of the arrays with all their axes
    arrays: list[StridedArray],
    before: int,
    after: int,
) -> list[StridedArray]:
    """The part of the arrays that this call computes. `before` and `after` say how many axes are
    left before and behind the one that the kernel goes along. A single one is divided in whole
    vectors; of several, the first is divided.
    """
    code, axis = call.code, call.params["axis"]
    behind = _are_behind(shape, axis)
    count = after if behind else before
    if not count:
        return arrays
    along = before + 1 if behind else 0
    size = arrays[0].shape[along]
    if count == 1:
        step = LANES if behind or not after else 1
        ends = [code.min(_rounded_up(code, each, step), size) for each in call.units]
    else:
        sizes = shape[axis + 1 :] if behind else shape[:axis]
        total: Index = 1
        for each in sizes:
            total = code.mul(total, each)
        ends = [code.div(code.mul(each, size), code.max(total, 1)) for each in call.units]
    return [part_of_axis(code, x, along, *ends) for x in arrays]


def _are_behind(shape: Sequence[Index | Size], axis: int) -> bool:
    """Whether workers divide the axes behind the one that the kernel goes along."""
    front, back = (_product(sizes) for sizes in (shape[:axis], shape[axis + 1 :]))
    return front is not None and back is not None and front < _MANY and front * LANES < back


def _product(sizes: Sequence[Index | Size]) -> int | None:
    """Of sizes that are known."""
    known = [n for n in sizes if isinstance(n, int)]
    return prod(known) if len(known) == len(sizes) else None


def _rounded_up(code: Code, count: Index, step: int) -> Index:
    return count if step == 1 else code.mul(code.div(code.add(count, step - 1), step), step)
