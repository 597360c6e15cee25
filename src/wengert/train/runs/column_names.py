"""Names of columns: frames whose columns come in another order than those that were trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from wengert.core.trees.foreign import foreign_arrays, is_table
from wengert.core.words.warn import warn_user
from wengert.errors import ColumnOrderWarning

MOST_SHOWN = 6  # columns, whose names a warning lists


class KnownColumns:
    """The columns of the frames that a step was first trained with, by the names of arguments."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def note(self, by: str, names: Sequence[str], given: Sequence[Any]) -> None:
        """Remember the columns of what is trained with; or warn, where they are known already."""
        self._look(by, names, given, trains=True)

    def compare(self, by: str, names: Sequence[str], given: Sequence[Any]) -> None:
        """Warn where the columns of training come in another order."""
        if self._known:
            self._look(by, names, given, trains=False)

    def at(self, name: str, index: Sequence[int]) -> str | None:
        """The name of the column that an element of an argument is in, where that is a frame."""
        known = self._known.get(name)
        if known is None or len(index) != 2 or index[1] >= len(known):
            return None
        return str(known[index[1]])

    def _look(self, by: str, names: Sequence[str], given: Sequence[Any], trains: bool) -> None:
        for name, x, _ in foreign_arrays(names, given):
            known, columns = self._known.get(name), _columns_of(x)
            if known is None:
                if trains and is_table(x):
                    self._known[name] = columns
            elif columns is not None and _are_others(known, columns):
                _warn_of_order(by, name, list(known), list(columns))


def _columns_of(x: Any) -> Any:
    """The columns of a frame, and the labels of a series of pandas: that of one row of a frame has
    its columns there.
    """
    if is_table(x):
        return x.columns
    return x.index if hasattr(x, "iloc") else None


def _are_others(known: Any, columns: Any) -> bool:
    """Whether two lists of names, or indices of pandas, are as long and not the same."""
    if len(known) != len(columns):
        return False
    if hasattr(known, "equals") and hasattr(columns, "equals"):
        return not known.equals(columns)
    return list(known) != list(columns)


def _warn_of_order(by: str, name: str, known: list[Any], columns: list[Any]) -> None:
    """Warn of the same names in another order. Numbers from 0 on are what pandas writes where
    nobody has named anything.
    """
    if Counter(known) != Counter(columns) or set(known) == set(range(len(known))):
        return
    place = next(i for i, pair in enumerate(zip(known, columns, strict=True)) if len(set(pair)) > 1)
    ordered = str(known) if len(known) <= MOST_SHOWN else "columns"
    whose = "" if len(known) <= MOST_SHOWN else " with those of training in their order"
    warn_user(
        f"{by}: the columns of {name} come in another order than those that were trained on: "
        f"column {place} is {columns[place]!r}, and was {known[place]!r}; columns count by their "
        f"places. Write {name}[{ordered}]{whose}; if this order is meant, pass {name}.to_numpy().",
        ColumnOrderWarning,
    )
