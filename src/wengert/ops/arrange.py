"""Arrays put together, taken apart, padded and repeated."""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.bind import located
from wengert.core.define import function, linear, primitive
from wengert.core.dims import Dim, Shape, Size, divide_exactly, product
from wengert.core.lowering import Pick, Places, inside_or
from wengert.core.op import holds_tensor
from wengert.core.op_parts.batching import BatchedCall, with_rows
from wengert.core.op_parts.broadcast import canonical_axis
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.interpret.mistakes.widening import note_number_in_list


def _concat_axis(*arrays: Any, axis: int | None) -> dict[str, Any]:
    if not arrays:
        raise ShapeError("concat: no arrays were given; at least one is needed. Pass one.")
    if axis is not None:
        axis = canonical_axis("concat", axis, arrays[0].ndim)
    return {"axis": axis}


def _concat_type(*arrays: Any, axis: int | None) -> ArrayType:
    dtype = dtypes.promote(*arrays)
    if axis is None:
        return ArrayType((sum((product(x.shape) for x in arrays), start=0),), dtype)
    first = tuple(arrays[0].shape)
    total: Size = 0
    for x in arrays:
        rest = tuple(x.shape)
        if (
            len(rest) != len(first)
            or rest[:axis] != first[:axis]
            or rest[axis + 1 :] != first[axis + 1 :]
        ):
            raise ShapeError(
                f"concat: given shapes {first} and {rest} along axis {axis}; all other sizes must "
                "be equal. Reshape one of them?"
            )
        total = total + rest[axis]
    return ArrayType((*first[:axis], total, *first[axis + 1 :]), dtype)


def _concat_transpose(g: Any, *_arrays: Any, axis: int | None) -> tuple[Any, ...]:
    pieces = []
    start: Size = 0
    for x in _arrays:
        size = product(x.shape) if axis is None else x.shape[axis]
        piece = _piece(g, axis or 0, start, size)
        if axis is None:
            piece = op.reshape(piece, x.shape)
        start = start + size
        if not dtypes.is_float(x.dtype):
            piece = None
        elif piece.dtype != x.dtype:
            piece = op.astype(piece, x.dtype)
        pieces.append(piece)
    return tuple(pieces)


def _piece(x: Any, axis: int, start: Size, count: Size) -> Any:
    return op.slice_axes(
        x,
        start=tuple(start if i == axis else 0 for i in range(x.ndim)),
        size=tuple(count if i == axis else size for i, size in enumerate(x.shape)),
        step=(1,) * x.ndim,
    )


def _joined_element(p: Places) -> Any:
    """Each operand in turn, where the place lies inside it."""
    axis, value = p.params["axis"], None
    begin: Size = 0
    for operand, shape in enumerate(t.shape for t in p.types):
        size = product(shape) if axis is None else shape[axis]
        moved = p.shift(p.own[axis or 0], 0 - begin)
        begin = begin + size
        inside = p.e.and_(p.at_least(moved, 0), p.below(moved, size))
        if axis is None:
            places = p.unravel(moved, shape)
        else:
            places = [*p.own[:axis], moved, *p.own[axis + 1 :]]
        element = p.cast(p.read(operand, places, inside), p.out.dtype)
        value = element if value is None else p.e.select(inside, element, value)
    return value


def _join_each(call: BatchedCall) -> Any:
    arrays, axis = call.fronts(), call.params["axis"]
    if axis is None:
        return call.again(list(map(with_rows, arrays)), axis=1)
    return call.again(arrays, axis=axis + 1)


@linear(
    numpy=lambda *arrays, axis: np.concatenate(arrays, axis=axis),
    type=_concat_type,
    dtypes=lambda name, arrays: [dtypes.promote(*arrays)] * len(arrays),
    canonical=_concat_axis,
    transpose=_concat_transpose,
    samples=(
        sample((2, 3), (4, 3)),
        sample((2, 3), (2, 1), (2, 2), axis=-1),
        sample((2, 3), (0, 3), axis=0),
        sample((2, 0), (2, 0), axis=1),
        sample((3,)),
        sample((2, 2), (3,), (), axis=None),
    ),
    exact=True,
    lower=Pick(_joined_element, joins=True),
    batch=_join_each,
)
def concat(*arrays: Any, axis: int | None = 0) -> None:
    """The arrays of a sequence, one after the other along an axis they have.

    With ``axis=None`` the arrays are read row by row and joined to one 1-d array.

    >>> wg.concat([np.array([[1, 2]]), np.array([[3, 4]])], axis=0)
    array([[1, 2],
           [3, 4]])
    """


