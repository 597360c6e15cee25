"""The same elements in another shape or order of axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.define import function, linear
from wengert.core.dims import Shape, Size
from wengert.core.lowering import Along, View
from wengert.core.op_parts import magnitude
from wengert.core.op_parts.batching import BatchedCall, with_leading_axes, with_shape
from wengert.core.op_parts.broadcast import (
    broadcast_shapes,
    canonical_axes,
    canonical_axis,
    unbroadcast,
)
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.shapes import canonical_shape, solved_shape
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError


def _same_axes(given: Shape, out: Shape, **_shape: Any) -> tuple[Along, ...] | None:
    """Where a reshape only adds and takes away axes of size 1."""
    longer = [axis for axis, size in enumerate(out) if size != 1]
    if [out[axis] for axis in longer] != [size for size in given if size != 1]:
        return None
    left = iter(longer)
    return tuple(Along(None if size == 1 else next(left)) for size in given)


@linear(
    numpy=lambda x, shape: np.reshape(x, shape),
    type=lambda x, shape: ArrayType(solved_shape("reshape", tuple(x.shape), shape), x.dtype),
    canonical=lambda x, shape: {"shape": solved_shape("reshape", tuple(x.shape), shape)},
    transpose=lambda g, _x, shape: op.reshape(g, _x.shape),
    sized=True,
    samples=(
        sample((3, 4), shape=(2, -1)),
        sample((2, 3, 4), shape=(4, 3, 2)),
        sample((2, 3), shape=-1),
        sample((), shape=(1, 1)),
        sample((0, 3), shape=(3, 0)),
    ),
    exact=True,
    keywords=("copy",),
    magnitude=magnitude.SAME,
    lower=View(_same_axes, regroups=True),
    batch=with_shape("shape"),
)
def reshape(x: Any, /, shape: Shape) -> None:
    """The elements, row by row, in another shape; one size may be -1.

    >>> wg.reshape(np.array([1, 2, 3, 4]), (2, -1))
    array([[1, 2],
           [3, 4]])
    """


def _repeated_axes(given: Shape, out: Shape, **_shape: Any) -> tuple[Along, ...]:
    new = len(out) - len(given)
    return tuple(Along(None if n == 1 else new + axis) for axis, n in enumerate(given))


def _broadcast_type(x: Any, shape: Shape) -> ArrayType:
    extra = len(shape) - len(x.shape)
    if extra < 0 or any(n not in (1, size) for n, size in zip(x.shape, shape[extra:], strict=True)):
        raise ShapeError(
            f"broadcast_to: given shape {x.shape} and target {shape}; each size, counted from the "
            "last, must equal the target's or be 1. Reshape it first?"
        )
    return ArrayType(shape, x.dtype)


def _broadcast_each(call: BatchedCall) -> Any:
    shape = call.params["shape"]
    return call.again([call.raised(0, len(shape))], shape=(call.size, *shape))


@linear(
    numpy=np.broadcast_to,
    type=_broadcast_type,
    canonical=lambda x, shape: {"shape": canonical_shape("broadcast_to", shape)},
    transpose=lambda g, _x, shape: unbroadcast(g, _x),
    sized=True,
    samples=(
        sample((3, 1), shape=(2, 3, 4)),
        sample((1, 3, 1), shape=(2, 3, 2)),
        sample((2, 3), shape=(2, 3)),
        sample((), shape=(2,)),
        sample((3,), shape=(0, 3)),
        sample((1,), shape=(0,)),
    ),
    exact=True,
    magnitude=magnitude.SAME,
    lower=View(_repeated_axes),
    batch=_broadcast_each,
)
def broadcast_to(x: Any, /, shape: Shape) -> None:
    """The array repeated along new axes and along axes of size 1.

    >>> wg.broadcast_to(np.array([1, 2]), (3, 2))
    array([[1, 2],
           [1, 2],
           [1, 2]])
    """


@function(array_function=(np.broadcast_arrays,))
def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays, each broadcast to the shape they have in common.

    >>> [x.shape for x in wg.broadcast_arrays(np.ones((2, 1)), np.ones(3))]
    [(2, 3), (2, 3)]
    """
    ready = [op.asarray(x) for x in arrays]
    if not ready:
        return []
    shape = broadcast_shapes("broadcast_arrays", [tuple(x.shape) for x in ready])
    return [x if tuple(x.shape) == shape else op.broadcast_to(x, shape) for x in ready]


