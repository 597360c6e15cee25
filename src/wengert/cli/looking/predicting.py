"""wengert predict: a saved model on other data."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from wengert.cli.datasets.builtin_sets import SETS
from wengert.cli.datasets.column_kinds import Say
from wengert.cli.datasets.data_source import read_data
from wengert.cli.datasets.data_table import DataTable
from wengert.cli.running.model_file import SavedModel, load_model
from wengert.cli.running.run_folder import MODEL, writing
from wengert.cli.running.table_network import Predictor
from wengert.train.checkpoints.drafts import replace_file
from wengert.train.metrics import accuracy, mae, r2


def predictions(
    path: Path,
    data: str,
    say: Say,
    probabilities: bool = False,
    delimiter: str | None = None,
    header: bool = True,
    threads: int | None = None,
) -> str:
    """CSV with a prediction for each row of the data, in their order."""
    saved = load_model(path / MODEL if path.is_dir() else path)
    if data not in SETS:  # read as in training, unless something else is said
        delimiter = delimiter or saved.settings.delimiter
        header = header and saved.settings.header
    table = read_data(data, delimiter, header)
    x = saved.preparation.inputs(table, say)
    target = saved.preparation.target
    predictor = Predictor(saved.step(threads), saved.preparation)
    if target.classes:
        shares = predictor.probabilities(x)
        said = shares.argmax(axis=1)
        columns: list[Sequence[str]] = [[target.classes[i] for i in said]]
        names = [target.name]
        if probabilities:
            names += [f"p({name})" for name in target.classes]
            columns += [[f"{p:.6g}" for p in column] for column in shares.T]
        _tell_score(saved, table, said, say)
    else:
        found = predictor.numbers(x)
        names, columns = [target.name], [[f"{number:.9g}" for number in found]]
        _tell_score(saved, table, found, say)
    return _csv(names, zip(*columns, strict=True))


def _csv(names: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def _tell_score(saved: SavedModel, table: DataTable, said: object, say: Say) -> None:
    """How good predictions are, where the data say what is true."""
    target = saved.preparation.target
    if target.name not in table.names:
        return
    column = table.column(target.name, "the target")
    if column.missing.any():
        return
    true = target.encoded(table, column)
    if target.classes:
        say(f"{accuracy(true, said):.2%} of {len(table)} rows are right")
    else:
        numbers = true[:, 0] * target.scale + target.mean
        say(f"R² {r2(numbers, said):.4f}, mean absolute error {mae(numbers, said):.4g}")


def write_text(path: Path, text: str) -> None:
    """Write a file that is whole or as it was before."""

    def write(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8")

    with writing(path):
        if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
            write(path)
        else:
            replace_file(path.resolve(), write)
