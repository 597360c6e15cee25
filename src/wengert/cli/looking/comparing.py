"""wengert compare: several runs beside each other, as text and as a page with all their curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli.exit_codes import UsageFault
from wengert.cli.report.charts import Chart, ChartSeries, drawn
from wengert.cli.report.report_page import main_metric
from wengert.cli.report.report_style import grid, html_page, html_table
from wengert.cli.running.run_folder import RecordedRun, read_run

Array = np.ndarray[Any, Any]
Cells = list[tuple[str, ...]]


def read_runs(paths: Sequence[Path]) -> list[RecordedRun]:
    """Runs that can be compared: of one task."""
    runs = [read_run(path) for path in paths]
    tasks = {run.model.preparation.target.task for run in runs}
    if len(tasks) > 1:
        told = ", ".join(f"{run.path} {run.model.preparation.target.task}" for run in runs)
        raise UsageFault(f"compare: runs must be of one task; given {told}.")
    return runs


def result_rows(runs: Sequence[RecordedRun]) -> tuple[tuple[str, ...], Cells]:
    """A head, and a row for each run."""
    metric = main_metric(runs[0].model.preparation.target.task)
    head = ("run", "epochs", "best epoch", "held-out loss", metric, "seconds", "fingerprint")
    return head, [
        (
            str(run.path),
            str(len(run.rows)),
            str(run.model.facts["best_epoch"] + 1),
            f"{run.best['validation_loss']:.5g}",
            f"{run.best[metric]:.5g}",
            f"{run.rows[-1]['seconds']:.3g}",
            run.model.facts["fingerprint"][:12],
        )
        for run in runs
    ]


def differing_rows(runs: Sequence[RecordedRun]) -> Cells:
    """The settings in which runs differ: a name, and the value of each run."""
    rows = []
    every = [run.settings.as_dict() for run in runs]
    for name in every[0]:
        values = [_shown(each[name]) for each in every]
        if len(set(values)) > 1:
            rows.append((name, *values))
    return rows


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def comparison_page(runs: Sequence[RecordedRun]) -> str:
    metric = main_metric(runs[0].model.preparation.target.task)
    names = [str(run.path) for run in runs]
    head, rows = result_rows(runs)
    differing = differing_rows(runs)
    charts = [
        _chart("Held-out loss", "validation_loss", runs, True),
        _chart("Training loss", "loss", runs, True),
        _chart(f"Held-out {metric}", metric, runs, False),
    ]
    settings = (
        html_table(("setting", *names), differing)
        if differing
        else "<p>All settings are equal.</p>"
    )
    return html_page(
        f"{len(runs)} runs compared",
        ", ".join(names),
        [
            ("Results", html_table(head, rows, (1, 2, 3, 4, 5))),
            ("Curves", grid(map(drawn, charts))),
            ("Settings that differ", settings),
        ],
    )


def _chart(title: str, column: str, runs: Sequence[RecordedRun], log: bool) -> Chart:
    series = [
        ChartSeries(
            str(run.path),
            np.array([row["epoch"] + 1 for row in run.rows]),
            np.array([row[column] for row in run.rows], np.float64),
        )
        for run in runs
    ]
    return Chart(title, "epoch", title.rsplit(maxsplit=1)[-1], series, log=log, whole=True)


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under each other."""
    every = [head, *rows]
    widths = [max(len(row[i]) for row in every) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    )
