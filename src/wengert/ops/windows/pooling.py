"""Pooling: the largest element or the mean of each window."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.core.define import function, linear, primitive
from wengert.core.dims import Dim, Shape, product
from wengert.core.dtypes import floating, int64
from wengert.core.lowering import BAD_INDEX, SpecialKernel
from wengert.core.op_parts.samples import Integers, sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.errors import ShapeError
from wengert.ops.windows.convolution import require_steps, window_count
from wengert.ops.windows.window_arguments import each_axis, pads_of, require_fit


def _positions_type(x: Any, window: Shape, stride: Shape, padding: Any, dilation: Shape) -> Any:
    by = "largest_positions"
    require_steps(by, len(x.shape) - 1, padding, window, stride, dilation)
    axes = zip(x.shape[1:], window, stride, padding, dilation, strict=True)
    counts = tuple(window_count(n, k, s, pad, d, 1) for n, k, s, pad, d in axes)
    inside = all(
        n != 0 and pad[0] >= 0 and pad[1] >= 0 and not _only_padding(n, k, s, pad, d)
        for n, k, s, pad, d in zip(x.shape[1:], window, stride, padding, dilation, strict=True)
    )
    if not counts or not inside or any(isinstance(n, int) and n < 1 for n in counts):
        raise ShapeError(
            f"{by}: windows {window} with stride {stride}, padding {padding} and dilation "
            f"{dilation} were given for shape {x.shape}; each must hold an element. Pad less, or "
            "make them smaller."
        )
    return ArrayType((x.shape[0], *counts), int64)


def _only_padding(size: Any, window: Any, stride: Any, pad: Any, dilation: Any) -> bool:
    """Whether a window holds nothing but padding along an axis; of an open size that is not known
    here, and `max_pool` asks for it.
    """
    count = window_count(size, window, stride, pad, dilation, 1)
    if pad == (0, 0) or isinstance(size, Dim) or isinstance(count, Dim):
        return False
    starts = range(-pad[0], count * stride - pad[0], stride)
    if not starts:
        return False
    before = -starts[0] > (window - 1) * dilation  # the first window ends before the elements
    behind = starts[-1] >= size  # the last one begins behind them
    # One that begins before them may step over all of them, where its steps are wide.
    over = dilation > size and any(start % dilation >= size for start in starts if start < 0)
    return before or behind or over


def _positions_of_arrays(
    x: Any, window: Shape, stride: Shape, padding: Any, dilation: Shape
) -> Any:
    """One element of all windows after the other; a NaN stays, and of equals the first."""
    out_type = _positions_type(x, window, stride, padding, dilation)
    space, counts = x.shape[1:], out_type.shape[1:]
    best = np.zeros(out_type.shape, x.dtype)
    place = np.full(out_type.shape, -1, np.int64)
    for k in np.ndindex(*window):
        at, inside = np.zeros(counts, np.int64), np.ones(counts, bool)
        sizes = zip(k, space, counts, stride, padding, dilation, strict=True)
        for axis, (i, size, count, s, (before, _), d) in enumerate(sizes):
            along = np.arange(count) * s + i * d - before
            along = along.reshape(-1, *(1,) * (len(counts) - axis - 1))
            inside &= (along >= 0) & (along < size)
            at = at * size + along
        element = x.reshape(x.shape[0], prod(space))[:, np.where(inside, at, 0)]
        with np.errstate(invalid="ignore"):
            better = (place < 0) | ((element > best) | np.isnan(element)) & ~np.isnan(best)
        better &= inside
        best, place = np.where(better, element, best), np.where(better, at, place)
    return place


def _sample_of_windows(
    shape: Shape, window: Shape, stride: Shape, padding: Any, dilation: Shape
) -> Any:
    return sample(shape, window=window, stride=stride, padding=padding, dilation=dilation)


@primitive(
    numpy=_positions_of_arrays,
    type=_positions_type,
    flat=True,
    sized=True,
    space="hidden",
    samples=(
        _sample_of_windows((3, 6, 5), (2, 2), (2, 2), ((0, 0), (0, 1)), (1, 1)),
        _sample_of_windows((2, 9), (3,), (1,), ((1, 1),), (2,)),
        _sample_of_windows((2, 3, 4, 5), (2, 1, 3), (1, 2, 2), ((1, 0), (0, 0), (1, 2)), (1,) * 3),
        _sample_of_windows((0, 4), (2,), (2,), ((0, 0),), (1,)),
    ),
    lower=SpecialKernel("largest_positions", lambda given, out, params: _taps(out, params)),
)
def largest_positions(
    x: Any, /, window: Shape, stride: Shape, padding: Any, dilation: Shape
) -> None:
    """Where the largest element of each window is, counted row by row in its plane.

    x is (planes, *space); of equals the first counts, and the first NaN if there is one. What is
    padded is never the largest.
    """


def _positions_in(x: Any, positions: Any, shape: Shape | None = None) -> Shape:
    """The shape of positions in the planes of x, or the worded error; it must be `shape`, if that
    is given.
    """
    fits = len(x.shape) and len(positions.shape) and x.shape[0] == positions.shape[0]
    if not fits or positions.dtype != int64 or (shape is not None and positions.shape != shape):
        raise ShapeError(
            f"planes: given shapes {x.shape} and {positions.shape} of {positions.dtype}; positions "
            "are int64, as many in each plane as are read or written. Pass those of "
            "largest_positions."
        )
    block: Shape = positions.shape
    return block


def _taps(results: Any, params: Any) -> int:
    return int(np.prod(results[0]) * np.prod(params["window"]) * 2)


@linear(
    numpy=lambda x, positions: np.take_along_axis(
        x.reshape(x.shape[0], -1 if x.size else prod(x.shape[1:])),
        positions.reshape(positions.shape[0], prod(positions.shape[1:])),
        axis=1,
    ).reshape(positions.shape),
    type=lambda x, positions: ArrayType(_positions_in(x, positions), x.dtype),
    transpose=lambda g, _x, positions: (
        op.put_in_planes(g, positions, shape=tuple(_x.shape[1:])),
        None,
    ),
    fixed=(1,),
    space="hidden",
    exact=True,
    samples=(
        sample((2, 3, 4), Integers((2, 2, 2), high=12)),
        sample((3, 5), Integers((3, 7), high=5)),
        sample((0, 5), Integers((0, 2), high=5)),
    ),
    lower=SpecialKernel("take_from_planes", failure=BAD_INDEX),
)
def take_from_planes(x: Any, positions: Any, /) -> None:
    """Elements of (planes, *space) at positions counted row by row in each plane."""


def _put(x: Any, positions: Any, shape: Shape) -> Any:
    out = np.zeros((x.shape[0], prod(shape)), x.dtype)
    planes = np.arange(x.shape[0]).reshape(-1, *(1,) * (x.ndim - 1))
    np.add.at(out, (planes, positions), x)
    return out.reshape(x.shape[0], *shape)


@linear(
    numpy=_put,
    type=lambda x, positions, shape: ArrayType(
        (*_positions_in(x, positions, x.shape)[:1], *canonical_shape("put_in_planes", shape)),
        x.dtype,
    ),
    canonical=lambda x, positions, shape: {"shape": canonical_shape("put_in_planes", shape)},
    transpose=lambda g, _x, positions, shape: (op.take_from_planes(g, positions), None),
    fixed=(1,),
    sized=True,
    space="hidden",
    samples=(
        sample((2, 2, 2), Integers((2, 2, 2), high=12), shape=(3, 4)),
        sample((3, 7), Integers((3, 7), high=5), shape=(5,)),
        sample((0, 2), Integers((0, 2), high=5), shape=(5,)),
    ),
    lower=SpecialKernel("put_in_planes", failure=BAD_INDEX),
)
def put_in_planes(x: Any, positions: Any, /, shape: Shape) -> None:
    """Zeros, with each element added at its position in its plane, in order."""


def _space_of(by: str, x: Any) -> tuple[Any, ...]:
    if not 3 <= len(x.shape) <= 5:
        raise ShapeError(
            f"{by}: x has shape {tuple(x.shape)}; it must be (batch, channels, *space) with one to "
            "three axes of space. Reshape it, or write x[np.newaxis] for one image alone."
        )
    return tuple(x.shape[2:])


def _planes(x: Any) -> Any:
    return op.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:]))


def _require_something(
    space: Shape, window: Shape, stride: Shape, pads: Any, dilation: Shape
) -> None:
    """Refuse windows that hold nothing but padding."""
    axes = zip(space, window, stride, pads, dilation, strict=True)
    for axis, (size, k, s, pad, d) in enumerate(axes):
        if pad == (0, 0):
            continue
        number = int(size)
        if _only_padding(number, int(k), int(s), pad, int(d)):
            raise ShapeError(
                f"max_pool: padding {pad} was given for axis {axis} of space, which has {number} "
                f"elements, with a window of {k}; every window must hold an element. Pad less."
            )


@function()
def max_pool(x: Any, window: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """The largest element of each window of x, (batch, channels, *space).

    `window` is a number for all axes or one for each; the stride is the window unless it is given.
    `padding` is as for `conv`, and what is padded is never the largest. The gradient goes to the
    largest element, to the first of equals. A NaN in a window is its largest.

    >>> x = np.array([[[1.0, 5.0, 2.0, 3.0]]])
    >>> wg.max_pool(x, 2), wg.max_pool(x, 3, stride=1)
    (array([[[5., 3.]]]), array([[[5., 5.]]]))
    """
    x = op.asarray(x)
    space, sizes = _described("max_pool", x, window, stride, padding, dilation)
    _require_something(space, *sizes)
    flat = _planes(x)
    names = ("window", "stride", "padding", "dilation")
    places = op.largest_positions(op.stop_gradient(flat), **dict(zip(names, sizes, strict=True)))
    y = op.take_from_planes(flat, places)
    return op.reshape(y, (*x.shape[:2], *y.shape[1:]))


def _described(
    by: str, x: Any, window: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[tuple[Any, ...], tuple[Shape, Shape, Any, Shape]]:
    """The space of x, and window, stride, padding and dilation along each axis of it."""
    space = _space_of(by, x)
    axes = len(space)
    sizes = each_axis(by, "window", window, axes)
    steps = sizes if stride is None else each_axis(by, "stride", stride, axes)
    apart = each_axis(by, "dilation", dilation, axes)
    pads = pads_of(by, padding, space, sizes, steps, apart)
    require_fit(by, space, sizes, pads, apart)
    return space, (sizes, steps, pads, apart)


@function()
def mean_pool(
    x: Any, window: Any, stride: Any = None, padding: Any = 0, include_padding: bool = True
) -> Any:
    """The mean of each window of x, (batch, channels, *space).

    `window`, `stride` and `padding` are as for `max_pool`. Padded zeros count as elements, unless
    `include_padding` is False: then the mean is that of the elements that are there.

    >>> wg.mean_pool(np.array([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    array([[[3. , 2.5]]])
    """
    x = op.asarray(x)
    x = op.astype(x, floating(x.dtype)) if x.dtype.kind != "f" else x
    space, (sizes, steps, pads, _) = _described("mean_pool", x, window, stride, padding, 1)
    padded = any(pair != (0, 0) for pair in pads)
    if steps == sizes and not padded and not any(isinstance(n, Dim) for n in space):
        return _mean_of_blocks(x, sizes)
    weight = np.full((1, 1, 1, *sizes), 1 / prod(sizes), x.dtype)
    flat = op.reshape(x, (product(tuple(x.shape[:2])), 1, 1, *space))
    ones = (1,) * len(space)
    y = op.convolution(flat, weight, stride=steps, padding=pads, dilation=ones, spread=ones)
    y = op.reshape(y, (*x.shape[:2], *y.shape[3:]))
    return y if include_padding or not padded else y * _share_of_elements(space, sizes, steps, pads)


def _mean_of_blocks(x: Any, sizes: Shape) -> Any:
    """Windows side by side, of which what is left behind the last belongs to none."""
    space = tuple(x.shape[2:])
    counts = [n // k for n, k in zip(space, sizes, strict=True)]
    whole = tuple(t * k for t, k in zip(counts, sizes, strict=True))
    if whole != space:
        x = x[(slice(None), slice(None), *(slice(0, n) for n in whole))]
    pairs = [each for pair in zip(counts, sizes, strict=True) for each in pair]
    axes = tuple(range(3, 3 + 2 * len(space), 2))
    return op.mean(op.reshape(x, (*x.shape[:2], *pairs)), axis=axes)


def _share_of_elements(space: Shape, sizes: Shape, steps: Shape, pads: Any) -> Any:
    """For each window, by how much the mean of its elements exceeds the mean with zeros."""
    shares: Any = np.ones(())
    for size, k, s, pad in zip(space, sizes, steps, pads, strict=True):
        count = window_count(int(size), k, s, pad, 1, 1)
        first = np.arange(int(count)) * s - pad[0]
        held = np.minimum(first + k, int(size)) - np.maximum(first, 0)
        shares = shares[..., None] * (k / np.maximum(held, 1))
    return shares.tolist() if not shares.shape else shares


@function()
def adaptive_mean_pool(x: Any, size: Any) -> Any:
    """Means of x, (batch, channels, *space), as many along each axis as `size` says.

    Mean i along an axis is that of elements floor(i · n / size) up to ceil((i + 1) · n / size), so
    neighbours share elements where n does not divide. With 1 it is the mean of the whole image.

    >>> wg.adaptive_mean_pool(np.array([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), 2)
    array([[[2., 4.]]])
    """
    x = op.asarray(x)
    x = op.astype(x, floating(x.dtype)) if x.dtype.kind != "f" else x
    space = _space_of("adaptive_mean_pool", x)
    sizes = each_axis("adaptive_mean_pool", "size", size, len(space))
    if all(count == 1 for count in sizes):
        axes = tuple(range(2, 2 + len(space)))
        return op.mean(x, axis=axes, keepdims=True)
    known = tuple(int(n) for n in space)
    if 0 in known:
        raise ShapeError(
            f"adaptive_mean_pool: x has shape {tuple(x.shape)}; a mean needs at least one element "
            "along each axis. Pass an image that has some."
        )
    if all(n % count == 0 for n, count in zip(known, sizes, strict=True)):
        return _mean_of_blocks(x, tuple(n // t for n, t in zip(known, sizes, strict=True)))
    for axis, (n, count) in enumerate(zip(known, sizes, strict=True), 2):
        if n != count:
            moved = op.moveaxis(x, axis, -1)
            x = op.moveaxis(op.matmul(moved, _averaging(n, count, x.dtype)), -1, axis)
    return x


def _averaging(n: int, count: int, dtype: Any) -> Any:
    """(n, count): what each element adds to each mean."""
    out = np.zeros((n, count), dtype)
    for i in range(count):
        begin, end = i * n // count, -(-(i + 1) * n // count)
        out[begin:end, i] = 1 / (end - begin)
    return out


@function()
def sliding_windows(x: Any, window: Any, stride: Any = 1, dilation: Any = 1) -> Any:
    """All windows of x along its last axes: (..., *positions, *window).

    `window` is a size along the last axis, or one for each of several last axes.

    >>> wg.sliding_windows(np.arange(5), 3, stride=2)
    array([[0, 1, 2],
           [2, 3, 4]])
    """
    x = op.asarray(x)
    axes = len(window) if isinstance(window, tuple | list) else 1
    if not 1 <= axes <= len(x.shape):
        raise ShapeError(
            f"sliding_windows: window={window!r} was given for an array of {len(x.shape)} axes; it "
            "must have a size for one or several of its last axes. Choose another."
        )
    by, lead = "sliding_windows", len(x.shape) - axes
    sizes = each_axis(by, "window", window, axes)
    steps, apart = (
        each_axis(by, "stride", stride, axes),
        each_axis(by, "dilation", dilation, axes),
    )
    space = tuple(int(n) for n in x.shape[lead:])
    require_fit(by, space, sizes, ((0, 0),) * axes, apart)
    for i in range(axes):
        count = window_count(space[i], sizes[i], steps[i], (0, 0), apart[i], 1)
        along = np.arange(int(count))[:, None] * steps[i] + np.arange(sizes[i]) * apart[i]
        taken = op.take(x, along.ravel(), axis=lead + i)
        shape = (*taken.shape[: lead + i], *along.shape, *taken.shape[lead + i + 1 :])
        x = op.moveaxis(op.reshape(taken, shape), lead + i + 1, -1)
    return x