def _sequence(name: str, arrays: Any) -> list[Any]:
    ready = [op.asarray(x) for x in arrays]
    if not ready:
        raise ShapeError(f"{name}: no arrays were given; at least one is needed. Pass one.")
    return ready


@function()
def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """The arrays of a sequence, all of one shape, side by side along a new axis.

    >>> wg.stack([np.array([1, 2]), np.array([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    arrays = list(arrays)
    ready = _sequence("stack", arrays)
    if note_number_in_list("stack", arrays):  # told once, and not by each op that follows
        ready = [op.astype(x, dtypes.promote(*ready)) for x in ready]
    shape = tuple(ready[0].shape)
    for x in ready:
        if tuple(x.shape) != shape:
            raise ShapeError(
                f"stack: given shapes {shape} and {tuple(x.shape)}; all must be equal. "
                "Broadcast or reshape them first, or join them with concat."
            )
    axis = canonical_axis("stack", axis, len(shape) + 1)
    return op.concat([op.expand_dims(x, axis) for x in ready], axis=axis)


@function()
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The arrays that lie side by side along an axis, without that axis.

    >>> wg.unstack(np.array([[1, 2], [3, 4]]))
    (array([1, 2]), array([3, 4]))
    """
    x = op.asarray(x)
    axis = canonical_axis("unstack", axis, x.ndim)
    rest = tuple(size for i, size in enumerate(x.shape) if i != axis)
    return tuple(op.reshape(_piece(x, axis, i, 1), rest) for i in range(int(x.shape[axis])))


@function(array_function=(np.split,))
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array cut along an axis: into a number of equal parts, or before each of some positions.

    >>> wg.split(np.arange(6), 3), wg.split(np.arange(6), [1, 4])
    ([array([0, 1]), array([2, 3]), array([4, 5])], [array([0]), array([1, 2, 3]), array([4, 5])])
    """
    x = op.asarray(x)
    axis = canonical_axis("split", axis, x.ndim)
    size = x.shape[axis]
    if not isinstance(indices_or_sections, tuple | list | np.ndarray):
        count = int(indices_or_sections)
        part = divide_exactly(size, count) if count > 0 else None
        if part is None and isinstance(size, Dim) and count > 0:
            size = int(size)  # specialises
        if part is None:
            raise ShapeError(
                f"split: {count} equal parts of an axis of size {size} were asked for; the size "
                "must be a multiple of the number of parts. Pass the positions of the cuts instead."
            )
        return [_piece(x, axis, part * i, part) for i in range(count)]
    places = [cut if isinstance(cut, Dim) else int(cut) for cut in indices_or_sections]
    cuts = [None, *places, None]
    before = (slice(None),) * axis
    return [
        op.getitem(x, (*before, slice(start, stop))) for start, stop in itertools.pairwise(cuts)
    ]


def _pad_params(x: Any, pad_width: Any, constant_values: Any) -> dict[str, Any]:
    if isinstance(constant_values, Tensor):
        error = TraceError(
            "pad: a Tensor was given as constant_values; a number is needed. "
            "Pad a mask of ones too, and choose with wg.where."
        )
        raise located(error, [constant_values])
    with np.errstate(invalid="ignore"):
        value = np.asarray(constant_values).astype(x.dtype).item()
    if not dtypes.is_float(x.dtype) and value != constant_values:
        raise DTypeError(
            f"pad: constant_values {constant_values} was given for dtype {x.dtype}; an array keeps "
            "its dtype. Convert it with astype first."
        )
    return {"pad_width": _pad_pairs(pad_width, x.ndim), "constant_values": value}


def _pad_pairs(pad_width: Any, ndim: int) -> tuple[tuple[Size, Size], ...]:
    """One pair (before, after) per axis, from NumPy's shorter forms."""
    widths = pad_width.tolist() if isinstance(pad_width, np.ndarray) else pad_width
    if isinstance(widths, tuple | list) and any(isinstance(w, tuple | list) for w in widths):
        pairs = [canonical_shape("pad", w) for w in widths]
        pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
        if len(pairs) == 1:
            pairs *= ndim
    else:
        pair = canonical_shape("pad", widths)
        pairs = [pair * 2 if len(pair) == 1 else pair] * ndim
    if len(pairs) != ndim or any(len(pair) != 2 for pair in pairs):
        raise ShapeError(
            f"pad: pad_width {pad_width} was given for an array of {ndim} axes; one pair (before, "
            "after) is needed for all axes, or one for each. Write them out."
        )
    return tuple((before, after) for before, after in pairs)


