"""Parquet files, through pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli.datasets.data_table import Column, DataTable, texts
from wengert.cli.exit_codes import DataFault, MissingPackage


def read_parquet(path: Path) -> DataTable:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as arrow_parquet
    except ImportError:
        raise MissingPackage("pyarrow", f"{path}: reading Parquet", "pyarrow") from None
    if path.stat().st_size == 0:
        raise DataFault(f"{path}: is empty (0 bytes); a Parquet file is needed.")
    try:
        table = arrow_parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        told = str(error).splitlines()[0]
        raise DataFault(f"{path}: cannot be read as Parquet ({told}).") from None
    if not table.num_columns or not table.num_rows:
        raise DataFault(
            f"{path}: has {table.num_rows} rows and {table.num_columns} columns; both are needed."
        )
    columns = [_column(arrow, path, name, table.column(name)) for name in table.column_names]
    return DataTable(str(path), tuple(columns))


def _column(arrow: Any, path: Path, name: str, found: Any) -> Column:
    kinds = arrow.types
    if kinds.is_dictionary(found.type):
        found = found.cast(found.type.value_type)
    kind = found.type
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        values = found.cast(arrow.float64()).fill_null(float("nan"))
        return Column(name, np.array(values.to_numpy(), np.float64))
    if kinds.is_decimal(kind):
        return Column(name, np.array(found.cast(arrow.float64()).to_numpy(), np.float64))
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_null(kind):
        return Column(name, texts(found.to_pylist()))
    raise DataFault(
        f"{path}: column {name!r} has type {kind}; numbers, bools or texts are needed. Leave it "
        f"out with --ignore {name!r}, or convert it."
    )
