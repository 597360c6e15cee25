"""Categories that a network was not trained with, in rows that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.sklearn.given_tables import is_missing

Array = np.ndarray[Any, Any]
_ANEW = "Compare how the column is written, or fit anew with such rows."
_DECLARED = (  # what is done about categories that come while training goes on
    "Declare all categories in the dtype of the column, pd.CategoricalDtype(all_of_them), or give "
    "rows with all of them to the first call; or fit anew."
)


class CodedColumn(NamedTuple):
    """A column of categories, and what became of them."""

    title: str
    cells: Sequence[Any]
    known: Mapping[Any, int]
    codes: Array  # 0 for what is missing or not known

    def unknown(self) -> list[int]:
        """The rows with a category that is not known."""
        return [
            i for i in np.flatnonzero(self.codes == 0).tolist() if not is_missing(self.cells[i])
        ]

    def missing(self) -> list[int]:
        """The rows without a category."""
        return [i for i in np.flatnonzero(self.codes == 0).tolist() if is_missing(self.cells[i])]


def tell_of_unknown(columns: Sequence[CodedColumn], trains: bool) -> None:
    """Warn of columns without any category of training; or once of the rows with others."""
    rows: set[int] = set()
    first = ""
    for column in columns:
        if not column.codes.all() and not _has_none_known(column, trains):
            unknown = column.unknown()
            if unknown and not first:
                first = f"{column.cells[unknown[0]]!r} in column {column.title}"
            rows.update(unknown)
    count = len(columns[0].cells)
    if rows and count > 1:  # one row alone may well be a new kind of thing
        warn_user(
            f"X has {len(rows)} of {count} rows with categories that were not there when training "
            f"began, such as {first}; {_fate(trains)}. {_DECLARED if trains else _ANEW}",
            UserWarning,
        )


def _fate(trains: bool) -> str:
    """What becomes of categories that are not known."""
    return (
        "all of them count as one, as what is missing does" if trains else "they count as nothing"
    )


def tell_of_missing(columns: Sequence[CodedColumn], in_training: Sequence[bool]) -> None:
    """Warn of rows without a category, where all rows of training had one."""
    pairs = zip(columns, in_training, strict=False)
    without = [column for column, had_missing in pairs if not had_missing and column.missing()]
    count = len(columns[0].cells)
    if without and count > 1:
        rows = set().union(*(column.missing() for column in without))
        warn_user(
            f"X has {len(rows)} of {count} rows with a missing category, as in column "
            f"{without[0].title}, and training had none; these count as nothing. Fill them in, or "
            "fit anew with such rows.",
            UserWarning,
        )


def _has_none_known(column: CodedColumn, trains: bool) -> bool:
    """Warn of a column without any category of training, and say whether it is one."""
    given = next((x for x in column.cells if not is_missing(x)), None)
    trained = next(iter(column.known), None)
    if given is None or trained is None or column.codes.any():
        return False
    if isinstance(given, str) != isinstance(trained, str):
        warn_user(
            f"X has column {column.title} with {given!r} of type {type(given).__name__}; training "
            f"had categories such as {trained!r}, of type {type(trained).__name__}, so that none "
            "is known. Convert the column.",
            UserWarning,
        )
        return True
    if len(column.cells) < 2:  # one row alone may well be a new kind of thing
        return True
    warn_user(
        f"X has column {column.title} without any category of training, only others such as "
        f"{given!r}; training had categories such as {trained!r}, and "
        f"{_fate(trains)}. {_DECLARED if trains else _ANEW}",
        UserWarning,
    )
    return True
