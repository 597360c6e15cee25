"""Views: nodes that are other nodes read in another order, and need no memory of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from wengert.core import lowering
from wengert.core.dims import Shape, Size, divide_exactly, product
from wengert.core.graph import Node
from wengert.core.lowering import Along
from wengert.core.types import ArrayType

Root: TypeAlias = tuple[int, int]  # an array in memory: (number of a node, which of its outputs)
Strides: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class StridedView:
    """Element (i, j …) is element offset + i · strides[0] + j · strides[1] … of the root, which has
    no gaps. The stride of an axis of size 1 is 0.
    """

    root: Root
    offset: Size
    strides: Strides


@lru_cache(maxsize=1024)
def row_major(shape: Shape) -> Strides:
    """The strides of an array without gaps.

    >>> row_major((2, 1, 3))
    (3, 0, 1)
    """
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(0 if size == 1 else step)
        step = step * size
    return tuple(reversed(strides))


def own_view(number: int, node: Node) -> StridedView | None:
    """How a node is read that has an array of its own; None where it has several."""
    result_type = node.type
    return (
        StridedView((number, 0), 0, row_major(result_type.shape))
        if isinstance(result_type, ArrayType)
        else None
    )


def looked_at(node: Node, view: StridedView, shape: Shape) -> StridedView | None:
    """How a node that is a view of another is read, given how that one is; None where its elements
    do not lie at equal distances.
    """
    lower, out = node.op.lower, node.type
    assert isinstance(lower, lowering.View)
    assert isinstance(out, ArrayType)
    if lower.regroups:
        strides = reshaped(shape, view.strides, out.shape)
        return None if strides is None else StridedView(view.root, view.offset, strides)
    steps: list[Size] = [0] * out.ndim
    offset = view.offset
    for along, stride in zip(axes_read(node, shape), view.strides, strict=True):
        offset = offset + along.start * stride
        if along.axis is not None and out.shape[along.axis] != 1:
            steps[along.axis] = steps[along.axis] + along.step * stride
    return StridedView(view.root, offset, tuple(steps))


def axes_read(node: Node, shape: Shape) -> tuple[Along, ...]:
    """Where a view reads each axis of its operand, which can be said axis by axis."""
    assert isinstance(node.op.lower, lowering.View)
    assert isinstance(node.type, ArrayType)
    axes = node.op.lower.along(shape, node.type.shape, **node.params)
    assert axes is not None
    return axes


def repeats(node: Node, shape: Shape) -> bool:
    """Whether a view shows elements of its operand several times: it is broadcast."""
    assert isinstance(node.op.lower, lowering.View)
    assert isinstance(node.type, ArrayType)
    if node.op.lower.regroups:
        return False
    followed = {along.axis for along in axes_read(node, shape)}
    return any(n != 1 and axis not in followed for axis, n in enumerate(node.type.shape))


def reshaped(shape: Shape, strides: Strides, out: Shape) -> Strides | None:
    """The strides after a reshape, or None where there are none.

    >>> reshaped((4, 6), (6, 1), (2, 2, 6)), reshaped((4, 6), (1, 4), (24,))
    ((12, 6, 1), None)
    """
    if strides == row_major(shape):
        return row_major(out)
    if 0 in out:
        return row_major(out)
    axes = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    wanted = [n for n in out if n != 1]
    groups = _groups([n for n, _ in axes], wanted)
    if groups is None:
        return None
    new_strides: list[Size] = []
    for begin, end, first, last in groups:
        for (_, outer), (size, inner) in zip(
            axes[begin : end - 1], axes[begin + 1 : end], strict=True
        ):
            if outer != inner * size:
                return None
        step = axes[end - 1][1]
        inside: list[Size] = []
        for size in reversed(wanted[first:last]):
            inside.append(step)
            step = step * size
        new_strides += reversed(inside)
    left = iter(new_strides)
    return tuple(0 if n == 1 else next(left) for n in out)


def _groups(shape: list[Size], out: list[Size]) -> list[tuple[int, int, int, int]] | None:
    """Ranges of axes on both sides with as many elements each, as short as they can be."""
    groups = []
    i = j = 0
    while i < len(shape) and j < len(out):
        begin, first = i, j
        left, right = shape[i], out[j]
        i, j = i + 1, j + 1
        while left != right:
            if _divides(left, right) and i < len(shape):
                left, i = left * shape[i], i + 1
            elif _divides(right, left) and j < len(out):
                right, j = right * out[j], j + 1
            else:
                return None
        groups.append((begin, i, first, j))
    return groups if i == len(shape) and j == len(out) else None


def _divides(small: Size, large: Size) -> bool:
    """Whether the first is the smaller of two products that grow towards each other."""
    if isinstance(small, int) and isinstance(large, int):
        return small < large
    return divide_exactly(large, small) is not None


def without_gaps(view: StridedView, shape: Shape) -> bool:
    """Whether the elements of a view lie in order and without gaps, wherever it begins."""
    return view.strides == row_major(shape) or product(shape) == 0