def _permutation(x: Any, axes: Any) -> dict[str, Any]:
    numbers = tuple(canonical_axis("permute_dims", axis, x.ndim) for axis in axes)
    if sorted(numbers) != list(range(x.ndim)):
        raise ShapeError(
            f"permute_dims: axes {tuple(axes)} were given for an array of {x.ndim} axes; each axis "
            "must appear once. List all of them."
        )
    return {"axes": numbers}


def _permute_each(call: BatchedCall) -> Any:
    return call.again(call.operands, axes=(0, *(axis + 1 for axis in call.params["axes"])))


@linear(
    numpy=np.transpose,
    type=lambda x, axes: ArrayType(tuple(x.shape[axis] for axis in axes), x.dtype),
    canonical=_permutation,
    transpose=lambda g, _x, axes: op.permute_dims(g, tuple(int(i) for i in np.argsort(axes))),
    samples=(
        sample((2, 3, 4), axes=(2, 0, 1)),
        sample((0, 3), axes=(1, 0)),
        sample((3,), axes=(0,)),
        sample((), axes=()),
    ),
    exact=True,
    lower=View(
        lambda shape, out, axes: tuple(Along(axes.index(axis)) for axis in range(len(shape)))
    ),
    batch=_permute_each,
)
def permute_dims(x: Any, /, axes: tuple[int, ...]) -> None:
    """The array with its axes in another order.

    >>> wg.permute_dims(np.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """


def _swapped_axes(given: Shape, _out: Shape) -> tuple[Along, ...]:
    *batch, rows, columns = range(len(given))
    return tuple(map(Along, (*batch, columns, rows)))


