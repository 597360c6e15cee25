"""Views: nodes that are other nodes read in another order, and need no memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from wengert.core.dims import Shape, Size, divide_exactly, product
from wengert.core.op import Op
from wengert.core.table import op

Root: TypeAlias = tuple[int, int]  # an array in memory: (number of a node, which of its outputs)
Strides: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class View:
    """Element (i, j …) is element offset + i · strides[0] + j · strides[1] … of the root, which has
    no gaps. The stride of an axis of size 1 is 0.
    """

    root: Root
    offset: Size
    strides: Strides


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


# (view of the operand, shape of the operand, parameters, shape of the result) -> the view, or None
# where the elements do not lie at equal distances.
Look: TypeAlias = Callable[[View, Shape, dict[str, Any], Shape], View | None]


def _broadcast(view: View, shape: Shape, _params: dict[str, Any], out: Shape) -> View:
    missing = len(out) - len(shape)
    return View(view.root, view.offset, (0,) * missing + view.strides)


def _permute(view: View, _shape: Shape, params: dict[str, Any], _out: Shape) -> View:
    return View(view.root, view.offset, tuple(view.strides[axis] for axis in params["axes"]))


def _transpose(view: View, _shape: Shape, _params: dict[str, Any], _out: Shape) -> View:
    *batch, rows, columns = view.strides
    return View(view.root, view.offset, (*batch, columns, rows))


def _slice(view: View, _shape: Shape, params: dict[str, Any], out: Shape) -> View:
    offset = view.offset
    strides = []
    for stride, start, step, size in zip(
        view.strides, params["start"], params["step"], out, strict=True
    ):
        offset = offset + start * stride
        strides.append(0 if size == 1 else stride * step)
    return View(view.root, offset, tuple(strides))


def _reshape(view: View, shape: Shape, _params: dict[str, Any], out: Shape) -> View | None:
    strides = reshaped(shape, view.strides, out)
    return None if strides is None else View(view.root, view.offset, strides)


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
    found: list[Size] = []
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
        found += reversed(inside)
    left = iter(found)
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


def _same(view: View, _shape: Shape, _params: dict[str, Any], _out: Shape) -> View:
    return view


LOOKS: dict[Op, Look] = {
    op.boundary: _same,
    op.broadcast_to: _broadcast,
    op.permute_dims: _permute,
    op.matrix_transpose: _transpose,
    op.slice_axes: _slice,
    op.reshape: _reshape,
}


def without_gaps(view: View, shape: Shape) -> bool:
    """Whether a view is its root from the beginning to the end, or a part that begins anywhere."""
    return view.strides == row_major(shape) or product(shape) == 0