def _padded(x: Any, pad_width: Any) -> Shape:
    return tuple(
        before + size + after for size, (before, after) in zip(x.shape, pad_width, strict=True)
    )


def _pad(x: Any, pad_width: Any, constant_values: Any) -> Any:
    out = np.full(_padded(x, pad_width), constant_values, x.dtype)
    inside = (
        slice(before, before + size) for size, (before, _) in zip(x.shape, pad_width, strict=True)
    )
    out[tuple(inside)] = x
    return out


def _padded_element(p: Places) -> Any:
    places, masks = [], []
    for place, size, (before, after) in zip(
        p.own, p.types[0].shape, p.params["pad_width"], strict=True
    ):
        moved = p.shift(place, 0 - before)
        if before != 0:
            masks.append(p.at_least(moved, 0))
        if after != 0:
            masks.append(p.below(moved, size))
        places.append(moved)
    return inside_or(p, places, masks, p.params["constant_values"])


def _pad_each(call: BatchedCall) -> Any:
    return call.again(call.operands, pad_width=((0, 0), *call.params["pad_width"]))


@primitive(
    numpy=_pad,
    type=lambda x, pad_width, constant_values: ArrayType(_padded(x, pad_width), x.dtype),
    canonical=_pad_params,
    vjp=lambda g, _out, _x, pad_width, constant_values: op.slice_axes(
        g,
        start=tuple(before for before, _ in pad_width),
        size=tuple(_x.shape),
        step=(1,) * len(pad_width),
    ),
    jvp=lambda d, _out, _x, pad_width, constant_values: op.pad(d[0], pad_width, 0),
    sized=True,
    samples=(
        sample((2, 3), pad_width=1),
        sample((2, 3), pad_width=((0, 2), (1, 0)), constant_values=1),
        sample((4,), pad_width=(2, 1)),
        sample((0, 2), pad_width=((1, 1), (0, 0))),
        sample((), pad_width=0),
    ),
    exact=True,
    lower=Pick(_padded_element),
    batch=_pad_each,
)
def pad(x: Any, /, pad_width: Any, constant_values: float = 0) -> None:
    """The array in a frame of one number; `pad_width` holds a pair (before, after) per axis.

    >>> wg.pad(np.array([1, 2]), ((1, 2),))
    array([0, 1, 2, 0, 0])
    """


