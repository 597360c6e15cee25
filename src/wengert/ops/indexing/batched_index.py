"""Reading and adding at positions, for many examples at once: where indices differ between them,
the number of the example is one more index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.op_parts.batching import BatchedCall, positions
from wengert.core.table import op


def _indices_of_each(call: BatchedCall) -> tuple[list[Any], int]:
    """The indices of all examples, broadcast as in one, and the rank of their common shape."""
    places = range(1, len(call.operands))
    rank = max(call.rank(i) for i in places)
    return [call.raised(i, rank) for i in places], rank


def _moved_forward(rank: int, first: int, count: int) -> tuple[int, ...]:
    """The order of axes in which some of them, side by side, stand behind the first of all."""
    block = range(first, first + count)
    return (0, *block, *(axis for axis in range(1, rank) if axis not in block))


def _back(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(axis) for axis in np.argsort(order))


def gather_of_each(call: BatchedCall) -> Any:
    """Indices may differ between examples, or the arrays they read, or both."""
    x, axis = call.operands[0], call.params["axis"]
    indices, rank = _indices_of_each(call)
    if not any(call.batched[1:]):
        return call.again([x, *indices], axis=axis + 1)
    if not call.batched[0]:
        picked = call.again([x, *indices])  # the examples are the first axis of the indices
        return op.permute_dims(picked, (axis, *(a for a in range(picked.ndim) if a != axis)))
    # Indexed axes go in front of the others of an example, beside its number.
    rows = op.permute_dims(x, _moved_forward(len(x.shape), axis + 1, len(indices)))
    picked = call.again([rows, positions(call.size, rank + 1), *indices], axis=0)
    return op.permute_dims(picked, _back(_moved_forward(len(picked.shape), axis + 1, rank)))


def scatter_of_each(call: BatchedCall) -> Any:
    """As `gather_of_each`, the other way: every example adds to a part of its own."""
    updates, shape, axis = call.front(0), call.params["shape"], call.params["axis"]
    indices, rank = _indices_of_each(call)
    whole = (call.size, *shape)
    if not any(call.batched[1:]):
        return call.again([updates, *indices], shape=whole, axis=axis + 1)
    order = _moved_forward(len(whole), axis + 1, len(indices))
    rows = op.permute_dims(updates, _moved_forward(len(updates.shape), axis + 1, rank))
    added = call.again(
        [rows, positions(call.size, rank + 1), *indices],
        shape=tuple(whole[a] for a in order),
        axis=0,
    )
    return op.permute_dims(added, _back(order))
