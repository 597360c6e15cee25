"""Tables as they are given: what no network can take is refused in words."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

_TIMES = ("datetime", "date", "time", "duration", "period")
_TIME_OBJECTS = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def is_missing(x: Any) -> bool:
    return x is None or type(x).__name__ in ("NAType", "NaTType") or bool(x != x)


def title(X: Any, place: int) -> str:
    """What messages call a column."""
    return repr(str(X.columns[place])) if is_frame(X) else str(place)


def column_of(X: Any, place: int) -> list[Any]:
    if is_frame(X):
        cells: list[Any] = X[X.columns[place]].to_list()
        return cells
    return list(X[:, place].tolist())


def declared_categories(X: Any, place: int) -> list[Any]:
    """The categories that the dtype of a column lists, whatever its rows hold: those of a
    Categorical of pandas, and of an Enum of polars.
    """
    if not is_frame(X):
        return []
    kind = X.dtypes[place] if isinstance(X.dtypes, list) else X.dtypes.iloc[place]
    listed: Any = getattr(kind, "categories", None)
    return list(listed.to_list()) if hasattr(listed, "to_list") else []


def require_table(by: str, X: Any) -> None:
    """Refuse frames without rows in memory, without names of their own, and with times."""
    if type(X).__name__ == "LazyFrame":
        raise ValueError(f"{by}: X is a LazyFrame, which holds no rows yet. Pass X.collect().")
    if not is_frame(X):
        return
    twice = next((name for name, count in Counter(X.columns).items() if count > 1), None)
    if twice is not None:
        raise ValueError(
            f"{by}: X has several columns named {twice!r}; each needs a name of its own. Rename "
            "them, or leave some out."
        )
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        _require_no_times(X, name, kind)


def _require_no_times(X: Any, name: Any, kind: Any) -> None:
    """Refuse columns of dates and times, which are neither numbers nor categories."""
    shown = str(kind)
    if shown.lower() == "object":
        first = next((x for x in X[name] if not is_missing(x)), None)
        if not isinstance(first, _TIME_OBJECTS):
            return
        shown = f"object, with {type(first).__name__}"
    elif not shown.lower().startswith(_TIMES):
        return
    raise ValueError(
        f"X has column {str(name)!r} of dtype {shown}; a network takes numbers and categories. "
        "Make numbers of it, such as the year and the day of the year, or leave it out."
    )


def require_rows(by: str, X: Any) -> None:
    """Refuse a table without rows, in scikit-learn's words."""
    if len(X) == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is "
            f"required by {by}."
        )


def numbered_names(X: Any) -> tuple[Any, ...] | None:
    """The names of columns that scikit-learn does not compare: those that are no texts."""
    if not is_frame(X) or all(isinstance(name, str) for name in X.columns):
        return None
    return tuple(X.columns)


def require_same_names(by: str, X: Any, trained: tuple[Any, ...] | None) -> None:
    """Refuse columns of other names, or in another order, than those of training. Numbers from 0
    on are what pandas writes where nobody has named anything.
    """
    given = numbered_names(X)
    if trained is None or given is None or given == trained or len(given) != len(trained):
        return
    if given == tuple(range(len(given))):
        return
    place = next(i for i, (a, b) in enumerate(zip(given, trained, strict=True)) if a != b)
    raise ValueError(
        f"{by}: column {place} of X is named {given[place]!r}, and was {trained[place]!r} in "
        "training; names and their order must be the same. Pass X[columns] with those of training."
    )


def texts_among_numbers(X: Any, places: Sequence[int] | None = None) -> str | None:
    """The refusal of a column that is to be numbers and has a text that is none; None where there
    is no such column.
    """
    X = X if is_frame(X) else np.asarray(X, object)
    if len(X.shape) != 2:
        return None
    for place in range(X.shape[1]) if places is None else places:
        cell = next(
            (x for x in column_of(X, place) if isinstance(x, str) and not _is_number(x)), None
        )
        if cell is not None:
            shown = title(X, place)
            return (
                f"X has column {shown} with texts such as {str(cell)!r}, and it is not among the "
                f"categories; all other columns are numbers. Pass categorical_features=[{shown}] "
                "with all columns of categories, or make numbers of it."
            )
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def require_labels(by: str, y: Any) -> None:
    """Refuse classes that are missing, which cannot be put in order with others."""
    if not isinstance(y, list | tuple) and getattr(y, "dtype", None) != np.dtype(object):
        return
    for row, label in enumerate(y):
        if label is None:
            raise ValueError(
                f"{by}: y is None in row {row}: its class is missing. Leave out the rows without "
                "a class."
            )