def _matrix_transpose_type(x: Any) -> ArrayType:
    if len(x.shape) < 2:
        raise ShapeError(
            f"matrix_transpose: given shape {x.shape}; at least two axes are needed. Add one?"
        )
    return ArrayType((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)


@linear(
    numpy=lambda x: np.swapaxes(x, -1, -2),
    type=_matrix_transpose_type,
    transpose=lambda g, _x: op.matrix_transpose(g),
    array_function=(np.matrix_transpose,),
    samples=(sample((2, 3)), sample((2, 3, 4)), sample((3, 0))),
    exact=True,
    lower=View(_swapped_axes),
    batch=with_leading_axes,
)
def matrix_transpose(x: Any, /) -> None:
    """The array with its last two axes swapped.

    >>> wg.matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """


@function(array_function=(np.moveaxis,))
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """The array with some axes at new positions; the others keep their order.

    >>> wg.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = op.asarray(x)
    sources = _listed_axes("moveaxis", source, x.ndim)
    destinations = _listed_axes("moveaxis", destination, x.ndim)
    if len(sources) != len(destinations):
        raise ShapeError(
            f"moveaxis: given {len(sources)} source and {len(destinations)} destination axes; "
            "each source needs one destination. List as many of both."
        )
    axes = [axis for axis in range(x.ndim) if axis not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        axes.insert(to, axis)
    return op.permute_dims(x, axes)


def _listed_axes(name: str, axis: Any, ndim: int) -> list[int]:
    """Axis numbers in the order given, each at most once."""
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    canonical_axes(name, axes, ndim)  # refuses repetitions
    return [canonical_axis(name, each, ndim) for each in axes]


@function(method=True, array_function=(np.swapaxes,))
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """The array with two axes swapped.

    >>> wg.swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = op.asarray(x)
    first, second = (canonical_axis("swapaxes", axis, x.ndim) for axis in (axis1, axis2))
    axes = list(range(x.ndim))
    axes[first], axes[second] = second, first
    return op.permute_dims(x, axes)


@function(array_function=(np.expand_dims,))
def expand_dims(x: Any, axis: int | tuple[int, ...] = 0) -> Any:
    """The array with new axes of size 1; `axis` says where they are in the result.

    >>> wg.expand_dims(np.ones(3), 0).shape, wg.expand_dims(np.ones(3), (0, 2)).shape
    ((1, 3), (1, 3, 1))
    """
    x = op.asarray(x)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    new = canonical_axes("expand_dims", axes, x.ndim + len(axes))
    shape = list(x.shape)
    for position in new:
        shape.insert(position, 1)
    return op.reshape(x, tuple(shape))


@function(method=True, array_function=(np.squeeze,))
def squeeze(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """The array without these axes of size 1; without all such axes by default.

    >>> wg.squeeze(np.ones((1, 3, 1))).shape, wg.squeeze(np.ones((1, 3, 1)), axis=0).shape
    ((3,), (3, 1))
    """
    x = op.asarray(x)
    if axis is None:
        return op.reshape(x, tuple(size for size in x.shape if size != 1))
    axes = canonical_axes("squeeze", axis, x.ndim)
    for number in axes:
        if x.shape[number] != 1:
            raise ShapeError(
                f"squeeze: axis {number} of shape {tuple(x.shape)} was given; only axes of size 1 "
                "can be removed. Choose another, or use reshape."
            )
    return op.reshape(x, tuple(size for i, size in enumerate(x.shape) if i not in axes))


@function(array_function=(np.flip,))
def flip(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """The elements in reverse order along the axes; along all of them by default.

    >>> wg.flip(np.array([[1, 2], [3, 4]]), axis=1)
    array([[2, 1],
           [4, 3]])
    """
    x = op.asarray(x)
    axes = canonical_axes("flip", axis, x.ndim)
    return op.slice_axes(
        x,
        start=tuple(size - 1 if i in axes else 0 for i, size in enumerate(x.shape)),
        size=tuple(x.shape),
        step=tuple(-1 if i in axes else 1 for i in range(x.ndim)),
    )


@function(array_function=(np.roll,))
def roll(x: Any, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None) -> Any:
    """The elements moved along the axes; what leaves one end enters at the other.

    Without axes, the array is rolled row by row as if it were 1-d.

    >>> wg.roll(np.array([1, 2, 3, 4]), 1)
    array([4, 1, 2, 3])
    """
    x = op.asarray(x)
    shifts = [int(s) for s in (shift if isinstance(shift, tuple | list) else [shift])]
    if axis is None:
        return op.reshape(_rolled(op.reshape(x, (-1,)), sum(shifts), 0), x.shape)
    axes = [
        canonical_axis("roll", each, x.ndim)
        for each in (axis if isinstance(axis, tuple | list) else [axis])
    ]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(
            f"roll: given {len(shifts)} shifts and {len(axes)} axes; each axis needs one shift. "
            "Give as many of both."
        )
    count = max(len(shifts), len(axes)) if shifts and axes else 0
    for i in range(count):
        x = _rolled(x, shifts[i % len(shifts)], axes[i % len(axes)])
    return x


def _rolled(x: Any, shift: int, axis: int) -> Any:
    size = x.shape[axis]
    if isinstance(size, int):
        shift = shift % size if size else 0
    # A Dim must be at least as large as the shift; at run time the slices are refused otherwise.
    tail = shift if shift >= 0 else size + shift
    parts = [(size - tail, tail), (0, size - tail)]
    return op.concat([_piece(x, axis, start, count) for start, count in parts], axis=axis)


def _piece(x: Any, axis: int, start: Size, count: Size) -> Any:
    return op.slice_axes(
        x,
        start=tuple(start if i == axis else 0 for i in range(x.ndim)),
        size=tuple(count if i == axis else size for i, size in enumerate(x.shape)),
        step=(1,) * x.ndim,
    )
