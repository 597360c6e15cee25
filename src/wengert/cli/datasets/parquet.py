"""Parquet files, through pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli.datasets.data_table import (
    PARTS_OF_DATES,
    Column,
    DataTable,
    require_own_names,
    texts,
)
from wengert.cli.exit_codes import DataFault, MissingPackage

_INDEX_OF_PANDAS = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path) -> DataTable:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as arrow_parquet
    except ImportError:
        raise MissingPackage("pyarrow", f"{path}: reading Parquet", "pyarrow") from None
    if path.stat().st_size == 0:
        raise DataFault(f"{path}: is empty (0 bytes); a Parquet file is needed.")
    try:
        require_own_names(str(path), arrow_parquet.read_schema(path).names)
        table = arrow_parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        told = str(error).splitlines()[0]
        raise DataFault(f"{path}: cannot be read as Parquet ({told}).") from None
    if not table.num_columns or not table.num_rows:
        raise DataFault(
            f"{path}: has {table.num_rows} rows and {table.num_columns} columns; both are needed."
        )
    return DataTable(str(path), tuple(_columns(arrow, table)))


def _columns(arrow: Any, table: Any) -> Iterator[Column]:
    """All but the index that pandas numbered the rows with, and named itself."""
    for name, cells in zip(table.column_names, table.columns, strict=True):
        if not _INDEX_OF_PANDAS.fullmatch(name):
            yield _column(arrow, name, cells)


def _column(arrow: Any, name: str, cells: Any) -> Column:
    kinds = arrow.types
    if kinds.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    kind = cells.type
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        values = cells.cast(arrow.float64()).fill_null(float("nan"))
        return Column(name, np.array(values.to_numpy(), np.float64))
    if kinds.is_decimal(kind):
        return Column(name, np.array(cells.cast(arrow.float64()).to_numpy(), np.float64))
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_null(kind):
        return Column(name, texts(cells.to_pylist()))
    is_date = kinds.is_temporal(kind)
    return Column(
        name,
        texts([None] * len(cells)),
        refusal=f"column {name!r} has type {kind}; numbers, bools or texts are needed. Leave it "
        f"out with --ignore {name!r}, or convert it{PARTS_OF_DATES if is_date else ''}.",
    )
