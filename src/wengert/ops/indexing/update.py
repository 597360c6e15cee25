"""Arrays with other values at chosen positions: x.at[key].set(v) and its siblings. Nothing is
changed in place.

A key is read as `x[key]` reads it. Slices and single positions are written back with `place`. For
integer arrays the rows they choose come first, and updates are rows at positions among them; of
updates for one position `last_at` says which comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from wengert.core.bind import located
from wengert.core.define import composite, function, primitive
from wengert.core.dims import Shape, Size, product
from wengert.core.dtypes import int64, promote
from wengert.core.lowering import BAD_INDEX, SpecialKernel
from wengert.core.op_parts.broadcast import broadcast_shapes
from wengert.core.op_parts.samples import Exactly, Integers, sample
from wengert.core.signatures.shapes import canonical_shape
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType
from wengert.core.values.constant import IndexableConstant
from wengert.core.values.number import Number
from wengert.core.words.noticed.unused_results import warn_if_dropped
from wengert.core.words.source import user_line
from wengert.errors import DTypeError, MissingAttribute, ShapeError
from wengert.ops.indexing.getitem import KeyEntry, basic, entries_of, with_sides

# Which of several updates comes last.


def _last_at(indices: Any, size: int) -> Any:
    _last_at_type(indices, size)
    wrong = indices[(indices < -size) | (indices >= size)]
    if wrong.size:
        raise IndexError(
            f"last_at: index {wrong[0]} was given for {size} positions; an index must be one of "
            "them. Check where it comes from."
        )
    out = np.full(size, -1, int64)
    out[indices.astype(np.intp)] = np.arange(len(indices))  # of equal ones NumPy keeps the last
    return out


def _last_at_type(indices: Any, size: Size) -> ArrayType:
    if indices.dtype.kind not in "iu" or len(indices.shape) != 1:
        raise ShapeError(
            f"last_at: given {ArrayType(tuple(indices.shape), indices.dtype)}; indices are one row "
            "of integers. Reshape them."
        )
    return ArrayType((size,), int64)


@primitive(
    numpy=_last_at,
    type=_last_at_type,
    canonical=lambda _indices, size: {"size": canonical_shape("last_at", (size,))[0]},
    flat=True,
    sized=True,
    exact=True,
    space="hidden",
    samples=(
        sample(Exactly([1, 3, 1, -1, 0]), size=5),
        sample(Integers((6,), -4, 4, "int32"), size=4),
        sample(Exactly(np.zeros(0, np.int64)), size=3),
        sample(Exactly(np.zeros(0, np.int64)), size=0),
    ),
    lower=SpecialKernel("last_at", failure=BAD_INDEX),
)
def last_at(indices: Any, /, size: Size) -> None:
    """For each of `size` positions the number of the last index that is it; -1 where none is."""


# Rows that several updates have in common.


def _spread(mask: Any, like: Any) -> Any:
    """One value per row, along the other axes of the rows."""
    return op.reshape(mask, (*mask.shape, *[1] * (len(like.shape) - 1)))


def _at_last(x: Any, indices: Any, updates: Any) -> tuple[Any, Any]:
    """Which rows of x are updated, and for each row the last update."""
    last = op.last_at(indices, x.shape[0])
    if not isinstance(updates.shape[0], int):  # there may be none: then no row can be read
        rest = op.full((1, *updates.shape[1:]), 0, dtype=updates.dtype)
        none = op.full((), updates.shape[0], dtype=int64)
        updates, chosen = op.concat([updates, rest]), op.where(last < 0, none, last)
    else:
        chosen = op.maximum(last, 0)
    return _spread(last >= 0, x), op.gather([updates, chosen], axis=0)


def _from_front(indices: Any, size: Size) -> Any:
    wide = op.astype(indices, int64)
    return op.where(wide < 0, wide + op.full((), size, dtype=int64), wide)


def _together(
    x: Any, indices: Any, updates: Any, combine: Callable[[Any, Any], Any]
) -> tuple[Any, Any]:
    """Which rows of x are updated, and for each row what its updates come to: neighbours are
    combined, then pairs of these, and so on, in the order of the updates.
    """
    indices = _from_front(indices, x.shape[0])
    if isinstance(indices, np.ndarray) and len(np.unique(indices)) == len(indices):
        return _at_last(x, indices, updates)
    order = op.argsort(indices)
    places, totals = (op.gather([each, order], axis=0) for each in (indices, updates))
    distance = 1
    while distance < int(indices.shape[0]):
        same = _spread(op.equal(places[distance:], places[:-distance]), totals)
        both = combine(totals[:-distance], totals[distance:])
        totals = op.concat([totals[:distance], op.where(same, both, totals[distance:])])
        distance *= 2
    return _at_last(x, places, totals)


def _last_in_order(
    x: Any, indices: Any, updates: Any, key: Callable[[Any], Any]
) -> tuple[Any, Any]:
    """Which rows of x are updated, and of each element the update with the largest key: in the
    order of the keys it is the last. For any number of updates, which `_together` must know.
    """
    width = product(tuple(x.shape[1:]))
    size, amount = x.shape[0] * width, updates.shape[0] * width
    columns = op.reshape(op.arange(width), (1, width))
    rows = op.reshape(_from_front(indices, x.shape[0]), (indices.shape[0], 1))
    places, values = op.reshape(rows * width + columns, (amount,)), op.reshape(updates, (amount,))
    order = op.argsort(key(values))  # NaN last
    places, values = (op.gather([each, order], axis=0) for each in (places, values))
    of_elements = _at_last(op.reshape(x, (size,)), places, values)
    touched, largest = (op.reshape(each, tuple(x.shape)) for each in of_elements)
    return touched, largest


def _downwards(values: Any) -> Any:
    """Keys that are the larger the smaller a value is, NaN being NaN."""
    return op.negative(values) if values.dtype.kind == "f" else op.bitwise_invert(values)


def _extreme(
    combine: Callable[[Any, Any], Any], key: Callable[[Any], Any]
) -> Callable[[Any, Any, Any], Any]:
    def body(x: Any, indices: Any, updates: Any) -> Any:
        x, updates = (op.astype(each, promote(x, updates)) for each in (x, updates))
        if isinstance(updates.shape[0], int):
            touched, totals = _together(x, indices, updates, combine)
        else:
            touched, totals = _last_in_order(x, indices, updates, key)
        return op.where(touched, combine(x, totals), x)

    return body


def _shares(out: Any, x: Any, indices: Any, updates: Any) -> tuple[Any, Any]:
    """How much of an extreme each row and each update is: all that are equal to it share evenly."""
    ours = op.astype(op.equal(x, out), out.dtype)
    theirs = op.astype(op.equal(updates, op.gather([out, indices], axis=0)), out.dtype)
    count = ours + op.scatter([theirs, indices], shape=tuple(x.shape), axis=0)
    return ours / count, theirs / op.gather([count, indices], axis=0)


def _extreme_vjp(g: Any, out: Any, x: Any, indices: Any, updates: Any) -> Any:
    ours, theirs = _shares(out, x, indices, updates)
    gu = op.pull(op.gather([g, indices], axis=0), theirs)
    return op.astype(op.pull(g, ours), x.dtype), None, op.astype(gu, updates.dtype)


def _extreme_jvp(d: Any, out: Any, x: Any, indices: Any, updates: Any) -> Any:
    dx, _, du = d
    ours, theirs = _shares(out, x, indices, updates)
    own = None if dx is None else op.pull(dx, ours)
    if du is None:
        return own
    moved = op.scatter([op.pull(du, theirs), indices], shape=tuple(x.shape), axis=0)
    return moved if own is None else own + moved


def _extreme_of_arrays(ufunc: np.ufunc) -> Callable[[Any, Any, Any], Any]:
    def run(x: Any, indices: Any, updates: Any) -> Any:
        out = np.array(x, promote(x, updates))
        ufunc.at(out, indices.astype(np.intp), updates)
        return out

    return run


def _rows_type(name: str) -> Callable[[Any, Any, Any], ArrayType]:
    def type_of(x: Any, indices: Any, updates: Any) -> ArrayType:
        if indices.dtype.kind not in "iu" or len(indices.shape) != 1:
            raise ShapeError(
                f"{name}: given {ArrayType(tuple(indices.shape), indices.dtype)} as indices; they "
                "are one row of integers. Reshape them."
            )
        rows = (*indices.shape, *x.shape[1:])
        if not x.shape or tuple(updates.shape) != rows:
            raise ShapeError(
                f"{name}: given updates of shape {tuple(updates.shape)} for rows of an array of "
                f"shape {tuple(x.shape)}; they must be of shape {rows}. Reshape them."
            )
        return ArrayType(tuple(x.shape), promote(x, updates))

    return type_of


def _rows_dtypes(_name: str, operands: Sequence[Any]) -> list[Any]:
    x, indices, updates = operands
    return [promote(x, updates), indices.dtype, promote(x, updates)]


_EXTREME: dict[str, Any] = {
    "dtypes": _rows_dtypes,
    "vjp": _extreme_vjp,
    "jvp": _extreme_jvp,
    "space": "hidden",
    "samples": (
        sample((4, 2), Exactly([1, 3, 1, -1, 0]), (5, 2)),
        sample((3,), Integers((6,), -3, 3), (6,)),
        sample((3, 2), Exactly([2, 0]), (2, 2)),
    ),
}


@composite(type=_rows_type("largest_at"), numpy=_extreme_of_arrays(np.maximum), **_EXTREME)
def largest_at(x: Any, indices: Any, updates: Any, /) -> Any:
    """Rows, each the largest of itself and the updates for it, element by element.

    The gradient goes to all that are largest, in even shares.
    """
    return _extreme(op.maximum, lambda values: values)(x, indices, updates)


@composite(type=_rows_type("smallest_at"), numpy=_extreme_of_arrays(np.minimum), **_EXTREME)
def smallest_at(x: Any, indices: Any, updates: Any, /) -> Any:
    """As `largest_at`, with the smallest."""
    return _extreme(op.minimum, _downwards)(x, indices, updates)


def _set_rows(x: Any, indices: Any, updates: Any) -> Any:
    touched, values = _at_last(x, indices, updates)
    return op.where(touched, values, x)


def _add_rows(x: Any, indices: Any, updates: Any) -> Any:
    touched = _spread(op.last_at(indices, x.shape[0]) >= 0, x)
    total = op.scatter([updates, indices], shape=tuple(x.shape), axis=0)
    return op.where(touched, x + total, x)


def _multiply_rows(x: Any, indices: Any, updates: Any) -> Any:
    touched, products = _together(x, indices, updates, op.multiply)
    return op.where(touched, x * products, x)


# What each way does to elements, and to rows at positions that may be repeated.
_WAYS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any, Any], Any]]] = {
    "set": (lambda _x, v: v, _set_rows),
    "add": (lambda x, v: x + v, _add_rows),
    "multiply": (lambda x, v: x * v, _multiply_rows),
    "max": (lambda x, v: op.maximum(x, v), lambda *rows: op.largest_at(*rows)),
    "min": (lambda x, v: op.minimum(x, v), lambda *rows: op.smallest_at(*rows)),
}


def _updated(way: str, x: Any, key: Any, values: Any) -> Any:
    name = f"at.{way}"
    updates = _updates(name, x, values)
    if way != "set" and x.dtype == np.bool_:
        raise DTypeError(
            f"{name}: given an array of bools; they are no numbers. Use set, or convert the array "
            "with astype."
        )
    if isinstance(key, Tensor) and key.dtype == np.bool_:
        return _where_mask(name, _WAYS[way][0], x, key, updates)
    entries = entries_of(x, key)
    x = with_sides(x, entries)
    part = basic(x, entries)
    if all(entry.index is None for entry in entries):
        updates = _broadcast(name, updates, tuple(part.shape))
        return _written_back(x, _WAYS[way][0](part, updates), entries)
    return _written_back(x, _rows_updated(name, _WAYS[way][1], part, entries, updates), entries)


def _updates(name: str, x: Any, values: Any) -> Any:
    """Updates in the dtype of the array; a Python number takes it."""
    plain = isinstance(values, bool | int | float) and not isinstance(values, np.generic)
    given = op.asarray(values)
    whole = plain and isinstance(values, int) and x.dtype.kind in "iu"
    if given.dtype == x.dtype:
        return given
    if not whole and not np.can_cast(given.dtype, x.dtype, "same_kind"):
        error = DTypeError(
            f"{name}: given updates of dtype {given.dtype} for an array of {x.dtype}, which would "
            "lose what they say; they must be of its kind. Convert one of them with astype."
        )
        raise located(error, [x, values])
    return op.astype(given, x.dtype)


def _broadcast(name: str, updates: Any, shape: Shape) -> Any:
    try:
        fits = broadcast_shapes(name, [tuple(updates.shape), shape]) == shape
    except ShapeError:
        fits = False
    if not fits:
        error = ShapeError(
            f"{name}: given updates of shape {tuple(updates.shape)} for a part of shape {shape}; "
            "they must broadcast to it. Reshape them."
        )
        raise located(error, [updates])
    return op.broadcast_to(updates, shape)


def _where_mask(
    name: str, combine: Callable[[Any, Any], Any], x: Any, mask: Any, updates: Any
) -> Any:
    """A mask whose values are not known: how many elements it chooses is not, either."""
    if tuple(x.shape[: mask.ndim]) != tuple(mask.shape):
        error = ShapeError(
            f"{name}: a mask of shape {tuple(mask.shape)} was given for an array of shape "
            f"{tuple(x.shape)}; it must have the array's first axes. Reshape the mask."
        )
        raise located(error, [x, mask])
    updates = _broadcast(name, updates, tuple(x.shape[mask.ndim :]))
    wide = op.reshape(mask, (*mask.shape, *[1] * (x.ndim - mask.ndim)))
    return op.where(wide, combine(x, updates), x)


def _rows_updated(
    name: str,
    combine: Callable[[Any, Any, Any], Any],
    part: Any,
    entries: Sequence[KeyEntry],
    updates: Any,
) -> Any:
    """A part of an array with rows updated that integer arrays choose."""
    left = [entry for entry in entries if entry.size is not None]
    axes = [axis for axis, entry in enumerate(left) if entry.index is not None]
    indices = [entry.index for entry in left if entry.index is not None]
    others = [axis for axis in range(part.ndim) if axis not in axes]
    sizes, rest = ([part.shape[axis] for axis in each] for each in (axes, others))
    count = product(tuple(sizes))
    numbers = op.reshape(_numbers(count), tuple(sizes))
    try:
        places = op.gather([numbers, *indices], axis=0)
    except (IndexError, ShapeError) as error:
        raise type(error)(str(error).replace("getitem", name, 1)) from None
    together = [place for place, entry in enumerate(entries) if entry.advanced]
    beside = together[-1] - together[0] + 1 == len(together)
    first = axes[0] if beside else 0
    block = tuple(places.shape)
    updates = _broadcast(name, updates, (*rest[:first], *block, *rest[first:]))
    moved = range(first, first + len(block))
    order = (*moved, *(axis for axis in range(updates.ndim) if axis not in moved))
    amount = product(block)
    if amount == 0:
        return part
    rows = op.reshape(op.permute_dims(part, (*axes, *others)), (count, *rest))
    updated = combine(
        rows,
        op.reshape(places, (amount,)),
        op.reshape(op.permute_dims(updates, order), (amount, *rest)),
    )
    back = tuple(int(axis) for axis in np.argsort((*axes, *others)))
    return op.permute_dims(op.reshape(updated, (*sizes, *rest)), back)


def _numbers(count: Size) -> Any:
    return np.arange(count) if isinstance(count, int) else op.arange(count)


def _written_back(x: Any, part: Any, entries: Sequence[KeyEntry]) -> Any:
    """The array with a new part in the place that slices and single positions chose."""
    spans = [entry.span for entry in entries if entry.span is not None]
    start, size, step = (tuple(each) for each in zip(*spans, strict=True)) if spans else ((),) * 3
    shape = tuple(x.shape)
    part = op.reshape(part, size)
    if size == shape and all(each == 0 for each in start) and all(each == 1 for each in step):
        return part
    if 0 in size:
        return x
    where = {"shape": shape, "start": start, "step": step}
    mask = op.place(op.full(size, True, dtype=np.bool_), **where)
    return op.where(mask, op.place(part, **where), x)


class Chosen:
    """A part of an array, `x.at[key]`, and the new arrays that have other values there."""

    __slots__ = ("_key", "_x")

    def __init__(self, x: Any, key: Any) -> None:
        self._x, self._key = x, key

    def get(self) -> Any:
        """x[key]."""
        return op.getitem(self._x, self._key)

    def set(self, values: Any) -> Any:
        """The array with these values there; of those for one position the last counts."""
        return self._with("set", values)

    def add(self, values: Any) -> Any:
        """The array with these values added; those for one position add up."""
        return self._with("add", values)

    def multiply(self, values: Any) -> Any:
        """The array times these values there; by all of those for one position."""
        return self._with("multiply", values)

    def max(self, values: Any) -> Any:
        """The array with the larger of its elements and these values there."""
        return self._with("max", values)

    def min(self, values: Any) -> Any:
        """The array with the smaller of its elements and these values there."""
        return self._with("min", values)

    def _with(self, way: str, values: Any) -> Any:
        try:
            updated = _updated(way, self._x, self._key, values)
            if isinstance(updated, np.ndarray) and (updated is self._x or updated.base is not None):
                return np.array(updated)  # apart from the array and the values
            if type(self._x) is Tensor:
                warn_if_dropped(
                    f"x.at[…].{way}(…): given a Tensor, which is never changed in place; the "
                    f"result is a new one, and nothing reads it. Write x = x.at[…].{way}(…)."
                )
            return updated
        except Exception as error:
            told = located(error, [self._x, self._key, values])
            if told is error:
                raise
            raise told from None

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingAttribute(
            f"at.{name}: there is no such update; there are get, set, add, multiply, max and min. "
            f"Write x.at[i].set(f(x[i])). ({user_line()})"
        )


class At:
    """The parts of an array, by key: `x.at[key]`."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> Chosen:
        return Chosen(self._x, key)

    def __setitem__(self, key: Any, values: Any) -> NoReturn:
        raise TypeError(
            "at: was assigned to; it changes nothing in place. Write x = x.at[key].set(values). "
            f"({user_line()})"
        )


@function()
def at(x: Any) -> At:
    """Functional updates of an array or Tensor: `wg.at(x)[key].set(values)` is a new array.

    Tensors have it as `x.at`. Beside `set` there are `add`, `multiply`, `max`, `min` and `get`. A
    key is what `x[key]` takes; values broadcast to that part, and are cast to the array's dtype
    where they are of its kind. Where an index is repeated, all updates count; of `set` the last.

    >>> x = np.zeros(3)
    >>> wg.at(x)[1].set(5.0), wg.at(x)[[0, 0, 2]].add(1.0)
    (array([0., 5., 0.]), array([2., 0., 1.]))
    """
    return At(op.asarray(x.tensor if isinstance(x, Number) else x))


for _kind in (Tensor, IndexableConstant):  # which are defined before the ops they have
    setattr(_kind, "at", property(at))  # noqa: B010
