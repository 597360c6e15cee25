"""Frames: what their columns and rows say before they become arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.trees.foreign import NUMBERS, columns_of, foreign_arrays, is_table
from wengert.core.trees.row_labels import warn_of_row_order
from wengert.errors import DTypeError
from wengert.functions.divergence import FLOAT_LABELS
from wengert.ops.indexing.getitem import FLOAT_INDEX

Array: TypeAlias = np.ndarray[Any, Any]
LOOKED_AT = 100  # entries of a column that may hold texts
_TIMES = (
    "datetime",
    "timedelta",
    "period",
    "date",
    "time",
    "duration",
)  # dtypes, or how they begin
_TEXTS = ("object", "str", "large_str", "categor", "enum")


def look_at_frames(by: str, names: Sequence[str], given: Sequence[Any]) -> None:
    """Refuse columns of texts or dates, and warn of rows in different orders."""
    for name, x, _ in foreign_arrays(names, given):
        _require_no_texts(by, name, x)
    warn_of_row_order(by, names, given)


def note_missing(error: Exception, names: Sequence[str], given: Sequence[Any]) -> None:
    """Say with what a loss raises of floats that are no indices and no labels, which columns of
    whole numbers were read as floats, as some are missing. In our own words that is said in the
    place of the repair: to convert these would make 0 of what is missing.
    """
    text = str(error)
    repair = next((each for each in (FLOAT_INDEX, FLOAT_LABELS) if each in text), None)
    if repair is None and _OF_NUMPY not in text:
        return
    said = ". ".join(_missing_columns(names, given))
    if said and repair is not None:
        error.args = (text.replace(repair, said), *error.args[1:])
    elif said:
        error.add_note(f"{said}.")


def _missing_columns(names: Sequence[str], given: Sequence[Any]) -> Iterator[str]:
    """What to do about each of the arguments that have missing values among whole numbers."""
    for name, x, _ in foreign_arrays(names, given):
        for column in columns_of(x) if is_table(x) else [x]:
            missing = _missing_among_integers(column)
            title = getattr(column, "name", None)
            if missing:
                which = f"{name!r}" if title is None else f"{name!r}, column {str(title)!r},"
                yield (
                    f"Argument {which} has missing values ({missing} of {len(column)}), and so is "
                    "read as floats, with NaN in their place. Leave their rows out before, in all "
                    f"arguments alike, {_FILLING[type(x).__module__.startswith('polars')]}"
                )
    for name, x in zip(names, given, strict=False):
        if type(x) is np.ndarray and (missing := _missing_among_integers(x)):
            rows = "np.isnan(x)" if x.ndim < 2 else "np.isnan(x).any(axis=1)"
            yield (
                f"Argument {name!r} has missing values, NaN ({missing} of {x.size}). Leave their "
                f"rows out before, in all arguments alike, x[~{rows}], or give them a number "
                "of their own, np.nan_to_num(x, nan=n)"
            )


_OF_NUMPY = "arrays used as indices"
_FILLING = {  # by whether it is one of polars
    False: "frame.dropna(), or give them a number of their own, column.fillna(n)",
    True: "frame.drop_nulls(), or give them a number of their own, column.fill_null(n)",
}


def _missing_among_integers(column: Any) -> int:
    """How many are missing of a column that has whole numbers else."""
    x = np.asarray(column)
    missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(1, bool)
    if not missing.any() or missing.all():
        return 0
    there = x[~missing]
    return int(missing.sum()) if np.array_equal(there, np.floor(there)) else 0


def _is_missing(x: Any) -> bool:
    return x is None or type(x).__name__ == "NAType"  # of pandas


def repair_of_dtype(name: str, x: Array) -> str:
    """How an array of another dtype becomes numbers."""
    kind = x.dtype.kind
    if kind == "O" and 0 < sum(map(_is_missing, x.flat)) < x.size:
        return (
            "Some are missing: leave their rows out before, frame.dropna(), or fill them, and "
            "convert it with astype"
        )
    if kind == "M":
        return "Make numbers of it, as in (x - x.min()) / np.timedelta64(1, 'D')"
    if kind in "US" or (kind == "O" and any(isinstance(each, str) for each in x.flat[:LOOKED_AT])):
        return (
            f"Make codes of the texts, as in np.unique({name}, return_inverse=True)[1], or convert "
            "them with astype if they are numbers"
        )
    if kind == "c":
        return "Compute with its parts, x.real and x.imag, as arrays of their own"
    return "Divide it by np.timedelta64(1, 'D')" if kind == "m" else "Convert it with astype"


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
    """Refuse a frame with columns of texts, dates or times, and a series of texts."""
    if not is_table(x):
        if _may_hold_texts(getattr(x, "dtype", None)) and hasattr(x, "to_list"):
            _refuse_texts(f"{by}: argument {name!r}", name, x, "")
        return
    for title, kind, column in zip(x.columns, x.dtypes, columns_of(x), strict=True):
        what, reads = f"{by}: column {str(title)!r} of {name}", f"{name}[{str(title)!r}]"
        if str(kind).lower().startswith(_TIMES):
            raise DTypeError(
                f"{what} has dtype {kind}; a step computes with numbers. Make numbers of it, such "
                "as the year and the day of the year, or leave it out."
            )
        if _may_hold_texts(kind):
            _refuse_texts(what, reads, column, ", or leave it out")


def _may_hold_texts(dtype: Any) -> bool:
    return str(dtype).lower().startswith(_TEXTS)


def _refuse_texts(what: str, reads: str, column: Any, otherwise: str) -> None:
    """Refuse a column that holds texts; `reads` is the expression that reads it."""
    some = column.head(LOOKED_AT).to_list()
    text = next((each for each in some if isinstance(each, str)), None)
    if text is None:
        return
    codes = ".astype('category').cat.codes"
    if type(column).__module__.startswith("polars"):
        codes = ".cast(pl.Categorical).to_physical()"
    raise DTypeError(
        f"{what} holds texts, such as {text!r}; a step computes with numbers. Make codes of it, as "
        f"in {reads}{codes}{otherwise}."
    )
