"""Rows of a batch that meet columns, since there are as many: a program is then for batches of this
size alone, which is hardly meant. And rows that layers take for times.

In a run every array has the rows of the batch. In a call, one of them may be a number for each
column, such as a mean; so several tables with these rows must be there beside it. A mask of
attention is told by its values from one of queries and keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dims import Dim
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning, SizeWarning
from wengert.functions.time_axes import TimeAxis, noting_time_axes
from wengert.interpret.mistakes.mixed_rows import (
    COLUMN,
    TURNED,
    WITHOUT_ROWS,
    MixedRows,
    noting_mixed_rows,
)
from wengert.train.batch import ROWS

_TABLES, _ARRAYS = 2, 3  # that begin with as many rows in a call, if these are rows of a batch
_ATTENTION = "attention"
_of_data = Meanwhile[bool]()  # whether the rows of data are shuffled


def rows_of_data(shuffled: bool = False) -> AbstractContextManager[bool]:
    """Meanwhile all arrays of batches are rows of the data of a run, which may shuffle them."""
    return _of_data.said(shuffled)


def is_in_run() -> bool:
    """Whether batches are rows of the data of a run."""
    return _of_data.value is not None


def rows_are_shuffled() -> bool:
    """Whether batches are rows of data that a run puts into another order in every epoch."""
    return bool(_of_data.value)


@contextmanager
def telling_of_mixed_rows(batch: Sequence[Any]) -> Iterator[None]:
    """Warn where a program that is made meanwhile has rows of the batch meet columns, or layers of
    a run go along them.
    """
    with noting_mixed_rows() as mixed, noting_time_axes() as along:
        yield
    if is_in_run():
        _warn_of_rows_as_times(along)
    for each in mixed:
        of_run = rows_are_shuffled() if each.how == WITHOUT_ROWS else is_in_run()
        if of_run or _are_rows(batch, each):
            given = " and ".join(each.shapes)
            warn_user(
                f"{each.used_by}: given shapes {given}, where {each.name}, the rows of the batch, "
                f"is {each.rows}; they fit only because there are as many rows as columns, and "
                f"rows of the one meet columns of the other. {_repair(each)}",
                SizeWarning,
                each.line,
            )


def _repair(mixed: MixedRows) -> str:
    if mixed.how == TURNED:
        return "Swap the axes of one of them: y.T, or wg.swapaxes(x, 0, 1)."
    if mixed.how == COLUMN:
        return "Give both one shape, as with prediction[..., 0]."
    if mixed.how == WITHOUT_ROWS:
        return (
            "No row is left in the first: of (time, batch, hidden), hs[:, -1] is the last row, and "
            "hs[-1] the last time of all rows."
        )
    wide = "x[:, None]"
    if mixed.used_by == _ATTENTION:
        wide = f"mask[:, None{'' if mixed.shapes[1].count(',') > 1 else ', None'}]"
    return (
        f"If each row has its own, write {wide}; what is the same for all rows belongs into the "
        "model or a constant."
    )


def _warn_of_rows_as_times(along: Sequence[TimeAxis]) -> None:
    """Warn where all layers that go along times go along the rows of the batch instead. Where some
    do, rows are meant to see each other.
    """
    if all(isinstance(each.time, Dim) and each.time == Dim(ROWS) for each in along):
        for each in along[:1]:
            warn_user(
                f"{each.layer}: given x of shape {each.shape}, where {ROWS} are the rows of the "
                "batch; it goes along axis -2, so that what it gives for a row depends on the "
                "others. It takes (batch, time, size): leave out the swapaxes that GRU, LSTM and "
                "RNN need.",
                ScannedRowsWarning,
                each.line,
            )


def _are_rows(batch: Sequence[Any], mixed: MixedRows) -> bool:
    """Whether the size that meets columns in a call is that of the rows of its batch."""
    if mixed.how == WITHOUT_ROWS:
        return False
    leaves = [np.asarray(x) for x in tree.leaves(tuple(batch))]
    ranks = [x.ndim for x in leaves if x.shape[:1] == (mixed.rows,)]
    if len(ranks) >= _ARRAYS and sum(rank > 1 for rank in ranks) >= _TABLES:
        return True
    if mixed.used_by != _ATTENTION:
        return False
    squares = [x for x in leaves if x.shape == (mixed.rows, mixed.rows)]
    return not squares or any(map(_is_of_rows, squares))


def _is_of_rows(square: Any) -> bool:
    """Whether as many rows as columns are tokens, or bools that hide an end of each row. A mask of
    queries and keys lets every query look at itself, or none.
    """
    if square.dtype.kind in "iu" and np.max(square, initial=0) > 1:
        return True
    seen = square != 0
    own = seen.diagonal()
    at_ends = (np.count_nonzero(seen[:, 1:] != seen[:, :-1], axis=1) <= 1).all()
    return bool(at_ends and own.any() and not own.all())
