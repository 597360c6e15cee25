"""Broadcasting, and its way back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.dims import Shape, Size
from wengert.core.table import op
from wengert.core.types import Value
from wengert.errors import AxisError, ShapeError


def broadcast_shapes(name: str, shapes: Sequence[Shape]) -> Shape:
    """The shape operands of these shapes broadcast to."""
    if len(shapes) == 1 or all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    rank = max(map(len, shapes))
    out: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            if out[axis] == 1:
                out[axis] = size
            elif size != 1 and size != out[axis]:
                raise ShapeError(
                    f"{name}: operands have shapes {' and '.join(map(str, shapes))}; along each "
                    "axis, counted from the last, sizes must be equal or 1, but axis "
                    f"{axis - rank} has {out[axis]} and {size}. Reshape or transpose one of them?"
                )
    return tuple(out)


def unbroadcast(g: Value, like: Value) -> Value:
    """Sum a cotangent over the axes along which `like` was broadcast, in `like`'s dtype."""
    shape = like.shape
    if g.shape != shape:
        extra = len(g.shape) - len(shape)
        axes = tuple(range(extra))
        ones = 1 in shape
        if ones:
            axes += tuple(
                i + extra for i, n in enumerate(shape) if n == 1 and g.shape[i + extra] != 1
            )
        if type(g) is np.ndarray:
            g = np.asarray(np.add.reduce(g, axes))
        else:
            g = op.sum(g, axis=axes)
        if ones:
            g = op.reshape(g, shape)
    dtype = like.dtype
    return g if g.dtype is dtype or g.dtype == dtype else op.astype(g, dtype)


def broadcast_like(x: Value, like: Value) -> Value:
    """`x` with the shape and dtype of `like`, to which it must broadcast."""
    if tuple(x.shape) != tuple(like.shape):
        x = op.broadcast_to(x, like.shape)
    return x if x.dtype == like.dtype else op.astype(x, like.dtype)


def canonical_axis(name: str, axis: Any, ndim: int) -> int:
    """A non-negative axis number, or the worded error."""
    try:
        number = int(axis.__index__())
    except (AttributeError, TypeError):
        raise ShapeError(
            f"{name}: axis {axis!r} was given; an axis is an integer. Pass one."
        ) from None
    if not -ndim <= number < ndim:
        allowed = (
            f"must lie between {-ndim} and {ndim - 1}" if ndim else "does not exist in 0-d arrays"
        )
        raise AxisError(
            f"{name}: axis {number} was given for an array of {ndim} axes; an axis {allowed}. "
            "Choose an axis the array has."
        )
    return number % ndim


def canonical_axes(name: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Sorted, non-negative axis numbers of ``axis=None``, an integer or a tuple."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    numbers = tuple(sorted(canonical_axis(name, a, ndim) for a in axes))
    if len(set(numbers)) != len(numbers):
        raise ShapeError(
            f"{name}: axis {axes} names an axis twice; each may appear once. Remove the repetition."
        )
    return numbers
