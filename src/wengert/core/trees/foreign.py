"""Arrays and tables of other libraries in trees: where they stand, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.trees.tree_nodes import LEAF_TYPES, accessors_of, opened_tree
from wengert.core.words.noticed.hidden import is_foreign

NUMBERS = "biuf"  # kinds of dtypes


class Foreign(NamedTuple):
    """An array or a table of another library among the arguments of a call."""

    name: str  # the expression that reads it: x, or batch['x']
    given: Any
    place: int  # among all arrays of these arguments


def foreign_arrays(names: Sequence[str], arguments: Sequence[Any]) -> list[Foreign]:
    """What arguments of these names hold of other libraries, in the order of their arrays."""
    if all(type(x) is np.ndarray for x in arguments):
        return []
    if all(type(x) is np.ndarray or is_foreign(x) for x in arguments):  # no tree to open
        pairs = zip(names, arguments, strict=True)
        return [Foreign(*pair, i) for i, pair in enumerate(pairs) if is_foreign(pair[1])]
    values, spec, _ = opened_tree(tuple(arguments))
    if not any(map(is_foreign, values)):
        return []
    held, place = [], 0
    for accessor, x in zip(accessors_of(spec), values, strict=True):
        if is_foreign(x):
            first, *keys = accessor
            held.append(Foreign(names[first.entry] + "".join(map(_read, keys)), x, place))
        place += is_foreign(x) or isinstance(x, LEAF_TYPES)
    return held


def _read(key: Any) -> str:
    """How a program reads what a key leads to."""
    return f".{key.field}" if hasattr(key, "field") else f"[{key.entry!r}]"


def is_table(x: Any) -> bool:
    """Whether it is a frame, of pandas or of polars."""
    kind = type(x)  # which is asked in no time; a frame makes a series of its dtypes
    return hasattr(kind, "columns") and hasattr(kind, "dtypes")


def as_numpy(x: Any) -> Any:
    """NumPy's array of one of another library. A frame with columns of numbers whose kinds NumPy
    would only join as objects (bools beside floats, those of pyarrow) is read column by column, and
    so is a row of it, a series of objects.
    """
    array = np.asarray(x)
    if array.dtype.kind != "O":
        return array
    if not is_table(x):
        return _as_numbers(array)
    columns = [np.asarray(column) for column in columns_of(x)]
    if not columns or not all(column.dtype.kind in NUMBERS for column in columns):
        return array
    joined = np.empty(array.shape, np.result_type(*columns))
    for place, column in enumerate(columns):
        joined[:, place] = column
    return joined


def _as_numbers(objects: Any) -> Any:
    """An array of objects that are all numbers, of the dtype that these have together; another one
    as it is.
    """
    kinds = {type(x) for x in objects.flat}
    if not kinds or not all(issubclass(kind, bool | int | float | np.generic) for kind in kinds):
        return objects
    joined = np.array(objects.tolist()).reshape(objects.shape)
    return joined if joined.dtype.kind in NUMBERS else objects


def columns_of(table: Any) -> list[Any]:
    """The columns of a frame, by their places: several may have one name."""
    if hasattr(table, "iloc"):
        return [table.iloc[:, place] for place in range(table.shape[1])]
    return [table[name] for name in table.columns]
