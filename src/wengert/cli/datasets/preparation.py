"""From tables to arrays: numbers are standardised, categories become one column of 0 and 1 each.

How that is done is decided by the rows to train on and saved with the model. Every prediction does
it in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wengert.cli.datasets.column_kinds import (
    Say,
    a_date,
    as_names,
    as_numbers,
    without_signs,
    without_units,
)
from wengert.cli.datasets.data_table import Array, Column, DataTable, listed
from wengert.cli.exit_codes import DataFault

FEW_CATEGORIES = 10  # of a column that may be different in most rows
LARGEST_WHOLE = 2**53  # from here on, floats have no place for every whole number
MOST_CATEGORIES = 64  # of a column; rarer ones count as unknown
CLASSIFICATION, REGRESSION = "classification", "regression"
FILL, DROP, REFUSE = "fill", "drop", "refuse"


@dataclass(frozen=True)
class NumberFeature:
    """A column of numbers, standardised; a missing one counts as the mean."""

    name: str
    mean: float
    scale: float
    kind: str = "number"

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.name,)

    def encoded(self, column: Column) -> Array:
        standardised = (column.cells - self.mean) / self.scale
        return np.nan_to_num(standardised, nan=0.0)[:, None]  # (rows, 1)


@dataclass(frozen=True)
class CategoryFeature:
    """A column of names; each of the categories is a column of 0 and 1. Other names, and missing
    ones, are 0 in all of them.
    """

    name: str
    categories: tuple[str, ...]
    kind: str = "category"

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{self.name} = {category}" for category in self.categories)

    def encoded(self, column: Column) -> Array:
        places = {category: i for i, category in enumerate(self.categories)}
        indicators = np.zeros((len(column.cells), len(places)))  # (rows, categories)
        for row, cell in enumerate(column.cells):
            if cell in places:
                indicators[row, places[cell]] = 1.0
        return indicators

    def unknown(self, column: Column) -> list[str]:
        """The names that training has not seen."""
        return sorted({*column.cells} - {*self.categories, None})


Feature = NumberFeature | CategoryFeature


@dataclass(frozen=True)
class TargetColumn:
    """What is predicted: a class, or a number that is standardised."""

    name: str
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    scale: float = 1.0

    @property
    def task(self) -> str:
        return CLASSIFICATION if self.classes else REGRESSION

    def encoded(self, table: DataTable, column: Column) -> Array:
        """Numbers of classes, or standardised numbers of shape (rows, 1)."""
        if not self.classes:
            numbers = as_numbers(table, column, "").cells
            scaled: Array = ((numbers - self.mean) / self.scale).astype(np.float32)[:, None]
            return scaled
        places = {name: i for i, name in enumerate(self.classes)}
        names = as_names(column).cells
        for row, name in enumerate(names):
            if name not in places:
                raise DataFault(
                    f"{table.place(row)}: target {self.name!r}: {name!r} is none of the classes "
                    f"that were trained: {listed(self.classes)}."
                )
        return np.array([places[name] for name in names], np.int64)


@dataclass(frozen=True)
class Preparation:
    """How the columns of a table become the inputs of a model, and its outputs an answer."""

    features: tuple[Feature, ...]
    target: TargetColumn
    missing: str = REFUSE

    @property
    def width(self) -> int:
        return sum(len(feature.labels) for feature in self.features)

    @property
    def outputs(self) -> int:
        return len(self.target.classes) or 1

    def groups(self) -> list[tuple[str, slice]]:
        """Each feature with the columns of the input that it has become."""
        ends = np.cumsum([len(feature.labels) for feature in self.features])
        starts = [0, *ends[:-1]]
        return [
            (feature.name, slice(int(start), int(end)))
            for feature, start, end in zip(self.features, starts, ends, strict=True)
        ]

    def inputs(self, table: DataTable, say: Say) -> Array:
        """The rows of a table as inputs, (rows, width)."""
        self._require_columns(table)
        parts = [feature.encoded(self._fitting(table, feature, say)) for feature in self.features]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _require_columns(self, table: DataTable) -> None:
        absent = [each.name for each in self.features if each.name not in table.names]
        if not absent:
            return
        wanted = [feature.name for feature in self.features]
        extra = [name for name in table.names if name not in (*wanted, self.target.name)]
        others = f" It has {listed(extra)}, which the model does not know." if extra else ""
        raise DataFault(
            f"{table.source}: has no column {listed(absent)}; the model was trained with "
            f"{listed(wanted)}.{others}"
        )

    def _fitting(self, table: DataTable, feature: Feature, say: Say) -> Column:
        column = table.column(feature.name, "the feature")
        if isinstance(feature, NumberFeature):
            column = as_numbers(table, column, "")
        else:
            column = as_names(column)
            unknown = feature.unknown(column)
            if unknown and len(feature.categories) < MOST_CATEGORIES:
                say(
                    f"column {feature.name!r}: {listed(unknown, 4)} was not there in training, and "
                    "counts as none of the known categories"
                )
        if self.missing != FILL:
            require_whole(table, column, "Fill it in, or train with --missing fill")
        return column

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, saved: Mapping[str, Any]) -> Preparation:
        """What `as_dict` gave, through JSON or not."""
        features = tuple(
            NumberFeature(each["name"], each["mean"], each["scale"])
            if each["kind"] == "number"
            else CategoryFeature(each["name"], tuple(each["categories"]))
            for each in saved["features"]
        )
        target = saved["target"]
        return cls(
            features,
            TargetColumn(target["name"], tuple(target["classes"]), target["mean"], target["scale"]),
            saved["missing"],
        )


def require_whole(table: DataTable, column: Column, advice: str) -> None:
    """Refuse missing cells; `advice` says what to do."""
    missing = column.missing
    if missing.any():
        count = int(missing.sum())
        more = f" (and {count - 1} more)" if count > 1 else ""
        raise DataFault(
            f"{table.place(int(np.argmax(missing)))}: column {column.name!r}: the cell is empty or "
            f"NaN{more}; every cell needs a value. {advice}."
        )


def fitted_features(columns: Sequence[Column], say: Say) -> tuple[Feature, ...]:
    """How columns, of the rows to train on, are encoded. Columns that tell nothing are left out."""
    features: list[Feature] = []
    constant: list[str] = []
    too_large: list[str] = []
    for column in columns:
        given = column.cells[~column.missing]
        if not len(given) or (given == given[0]).all():
            is_large = not column.is_text and len(given) and abs(given[0]) >= LARGEST_WHOLE
            (too_large if is_large else constant).append(column.name)
            continue
        feature = _fitted_names(column, say) if column.is_text else _fitted_numbers(column)
        if feature is not None:
            features.append(feature)
    if constant:
        say(f"left out, since every row of training is the same: {listed(constant, 6)}")
    if too_large:
        say(
            "left out, since numbers of so many digits cannot be told apart, or every row of "
            f"training is the same: {listed(too_large, 6)}"
        )
    return tuple(features)


def _fitted_numbers(column: Column) -> NumberFeature:
    return NumberFeature(column.name, *mean_and_scale(column.cells[~np.isnan(column.cells)]))


def mean_and_scale(numbers: Array) -> tuple[float, float]:
    """The mean, and the standard deviation or 1 where there is none. Numbers
    are made smaller first, so that the squares of huge ones do not overflow.
    """
    largest = float(np.abs(numbers).max()) or 1.0
    scaled = numbers / largest
    return float(scaled.mean()) * largest, float(scaled.std()) * largest or 1.0


def _fitted_names(column: Column, say: Say) -> CategoryFeature | None:
    counts = Counter(cell for cell in column.cells if cell is not None)
    given = sum(counts.values())
    if len(counts) > FEW_CATEGORIES and 2 * len(counts) > given:
        say(
            f"column {column.name!r} has {len(counts)} different texts in {given} rows, like a "
            f"name or a number of each row; it is left out{_hint(column)}"
        )
        return None
    common = [name for name, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    if len(common) > MOST_CATEGORIES:
        say(
            f"column {column.name!r} has {len(common)} categories; the {MOST_CATEGORIES} most "
            f"frequent are used, all others count as one{_hint(column)}"
        )
    elif len(common) > FEW_CATEGORIES and (hint := _hint(column)):
        say(f"column {column.name!r} has {len(common)} categories{hint}")
    return CategoryFeature(column.name, tuple(sorted(common[:MOST_CATEGORIES])))


def _hint(column: Column) -> str:
    """How a column of texts becomes one of numbers, where signs or units alone are in the way, or
    where they are dates.
    """
    numbers = hint_at_numbers(column)
    if numbers:
        return f". {numbers}, and the column is learned from as numbers"
    date = a_date([cell for cell in column.cells if cell is not None])
    if date is not None:
        return (
            f". Its texts look like dates, such as {date!r}: write columns of numbers for it, such "
            "as the year, the day of the year or the day of the week"
        )
    return ""


def hint_at_numbers(column: Column) -> str:
    """How texts become numbers, where signs or units alone are in the way; else nothing."""
    cells = [cell for cell in column.cells if cell is not None] if column.is_text else []
    for what, example in (("sign", without_signs(cells)), ("unit", without_units(cells))):
        if example is not None:
            return (
                f"Its texts look like numbers with a {what}, such as {example[0]!r}: write them "
                f"without it, {example[1]}"
            )
    return ""
