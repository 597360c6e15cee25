"""Rows of a batch that meet columns, since there are as many: a program is then for batches of this
size alone, which is hardly meant. And rows that layers take for times.

In a run every array has the rows of the batch, and so it has in calls with slices `x[i : i + n]` of
arrays that are as long as each other. In another call, one of them may be a number for each column,
such as a mean; so several tables with these rows must be there beside it, or a recurrent layer
whose batch has them. A mask of attention is told by its values from one of queries and keys.

What has no rows left, and meets them, is no mistake where rows and columns are the same things, as
those of a matrix of neighbours: a run or a call must have some of the rows.

An array from outside that meets all rows of the data is in their order, and a run that shuffles
puts its arguments into another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from wengert.core import tree
from wengert.core.dims import Dim
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning, ShapeError, SizeWarning
from wengert.functions.time_axes import TimeAxis, noting_time_axes
from wengert.interpret.mistakes.first_values import arguments_are_rows_of
from wengert.interpret.mistakes.mixed_rows import (
    ALONG_ROWS,
    COLUMN,
    NUMBERED,
    OUTSIDE,
    SUMMED,
    TURNED,
    WITHOUT_FIRST,
    WITHOUT_ROWS,
    MixedRows,
    noting_mixed_rows,
)
from wengert.train.batch import ROWS

_TABLES, _ARRAYS = 2, 3  # that begin with as many rows in a call, if these are rows of a batch
_ATTENTION, _WITHOUT = "attention", (WITHOUT_ROWS, WITHOUT_FIRST, ALONG_ROWS)
_OF_ORDER = (SUMMED, OUTSIDE)  # no mistakes but in a run that shuffles


class _Run(NamedTuple):
    shuffled: bool
    cut: bool
    rows: int  # of the data


_of_data = Meanwhile[_Run]()


@contextmanager
def rows_of_data(
    rows: int,
    named: Callable[[], Iterable[tuple[str, Any]]],
    shuffled: bool = False,
    cut: bool = False,
) -> Iterator[None]:
    """Meanwhile all arrays of batches are some of the `rows` of the data of a run, which may
    shuffle them, or cut them into several batches; `named` gives all rows, by arguments.
    """
    with _of_data.said(_Run(shuffled, cut, rows)), arguments_are_rows_of(named):
        yield


def is_in_run() -> bool:
    """Whether batches are rows of the data of a run."""
    return _of_data.value is not None


def rows_are_shuffled() -> bool:
    """Whether batches are rows of data that a run puts into another order in every epoch."""
    return _of_data.value is not None and _of_data.value.shuffled


@contextmanager
def telling_of_mixed_rows(batch: Sequence[Any], unsaid: set[MixedRows]) -> Iterator[None]:
    """Warn where a program that is made meanwhile has rows of the batch meet columns, or layers of
    a run go along them. What only a run that shuffles makes a mistake is kept for one, `unsaid`.
    """
    with noting_mixed_rows() as mixed, noting_time_axes() as along:
        try:
            yield
        except ShapeError as error:
            _say_what_has_all_rows(error, mixed)
            raise
    if is_in_run():
        _warn_of_rows_as_times(along)
    unsaid |= {each for each in mixed if each.how in _OF_ORDER}
    for each in {**mixed, **dict.fromkeys(unsaid)}:
        if _is_told(each, batch):
            unsaid.discard(each)
            given = " and ".join(each.shapes)
            warn_user(
                f"{each.used_by}: given shapes {given}, where {each.name}, the rows of the batch, "
                f"is {each.rows}; {_reason(each)}. {_repair(each)}",
                ScannedRowsWarning if each.how in (ALONG_ROWS, OUTSIDE) else SizeWarning,
                each.line,
            )


def _say_what_has_all_rows(error: ShapeError, mixed: Iterable[MixedRows]) -> None:
    """Where batches of a run do not fit an array from outside that has all rows of the data, say
    so with the error.
    """
    run = _of_data.value
    for each in mixed:
        if each.how == OUTSIDE and run is not None and run.cut and each.rows == run.rows:
            error.add_note(
                f"The array of shape {each.shapes[0]} is read from outside, and has all {run.rows} "
                "rows of the data, where a batch has some of them: pass it as an argument, which "
                "is cut as the others are."
            )
            return


def _is_told(mixed: MixedRows, batch: Sequence[Any]) -> bool:
    if mixed.how == OUTSIDE:  # in their order, or with fewer than all rows, it may be meant
        run = _of_data.value
        return run is not None and run.shuffled and not run.cut and mixed.rows == run.rows
    if mixed.how == SUMMED:  # in their order, rows and columns are the same things
        return rows_are_shuffled() and bool(_beginning_with(batch, mixed.rows))
    of_run = _are_rows_of_run(mixed)
    return of_run or _are_rows(batch, mixed) or _are_cut_alike(batch, mixed.rows)


def _reason(mixed: MixedRows) -> str:
    if mixed.how == SUMMED:
        return (
            "a run that shuffles (shuffle_seed) puts the rows of every argument into another "
            "order, those of a square matrix, too, and leaves its columns as they are"
        )
    if mixed.how == OUTSIDE:
        return (
            "the first is read from outside, and keeps its order, where a run that shuffles "
            "(shuffle_seed) puts the rows of every argument into another one"
        )
    return (
        "they fit only because there are as many rows as columns, and rows of the one meet columns "
        "of the other"
    )


def _repair(mixed: MixedRows) -> str:
    if mixed.how == TURNED:
        return "Swap the axes of one of them: y.T, or wg.swapaxes(x, 0, 1)."
    if mixed.how == COLUMN:
        return "Give both one shape, as with prediction[..., 0]."
    if mixed.how == NUMBERED:
        return (
            f"wg.arange counts {mixed.name} along another axis: of (time, batch, hidden), write "
            "hs[lengths - 1, wg.arange(batch)]."
        )
    if mixed.how == WITHOUT_ROWS:
        return (
            "No row is left in the first: of (time, batch, hidden), hs[:, -1] is the last row, and "
            "hs[-1] the last time of all rows."
        )
    if mixed.how == WITHOUT_FIRST:
        return (
            "No row is left in the first: of (batch, time, size), h[0], h[-1] and wg.mean(h, "
            "axis=0) are of rows; of times write h[:, 0], h[:, -1] and wg.mean(h, axis=1)."
        )
    if mixed.how == ALONG_ROWS:
        return (
            "No row is left in the first: a recurrent layer or scan that is given (batch, time, "
            "in) goes along axis 0, from row to row. Swap the axes of what it is given: "
            "layer(wg.swapaxes(x, 0, 1)), wg.scan(f, init, wg.swapaxes(x, 0, 1))."
        )
    if mixed.how == SUMMED:
        return (
            "Leave out shuffle_seed, which wg.train.fit takes as shuffle_seed=None; or let the "
            "loss read the matrix from outside, wg.asarray(A)[i][:, i], where i = np.arange(n), "
            "the number of each row, is an argument."
        )
    if mixed.how == OUTSIDE:
        return (
            "Pass it as an argument, step.run(x, w, …), and its rows go with the others; or leave "
            "out shuffle_seed, which wg.train.fit takes as shuffle_seed=None."
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


def _are_rows_of_run(mixed: MixedRows) -> bool:
    run = _of_data.value
    return run is not None and (mixed.how not in _WITHOUT or run.shuffled or run.cut)


def _are_rows(batch: Sequence[Any], mixed: MixedRows) -> bool:
    """Whether the size that meets columns in a call is that of the rows of its batch."""
    if mixed.of_layer:
        return mixed.how in _WITHOUT or _are_as_stored(batch, mixed.rows)
    if mixed.how in (*_WITHOUT, NUMBERED):
        return False
    leaves = _beginning_with(batch, mixed.rows)
    ranks = [x.ndim for x in leaves]
    if len(ranks) >= _ARRAYS and sum(rank > 1 for rank in ranks) >= _TABLES:
        return True
    if mixed.used_by != _ATTENTION:
        return False
    squares = [x for x in leaves if x.shape == (mixed.rows, mixed.rows)]
    return not squares or any(map(_is_of_rows, squares))


def _are_cut_alike(batch: Sequence[Any], rows: int) -> bool:
    """Whether arrays of a call that begin with so many rows, several and all of them, are slices
    `x[i : i + n]` of arrays as long as each other. Their axis 0 is then the same, as in a run.
    """
    cut = [_length_of_whole(x) for x in _beginning_with(batch, rows)]
    return len(cut) > 1 and len(set(cut)) == 1 and cut[0] > rows


def _length_of_whole(x: Any) -> int:
    """How many rows the array has that this one is a slice of; 0 where it is none. `x[j]` of many
    batches has another axis 0, and another step from row to row.
    """
    whole = x.base
    if not isinstance(whole, np.ndarray) or whole.strides[:1] != x.strides[:1]:
        return 0
    return len(whole)


def _are_as_stored(batch: Sequence[Any], rows: int) -> bool:
    """Whether each array of a call that begins with so many rows has all columns, or some of the
    rows, that are stored. `y.T` and `y[:, i : i + n]` may be (time, batch), beside others that are
    (batch, time, in).
    """
    return all(
        x.ndim == 1 or x.strides[0] == x.shape[1] * x.strides[1] or _length_of_whole(x) > rows
        for x in _beginning_with(batch, rows)
    )


def _beginning_with(batch: Sequence[Any], rows: int) -> list[Any]:
    leaves = [np.asarray(x) for x in tree.leaves(tuple(batch))]
    return [x for x in leaves if x.shape[:1] == (rows,)]


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
