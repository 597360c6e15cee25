"""Reading and adding at positions given as integer arrays."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.define import composite, function, linear
from wengert.core.dims import Shape, need_sizes, product
from wengert.core.lowering import BAD_INDEX, Pick, Places, SpecialKernel
from wengert.core.op_parts.batching import BatchedCall, positions
from wengert.core.op_parts.broadcast import broadcast_shapes, canonical_axis
from wengert.core.op_parts.samples import Exactly, Integers, sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.interpret.mistakes.mixed_rows import note_mixed_rows, note_rows_from_outside
from wengert.ops.indexing.batched_index import gather_of_each, scatter_of_each
from wengert.ops.indexing.getitem import FLOAT_INDEX, MASKED

# One integer array per indexed axis, broadcast together; negative indices count from the end.

_READ = "getitem"  # what messages call gather: users write x[i]


def _gathered(shape: Shape, indices: Any, axis: int) -> Shape:
    if not indices:
        raise ShapeError(f"{_READ}: no indices were given; at least one is needed. Pass one.")
    canonical_axis(_READ, axis + len(indices) - 1, len(shape))  # every index has an axis
    block = broadcast_shapes(_READ, [tuple(index.shape) for index in indices])
    return (*shape[:axis], *block, *shape[axis + len(indices) :])


def _require_integers(name: str, *indices: Any) -> None:
    for index in indices:
        if index.dtype.kind not in "iu":
            raise DTypeError(
                f"{name}: an index of dtype {index.dtype} was given; indices are integers. "
                + (
                    "Choose with wg.where(mask, x, 0) instead of a mask."
                    if index.dtype == np.bool_
                    else f"{FLOAT_INDEX}."
                )
            )


def _gather_type(x: Any, *indices: Any, axis: int) -> ArrayType:
    _require_integers(_READ, *indices)
    return ArrayType(_gathered(tuple(x.shape), indices, axis), x.dtype)


def _gather(x: Any, *indices: Any, axis: int) -> Any:
    _require_integers(_READ, *indices)
    try:
        if dtypes.uint64 in [index.dtype for index in indices]:  # NumPy would wrap them around
            _require_in_range(_READ, x.shape, indices, axis)
        if len(indices) == 1 and x.size:  # take does not check indices of an empty array
            return np.take(x, indices[0].astype(np.intp), axis=axis)
        return x[(slice(None),) * axis + indices]
    except IndexError:
        _require_in_range(_READ, x.shape, indices, axis)
        raise


def _require_in_range(name: str, shape: Shape, indices: Any, axis: int) -> None:
    if any(0 in index.shape for index in indices):
        return  # broadcast together, there is no index
    for position, index in enumerate(indices, axis):
        size = shape[position]
        if not isinstance(index, np.ndarray | np.generic) or not isinstance(size, int):
            continue
        index = np.asarray(index)
        wrong = (index < -size) | (index >= size)
        if wrong.any():
            allowed = f"must lie between {-size} and {size - 1}" if size else "cannot exist there"
            raise IndexError(
                f"{name}: index {index[wrong][0]} was given for axis {position} of size {size}; "
                f"an index {allowed}. Check where it comes from."
            )


def _check_constants(name: str, x: Any, indices: Any, shape: Shape, axis: int) -> None:
    """Refuse wrong constant indices while a program is traced, not when it runs."""
    if isinstance(x, Tensor) and x.level.symbolic:
        _require_integers(name, *indices)
        _require_in_range(name, shape, indices, axis)


def _gather_params(x: Any, *indices: Any, axis: int) -> dict[str, Any]:
    _check_constants(_READ, x, indices, tuple(x.shape), axis)
    return {"axis": canonical_axis(_READ, axis, x.ndim)}


def _scatter_params(x: Any, *indices: Any, shape: Shape, axis: int) -> dict[str, Any]:
    _check_constants("scatter", x, indices, shape, axis)
    shape = canonical_shape("scatter", shape)
    return {"shape": shape, "axis": canonical_axis("scatter", axis, len(shape))}


def _calling(name: str, function: Any, arrays: Any, shape: Shape, **params: Any) -> Any:
    """Call gather or scatter for an op of another name, under which a wrong index is refused."""
    try:
        return function(arrays, **params)
    except IndexError:
        _require_in_range(name, shape, arrays[1:], params["axis"])
        raise


def _gathered_element(p: Places) -> Any:
    (given, *indices), axis = p.types, p.params["axis"]
    rank = max(each.ndim for each in indices)
    block = p.own[axis : axis + rank]
    places, masks = [*p.own[:axis]], []
    for operand, (t, size) in enumerate(zip(indices, given.shape[axis:], strict=False), 1):
        own = [
            p.fixed(0) if n == 1 else place
            for place, n in zip(block[rank - t.ndim :], t.shape, strict=True)
        ]
        place, bad = p.index(operand, own, size)
        places.append(place)
        if not isinstance(size, int):  # an open axis may be empty: then no element can be read
            masks.append(p.e.not_(bad))
    if 0 in given.shape:
        return p.number(0, p.out.dtype)
    inside = reduce(p.e.and_, masks) if masks else None
    return p.read(0, [*places, *p.own[axis + rank :]], inside)


@linear(
    numpy=_gather,
    type=_gather_type,
    canonical=_gather_params,
    transpose=lambda g, _x, *indices, axis: (
        op.scatter([g, *indices], shape=tuple(_x.shape), axis=axis),
        *[None] * len(indices),
    ),
    fixed=range(1, 65),
    space="hidden",
    samples=(
        sample((4, 3), Integers((5,), -4, 4), axis=0),
        sample((2, 4, 3), Integers((2, 2), 0, 4), Integers((2,), -3, 3), axis=1),
        sample((2, 3, 2), Integers((3, 1), 0, 2), Integers((), 0, 3), axis=0),
        sample((3, 2), Exactly([1, -2, 1, 1]), axis=0),
        sample((3, 2), Exactly(np.zeros((0, 2), np.int64)), axis=1),
        sample((3,), Exactly(np.int64(-1)), axis=0),
    ),
    exact=True,
    lower=Pick(_gathered_element, failure=BAD_INDEX),
    batch=gather_of_each,
)
def gather(*arrays: Any, axis: int) -> None:
    """Elements of the first array at positions along one or more axes, from `axis` on.

    The other arrays are integers, one per axis; the axes of their common shape replace those axes.
    """


def _scatter_type(updates: Any, *indices: Any, shape: Shape, axis: int) -> ArrayType:
    _require_integers("scatter", *indices)
    needed = _gathered(shape, indices, axis)
    if tuple(updates.shape) != needed:
        raise ShapeError(
            f"scatter: updates of shape {tuple(updates.shape)} were given; these indices into "
            f"shape {shape} need {needed}. Broadcast or reshape them first?"
        )
    return ArrayType(tuple(shape), updates.dtype)


def _scatter(updates: Any, *indices: Any, shape: Shape, axis: int) -> Any:
    _scatter_type(updates, *indices, shape=shape, axis=axis)
    inner = tuple(int(size) for size in shape[axis : axis + len(indices)])
    before, after = (int(product(part)) for part in (shape[:axis], shape[axis + len(indices) :]))
    if before == after == 1:
        out = np.zeros(inner, updates.dtype)
        try:
            np.add.at(
                out, indices, updates.reshape(np.broadcast_shapes(*(i.shape for i in indices)))
            )
        except IndexError:
            _require_in_range("scatter", shape, indices, axis)
            raise
        return out.reshape(shape)
    # Rows: NumPy adds fastest at positions in one flat array, but checks those positions only.
    _require_in_range("scatter", shape, indices, axis)
    flat: Any = 0
    for index, size in zip(indices, inner, strict=True):
        wide = index.astype(np.intp)
        flat = flat * size + np.where(wide < 0, wide + size, wide)
    rows = np.arange(before)[:, None] * product(inner) + np.ravel(flat)
    positions = rows[:, :, None] * after + np.arange(after)
    out = np.zeros(before * int(product(inner)) * after, updates.dtype)
    np.add.at(out, positions.ravel(), updates.ravel())
    return out.reshape(shape)


@linear(
    numpy=_scatter,
    type=_scatter_type,
    canonical=_scatter_params,
    transpose=lambda g, _updates, *indices, shape, axis: (
        op.gather([g, *indices], axis=axis),
        *[None] * len(indices),
    ),
    fixed=range(1, 65),
    sized=True,
    space="hidden",
    samples=(
        sample((5, 3), Integers((5,), -4, 4), shape=(4, 3), axis=0),
        sample((2, 2, 2), Integers((2, 2), 0, 4), Integers((2,), -3, 3), shape=(2, 4, 3), axis=1),
        sample((4, 2), Exactly([1, -2, 1, 1]), shape=(3, 2), axis=0),
        sample((3, 0), Exactly(np.zeros(0, np.int64)), shape=(3, 2), axis=1),
        sample((), Exactly(np.int64(-1)), shape=(3,), axis=0),
    ),
    lower=SpecialKernel("scatter", failure=BAD_INDEX),
    batch=scatter_of_each,
)
def scatter(*arrays: Any, shape: Shape, axis: int) -> None:
    """Zeros of a shape with the first array added at positions; the transpose of gather.

    What lands on one position adds up.
    """


def _take_axis(name: str) -> Any:
    def canonical(x: Any, indices: Any, *_: Any, axis: int | None) -> dict[str, Any]:
        if axis is None and name == "take":
            _check_constants(name, x, [indices], (product(x.shape),), 0)
            return {"axis": None}
        axis = canonical_axis(name, axis, x.ndim)
        _check_constants(name, x, [indices], tuple(x.shape), axis)
        return {"axis": axis}

    return canonical


def _take_type(x: Any, indices: Any, axis: int | None) -> ArrayType:
    _require_integers("take", indices)
    if axis is None:
        return ArrayType(tuple(indices.shape), x.dtype)
    return ArrayType(_gathered(tuple(x.shape), [indices], axis), x.dtype)


@composite(
    type=_take_type,
    canonical=_take_axis("take"),
    method=True,
    samples=(
        sample((4, 3), Integers((5,), -4, 4), axis=0),
        sample((2, 4, 3), Integers((2, 2), 0, 3), axis=-1),
        sample((4,), Exactly([1, 1, -1, 1]), axis=0),
        sample((2, 3), Integers((4,), 0, 6)),
        sample((2, 3), Exactly(np.int64(1)), axis=1),
        sample((2, 3), Exactly(np.zeros(0, np.int64)), axis=0),
    ),
)
def take(x: Any, indices: Any, /, axis: int | None = None) -> Any:
    """Elements at integer positions along an axis; negative positions count from the end.

    Without an axis, the array is read row by row as 1-d.

    >>> wg.take(np.array([[1, 2], [3, 4]]), np.array([1, 1]), axis=0)
    array([[3, 4],
           [3, 4]])
    """
    _require_integers("take", indices)
    if axis is None:
        x, axis = op.reshape(x, (-1,)), 0
    return _calling("take", op.gather, [x, indices], tuple(x.shape), axis=axis)


def _along(x: Any, indices: Any, axis: int) -> list[Any]:
    """An index per axis: `indices` along one, every position along the others."""
    per_axis = []
    for i, size in enumerate(x.shape):
        shape = tuple(size if i == j else 1 for j in range(x.ndim))
        if i == axis:
            per_axis.append(indices)
        elif isinstance(size, int):
            per_axis.append(np.arange(size).reshape(shape))
        else:
            per_axis.append(op.reshape(op.arange(size), shape))
    return per_axis


def _along_type(x: Any, indices: Any, axis: int) -> ArrayType:
    _require_integers("take_along_axis", indices)
    if len(indices.shape) != len(x.shape):
        raise ShapeError(
            f"take_along_axis: given shape {tuple(x.shape)} and indices of shape "
            f"{tuple(indices.shape)}; both need as many axes. Add axes with expand_dims."
        )
    others = [
        tuple(1 if i == axis else size for i, size in enumerate(each.shape))
        for each in (x, indices)
    ]
    try:
        shape = broadcast_shapes("take_along_axis", others)
    except ShapeError:
        note_mixed_rows("take_along_axis", others)
        note_rows_from_outside("take_along_axis", others, [x, indices])
        raise
    return ArrayType((*shape[:axis], indices.shape[axis], *shape[axis + 1 :]), x.dtype)


@composite(
    type=_along_type,
    canonical=_take_axis("take_along_axis"),
    array_function=(np.take_along_axis,),
    samples=(
        sample((3, 4), Integers((3, 2), -4, 4)),
        sample((3, 4), Integers((1, 4), 0, 3), axis=0),
        sample((2, 3, 4), Integers((2, 5, 1), -3, 3), axis=1),
        sample((4,), Exactly([2, 2, 0, 2]), axis=-1),
        sample((3, 4), Exactly(np.zeros((3, 0), np.int64))),
    ),
)
def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Any:
    """Along an axis, the elements at the positions that the same row of `indices` lists.

    >>> wg.take_along_axis(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), axis=1)
    array([[2],
           [3]])
    """
    _along_type(x, indices, axis)
    arrays = [x, *_along(x, indices, axis)]
    return _calling("take_along_axis", op.gather, arrays, tuple(x.shape), axis=0)


def _scatter_add_type(x: Any, indices: Any, updates: Any, axis: int) -> ArrayType:
    _require_integers("scatter_add", indices)
    needed = _gathered(tuple(x.shape), [indices], axis)
    if broadcast_shapes("scatter_add", [tuple(updates.shape), needed]) != needed:
        raise ShapeError(
            f"scatter_add: updates of shape {tuple(updates.shape)} were given; indices of shape "
            f"{tuple(indices.shape)} along axis {axis} of shape {tuple(x.shape)} need {needed}. "
            "Reshape them first?"
        )
    return ArrayType(tuple(x.shape), dtypes.promote(x, updates))


@composite(
    type=_scatter_add_type,
    canonical=_take_axis("scatter_add"),
    samples=(
        sample((4, 3), Integers((5,), -4, 4), (5, 3)),
        sample((2, 3), Integers((2, 2), 0, 3), (2, 2, 2), axis=-1),
        sample((3,), Exactly([1, 1, -2]), (3,)),
        sample((3, 2), Integers((4,), 0, 3), ()),
        sample((3, 2), Exactly(np.zeros(0, np.int64)), (0, 2)),
    ),
)
def scatter_add(x: Any, indices: Any, updates: Any, /, axis: int = 0) -> Any:
    """The array with `updates` added at integer positions along an axis.

    Updates of one position add up; negative positions count from the end.

    >>> wg.scatter_add(np.zeros(3), np.array([0, 2, 2]), np.array([1.0, 2.0, 3.0]))
    array([1., 0., 5.])
    """
    _scatter_add_type(x, indices, updates, axis)
    needed = _gathered(tuple(x.shape), [indices], axis)
    arrays, shape = [op.broadcast_to(updates, needed), indices], tuple(x.shape)
    return x + _calling("scatter_add", partial(op.scatter, shape=shape), arrays, shape, axis=axis)


def _one_hot_params(indices: Any, num_classes: Any, dtype: Any) -> dict[str, Any]:
    (count,) = canonical_shape("one_hot", num_classes)
    return {"num_classes": count, "dtype": dtypes.canonical("one_hot", dtype)}


def _one_hot_type(indices: Any, num_classes: Any, dtype: Any) -> ArrayType:
    _require_integers("one_hot", indices)
    return ArrayType((*indices.shape, num_classes), dtype)


@composite(
    type=_one_hot_type,
    canonical=_one_hot_params,
    flat=True,
    sized=True,
    samples=(
        sample(Integers((4,), -1, 4), num_classes=3),
        sample(Integers((2, 0), 0, 3), num_classes=3, dtype=np.float64),
        sample(Integers((), 0, 3, "int32"), num_classes=3, dtype=np.bool_),
        sample(Integers((2,)), num_classes=0),
    ),
)
def one_hot(indices: Any, /, num_classes: int, dtype: Any = np.float32) -> Any:
    """A row of zeros for each index, with a one at that position; none for an index outside.

    >>> wg.one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    _require_integers("one_hot", indices)
    return op.astype(op.equal(op.expand_dims(indices, -1), op.arange(num_classes)), dtype)


