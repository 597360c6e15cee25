"""report.html: what a run has learned, how it errs, what it is made of, and how to repeat it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.cli.datasets.learning_task import LearningData
from wengert.cli.datasets.preparation import CLASSIFICATION, CategoryFeature
from wengert.cli.report.chart_axes import short
from wengert.cli.report.charts import Chart, ChartSeries, drawn, figure
from wengert.cli.report.error_figures import class_figures, number_figures
from wengert.cli.report.held_out import FEATURES, ROWS, importances
from wengert.cli.report.program_figures import program_section
from wengert.cli.report.report_style import bars, grid, html_page, html_table, tiles
from wengert.cli.running.class_shares import simplest_answer
from wengert.cli.running.table_network import Predictor
from wengert.cli.train_settings import TrainSettings
from wengert.core import tree
from wengert.train.metrics import accuracy, r2
from wengert.train.step import TrainStep

Array = np.ndarray[Any, Any]
Rows = Sequence[Mapping[str, Any]]
METRICS = {CLASSIFICATION: "accuracy"}  # of a task, in curves and tables; else r2
_SHOWN = 24  # features


@dataclass(frozen=True, eq=False)
class RunFindings:
    """What a page about a run is made from."""

    settings: TrainSettings
    data: LearningData
    step: TrainStep  # with the best weights
    rows: Rows  # of metrics.jsonl
    facts: Mapping[str, Any]  # fingerprints, the best epoch, how long it took
    versions: Mapping[str, str]


def main_metric(task: str) -> str:
    return METRICS.get(task, "r2")


def report_page(findings: RunFindings) -> str:
    """The whole page."""
    preparation, settings = findings.data.preparation, findings.settings
    task = preparation.target.task
    predictor = Predictor(findings.step, preparation)
    lead = (
        f"{task} of {preparation.target.name!r} from {len(preparation.features)} columns; "
        f"{len(findings.data.x)} rows to learn from, {len(findings.data.held_x)} held out. All "
        f"figures but the curves are of the weights of epoch {findings.facts['best_epoch'] + 1}, "
        "the best one, on held-out rows."
    )
    return html_page(
        f"{settings.data}: {task}",
        lead,
        [
            ("", tiles(_numbers(findings))),
            ("Curves", curves_section(findings.rows, task)),
            ("How it errs", _errors(findings.data, predictor)),
            ("What it looks at", _importances(findings, predictor)),
            ("Parameters", _parameters(findings.step.model)),
            ("Program", program_section(findings.step, _batch(findings))),
            ("Columns", _columns(findings.data)),
            ("Settings", _settings(findings)),
        ],
    )


def _batch(findings: RunFindings) -> tuple[Array, Array]:
    size = min(findings.settings.batch_size, len(findings.data.x))
    return findings.data.x[:size], findings.data.y[:size]


def _numbers(findings: RunFindings) -> list[tuple[str, str]]:
    best = next(row for row in findings.rows if row["epoch"] == findings.facts["best_epoch"])
    task = findings.data.preparation.target.task
    count = sum(x.size for x in tree.leaves(findings.step.model))
    if task == CLASSIFICATION:
        name, share = simplest_answer(findings.data)
        first = [
            ("held-out accuracy", f"{best['accuracy']:.2%}"),
            (f"if always {name!r}", f"{share:.2%}"),
        ]
    else:
        first = [("held-out R²", f"{best['r2']:.3f}"), ("held-out MAE", short(best["mae"]))]
    speed = findings.facts["rows_per_second"]
    return [
        *first,
        ("held-out loss", short(best["validation_loss"])),
        ("best epoch", f"{findings.facts['best_epoch'] + 1} of {len(findings.rows)}"),
        ("parameters", f"{count:,}"),
        *([("rows per second", short(speed))] if math.isfinite(speed) else []),
        ("seconds of training", short(findings.rows[-1]["seconds"])),
    ]


def curves_section(rows: Rows, task: str) -> str:
    epochs = np.array([row["epoch"] + 1 for row in rows])

    def of(name: str) -> Array:
        return np.array([row[name] for row in rows], np.float64)

    losses = [
        ChartSeries("training", epochs, of("loss")),
        ChartSeries("held out", epochs, of("validation_loss")),
    ]
    metric = main_metric(task)
    charts = [
        Chart("Loss", "epoch", "loss", losses, log=True, whole=True),
        Chart(
            f"Held-out {_worded(metric)}",
            "epoch",
            _worded(metric),
            [ChartSeries("", epochs, of(metric))],
            whole=True,
        ),
    ]
    rates = of("learning_rate")
    if (rates != rates[0]).any():
        series = [ChartSeries("", epochs, rates)]
        charts.append(Chart("Learning rate", "epoch", "rate", series, whole=True))
    return grid(map(drawn, charts))


def _worded(metric: str) -> str:
    return "R²" if metric == "r2" else metric


def _errors(data: LearningData, predictor: Predictor) -> str:
    target = data.preparation.target
    if target.classes:
        return class_figures(target.classes, data.held_y, predictor.probabilities(data.held_x))
    true = data.held_y[:, 0].astype(np.float64) * target.scale + target.mean
    return number_figures(true, predictor.numbers(data.held_x))


def _importances(findings: RunFindings, predictor: Predictor) -> str:
    data = findings.data
    score = accuracy if data.preparation.target.classes else r2
    weights = np.asarray(findings.step.model[0].weight)
    ranked = importances(
        predictor,
        data.preparation,
        data.held_x,
        lambda out: score(data.held_y[: len(out)], out),
        weights,
        findings.settings.seed,
    )
    rows = [
        (each.name, each.loss, f"{each.loss:.4f} ± {each.spread:.4f}") for each in ranked[:_SHOWN]
    ]
    count = len(data.preparation.features)
    name = _worded(main_metric(data.preparation.target.task))
    note = f"How much the held-out {name} falls when a column is shuffled; means of 3 shuffles."
    if count > FEATURES:
        note += f" Of {count} columns, the {FEATURES} with the largest weights were shuffled."
    if count > _SHOWN:
        note += f" The first {_SHOWN} are shown."
    if len(data.held_x) > ROWS:
        note += f" Measured on {ROWS} rows."
    return figure("Importance by permutation", bars(rows), note)


def _parameters(model: Any) -> str:
    rows = []
    for path, x in zip(tree.paths(model), tree.leaves(model), strict=True):
        x = np.asarray(x, np.float64)
        shape = " × ".join(map(str, x.shape))
        numbers = (x.mean(), x.std(), x.min(), x.max())
        rows.append((path, shape, f"{x.size:,}", *(f"{number:.3g}" for number in numbers)))
    head = ("parameter", "shape", "count", "mean", "deviation", "least", "largest")
    return html_table(head, rows, (2, 3, 4, 5, 6))


def _columns(data: LearningData) -> str:
    rows = [
        (each.name, f"{len(each.categories)} categories: {', '.join(each.categories)}")
        if isinstance(each, CategoryFeature)
        else (each.name, f"number: mean {short(each.mean)}, deviation {short(each.scale)}")
        for each in data.preparation.features
    ]
    table = html_table(("column", "how it is encoded"), rows)
    return f"<details><summary>{len(rows)} columns</summary>{table}</details>"


def _settings(findings: RunFindings) -> str:
    chosen = [
        (name, ", ".join(map(str, value)) if isinstance(value, tuple) else str(value))
        for name, value in findings.settings.as_dict().items()
        if value is not None and value != ()
    ]
    facts = [
        ("fingerprint of the last state", str(findings.facts["fingerprint"])),
        ("fingerprint of the data", str(findings.facts["data_fingerprint"])),
        *findings.versions.items(),
    ]
    repeat = (
        "<p>The same data, settings and versions give the same fingerprint, on any number of "
        "threads:</p><pre>wengert train --config config.toml</pre>"
    )
    parts = [html_table((), chosen), html_table((), facts)]
    return grid(f"<div>{part}</div>" for part in parts) + repeat
