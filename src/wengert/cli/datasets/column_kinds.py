"""What the cells of a column are: numbers, or names of categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.cli.datasets.data_table import Array, Column, DataTable, texts
from wengert.cli.exit_codes import DataFault

Say = Callable[[str], None]  # tells the user something
_WHOLE = re.compile(r"^([+-]?\d+)\.0*$")
_SIGNED = re.compile(r"[+-]?[$€£¥]? ?[+-]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d*)? ?[$€£¥%]?")
_SIGNS = re.compile("[ ,$€£¥%]")
_WITH_UNIT = re.compile(
    r"(?P<number>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?) ?(?P<unit>(?:[^\W\d_]|°)[^\d,;]*)"
)
_DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)|\d{1,2}([-/.])\d{1,2}\2\d{4}(?!\d)")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
_CODE = re.compile(r"0\d+")  # numbers are not written like this
_LONG = re.compile(r"[+-]?\d{16,}")  # of any number, a float keeps 15 digits
_PERHAPS_MISSING = frozenset({"none", "?", "-", "--", ".", "missing", "unknown"})


def as_numbers(table: DataTable, column: Column, advice: str) -> Column:
    """The column as numbers; the first cell that is none, or is infinite, is refused. `advice` says
    what else to do with the column.
    """
    if column.is_text:
        cells = np.array([_number(cell) for cell in column.cells], np.float64)
        wrong = np.isnan(cells) & ~column.missing
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataFault(
                f"{table.place(row)}: column {column.name!r}: {column.cells[row]!r} is not a "
                f"number; {_others(wrong, column.missing)}. {_repair(column.cells[row], advice)}"
            )
        column = Column(column.name, cells)
    infinite = np.isinf(column.cells)
    if infinite.any():
        raise DataFault(
            f"{table.place(int(np.argmax(infinite)))}: column {column.name!r}: is infinite; "
            "numbers must be finite. Correct the cell."
        )
    return column


def as_names(column: Column) -> Column:
    """The column as names of categories: whole numbers are written without a point."""
    if column.is_text:
        return Column(column.name, texts(map(_name, column.cells)))
    cells = (None if np.isnan(x) else _name(repr(x)) for x in column.cells.tolist())
    return Column(column.name, texts(cells))


def _name(cell: str | None) -> str | None:
    return cell if cell is None else _WHOLE.sub(r"\1", cell)


def as_numbers_or_names(table: DataTable, column: Column) -> Column:
    """The column as numbers or as names, whichever it is. Where most cells, and not all, are
    numbers, the first other one is refused: most likely it is a slip.
    """
    if not column.is_text:
        return as_numbers(table, column, "")
    if not column.read_as_text:
        return column
    given = [cell for cell in column.cells if cell is not None]
    if given and all(_THOUSANDS.fullmatch(cell) for cell in given):
        raise DataFault(f"{table.place(0)}: column {column.name!r}: {_two_commas(given[0])}")
    if given and all(_DECIMAL_COMMA.fullmatch(cell) for cell in given):
        raise DataFault(
            f"{table.place(0)}: column {column.name!r}: {given[0]!r} has a decimal comma; numbers "
            "are written with a point. Replace the commas."
        )
    numbers = sum(not np.isnan(_number(cell)) for cell in given)
    if 2 * numbers >= len(given):
        advice = f"If it is a column of categories, add --categorical {column.name!r}."
        return as_numbers(table, column, advice)
    return column


def note_codes(column: Column, say: Say) -> None:
    """Tell of texts that are taken for numbers, and more likely are codes: 01005."""
    if not column.is_text or not column.read_as_text:
        return
    long = _too_long(column)
    if long is not None:
        say(
            f"column {column.name!r} has cells such as {long!r}, which have too many digits to be "
            f"told apart as numbers. If they are codes, add --categorical {column.name!r}"
        )
        return
    code = next((x for x in column.cells if x is not None and _CODE.fullmatch(x)), None)
    if code is not None:
        say(
            f"column {column.name!r} has cells such as {code!r}, which are read as numbers. If "
            f"they are codes, add --categorical {column.name!r}"
        )


def note_numbers(column: Column, say: Say) -> None:
    """Tell of numbers that a file with types holds as texts, more than a few: most likely they are
    meant as numbers.
    """
    if not column.is_text or column.read_as_text:
        return
    given = [cell for cell in column.cells if cell is not None and not _CODE.fullmatch(cell)]
    numeric = list(dict.fromkeys(cell for cell in given if not np.isnan(_number(cell))))
    if 2 * len(numeric) > len(given):
        say(
            f"column {column.name!r} has texts, and most of them are numbers, such as "
            f"{numeric[0]!r}; they are taken as names. Write the column as numbers; if they are "
            f"codes, add --categorical {column.name!r}"
        )


def _too_long(column: Column) -> str | None:
    """A whole number of a column in which floats cannot tell some of them apart; None elsewhere."""
    long = {cell for cell in column.cells if cell is not None and _LONG.fullmatch(cell)}
    is_told_apart = len(set(map(float, long))) == len(set(map(int, long)))
    return None if is_told_apart else min(long)


def without_signs(cells: Sequence[str]) -> tuple[str, str] | None:
    """A text that is a number but for a sign of a currency, a percent sign or commas between
    thousands, and that number; None unless most of the texts are such.
    """
    signed = [cell for cell in cells if _SIGNED.fullmatch(cell) and np.isnan(_number(cell))]
    if not signed or 2 * len(signed) < len(cells):
        return None
    return signed[0], _SIGNS.sub("", signed[0])


def without_units(cells: Sequence[str]) -> tuple[str, str] | None:
    """A text that is a number and a unit, '0.126 kg', and that number; None unless most of the
    texts have this unit.
    """
    matches = [(match, cell) for cell in cells if (match := _WITH_UNIT.fullmatch(cell))]
    units = Counter(match["unit"] for match, _ in matches)
    unit, count = units.most_common(1)[0] if units else ("", 0)
    if 2 * count < len(cells) or not count:
        return None
    return next((cell, match["number"]) for match, cell in matches if match["unit"] == unit)


def a_date(cells: Sequence[str]) -> str | None:
    """A text that is a date, unless few of them are."""
    dates = [cell for cell in cells if _DATE.match(cell)]
    return dates[0] if dates and 2 * len(dates) >= len(cells) else None


def _number(cell: Any) -> float:
    """The number that a cell is; NaN if it is none. Words for NaN are missing cells already."""
    if cell is None or "_" in cell:  # Python's float would leave it out
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return np.nan


def _two_commas(cell: str) -> str:
    """The two things that a comma before three digits may mean."""
    plain, point = cell.replace(",", ""), cell.replace(",", ".", 1)
    return (
        f"{cell!r} has a comma, which separates thousands or decimals; numbers have none. Write "
        f"{plain}, or {point}."
    )


def _others(wrong: Array, missing: Array) -> str:
    right, given = int((~wrong & ~missing).sum()), int((~missing).sum())
    return f"{right} of the {given} cells of this column are"


def _repair(cell: str, advice: str) -> str:
    if _THOUSANDS.fullmatch(cell):
        return f"It is {_two_commas(cell)}"
    if _DECIMAL_COMMA.fullmatch(cell):
        return "Write a decimal point."
    if cell.lower() in _PERHAPS_MISSING:
        return (
            f"If {cell!r} says that the value is missing, leave the cell empty, and add --missing "
            f"drop or --missing fill. {advice}".strip()
        )
    return f"Correct the cell. {advice}".strip()