@function(array_function=(np.tile,))
def tile(x: Any, repetitions: Any) -> Any:
    """The whole array repeated along each axis; missing counts and missing axes in front are 1.

    >>> wg.tile(np.array([1, 2]), 2), wg.tile(np.array([1, 2]), (2, 1))
    (array([1, 2, 1, 2]), array([[1, 2],
           [1, 2]]))
    """
    x = op.asarray(x)
    counts = canonical_shape("tile", repetitions)
    rank = max(len(counts), x.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + tuple(x.shape)
    pairs = list(zip(counts, shape, strict=True))
    apart = op.reshape(x, tuple(each for _, size in pairs for each in (1, size)))
    wide = op.broadcast_to(apart, tuple(each for pair in pairs for each in pair))
    return op.reshape(wide, tuple(count * size for count, size in pairs))


def _repeated(repeats: Any, size: int) -> Any:
    """The positions along an axis of this size, each as often as it is repeated."""
    one = repeats.ndim == 1 and len(repeats) in (1, size)
    if not one or (repeats.size and repeats.dtype.kind not in "iu") or (repeats < 0).any():
        raise ShapeError(
            f"repeat: repeats {reprlib.repr(repeats.tolist())} were given for an axis of size "
            f"{size}; they are one integer of at least 0, or one for each position. Pass those."
        )
    return np.repeat(np.arange(size), repeats.astype(np.int64))


def _require_total(count: Any, total: Any) -> None:
    """Refuse a number of elements that is not the one that known repeats give."""
    if total is not None and count != total:
        raise ShapeError(
            f"repeat: total_repeat_length={total!r} was given for repeats that make {count} "
            "elements; they must be equal. Leave it out."
        )


def _repeated_to(repeats: Any, size: Any, total: Any) -> Any:
    """The same for repeats that are traced, of which only their sum is known."""
    if repeats.dtype.kind not in "iu" or tuple(repeats.shape) not in ((1,), (size,)):
        error = ShapeError(
            f"repeat: repeats of dtype {repeats.dtype} and shape {tuple(repeats.shape)} were given "
            f"for an axis of size {size}; they are one integer of at least 0, or one for each "
            "position. Pass those."
        )
        raise located(error, [repeats])
    ends = op.cumulative_sum(op.broadcast_to(op.astype(repeats, np.int64), (size,)))
    positions = op.searchsorted(ends, op.arange(total), side="right")
    return op.clip(positions, 0, size - 1)


@function(method=True, array_function=(np.repeat,))
def repeat(
    x: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None
) -> Any:
    """Each element repeated along an axis; without an axis the array is read row by row as 1-d.

    `repeats` is one number for all elements, or one for each: then an array of known values, or of
    traced ones with `total_repeat_length`, how many elements there will be. Where traced repeats
    have another sum, the last element fills what is missing, and what is too much is left out.

    >>> wg.repeat(np.array([1, 2]), 3), wg.repeat(np.array([[1, 2]]), 2, axis=0)
    (array([1, 1, 1, 2, 2, 2]), array([[1, 2],
           [1, 2]]))
    """
    x = op.asarray(x)
    if axis is None:
        x, axis = op.reshape(x, (-1,)), 0
    axis = canonical_axis("repeat", axis, x.ndim)
    is_one = isinstance(repeats, Dim) or np.ndim(repeats) == 0  # NumPy would ask it for a number
    if holds_tensor(repeats) and not is_one:
        if total_repeat_length is None:
            error = TraceError(
                "repeat: repeats are a Tensor; how many elements there will be must be known "
                "beforehand. Write wg.repeat(x, repeats, total_repeat_length=n), pass an array, or "
                "choose with wg.take(x, indices, axis)."
            )
            raise located(error, [x, repeats])
        (total,) = canonical_shape("repeat", total_repeat_length)
        return op.take(x, _repeated_to(op.asarray(repeats), x.shape[axis], total), axis=axis)
    if not is_one:
        places = _repeated(np.asarray(repeats), int(x.shape[axis]))
        _require_total(len(places), total_repeat_length)
        return op.take(x, places, axis=axis)
    (count,) = canonical_shape("repeat", repeats)
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    _require_total(size * count, total_repeat_length)
    wide = op.broadcast_to(op.expand_dims(x, axis + 1), (*before, size, count, *after))
    return op.reshape(wide, (*before, size * count, *after))


@function()
def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Any]:
    """The coordinates of the grid that vectors span, one array per vector.

    ``indexing="xy"`` lets the first vector run along axis 1 and the second along axis 0, as in a
    plot; ``"ij"`` gives every vector its own axis in order.

    >>> wg.meshgrid(np.array([1, 2]), np.array([10, 20, 30]), indexing="ij")[1]
    array([[10, 20, 30],
           [10, 20, 30]])
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing {indexing!r} was given; it is 'xy' or 'ij'. Use one.")
    vectors = [op.reshape(op.asarray(x), (-1,)) for x in arrays]
    count = len(vectors)
    order = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    shaped = [
        op.reshape(x, tuple(-1 if axis == place else 1 for axis in range(count)))
        for x, place in zip(vectors, order, strict=True)
    ]
    return list(op.broadcast_arrays(*shaped))
