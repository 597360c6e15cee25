"""Columns that number the rows: an id says nothing about rows that training has not seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from wengert.cli.datasets.column_kinds import Say
from wengert.cli.datasets.data_table import Column, DataTable

FEWEST_NUMBERED = 10  # rows: a column of fewer may hold all numbers of a range by chance
_NAMED_ID = re.compile(r"(?:.*[ _.-])?(?:id|ids|idx|index|uid|rowid|unnamed: 0)", re.IGNORECASE)
_CAMEL_ID = re.compile(r".*[a-z0-9](?:Id|ID)")  # PassengerId
_TIMES = frozenset({"year", "month", "week", "day", "hour", "minute", "second", "time", "step"})


def without_row_numbers(table: DataTable, keep: Sequence[str], say: Say) -> DataTable:
    """The table without columns that number its rows, but those to `keep`. Where all columns do,
    none is left out: they are all that there is to learn from.
    """
    reasons = {
        column.name: why
        for column in table.columns
        if column.name not in keep and (why := _why_row_number(column))
    }
    if len(reasons) == len(table.columns):
        return table
    for name, why in reasons.items():
        say(f"column {name!r} {why}; it is left out. Add --keep {name!r} to learn from it")
    return table.without(reasons)


def _why_row_number(column: Column) -> str | None:
    """What makes a column a number of each row; None where it may be a measurement."""
    cells = column.cells
    if column.is_text or column.missing.any() or not (cells == np.round(cells)).all():
        return None
    if len(cells) < 2 or len(np.unique(cells)) < len(cells):
        return None
    least, most = float(cells.min()), float(cells.max())
    is_range = most - least == len(cells) - 1 and len(cells) >= FEWEST_NUMBERED
    if is_range and column.name.lower() not in _TIMES:
        return f"numbers the rows, from {least:.0f} to {most:.0f}"
    if _NAMED_ID.fullmatch(column.name) or _CAMEL_ID.fullmatch(column.name):
        return "is named like an id, and is another whole number in every row"
    return None
