"""Evaluation: the mean of a function over all batches of some data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import MethodType
from typing import Any, Protocol

import numpy as np

from wengert.core import tree
from wengert.core.dims import Shape
from wengert.errors import DTypeError, ShapeError
from wengert.train.open_sizes import OpenShape
from wengert.train.recorded.rows.rows_of_data import rows_of_data
from wengert.train.storage import Array


def is_same_function(f: Any, other: Any) -> bool:
    """Whether two are one function; a method is a new object each time."""
    return f is other or (isinstance(f, MethodType) and bool(f == other))


def without_state(loss: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    """A loss that carries a state, without the state that it returns."""

    @functools.wraps(loss)
    def stateless(*args: Any, **named: Any) -> Any:
        value, _, *aux = loss(*args, **named)
        return (value, *aux) if has_aux else value

    return stateless


class RowsOfData(Protocol):
    """Batches of rows that a function is evaluated on."""

    rows: int
    size: int

    def batches(self, order: None, drop_last: bool) -> Iterator[tuple[int, Any]]: ...
    def first(self, rows: int) -> Any: ...
    def note_missing(self, error: Exception) -> None: ...
    def named_arrays(self) -> list[tuple[str, Array]]: ...


class NumberedFunction(Protocol):
    """A bound function, or that of all members of an ensemble."""

    open_shapes: list[OpenShape] | None

    def look(self) -> None: ...
    def call_numbered(self, number: int, args: Sequence[Any]) -> Any: ...


def weighted_mean(
    bound: NumberedFunction, data: RowsOfData, by: str = "TrainStep.evaluate", in_front: int = 0
) -> Any:
    """The mean of what a function returns over all batches, weighted by their rows: a tree, with
    Python floats for scalars. Results have so many axes `in_front` that are not the function's.
    """
    bound.look()
    totals: list[Any] = []
    structure: tree.Structure | None = None
    # Of a result for another number of rows, or with Dims for it.
    shapes: Sequence[OpenShape] | None = None
    for number, (rows, batch) in enumerate(data.batches(None, drop_last=False)):
        try:
            with rows_of_data(data.rows, data.named_arrays, cut=data.rows > rows):
                returned = tree.arrays(bound.call_numbered(number, batch))
        except (IndexError, ShapeError, DTypeError) as error:
            data.note_missing(error)
            raise
        leaves, structure = tree.flatten(returned)
        if shapes is None:
            shapes = bound.open_shapes or _shapes_elsewhere(bound, data, leaves)
        _require_means(by, returned, leaves, shapes, rows, in_front)
        shares = [np.asarray(x, np.float64) * rows for x in leaves]
        totals = [a + b for a, b in zip(totals, shares, strict=True)] if totals else shares
    assert structure is not None
    means = [x / data.rows for x in totals]
    return tree.unflatten(structure, [float(x) if np.ndim(x) == 0 else x for x in means])


def _shapes_elsewhere(
    bound: NumberedFunction, data: RowsOfData, leaves: Sequence[Any]
) -> list[Shape]:
    """The shapes of a result for one row less, computed for the purpose where all batches have the
    same size: only then can it be seen which axes follow the rows. Else the shapes for the first
    batch.
    """
    shapes = [np.shape(x) for x in leaves]
    alike = data.rows % data.size == 0 and data.size > 1
    if not alike or not any(shapes):
        return shapes
    try:
        fewer = tree.leaves(tree.arrays(bound.call_numbered(0, data.first(data.size - 1))))
    except Exception:  # a function for batches of this size only
        return shapes
    return [np.shape(x) for x in fewer]


def _require_means(
    by: str,
    returned: Any,
    leaves: Sequence[Any],
    shapes: Sequence[OpenShape],
    rows: int,
    in_front: int,
) -> None:
    """Refuse results that have an axis of the batch: their mean over batches means nothing."""
    for path, x, other in zip(tree.paths(returned), leaves, shapes, strict=True):
        shape, other = np.shape(x)[in_front:], other[in_front:]
        pairs = zip(shape, other, strict=False)
        axis = next((i for i, (a, b) in enumerate(pairs) if b is not None and a != b), None)
        if axis is not None or len(shape) != len(other):
            where = f" at {path!r}" if path else ""
            raise ShapeError(
                f"{by}: the function returned shape {shape}{where} for a batch of "
                f"{rows}; it must return means over the batch, whose shapes do not follow its "
                f"rows. Take the mean over axis {axis or 0}."
            )
