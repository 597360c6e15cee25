"""NumPy's files: one array (.npy), or several by name (.npz)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile

import numpy as np

from wengert.cli.datasets.data_table import PARTS_OF_DATES, Array, Column, DataTable, texts
from wengert.cli.exit_codes import DataFault

ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")  # how zip files begin; the second is one without files


def read_numpy(path: Path) -> DataTable:
    """Columns of an array of two axes are named by their numbers, `0`, `1`, …; in an .npz an array
    of one axis is a column of its name, and `x[0]`, `x[1]`, … are those of one with more.
    """
    if path.stat().st_size == 0:
        raise DataFault(f"{path}: is empty (0 bytes); an array is needed.")
    with path.open("rb") as file:
        begin = file.read(6)
        if begin != b"\x93NUMPY" and begin[:4] not in ZIPPED:  # an .npz is a zip file
            raise DataFault(
                f"{path}: does not begin as NumPy's files do. Write it with np.save or np.savez."
            )
        file.seek(0)
        arrays = _loaded(path, file)
    if not arrays:
        raise DataFault(f"{path}: has no arrays; x and y are needed.")
    _require_lengths(path, arrays)
    columns = [column for name, array in arrays.items() for column in _columns(name, array)]
    return DataTable(str(path), tuple(columns))


def _loaded(path: Path, file: BinaryIO) -> dict[str, Array]:
    """Arrays by name; the one of an .npy has none."""
    try:
        loaded = np.load(file, allow_pickle=False)
        return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (ValueError, OSError, EOFError, KeyError, BadZipFile) as error:
        raise DataFault(
            f"{path}: cannot be read as NumPy's {path.suffix} ({error}). Write it with np.save or "
            "np.savez; arrays of Python objects are not read."
        ) from None


def _require_lengths(path: Path, arrays: dict[str, Array]) -> None:
    for name, array in arrays.items():
        if array.ndim == 0 or (name == "" and array.ndim == 1):
            raise DataFault(
                f"{path}: {f'array {name!r}' if name else 'the array'} has shape {array.shape}; "
                f"{'rows along its first axis' if name else 'two axes, rows and columns,'} are "
                "needed."
            )
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} has {count}" for name, count in lengths.items())
        raise DataFault(f"{path}: arrays must have as many rows as each other; {told}.")
    if not next(iter(lengths.values())):
        raise DataFault(f"{path}: has no rows; there is nothing to read.")


def _columns(name: str, array: Array) -> Iterator[Column]:
    if array.ndim == 1:
        yield _column(name, array)
        return
    flat = array.reshape(len(array), -1)  # (rows, columns)
    for i in range(flat.shape[1]):
        yield _column(f"{name}[{i}]" if name else str(i), flat[:, i])


def _column(name: str, array: Array) -> Column:
    if array.dtype.kind in "biuf":
        return Column(name, array.astype(np.float64))
    if array.dtype.kind in "US":
        decoded = array.astype(str) if array.dtype.kind == "U" else np.char.decode(array, "utf-8")
        return Column(name, texts(decoded.tolist()))
    to = PARTS_OF_DATES if array.dtype.kind == "M" else ""
    return Column(
        name,
        texts([None] * len(array)),
        refusal=f"column {name!r} has dtype {array.dtype}; numbers, bools or texts are needed. "
        f"Leave it out with --ignore {name!r}, or convert it{to}.",
    )
