"""Rows that a constant matrix weighs by their places, in a run that shuffles rows: returns as
`discounts @ rewards`, differences of neighbours, a filter.

A matrix says something about places where it is triangular, or has the same numbers along its
diagonals, as a convolution. One that treats all rows alike, as that which subtracts their mean,
does not; others may stand for anything, such as groups of rows. What the loss has sorted has places
of its own. A program with such a matrix is for batches of its size, and rows are known by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning
from wengert.train.recorded.rows.followed_rows import REORDERING
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of

_LEAST = 3  # rows; a smaller matrix may be anything


def warn_of_weighed_rows(forward: ForwardPass) -> None:
    """Warn, once, where the loss of a run that shuffles its rows multiplies rows by a matrix of
    their places.
    """
    for node, shape in _weighed(forward):
        warn_user(
            f"{node.op.name}: given a constant matrix of shape {shape} and rows of the batch, in a "
            "run that shuffles them (shuffle_seed); it weighs rows by their places, and each row "
            "then has any place. Compute it before the run, from the data in their order, and pass "
            "the result as an argument; or leave out shuffle_seed, which wg.train.fit takes as "
            "shuffle_seed=None.",
            ScannedRowsWarning,
            node.line,
        )
        return


def _weighed(forward: ForwardPass) -> Iterator[tuple[Node, tuple[int, ...]]]:
    rows = number_of_rows(forward)
    if rows is None:
        return
    for node in forward.nodes.values():
        if node.op is not op.matmul:
            continue
        for matrix, other in (operands_of(node), operands_of(node)[::-1]):
            values = _constant(forward, matrix)
            if values is None or other not in forward.of_data or rows not in values.shape:
                continue
            of_places = is_of_places(values) and not is_reordered(forward, other)
            if of_places and forward.shape(other).count(rows) == 1:
                along = -1 if (matrix, other) == tuple(operands_of(node)) else 0
                against = max(-2, -len(forward.shape(other))) if along else -1
                if values.shape[along] == rows == forward.shape(other)[against]:
                    yield node, values.shape


def number_of_rows(forward: ForwardPass) -> int | None:
    """How many rows all arguments have, where that is a number that nothing else has."""
    arguments = [i for i in forward.of_data if forward.nodes[i].op.name == "input"]
    sizes = {forward.shape(i)[:1] for i in arguments}
    if len(sizes) != 1 or len(first := sizes.pop()) != 1 or not isinstance(first[0], int):
        return None
    rows = first[0]
    others = [forward.shape(i)[1:] for i in arguments]
    others += [forward.shape(i) for i in forward.of_model - forward.of_data]
    return None if rows < _LEAST or any(rows in shape for shape in others) else rows


def _constant(forward: ForwardPass, number: int) -> np.ndarray[Any, Any] | None:
    """The numbers of a constant matrix, maybe converted or transposed."""
    node = forward.nodes[number]
    if node.op is op.constant:
        values: np.ndarray[Any, Any] = node.params["value"]
        return values if values.ndim == 2 and min(values.shape) > 1 else None
    if node.op in (op.astype, op.matrix_transpose):
        before = _constant(forward, operands_of(node)[0])
        return before if before is None or node.op is op.astype else before.T
    return None


def is_of_places(values: np.ndarray[Any, Any]) -> bool:
    """Whether a matrix says something about the places of rows."""
    is_square = values.shape[0] == values.shape[1]
    lower, upper = np.tril(values, -1), np.triu(values, 1)
    if is_square and (lower.any() != upper.any()):
        return True
    along_diagonals = bool((values[1:, 1:] == values[:-1, :-1]).all())
    beside = values[np.eye(*values.shape) == 0]
    return along_diagonals and not (beside == beside[0]).all()


def is_reordered(forward: ForwardPass, number: int) -> bool:
    """Whether a value was computed of something that the loss has put into another order."""
    seen, pending = {number}, [number]
    for number in pending:
        node = forward.nodes[number]
        if node.op.name in REORDERING:
            return True
        more = [i for i in operands_of(node) if i not in seen]
        seen.update(more)
        pending += more
    return False
