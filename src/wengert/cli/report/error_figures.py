"""Pictures of how a model errs: by class, or by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from wengert.cli.report.chart_axes import short
from wengert.cli.report.charts import Chart, ChartSeries, drawn, figure, histogram
from wengert.cli.report.held_out import Bins, confidence_bins, confusion, quantile_bins
from wengert.cli.report.report_style import grid, html_table

Array = np.ndarray[Any, Any]
_MOST_CLASSES = 24  # in a matrix that can still be read
_DIAGONAL = np.array([0.0, 1.0])


def class_figures(classes: Sequence[str], true: Array, probabilities: Array) -> str:
    """Confusion, calibration, and a row for each class."""
    said = probabilities.argmax(axis=1)
    counts = confusion(true, said, len(classes))
    bins, error = confidence_bins(true, probabilities)
    return grid([_matrix(classes, counts), _calibration(bins, error)]) + _by_class(classes, counts)


def _matrix(classes: Sequence[str], counts: Array) -> str:
    title = "Confusion: rows are true, columns were said"
    if len(classes) > _MOST_CLASSES:
        return figure(
            f"Most frequent confusions of {len(classes)} classes", _pairs(classes, counts)
        )
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = "".join(f'<th title="{escape(name)}">{escape(name)}</th>' for name in classes)
    body = "".join(
        f'<tr><th title="{escape(name)}">{escape(name)}</th>'
        + "".join(
            f'<td style="--v:{0.75 * share:.3f}">{count or "·"}</td>'
            for count, share in zip(row, part, strict=True)
        )
        + "</tr>"
        for name, row, part in zip(classes, counts, shares, strict=True)
    )
    table = f'<table class="heat"><tr><th></th>{head}</tr>{body}</table>'
    return figure(title, f'<div class="scroll">{table}</div>')


def _pairs(classes: Sequence[str], counts: Array) -> str:
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:20]
    places = [np.unravel_index(each, wrong.shape) for each in order]
    rows = [(classes[i], classes[j], str(wrong[i, j])) for i, j in places if wrong[i, j]]
    return html_table(("true", "said", "rows"), rows, (2,))


def _calibration(bins: Bins, error: float) -> str:
    return drawn(
        Chart(
            "Calibration",
            "how sure the model is",
            "share that is right",
            [
                ChartSeries("", _DIAGONAL, _DIAGONAL, faint=True),
                ChartSeries("", bins.said, bins.true, line=False, dots=True, weights=bins.rows),
            ],
            note="On the line, it is right as often as it is sure. Dots are as large as rows are "
            f"many. Mean gap: {error:.3f}.",
        )
    )


def _by_class(classes: Sequence[str], counts: Array) -> str:
    right, true, said = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    recall, precise = right / np.maximum(true, 1), right / np.maximum(said, 1)
    f1 = 2 * right / np.maximum(true + said, 1)
    rows = [
        (name, str(true[i]), f"{recall[i]:.3f}", f"{precise[i]:.3f}", f"{f1[i]:.3f}")
        for i, name in enumerate(classes)
    ]
    table = html_table(("class", "rows", "recall", "precision", "F1"), rows, (1, 2, 3, 4))
    return f"<details{' open' * (len(rows) <= 12)}><summary>By class</summary>{table}</details>"


def number_figures(true: Array, said: Array) -> str:
    """Prediction against truth, residuals, and calibration by quantiles."""
    return grid(_number_charts(true, said))


def _number_charts(true: Array, said: Array) -> Iterator[str]:
    ends = np.array([min(true.min(), said.min()), max(true.max(), said.max())])
    line = ChartSeries("", ends, ends, faint=True)
    yield drawn(
        Chart(
            "Predicted and true",
            "true",
            "predicted",
            [line, ChartSeries("", true, said, line=False, dots=True)],
        )
    )
    residuals = said - true
    yield drawn(
        Chart(
            "Residuals",
            "predicted",
            "predicted − true",
            [
                ChartSeries("", np.array([said.min(), said.max()]), np.zeros(2), faint=True),
                ChartSeries("", said, residuals, line=False, dots=True),
            ],
        )
    )
    yield histogram("How large residuals are", "predicted − true", residuals)
    bins = quantile_bins(true, said)
    gap = short(float(np.mean(np.abs(bins.said - bins.true))))
    yield drawn(
        Chart(
            "Calibration",
            "mean predicted",
            "mean true",
            [line, ChartSeries("", bins.said, bins.true, dots=True)],
            note=f"Rows in {len(bins.rows)} parts by what was predicted. Mean gap: {gap}.",
        )
    )