def _embed_type(weight: Any, indices: Any) -> ArrayType:
    _require_integers("Embedding", indices)
    return ArrayType((*indices.shape, *weight.shape[1:]), weight.dtype)


def _present(indices: Any, count: Any) -> Any:
    """Indices of rows, none of which may be negative: -1 marks a missing row more often than it
    means the last one.
    """
    if isinstance(indices, np.ndarray) and isinstance(count, int):
        wrong = (indices < 0) | (indices >= count)
        if np.any(wrong):
            raise IndexError(
                f"Embedding: index {indices[wrong][0]} was given at position "
                f"{tuple(int(i) for i in np.argwhere(wrong)[0])} for a table of {count} rows; an "
                f"index lies between 0 and {count - 1}. Where there is none, give any row and mask "
                "what is made of it."
            )
        return indices
    indices = op.astype(indices, dtypes.int64)
    return op.where(op.less(indices, 0), count, indices)  # refused where it is read


def _embed_vjp(g: Any, _out: Any, _weight: Any, indices: Any) -> Any:
    shape = tuple(_weight.shape)
    return op.scatter([g, _present(indices, shape[0])], shape=shape, axis=0), None


def _embed_each(call: BatchedCall) -> Any:
    weight, indices = call.operands
    if not call.batched[0]:
        return call.again([weight, indices])
    chosen = _present(
        indices if call.batched[1] else op.reshape(indices, (1, *indices.shape)), call.shape(0)[0]
    )
    return op.gather([weight, positions(call.size, call.rank(1) + 1), chosen], axis=0)


