"""x[key] with NumPy's meaning: slices here, integer arrays with gather."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_integer
from typing import Any, NamedTuple, NoReturn

import numpy as np

from wengert.core.define import function, linear
from wengert.core.dims import Dim, Shape, Size, need_sizes
from wengert.core.lowering import Along, Pick, Places, Span, View, inside_or
from wengert.core.op import holds_tensor
from wengert.core.op_parts.batching import BatchedCall
from wengert.core.op_parts.samples import sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.values.number import Number
from wengert.core.words.foreign_names.elsewhere import OF_FRAMES
from wengert.errors import ShapeError, TraceError
from wengert.interpret.mistakes.mixed_rows import note_numbered_rows
from wengert.ops.indexing.spans import position, sides, span

# Slices: a start, a size and a step per axis, each a number or a Dim.


def _slices(name: str, shape: Any, start: Any, size: Any, step: Any) -> tuple[slice, ...]:
    """The same as NumPy's slices, where they fit into the shape."""
    _require_inside(name, shape, start, size, step)
    slices = []
    for first, count, stride in zip(start, size, step, strict=True):
        stop = first + count * stride
        if count == 0:
            slices.append(slice(0, 0))
        else:
            slices.append(slice(first, None if stop < 0 else stop, stride))
    return tuple(slices)


def _require_inside(name: str, shape: Shape, start: Shape, size: Shape, step: Shape) -> None:
    """Numbers must fit; what a Dim makes of them is checked when it has a value."""
    for axis, (n, first, count, stride) in enumerate(zip(shape, start, size, step, strict=True)):
        known = all(isinstance(each, int) for each in (n, first, count, stride))
        if count == 0 or (not known and (stride != 0 or count == 1)):
            continue
        last = first + (count - 1) * stride
        still = stride == 0 and count != 1
        if still or count < 0 or not 0 <= first < n or not 0 <= last < n:
            raise ShapeError(
                f"{name}: axis {axis} has size {n}, and a slice from {first} to "
                f"{first + count * stride} in steps of {stride} was asked for; all of it must lie "
                "inside. Pass a larger array, or change the slice."
            )


def _whole(numbers: Any) -> Shape:
    return tuple(each if isinstance(each, Dim) else as_integer(each) for each in numbers)


def _slice_type(x: Any, start: Shape, size: Shape, step: Shape) -> ArrayType:
    _require_inside("slice_axes", x.shape, start, size, step)
    return ArrayType(tuple(size), x.dtype)


def _sliced_axes(
    _given: Shape, _out: Shape, start: Shape, size: Shape, step: Shape
) -> tuple[Along, ...]:
    return tuple(Along(axis, *each) for axis, each in enumerate(zip(start, step, strict=True)))


def _slice_each(call: BatchedCall) -> Any:
    start, size, step = (call.params[name] for name in ("start", "size", "step"))
    return call.again(call.operands, start=(0, *start), size=(call.size, *size), step=(1, *step))


@linear(
    numpy=lambda x, start, size, step: x[_slices("slice_axes", x.shape, start, size, step)],
    type=_slice_type,
    canonical=lambda x, start, size, step: {
        "start": _whole(start),
        "size": canonical_shape("slice_axes", size),
        "step": _whole(step),
    },
    transpose=lambda g, _x, start, size, step: op.place(
        g, shape=tuple(_x.shape), start=start, step=step
    ),
    sized=True,
    space="hidden",
    samples=(
        sample((4, 5), start=(1, 4), size=(2, 3), step=(2, -2)),
        sample((3,), start=(2,), size=(3,), step=(-1,)),
        sample((2, 3), start=(0, 1), size=(0, 2), step=(1, 1)),
        sample((0, 3), start=(0, 0), size=(0, 3), step=(1, 1)),
        sample((), start=(), size=(), step=()),
    ),
    exact=True,
    lower=View(_sliced_axes),
    batch=_slice_each,
)
def slice_axes(x: Any, /, start: Shape, size: Shape, step: Shape) -> None:
    """Along each axis `size` elements from `start` on, `step` apart; a step may be negative.

    Every element must exist: 0 <= start and start + (size - 1) * step inside, unless size is 0.
    """


def _place(x: Any, shape: Shape, start: Shape, step: Shape) -> Any:
    out = np.zeros(shape, x.dtype)
    out[_slices("place", shape, start, x.shape, step)] = x
    return out


def _place_type(x: Any, shape: Shape, start: Shape, step: Shape) -> ArrayType:
    _require_inside("place", shape, start, x.shape, step)
    return ArrayType(tuple(shape), x.dtype)


def _placed_element(p: Places) -> Any:
    """out[start + i · step] = x[i], else 0."""
    places, masks = [], []
    for place, size, whole, start, step in zip(
        p.own, p.types[0].shape, p.out.shape, p.params["start"], p.params["step"], strict=True
    ):
        if start == 0 and step == 1 and size == whole:
            places.append(place)
            continue
        moved = p.shift(place, 0 - start)
        if step == -1:
            moved = p.scale(moved, -1)
        elif step != 1:
            moved, even = p.divide(moved, step)
            masks.append(even)
        masks += [p.at_least(moved, 0), p.below(moved, size)]
        places.append(moved)
    return inside_or(p, places, masks, 0)


