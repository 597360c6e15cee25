"""Frames: what data of pandas say about their rows and columns, before they become arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.words.warn import warn_user
from wengert.errors import DTypeError, RowOrderWarning

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
    for name, x in zip(names, given, strict=False):
        require_columns_of_numbers(by, name, x)
    warn_of_row_order(by, names, given)


def warn_of_row_order(by: str, names: Sequence[str], given: Sequence[Any]) -> None:
    """Warn of two frames or series whose rows have the same labels in different orders: rows are
    paired by place, and their labels say that others belong together. Labels that several rows
    have, or that are only counted, name no rows: a frame that is made of what a scaler returns has
    counted ones, whatever the order of its rows.
    """
    labelled = [(name, x) for name, x in zip(names, given, strict=False) if _is_labelled(x)]
    labelled = [(name, x) for name, x in labelled if _names_rows(x.index)]
    for name, x in labelled[1:]:
        first, other = labelled[0][1].index, x.index
        if len(first) != len(other) or first.equals(other) or not other.isin(first).all():
            continue
        place = int((first != other).argmax())
        one, two = first[place : place + 1].tolist()[0], other[place : place + 1].tolist()[0]
        warn_user(
            f"{by}: the indices of {labelled[0][0]} and {name} have the same labels in different "
            f"orders; rows are paired by place, so row {one!r} goes with row {two!r}. "
            f"Write {name}.loc[{labelled[0][0]}.index]; if they belong together by place, pass "
            f"{name}.to_numpy().",
            RowOrderWarning,
        )


def _is_labelled(x: Any) -> bool:
    """Whether it is a frame or a series of pandas."""
    return hasattr(getattr(x, "index", None), "equals") and hasattr(x, "iloc")


def _names_rows(index: Any) -> bool:
    """Whether the labels of an index tell its rows apart, and are not just 0 to n - 1 in order."""
    counted = index.dtype.kind in "iu" and bool((index == np.arange(len(index))).all())
    return not counted and bool(index.is_unique)


def repair_of_dtype(dtype: Any) -> str:
    """How an array of this dtype becomes numbers."""
    if dtype.kind == "M":
        return "Make numbers of it, as in (x - x.min()) / np.timedelta64(1, 'D')"
    return "Divide it by np.timedelta64(1, 'D')" if dtype.kind == "m" else "Convert it with astype"


def require_columns_of_numbers(by: str, name: str, x: Any) -> None:
    """Refuse a frame with columns of texts, dates or times."""
    if not (hasattr(x, "columns") and hasattr(x, "dtypes")):
        return
    for title, kind in zip(x.columns, x.dtypes, strict=True):
        if str(kind).lower().startswith(_TIMES):
            raise DTypeError(
                f"{by}: column {str(title)!r} of {name} has dtype {kind}; a step computes with "
                "numbers. Make numbers of it, such as the year and the day of the year, or leave "
                "it out."
            )
        if not str(kind).lower().startswith(("object", "str", "large_str", "categor", "enum")):
            continue
        some = x[title].head(LOOKED_AT).to_list()
        text = next((each for each in some if isinstance(each, str)), None)
        if text is not None:
            raise DTypeError(
                f"{by}: column {str(title)!r} of {name} holds texts, such as {text!r}; a step "
                "computes with numbers. Make codes of it, as in "
                f"{name}[{str(title)!r}].astype('category').cat.codes, or leave it out."
            )
