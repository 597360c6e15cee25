"""Frames: what their columns and rows say before they become arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.trees.foreign import NUMBERS, columns_of, foreign_arrays, is_table
from wengert.errors import DTypeError
from wengert.train.runs.row_labels import warn_of_row_order

LOOKED_AT = 100  # entries of a column that may hold texts
_TIMES = (
    "datetime",
    "timedelta",
    "period",
    "date",
    "time",
    "duration",
)  # dtypes, or how they begin


def look_at_frames(by: str, names: Sequence[str], given: Sequence[Any]) -> None:
    """Refuse columns of texts or dates by their names, and warn of rows in different orders."""
    for name, x, _ in foreign_arrays(names, given):
        _require_no_texts(by, name, x)
    warn_of_row_order(by, names, given)


def repair_of_dtype(dtype: Any) -> str:
    """How an array of this dtype becomes numbers."""
    if dtype.kind == "M":
        return "Make numbers of it, as in (x - x.min()) / np.timedelta64(1, 'D')"
    return "Divide it by np.timedelta64(1, 'D')" if dtype.kind == "m" else "Convert it with astype"


def require_columns_of_numbers(by: str, names: Sequence[str], given: Sequence[Any]) -> None:
    """Refuse frames with columns that hold anything but numbers, by the names of the columns."""
    for name, x, _ in foreign_arrays(names, given):
        _require_no_texts(by, name, x)
        if not is_table(x):
            continue
        for title, column in zip(x.columns, columns_of(x), strict=True):
            kind = np.asarray(column).dtype.kind
            if kind not in NUMBERS:
                raise DTypeError(
                    f"{by}: column {str(title)!r} of {name} has dtype {column.dtype}; a step "
                    f"computes with bools, integers or floats. Write {name}.astype(np.float32) if "
                    "it holds numbers, or leave the column out."
                )


def _require_no_texts(by: str, name: str, x: Any) -> None:
    """Refuse a frame with columns of texts, dates or times."""
    if not is_table(x):
        return
    for title, kind, column in zip(x.columns, x.dtypes, columns_of(x), strict=True):
        if str(kind).lower().startswith(_TIMES):
            raise DTypeError(
                f"{by}: column {str(title)!r} of {name} has dtype {kind}; a step computes with "
                "numbers. Make numbers of it, such as the year and the day of the year, or leave "
                "it out."
            )
        if not str(kind).lower().startswith(("object", "str", "large_str", "categor", "enum")):
            continue
        some = column.head(LOOKED_AT).to_list()
        text = next((each for each in some if isinstance(each, str)), None)
        if text is not None:
            raise DTypeError(
                f"{by}: column {str(title)!r} of {name} holds texts, such as {text!r}; a step "
                "computes with numbers. Make codes of it, as in "
                f"{name}[{str(title)!r}].astype('category').cat.codes, or leave it out."
            )