def _placed_spans(
    given: Shape, out: Shape, shape: Shape, start: Shape, step: Shape
) -> tuple[Span, ...]:
    return tuple(map(Span, out, start, given, step))


def _place_each(call: BatchedCall) -> Any:
    shape, start, step = (call.params[name] for name in ("shape", "start", "step"))
    return call.again(call.operands, shape=(call.size, *shape), start=(0, *start), step=(1, *step))


@linear(
    numpy=_place,
    type=_place_type,
    canonical=lambda x, shape, start, step: {
        "shape": canonical_shape("place", shape),
        "start": _whole(start),
        "step": _whole(step),
    },
    transpose=lambda g, _x, shape, start, step: op.slice_axes(
        g, start=start, size=tuple(_x.shape), step=step
    ),
    sized=True,
    space="hidden",
    samples=(
        sample((2, 3), shape=(4, 5), start=(1, 4), step=(2, -2)),
        sample((2,), shape=(2,), start=(1,), step=(-1,)),
        sample((0, 2), shape=(3, 2), start=(0, 0), step=(1, 1)),
        sample((), shape=(), start=(), step=()),
    ),
    exact=True,
    lower=Pick(_placed_element, spans=_placed_spans),
    batch=_place_each,
)
def place(x: Any, /, shape: Shape, start: Shape, step: Shape) -> None:
    """Zeros of a shape with the array written into them at a slice; the transpose of slice_axes."""


# Keys.

FLOAT_INDEX = (
    "A column of which some are missing is read as floats, with NaN in their place: leave their "
    "rows out before, frame.dropna(), or give them a number of their own, column.fillna(n). If "
    "none is, convert it with astype"
)
MASKED = (
    "How many elements a mask chooses follows from that number: wg.where(mask, x, 0) in the place "
    "of x[mask], with -np.inf for 0 where a max, a softmax or a logsumexp follows, would leave it "
    "open; a mean is a sum of that / wg.sum(mask)."
)


class KeyEntry(NamedTuple):
    """What one part of a key does to the array."""

    size: Size | None  # of the axis that the basic part leaves here; None where it removes the axis
    span: tuple[Size, Size, Size] | None = None  # start, size, step along an axis of x
    index: Any = None  # an integer array for that axis
    advanced: bool = False  # counts as advanced where an integer array takes part
    sides: tuple[Size, ...] = ()  # what must be positive for the ends of a slice, see `sides`


@function(space="hidden")
def getitem(x: Any, key: Any) -> Any:
    """Part of an array, as NumPy's ``x[key]`` means it.

    A key holds integers, slices, Ellipsis, None, integer arrays or Tensors, and masks of known
    values. A traced mask has no known count: use ``wg.where(mask, x, 0)``.
    """
    x = op.asarray(x)
    entries = entries_of(x, key)
    part = basic(with_sides(x, entries), entries)
    if all(entry.index is None for entry in entries):
        return part
    return _advanced(part, entries)


setattr(Tensor, "__getitem__", getitem)  # noqa: B010  (mypy reads x.__getitem__ as x[...])


def with_sides(x: Any, entries: Sequence[KeyEntry]) -> Any:
    """The array, in a program that is right where ends of slices, given as Dims, are counted from
    the side that they seem to be: z[-n:] is all of z where n is 0, as Python has no -0.
    """
    for side in dict.fromkeys(side for entry in entries for side in entry.sides):
        x = op.for_several(x, (side + 1,))
    return x


def basic(x: Any, entries: Sequence[KeyEntry]) -> Any:
    """Slices, single positions and new axes; axes with an integer array stay whole."""
    spans = [entry.span for entry in entries if entry.span is not None]
    start, size, step = (tuple(each) for each in zip(*spans, strict=True)) if spans else ((),) * 3
    if (
        size != tuple(x.shape)
        or any(each != 0 for each in start)
        or any(each != 1 for each in step)
    ):
        x = op.slice_axes.rebind((x,), {"start": start, "size": size, "step": step})
    shape = tuple(entry.size for entry in entries if entry.size is not None)
    return x if shape == tuple(x.shape) else op.reshape.rebind((x,), {"shape": shape})


def _advanced(x: Any, entries: Sequence[KeyEntry]) -> Any:
    """Integer arrays, broadcast together; where their axes go follows NumPy's rule."""
    left = [entry for entry in entries if entry.size is not None]
    axes = [axis for axis, entry in enumerate(left) if entry.index is not None]
    indices = [entry.index for entry in left if entry.index is not None]
    note_numbered_rows("getitem", x.shape, [x.shape[axis] for axis in axes], indices)
    places = [place for place, entry in enumerate(entries) if entry.advanced]
    if places[-1] - places[0] + 1 == len(places):  # side by side: the result's axes go there
        return op.gather([x, *indices], axis=axes[0])
    others = [axis for axis in range(x.ndim) if axis not in axes]  # apart: they go to the front
    return op.gather([op.permute_dims(x, (*axes, *others)), *indices], axis=0)


