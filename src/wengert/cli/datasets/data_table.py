"""Tables: named columns of numbers or texts, which know where their cells come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from wengert.cli.exit_codes import DataFault
from wengert.core.words.foreign_names.nearest import ALIKE, nearest

Array: TypeAlias = np.ndarray[Any, Any]

# Cells of a text file that stand for a missing value.
MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "#n/a"})

PARTS_OF_DATES = " to numbers, such as the year, the day of the year or the day of the week"


@dataclass(frozen=True, eq=False)
class Column:
    """One column. Cells are float64 with NaN, or texts with None, where one is missing.

    `read_as_text` is True where the file has no types, so that texts may stand for numbers.
    `refusal` says why cells cannot be read; it matters only where they are needed.
    """

    name: str
    cells: Array
    read_as_text: bool = False
    refusal: str = ""

    @property
    def is_text(self) -> bool:
        return bool(self.cells.dtype == object)

    @property
    def missing(self) -> Array:
        """Which cells are missing."""
        if self.is_text:
            return np.fromiter((cell is None for cell in self.cells), bool, len(self.cells))
        missing: Array = np.isnan(self.cells)
        return missing

    def taken(self, rows: Array) -> Column:
        return replace(self, cells=self.cells[rows])


@dataclass(frozen=True, eq=False)
class DataTable:
    """Columns of one length."""

    source: str  # the file, or the name of a built-in set
    columns: tuple[Column, ...]
    lines: Array | None = None  # of the file, for each row; None where a file has no lines
    rows_from: Array | None = None  # which rows of the source these are; None: all, in order
    doubt: str = ""  # about the names of the columns

    def __len__(self) -> int:
        return len(self.columns[0].cells) if self.columns else 0

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def doubt_in_error(self) -> str:
        """What is added to an error about a column, if the names of columns are in doubt."""
        return f" {self.doubt}." if self.doubt else ""

    def place(self, row: int) -> str:
        """Where a row stands in its file: the beginning of an error."""
        if self.lines is not None:
            return f"{self.source}:{self.lines[row]}"
        origin = row if self.rows_from is None else int(self.rows_from[row])
        return f"{self.source}, row {origin}"

    def column(self, name: str, asked_by: str) -> Column:
        """The column of a name, to be read; `asked_by` says in the error who wants it."""
        self.require_name(name, asked_by)
        wanted = next(column for column in self.columns if column.name == name)
        if wanted.refusal:
            raise DataFault(f"{self.source}: {wanted.refusal}")
        return wanted

    def require_name(self, name: str, asked_by: str) -> None:
        if name in self.names:
            return
        guess = nearest(name, self.names, ALIKE)
        meant = f" Did you mean {guess!r}?" if guess else ""
        raise DataFault(
            f"{self.source}: {asked_by} {name!r} is not a column; there are "
            f"{listed(self.names)}.{meant}{self.doubt_in_error}"
        )

    def without(self, names: Iterable[str]) -> DataTable:
        left_out = set(names)
        kept = tuple(column for column in self.columns if column.name not in left_out)
        return replace(self, columns=kept)

    def taken(self, rows: Array) -> DataTable:
        """The rows of these numbers."""
        origin = np.arange(len(self)) if self.rows_from is None else self.rows_from
        return replace(
            self,
            columns=tuple(column.taken(rows) for column in self.columns),
            lines=None if self.lines is None else self.lines[rows],
            rows_from=origin[rows],
        )


def require_own_names(place: str, names: Sequence[str]) -> None:
    """No two columns have one name; `place` is the beginning of the error."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataFault(
            f"{place}: several columns are named {twice[0]!r}; each needs a name of its own."
        )


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in quotes; of many, the first ones.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def texts(cells: Iterable[Any]) -> Array:
    """An array of texts, None where a cell is None."""
    converted = [None if cell is None else str(cell) for cell in cells]
    array = np.empty(len(converted), object)
    array[:] = converted
    return array
