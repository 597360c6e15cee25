"""Columns: which of a table are categories, and the numbers and codes that a network takes.

A category is coded by its place among those that training has seen, from 1; 0 stands for what is
missing or was never seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import starmap
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from wengert.core.words.noticed.masked import is_masked_array
from wengert.core.words.warn import warn_user
from wengert.sklearn.given_tables import (
    column_of,
    declared_categories,
    is_frame,
    is_missing,
    numbered_names,
    require_rows,
    require_same_names,
    require_table,
    texts_among_numbers,
    title,
)
from wengert.sklearn.unknown_categories import (
    CodedColumn,
    tell_of_missing,
    tell_of_unknown,
)

Array = np.ndarray[Any, Any]
FROM_DTYPE = "from_dtype"
FLOATS = (np.float64, np.float32)
SOME = 4096  # rows that say how fine numbers are
ROUNDING = 2.0**-24  # of float32, relative
SMALLEST, LARGEST = 1e-15, 1e15  # float32 holds their squares, with room to spare
# Numbers with commas, a sign of a currency or of percent, and dates, as people write them.
_WRITTEN = re.compile(
    r"[+-]?[$€£¥]? ?\d[\d .]*(?:,\d+)+(?:\.\d*)? ?[$€£¥%]?"
    r"|[+-]?[$€£¥] ?\d[\d.,]*"
    r"|[+-]?\d[\d.,]* ?[$€£¥%]"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T][\d:.]+)?"
)
_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*)")
FEW = 10  # rows, below which each may well have its own category


@dataclass(frozen=True)
class ColumnPlan:
    """Which columns are categories, by position, and the categories of each."""

    categorical: tuple[int, ...]
    categories: tuple[Mapping[Any, int], ...]  # each category's code
    names: tuple[Any, ...] | None = None  # of all columns, where they are no texts
    unseen: tuple[frozenset[int], ...] = ()  # codes of each that no row of training has had yet
    missing: tuple[bool, ...] = ()  # whether each was missing in some row of training

    def after(self, columns: Sequence[Sequence[Any]], codes: Array) -> ColumnPlan:
        """The plan when these rows have been trained with."""
        unseen = tuple(
            before - frozenset(np.flatnonzero(np.bincount(coded)).tolist()) if before else before
            for before, coded in zip(self.unseen, codes.T, strict=False)
        )
        missing = tuple(
            before or any(is_missing(column[i]) for i in np.flatnonzero(coded == 0).tolist())
            for before, column, coded in zip(self.missing, columns, codes.T, strict=False)
        )
        return replace(self, unseen=unseen, missing=missing)


def require_no_masks(by: str, given: Mapping[str, Any]) -> None:
    """Refuse masked elements: scikit-learn would use the values behind the mask."""
    for name, x in given.items():
        if is_masked_array(x) and np.any(x.mask):
            raise ValueError(
                f"{by}: {name} has masked elements; a network knows no masks, and would learn from "
                f"what they hide. Leave these rows out, or write {name}.filled(value)."
            )


def inputs_of(
    estimator: Any,
    X: Any,
    plan: ColumnPlan | None,
    asked: Any,
    trains: bool = False,
    more_follow: bool = False,  # whether other rows will be trained with
) -> tuple[ColumnPlan, dict[str, Any]]:
    """The inputs of a network, checked as scikit-learn checks them, and the plan as these rows
    leave it; a plan that is None is made here. Numbers may be a sparse matrix.
    """
    by = type(estimator).__name__
    require_table(by, X)
    require_no_masks(by, {"X": X})
    reset = plan is None
    if plan is not None:
        require_same_names(by, X, plan.names)
    wanted = _categorical_columns(X, asked) if plan is None else plan.categorical
    if not wanted:
        with _texts_told(X):
            numbers = validate_data(
                estimator, X, accept_sparse="csr", dtype=FLOATS, reset=reset, order="C"
            )
        return plan or ColumnPlan((), (), numbered_names(X)), {"numbers": numbers}
    if not is_frame(X):
        X = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=reset)
    else:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        require_rows(by, X)
    columns = [column_of(X, place) for place in wanted]
    titles = [title(X, place) for place in wanted]
    if plan is None:
        seen = [_categories(column) for column in columns]
        for name, column, known in zip(titles, columns, seen, strict=True):
            _note_many(name, len(column), known, named=not isinstance(asked, str))
        declared = [declared_categories(X, place) if more_follow else [] for place in wanted]
        plan = _planned(wanted, seen, declared, numbered_names(X))
    codes = _all_codes(plan, columns, trains)
    if not reset:
        parts = zip(titles, columns, plan.categories, codes.T, strict=True)
        coded = list(starmap(CodedColumn, parts))
        tell_of_unknown(coded, trains)
        if not trains:
            tell_of_missing(coded, plan.missing)
    if trains:
        plan = plan.after(columns, codes)
    inputs: dict[str, Any] = {"codes": codes}
    rest = [place for place in range(int(X.shape[1])) if place not in wanted]
    if rest:
        numbers = X[[X.columns[place] for place in rest]] if is_frame(X) else X[:, rest]
        with _texts_told(X, rest):
            inputs["numbers"] = check_array(numbers, dtype=FLOATS, order="C", input_name="X")
    return plan, inputs


@contextmanager
def _texts_told(X: Any, places: Sequence[int] | None = None) -> Iterator[None]:
    """Name the column where texts are in the way of numbers."""
    try:
        yield
    except ValueError as error:
        told = None if sparse.issparse(X) else texts_among_numbers(X, places)
        if told is None:
            raise
        raise ValueError(told) from error


def _categorical_columns(X: Any, asked: Any) -> tuple[int, ...]:
    """The positions of the columns that are categories."""
    if asked is None or (isinstance(asked, str) and asked == FROM_DTYPE):
        if asked is None or not is_frame(X):
            return ()
        kinds = enumerate(zip(X.columns, X.dtypes, strict=True))
        return tuple(place for place, (name, kind) in kinds if _is_category(X[name], kind))
    if hasattr(asked, "to_list"):  # an Index or a Series
        asked = asked.to_list()
    if isinstance(asked, str) or not isinstance(asked, Sequence | np.ndarray):
        raise ValueError(
            f"categorical_features={asked!r} was given; it is {FROM_DTYPE!r}, None, or a list of "
            "names or positions of columns. Pass one of these."
        )
    if sparse.issparse(X):
        raise ValueError(
            f"categorical_features={list(asked)!r} was given for a sparse matrix; categories are "
            "columns of a table. Pass a DataFrame or an array."
        )
    shape = np.shape(X)
    width = shape[1] if len(shape) == 2 else 0
    if any(isinstance(each, bool | np.bool_) for each in asked):
        _require_mask(asked, width)
        return tuple(int(place) for place in np.flatnonzero(asked))
    return tuple(sorted({_place(X, each, width) for each in asked}))


def _require_mask(asked: Any, width: int) -> None:
    if len(asked) == width and all(isinstance(each, bool | np.bool_) for each in asked):
        return
    raise ValueError(
        f"categorical_features={list(asked)!r} was given for X of {width} columns; a mask has True "
        "or False for each of them. Give one for each column, or positions."
    )


def _place(X: Any, column: Any, width: int) -> int:
    """The position of a column that was given by name or by position."""
    if isinstance(column, str):
        names = [str(name) for name in X.columns] if is_frame(X) else []
        if column in names:
            return names.index(column)
        has = f"it has {', '.join(names)}" if names else "an array has no names of columns"
        raise ValueError(
            f"categorical_features has {column!r}, which is no column of X; {has}. Correct the "
            "name, or give positions."
        )
    if isinstance(column, int | np.integer) and -width <= column < width:
        return int(column) % width
    raise ValueError(
        f"categorical_features has {column!r}; X has columns 0 to {width - 1}. Give names or "
        "positions of these."
    )


def _is_category(column: Any, kind: Any) -> bool:
    """Whether a column of a frame holds categories or texts; objects do if the first is a text."""
    name = str(kind).lower()
    if name == "object":
        first = next((x for x in column.to_list() if not is_missing(x)), None)
        return isinstance(first, str)
    return name.startswith(("categor", "enum", "str", "large_str"))


def _note_many(title: str, rows: int, known: Mapping[Any, int], named: bool) -> None:
    """Warn of a column whose categories will say nothing about other rows: numbers as text, or a
    name for each row. Whole numbers may be codes, as they are where the column was `named`.
    """
    if rows < FEW or not known:
        return
    first = next(iter(known))
    if all(isinstance(x, str) and (_is_fraction(x) or _WRITTEN.fullmatch(x)) for x in known):
        warn_user(
            f"X has column {title} of texts that are numbers or dates, such as {first!r}; each one "
            "is learned as a category of its own. Convert the column to floats.",
            UserWarning,
        )
    elif not named and 2 * len(known) > rows and all(map(_is_whole, known)):
        warn_user(
            f"X has column {title} of texts that are whole numbers, such as {first!r}, with "
            f"{len(known)} different ones in {rows} rows; each one is learned as a category of its "
            "own. Convert the column to floats, or name it in categorical_features if these are "
            "codes.",
            UserWarning,
        )
    elif len(known) == rows:
        warn_user(
            f"X has column {title} with another category in each of its {rows} rows, such as "
            f"{first!r}; nothing is learned from it about other rows. Leave it out, or give it as "
            "numbers if it has some.",
            UserWarning,
        )


def _is_fraction(text: str) -> bool:
    """Whether a text is a number that counts nothing and names nothing: one with a point."""
    try:
        return "." in text and math.isfinite(float(text))
    except ValueError:
        return False


def _is_whole(x: Any) -> bool:
    """Whether it is the text of a whole number; with a zero in front it is a code."""
    return isinstance(x, str) and _WHOLE.fullmatch(x.strip()) is not None


def _categories(column: Sequence[Any]) -> dict[Any, int]:
    """The categories of a column in order, with their codes."""
    known = {x for x in column if not is_missing(x)}
    ordered = sorted(known, key=lambda x: (type(x).__name__, x))
    return {x: code for code, x in enumerate(ordered, 1)}


def _planned(
    places: tuple[int, ...],
    seen: Sequence[Mapping[Any, int]],
    declared: Sequence[Sequence[Any]],
    names: tuple[Any, ...] | None,
) -> ColumnPlan:
    """The plan of columns that have some categories, and whose dtypes declare others."""
    pairs = zip(seen, declared, strict=True)
    categories = tuple(_categories([*known, *others]) for known, others in pairs)
    unseen = tuple(frozenset(known.values()) for known in categories)
    return ColumnPlan(places, categories, names, unseen, (False,) * len(places))


def _all_codes(plan: ColumnPlan, columns: Sequence[Sequence[Any]], trains: bool) -> Array:
    """The codes of all columns. Where nothing is trained, what training has not seen has none: its
    vector is still the one that was drawn at first.
    """
    pairs = zip(columns, plan.categories, strict=True)
    codes = np.stack([_codes(column, known) for column, known in pairs], axis=1)
    if not trains:
        for coded, unseen in zip(codes.T, plan.unseen, strict=False):
            if unseen:
                coded[np.isin(coded, list(unseen))] = 0
    return codes


def _codes(column: Sequence[Any], known: Mapping[Any, int]) -> Array:
    codes = (0 if is_missing(x) else known.get(x, 0) for x in column)
    return np.fromiter(codes, np.int32, len(column))


def dense(numbers: Any, dtype: Any) -> Array:
    """Numbers as one array of this dtype, whose rows lie one after the other."""
    if sparse.issparse(numbers):
        numbers = numbers.toarray()
    return np.ascontiguousarray(numbers, dtype)


def is_coarse(numbers: Any) -> bool:
    """Whether float32 would round a column of numbers by more than a thousandth of their standard
    deviation, or cannot hold them: times in seconds since 1970, say. Some rows are looked at.
    """
    some = dense(numbers[:: max(numbers.shape[0] // SOME, 1)], np.float64)
    largest = np.abs(some).max(axis=0, initial=0.0)
    spread = np.std(some / np.where(largest > 0, largest, 1.0), axis=0)  # of numbers up to 1
    rounded = (spread > 0) & (spread < 1e3 * ROUNDING)
    return bool(np.any(rounded | (largest > LARGEST) | ((largest > 0) & (largest < SMALLEST))))