def entries_of(x: Any, key: Any) -> list[KeyEntry]:
    """The parts of a key, one per axis of x or new axis, with Ellipsis written out."""
    parts = [_array(part) for part in (key if isinstance(key, tuple) else (key,))]
    used = sum(map(_consumed, parts))
    ellipses = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        _refuse(f"{len(ellipses)} Ellipses were given", "one at most is allowed", "Write slices")
    if used > x.ndim:
        _refuse(
            f"{used} indices were given for an array of {x.ndim} axes",
            "each axis takes one",
            "Remove some",
        )
    place = ellipses[0] if ellipses else len(parts)
    # The Ellipsis stays behind its slices: it sets integer arrays apart even where it has none.
    parts[place:place] = [slice(None)] * (x.ndim - used)
    entries: list[KeyEntry] = []
    axis = 0
    for part in parts:
        entries += _entry(x, axis, part)
        axis += _consumed(part)
    return entries


def _array(part: Any) -> Any:
    """A part of a key with sequences and numbers of NumPy's as arrays."""
    if type(part) is Number and part.dtype.kind == "i":
        return part.as_array()
    if part is None or part is Ellipsis or isinstance(part, bool | int | slice | Dim | np.ndarray):
        return part
    if isinstance(part, Tensor):
        if part.dtype == np.bool_:
            need_sizes(part.level.sizes_behind(part), MASKED)
            raise TraceError(
                "getitem: a mask that is traced or batched was given as an index; how many "
                "elements it chooses is known only when the program runs. Use wg.where(mask, x, 0) "
                "instead; a mean is a sum of that / wg.sum(mask)."
            )
        if part.dtype.kind not in "iu":
            _refuse_dtype(part.dtype)
        return part
    if isinstance(part, np.generic | list | tuple):
        if isinstance(part, list | tuple) and holds_tensor(part):
            return _array(op.array(part))
        indices = np.asarray(part)
        # A list of no elements has no dtype of its own, however deep.
        return indices.astype(np.intp) if isinstance(part, list) and not indices.size else indices
    # A Series of pandas, say, counts by position, as operands do.
    if hasattr(type(part), "__array__") and type(part) is not Number:
        return np.asarray(part)
    return _refuse_kind(f"index {part!r}", is_text=isinstance(part, str))


def _consumed(part: Any) -> int:
    """How many axes of x a part refers to."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, np.ndarray) and part.dtype == np.bool_:
        return part.ndim
    return 1


def _entry(x: Any, axis: int, part: Any) -> list[KeyEntry]:
    if part is None:
        return [KeyEntry(1)]
    if part is Ellipsis:
        return [KeyEntry(None)]
    if isinstance(part, bool):
        part = np.asarray(part)
    if isinstance(part, np.ndarray) and part.dtype == np.bool_:
        return _mask(x, axis, part)
    size = x.shape[axis]
    if isinstance(part, slice):
        taken = span(size, part)
        return [KeyEntry(taken[1], taken, sides=sides(size, part))]
    if isinstance(part, np.ndarray) and part.dtype.kind not in "iu":
        _refuse_dtype(part.dtype)
    if isinstance(part, Tensor) or (isinstance(part, np.ndarray) and part.ndim):
        return [KeyEntry(size, (0, size, 1), part, advanced=True)]
    return [KeyEntry(None, (position(size, axis, part), 1, 1), advanced=True)]


def _mask(x: Any, axis: int, mask: Any) -> list[KeyEntry]:
    """A mask is the positions where it holds, one integer array per axis."""
    if mask.ndim == 0:  # a truth value: a new axis, of size 1 or 0
        return [KeyEntry(1, index=np.zeros(int(mask), np.intp), advanced=True)]
    shape = tuple(int(size) for size in x.shape[axis : axis + mask.ndim])
    if mask.shape != shape:
        _refuse(
            f"a mask of shape {mask.shape} was given for axes of shape {shape}",
            "the shapes must be equal",
            "Reshape the mask",
        )
    return [
        KeyEntry(size, (0, size, 1), index, advanced=True)
        for size, index in zip(shape, np.nonzero(mask), strict=True)
    ]


def _refuse(given: str, needed: str, repair: str) -> NoReturn:
    raise IndexError(f"getitem: {given}; {needed}. {repair}.")


def _refuse_dtype(dtype: Any) -> NoReturn:
    repair = FLOAT_INDEX if dtype.kind == "f" else "Convert it"
    _refuse_kind(f"an index of dtype {dtype}", is_text=dtype.kind in "OSTU", repair=repair)


def _refuse_kind(given: str, is_text: bool = False, repair: str = "Convert it") -> NoReturn:
    _refuse(
        f"{given} was given",
        "an index is an integer, a slice, Ellipsis, None, or an array of integers or bools",
        f"{OF_FRAMES}; or number them, x[:, 0]" if is_text else repair,
    )
