"""Text files with one row a line: CSV and TSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from wengert.cli.datasets.data_table import (
    MISSING_WORDS,
    Column,
    DataTable,
    listed,
    require_own_names,
    texts,
)
from wengert.cli.exit_codes import DataFault

_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", " ": "a space"}
_LONGEST_CELL = 1 << 24
_FIRST_YEAR, _LAST_YEAR = 1800, 2200


def read_delimited(path: Path, delimiter: str, header: bool) -> DataTable:
    """The table in a text file. Every cell is a text here; what it means is decided later."""
    text = _decoded(path)
    csv.field_size_limit(_LONGEST_CELL)
    rows = list(_rows(path, text, delimiter))
    if not rows:
        raise DataFault(f"{path}: has no line with anything in it; a header and rows are needed.")
    doubt = ""
    if header:
        names = [name.strip() for name in rows[0][1]]
        _require_no_comment(path, rows, delimiter)
        _require_names(path, rows[0][0], names, delimiter)
        doubt = _doubt_of_header(names)
        rows = rows[1:]
        if not rows:
            raise DataFault(
                f"{path}: has a header ({listed(names)}) and no rows below it; there is nothing "
                "to read."
            )
    else:
        names = [f"column {i}" for i in range(1, len(rows[0][1]) + 1)]
    for line, cells in rows:
        if len(cells) != len(names):
            other = _fitting_delimiter(text, delimiter)
            raise DataFault(_ragged(path, line, cells, names, delimiter, header, other))
    columns = [
        Column(name, texts(_cell(cell) for cell in cells), read_as_text=True)
        for name, cells in zip(names, zip(*(cells for _, cells in rows), strict=True), strict=True)
    ]
    lines = np.array([line for line, _ in rows])
    return DataTable(str(path), tuple(columns), lines, doubt=doubt)


def _cell(cell: str) -> str | None:
    cell = cell.strip()
    return None if cell.lower() in MISSING_WORDS else cell


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    if not data.strip():
        raise DataFault(f"{path}: is empty ({len(data)} bytes); a header and rows are needed.")
    zero = data.find(b"\0")
    if zero >= 0:
        raise DataFault(
            f"{path}: is no text: byte {zero} is 0. Give a text file, or name it .npy, .npz or "
            ".parquet if it is one of these."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFault(
            f"{path}:{line}: byte {error.start} (0x{data[error.start]:02x}) is not UTF-8; the file "
            "must be text in UTF-8. Convert it: iconv -f latin1 -t utf-8."
        ) from None


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the line on which it ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise DataFault(
            f"{path}:{reader.line_num}: {error}; a quote that opens a cell must be closed, "
            "here or on a line before, and quotes inside of it doubled."
        ) from None


def _require_no_comment(
    path: Path, rows: Sequence[tuple[int, Sequence[str]]], delimiter: str
) -> None:
    """Refuse a first line that is a comment: it begins with # and has other cells than the next."""
    line, first = rows[0]
    if len(rows) < 2 or not first[0].lstrip().startswith("#") or len(rows[1][1]) == len(first):
        return
    text = delimiter.join(first).strip()
    raise DataFault(
        f"{path}:{line}: {text!r} looks like a comment; the first line must be a header with the "
        "names of the columns. Remove the line."
    )


def _doubt_of_header(names: Sequence[str]) -> str:
    """What to say where some names of columns are numbers, as those of a row are. Numbers that
    count columns, 0, 1, 2, …, and years are names.
    """
    numbers = [float(name) for name in names if _is_number(name)]
    if not numbers:
        return ""
    is_counted = all(b == a + 1 for a, b in pairwise(numbers))
    if is_counted and (numbers[0] in (0, 1) or _FIRST_YEAR <= numbers[0] <= _LAST_YEAR):
        return ""
    shown = listed([name for name in names if _is_number(name)], 4)
    return (
        f"the first line, which is taken for the names of the columns, has the numbers {shown}. "
        "If it is a row of data, add --no-header"
    )


def _require_names(path: Path, line: int, names: Sequence[str], delimiter: str) -> None:
    place = f"{path}:{line}"
    if len(names) == 1:
        other = _other_delimiter(names[0], delimiter)
        if other:
            raise DataFault(
                f"{place}: the header is one column, {names[0]!r}, if columns are separated by "
                f"{_worded(delimiter)}; it looks as if {_DELIMITERS[other]} separated them. "
                f"Add --delimiter {_flag(other)}."
            )
    if all(_is_number(name) for name in names):
        raise DataFault(
            f"{place}: the first line is all numbers ({listed(names, 4)}); it must be a header "
            "with the names of the columns. Add one, or add --no-header."
        )
    if "" in names:
        raise DataFault(
            f"{place}: column {names.index('') + 1} of {len(names)} has no name. {_naming(names)}"
        )
    require_own_names(place, names)


def _naming(names: Sequence[str]) -> str:
    """What to do about a column without a name: the first one is most likely pandas' index."""
    if names[0] == "" and names.count("") == 1:
        return (
            "It may be the index that pandas writes: write the file with "
            "df.to_csv(path, index=False), or name the column in the header."
        )
    return "Name it in the header, or remove it from every line."


def _other_delimiter(name: str, delimiter: str) -> str | None:
    counts = {each: name.count(each) for each in _DELIMITERS if each != delimiter}
    best = max(counts, key=lambda each: counts[each])
    return best if counts[best] else None


def _fitting_delimiter(text: str, delimiter: str) -> str | None:
    """Another delimiter than this one that gives all lines the same number of cells, two or more.
    Texts have spaces by chance.
    """
    for other in _DELIMITERS:
        if other in (delimiter, " "):
            continue
        try:
            rows = csv.reader(io.StringIO(text, newline=""), delimiter=other, strict=True)
            counts = {len(row) for row in rows if any(cell.strip() for cell in row)}
        except csv.Error:
            continue
        if len(counts) == 1 and counts != {1}:
            return other
    return None


def _ragged(
    path: Path,
    line: int,
    cells: Sequence[str],
    names: Sequence[str],
    delimiter: str,
    header: bool,
    fitting: str | None,  # another delimiter that separates all lines alike
) -> str:
    first = "the header" if header else "the first row"
    other = _other_delimiter(cells[0], delimiter) if len(cells) == 1 else None
    if fitting:
        hint = (
            f"If {_DELIMITERS[fitting]} separates cells, all lines have as many of them. "
            f"Add --delimiter {_flag(fitting)}."
        )
    elif other:
        hint = f"It looks as if {_DELIMITERS[other]} separated its cells."
    else:
        hint = f"A cell that contains {_worded(delimiter)} must stand in double quotes."
    return (
        f"{path}:{line}: has {len(cells)} cell{'s' * (len(cells) != 1)} where {first} has "
        f"{len(names)}. {hint}"
    )


def _worded(delimiter: str) -> str:
    return _DELIMITERS.get(delimiter, repr(delimiter))


def _flag(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