@composite(
    type=_embed_type,
    vjp=_embed_vjp,
    jvp=lambda d, _out, _weight, indices: op.embed(d[0], indices),
    samples=(
        sample((4, 3), Integers((5,), 0, 4)),
        sample((4, 3), Integers((2, 2), 0, 4, "int32")),
        sample((4, 3), Exactly(np.int64(1))),
        sample((2, 3), Exactly(np.zeros(0, np.int64))),
    ),
    space="hidden",
    batch=_embed_each,
)
def embed(weight: Any, indices: Any, /) -> Any:
    """Rows of a table, one for each index, none of which may be negative."""
    _embed_type(weight, indices)
    return op.take(weight, _present(indices, weight.shape[0]), 0)


@function()
def nonzero(x: Any) -> tuple[Any, ...]:
    """Positions of the elements that are not zero, one array per axis; not for traced values.

    >>> wg.nonzero(np.array([0, 7, 0, 8]))
    (array([1, 3]),)
    """
    while isinstance(x, Tensor):
        if x.level.symbolic or x.level.batched:
            need_sizes(x.level.sizes_behind(x), MASKED)
            raise TraceError(
                "nonzero: given a Tensor that is traced or batched; how many elements are not zero "
                "is known only when the program runs, for each example. Use wg.where(mask, x, 0) "
                "instead."
            )
        x = x._value
    if np.ndim(x) == 0:
        raise ShapeError(
            "nonzero: given a number, of shape (); an array of at least one axis is needed. Ask "
            "whether it is 0, or reshape it to (1,)."
        )
    return np.nonzero(x)
