"""wengert predict: a saved model on other data."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from wengert.cli.datasets.builtin_sets import SETS
from wengert.cli.datasets.column_kinds import Say
from wengert.cli.datasets.data_source import ENDINGS, SEPARATORS, read_data
from wengert.cli.datasets.data_table import Array, DataTable, listed
from wengert.cli.datasets.learning_task import LearningData, learning_data
from wengert.cli.datasets.preparation import TargetColumn
from wengert.cli.exit_codes import DataFault, UsageFault
from wengert.cli.running.model_file import SavedModel, load_model
from wengert.cli.running.run_folder import FILES, MODEL, writing
from wengert.cli.running.table_network import Predictor
from wengert.cli.running.trained_data import data_fingerprint
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
    out: Path | None = None,
) -> str:
    """CSV with a prediction for each row of the data, in their order. `out` is where they will be
    written; files that are read, or belong to the run, are refused there.
    """
    if (Path(data) / MODEL).is_file() and not (path / MODEL).exists():
        raise UsageFault(
            f"predict: given {path} as the run, and {data}, the folder of a run, as the data; the "
            f"run comes first. Write `wengert predict {data} {path}`."
        )
    saved = load_model(path / MODEL if path.is_dir() else path)
    if probabilities and not saved.preparation.target.classes:
        raise UsageFault(
            f"--probabilities: the model predicts numbers, {saved.preparation.target.name!r}, "
            "which have none; classes have. Leave it out."
        )
    if out is not None:
        _require_text(out)
        require_no_loss(out, [data, saved.settings.data], [path])
    if data not in SETS:  # read as in training, unless something else is said
        delimiter = delimiter or saved.settings.delimiter
        header = header and saved.settings.header
    table = read_data(data, delimiter, header)
    _tell_of_more_columns(saved, table, say)
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
        predicted = predictor.numbers(x)
        names, columns = [target.name], [[f"{number:.9g}" for number in predicted]]
        _tell_score(saved, table, predicted, say)
    separator = "," if out is None else SEPARATORS.get(out.suffix.lower(), ",")
    return _csv(names, zip(*columns, strict=True), separator)


def _require_text(out: Path) -> None:
    if out.suffix.lower() in ENDINGS and out.suffix.lower() not in SEPARATORS:
        raise UsageFault(
            f"--out: {out} ends like a file of another kind; predictions are written as CSV. "
            f"Choose a name such as {out.with_suffix('.csv')}."
        )


def _tell_of_more_columns(saved: SavedModel, table: DataTable, say: Say) -> None:
    """Tell of columns of an array that training had not: they are known by their places alone."""
    known = saved.facts.get("columns")
    if known is None or Path(table.source).suffix.lower() not in (".npy", ".npz"):
        return
    extra = [name for name in table.names if name not in known]
    if extra:
        say(
            f"{table.source}: has {listed(extra, 4)}, which was not there in training, and is "
            "ignored; columns of an array are known by their places alone"
        )


def _csv(names: Sequence[str], rows: Iterator[tuple[str, ...]], separator: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue()


def require_page(out: Path) -> None:
    """Refuse to write a page over a file that is none."""
    if out.is_file() and out.suffix.lower() not in (".html", ".htm"):
        raise UsageFault(
            f"--out: {out} is there already, and its name is none of a page; it would be lost. "
            f"Choose a name such as {out.with_suffix('.html')}."
        )


def require_no_loss(out: Path, tables: Iterable[str], runs: Iterable[Path]) -> None:
    """Refuse to write over data or over a file of a run, through links, too."""
    if not out.is_file():
        return
    for name in tables:
        if name not in SETS and os.path.exists(name) and os.path.samefile(out, name):
            raise UsageFault(
                f"--out: {out} is the file of data {name}, which would be lost. Choose another "
                "name."
            )
    for run in runs:
        for path in (run / name for name in FILES) if run.is_dir() else (run,):
            if path.exists() and os.path.samefile(out, path):
                raise UsageFault(
                    f"--out: {out} is a file of the run, {path}, which would be lost. Choose "
                    "another name."
                )


def _tell_score(saved: SavedModel, table: DataTable, said: Array, say: Say) -> None:
    """How good predictions are, where the data say what is true; or why that cannot be told."""
    target = saved.preparation.target
    if target.name not in table.names:
        return
    try:
        column = table.column(target.name, "the target")
        if column.missing.any():
            row, count = int(np.argmax(column.missing)), int(column.missing.sum())
            raise DataFault(
                f"{table.place(row)}: target {target.name!r} is empty in {count} of {len(table)} "
                "rows."
            )
        true = target.encoded(table, column)
    except DataFault as fault:
        say(f"{fault} How good the predictions are is left out")
        return
    told = _score(target, true, said)
    learned = _trained_on(saved, table)
    if learned is not None:
        told += (
            f"; this is the data of the run, which learned from {len(learned.x)} of the "
            f"{len(table)} rows, so that it says little about others"
        )
    say(told)


def _score(target: TargetColumn, true: Array, said: Array) -> str:
    if target.classes:
        return f"{accuracy(true, said):.2%} of {len(true)} rows are right"
    numbers = true[:, 0] * target.scale + target.mean
    return f"R² {r2(numbers, said):.4f}, mean absolute error {mae(numbers, said):.4g}"


def _trained_on(saved: SavedModel, table: DataTable) -> LearningData | None:
    """What the run learned from, if the table is what it was trained on."""
    try:
        data = learning_data(table, saved.settings.choices(), lambda _: None)
    except DataFault:
        return None
    return data if data_fingerprint(data) == saved.facts.get("data_fingerprint") else None


def write_text(path: Path, text: str) -> None:
    """Write a file that is whole or as it was before."""

    def write(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8")

    with writing(path):
        if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
            write(path)
        else:
            replace_file(path.resolve(), write)
