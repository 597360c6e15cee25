"""Charts as SVG inside a page. Colours are those of the page, light or dark; texts are escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from wengert.cli.report.chart_axes import ChartAxis, linear_axis, log_axis, short

Array = np.ndarray[Any, Any]
WIDTH, HEIGHT = 420, 250  # a chart; pages make it wider or narrower as a whole
LEFT, RIGHT, TOP, BOTTOM = 60, 12, 10, 40
MOST_POINTS = 400  # of a curve or cloud: more cannot be told apart at this size
COLOURS = 6  # in the style of the page, .c0 to .c5


@dataclass(frozen=True, eq=False)
class ChartSeries:
    """A curve, or with `dots` alone a cloud of points."""

    name: str
    x: Array
    y: Array
    line: bool = True
    dots: bool = False
    faint: bool = False  # a line to compare with
    weights: Array | None = None  # of the points: larger ones are larger dots


@dataclass(frozen=True, eq=False)
class Chart:
    """ChartSeries over two axes."""

    title: str
    across: str
    down: str
    series: Sequence[ChartSeries]
    log: bool = False
    whole: bool = False  # whether the lower axis counts
    note: str = ""


def drawn(chart: Chart) -> str:
    """A chart as a figure of HTML."""
    x = np.concatenate([np.asarray(each.x, np.float64) for each in chart.series])
    y = np.concatenate([np.asarray(each.y, np.float64) for each in chart.series])
    across = linear_axis(x, LEFT, WIDTH - RIGHT, 6, chart.whole)
    make = log_axis if chart.log else linear_axis
    up = make(y, HEIGHT - BOTTOM, TOP)
    parts = [*_frame(across, up, chart), *_all_series(across, up, chart.series)]
    return figure(
        chart.title, _legend(chart.series) + svg(WIDTH, HEIGHT, parts, chart.title), chart.note
    )


def histogram(title: str, across: str, values: Array, bins: int = 30) -> str:
    """How many of the numbers fall into each of some bins, as bars."""
    counts, edges = np.histogram(values, bins)
    axis = linear_axis(edges, LEFT, WIDTH - RIGHT, 6)
    up = linear_axis(np.append(counts, 0), HEIGHT - BOTTOM, TOP)
    parts = list(_frame(axis, up, Chart(title, across, "rows", ())))
    for count, low, high in zip(counts, edges, edges[1:], strict=False):
        left, right, top = float(axis.place(low)), float(axis.place(high)), float(up.place(count))
        parts.append(
            f'<rect class="b" x="{left:.1f}" y="{top:.1f}" '
            f'width="{max(right - left - 1, 0.5):.1f}" height="{up.begin - top:.1f}">'
            f"<title>{count} rows from {short(low)} to {short(high)}</title></rect>"
        )
    return figure(title, svg(WIDTH, HEIGHT, parts, title))


def svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )


def figure(title: str, inside: str, note: str = "") -> str:
    below = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<figure><figcaption>{escape(title)}</figcaption>{inside}{below}</figure>"


def _frame(across: ChartAxis, up: ChartAxis, chart: Chart) -> Iterator[str]:
    base = HEIGHT - BOTTOM
    for tick in up.ticks:
        y = float(up.place(tick))
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>'
    for tick in across.ticks:
        x = float(across.place(tick))
        yield f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">{short(tick)}</text>'
    yield f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}"/>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(chart.across)}</text>'
    turned = f'transform="rotate(-90 11 {(TOP + base) / 2})"'
    yield (
        f'<text x="11" y="{(TOP + base) / 2}" text-anchor="middle" {turned}>'
        f"{escape(chart.down)}</text>"
    )


def _all_series(across: ChartAxis, up: ChartAxis, series: Sequence[ChartSeries]) -> Iterator[str]:
    colour = 0
    for each in series:
        kind = "faint" if each.faint else f"c{colour % COLOURS}"
        colour += not each.faint
        yield from _one_series(across, up, each, kind)


def _one_series(across: ChartAxis, up: ChartAxis, series: ChartSeries, kind: str) -> Iterator[str]:
    chosen = np.unique(
        np.linspace(0, len(series.x) - 1, min(len(series.x), MOST_POINTS)).astype(int)
    )
    x, y = np.asarray(series.x, np.float64)[chosen], np.asarray(series.y, np.float64)[chosen]
    keep = np.isfinite(x) & np.isfinite(y)
    x, y = x[keep], y[keep]
    places = list(zip(across.place(x), up.place(y), strict=True))
    if series.line and len(places) > 1:
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        yield f'<polyline class="l {kind}" points="{points}"/>'
    if series.dots or len(places) == 1:
        radii = np.full(len(x), 3.0 if series.line or len(places) < 100 else 2.0)
        told = [f"{short(a)}, {short(b)}" for a, b in zip(x, y, strict=True)]
        if series.weights is not None:
            weights = np.asarray(series.weights)[chosen][keep]
            radii = 2 + 6 * np.sqrt(weights / weights.max())
            told = [f"{each}: {n} rows" for each, n in zip(told, weights, strict=True)]
        for (a, b), radius, text in zip(places, radii, told, strict=True):
            yield (
                f'<circle class="d {kind}" cx="{a:.1f}" cy="{b:.1f}" r="{radius:.1f}">'
                f"<title>{text}</title></circle>"
            )


def _legend(series: Sequence[ChartSeries]) -> str:
    named = [each for each in series if each.name]
    if len(named) < 2:
        return ""
    parts, colour = [], 0
    for each in series:
        kind = "faint" if each.faint else f"c{colour % COLOURS}"
        colour += not each.faint
        if each.name:
            parts.append(f'<span><i class="key {kind}"></i>{escape(each.name)}</span>')
    return f'<div class="legend">{"".join(parts)}</div>'
