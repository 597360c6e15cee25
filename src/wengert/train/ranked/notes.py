"""Notes: what each micro-batch gives beside its gradients, written as bytes for all ranks, and read
together: the loss, the carried state, and aux.

A leaf with one row per row of the micro-batch is joined, in order. Other floats become the mean
over rows, in the order of the tree, which leaves values alone that are the same everywhere.
Integers and bools must be the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.core.dtypes import is_float
from wengert.errors import ShapeError
from wengert.train.ranked.micro_batches import MicroBatches, Span, folded
from wengert.train.storage import Array


class NoteLeaf(NamedTuple):
    """One array of a note."""

    name: str  # what messages call it
    dtype: str
    shape: tuple[int, ...]  # without the rows, where it has some
    has_rows: bool

    def full_shape(self, rows: int) -> tuple[int, ...]:
        return (rows, *self.shape) if self.has_rows else self.shape

    def size(self, rows: int) -> int:
        """Its bytes, in a micro-batch of so many rows."""
        return math.prod(self.full_shape(rows)) * np.dtype(self.dtype).itemsize


Layout = tuple[NoteLeaf, ...]


def layout_of(names: Sequence[str], leaves: Sequence[Array], with_rows: Sequence[bool]) -> Layout:
    return tuple(
        NoteLeaf(name, x.dtype.str, x.shape[1:] if rows else x.shape, rows)
        for name, x, rows in zip(names, leaves, with_rows, strict=True)
    )


def written(layout: Layout, notes: Sequence[tuple[int, Sequence[Array]]]) -> Array:
    """The bytes of notes, each given with the rows of its micro-batch."""
    parts = []
    for rows, leaves in notes:
        for leaf, x in zip(layout, leaves, strict=True):
            if x.shape != leaf.full_shape(rows) or x.dtype.str != leaf.dtype:
                raise ShapeError(
                    f"TrainStep: {leaf.name} is {x.dtype}{x.shape} for a micro-batch of {rows} "
                    f"rows; it was {np.dtype(leaf.dtype)}{leaf.full_shape(rows)}, and ranks join "
                    "what they compute by axis 0 or by a mean. Return something whose shape "
                    "depends on the rows in axis 0 only, or not at all."
                )
            parts.append(np.ascontiguousarray(x).reshape(-1).view(np.uint8))
    return np.concatenate(parts) if parts else np.empty(0, np.uint8)


def size_of(layout: Layout, batches: MicroBatches, span: Span) -> int:
    """The bytes of the notes of consecutive micro-batches."""
    return sum(leaf.size(batches.size(i)) for i in range(*span) for leaf in layout)


def read_notes(layout: Layout, batches: MicroBatches, given: Sequence[Array]) -> list[list[Array]]:
    """The leaves of each micro-batch, from the bytes of all ranks in their order."""
    data = np.concatenate(given)
    notes, place = [], 0
    for i in range(batches.count):
        leaves = []
        for leaf in layout:
            rows = batches.size(i)
            end = place + leaf.size(rows)
            flat = np.frombuffer(data[place:end].tobytes(), leaf.dtype)
            leaves.append(flat.reshape(leaf.full_shape(rows)))
            place = end
        notes.append(leaves)
    return notes


def added_losses(notes: Sequence[Sequence[Array]]) -> Array:
    """The first leaf of all micro-batches, added in the order of the tree."""
    return folded(
        (0, len(notes)), lambda span: notes[span[0]][0] if span[1] - span[0] == 1 else None, np.add
    )


def joined(layout: Layout, batches: MicroBatches, notes: Sequence[Sequence[Array]]) -> list[Array]:
    """The leaves of the whole batch."""
    with np.errstate(all="ignore"):
        return [
            _joined(leaf, batches, [leaves[k] for leaves in notes]) for k, leaf in enumerate(layout)
        ]


def _joined(leaf: NoteLeaf, batches: MicroBatches, values: Sequence[Array]) -> Array:
    if leaf.has_rows:
        return np.concatenate(values)
    if is_float(values[0].dtype):
        mean: Array = folded((0, len(values)), partial(_weighted, batches, values), _mean)[0]
        return mean
    for number, x in enumerate(values):
        if not np.array_equal(x, values[0]):
            raise ShapeError(
                f"TrainStep: {leaf.name} is {values[0]} in micro-batch 0 and {x} in micro-batch "
                f"{number}; with ranks, integers and bools must be the same in all of them. Return "
                "a float, which becomes the mean over rows, or one value per row."
            )
    return values[0]


Weighted = tuple[Any, int]  # a value, and the rows that it stands for


def _weighted(batches: MicroBatches, values: Sequence[Array], span: Span) -> Weighted | None:
    """The value of a micro-batch, where the span is one."""
    return (values[span[0]], batches.size(span[0])) if span[1] - span[0] == 1 else None


def _mean(left: Weighted, right: Weighted) -> Weighted:
    (a, m), (b, n) = left, right
    same = np.equal(a, b)
    share = np.asarray(n / (m + n), np.asarray(a).dtype)
    return np.where(same, a, a * (1 - share) + b * share), m + n
