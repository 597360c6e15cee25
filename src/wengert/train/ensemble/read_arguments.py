"""Frames and other libraries' arrays among the arguments of a call, read once for all members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.trees.foreign import NUMBERS, foreign_arrays
from wengert.train.ensemble.each import Each
from wengert.train.runs.column_names import KnownColumns
from wengert.train.runs.frames import require_columns_of_numbers
from wengert.train.runs.row_labels import warn_of_row_order


def read_arguments(
    by: str,
    names: Sequence[str],
    arguments: tuple[Any, ...],
    columns: KnownColumns,
    trains: bool,  # whether the columns are to be remembered
    is_first: bool,  # whether nothing has been said of the order of rows before
) -> tuple[Any, ...]:
    """The arguments with NumPy's arrays in the place of others. What is said of frames is what a
    TrainStep says.
    """
    for x in arguments:
        if type(x) is not np.ndarray and type(x) is not Each:
            break
    else:
        return arguments
    foreign = foreign_arrays(names, arguments)
    if not foreign:
        return arguments
    (columns.note if trains else columns.compare)(by, names, arguments)
    if is_first:
        warn_of_row_order(by, names, arguments, are_samples=False)
    leaves, structure = tree.flatten(tree.with_numpy(arguments))
    for each in foreign:
        # One copy for all: machine code reads rows that lie one behind the other, and a frame of
        # pandas has its columns so.
        leaves[each.place] = np.asarray(leaves[each.place], order="C")
        if leaves[each.place].dtype.kind not in NUMBERS:
            require_columns_of_numbers(by, names, arguments)
    made: tuple[Any, ...] = tree.unflatten(structure, leaves)
    return made
