"""Curves over epochs as an SVG picture, which needs no other package to draw or to show."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
COLORS = ("#1f6fb4", "#d9660a", "#2a8f4f", "#8a4fb0", "#b03a48", "#5b6770")
INK, GRID = "#333333", "#e2e2e2"
WIDTH, HEIGHT = 640, 240  # of a panel, in pixels
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 34, 44  # the room around its curves
MOST_POINTS = 1000  # of a curve: more cannot be told apart
AXES = ("epoch", "step")  # columns that are what curves lie over
UNDRAWN = ("seconds", "learning_rate")  # columns that say nothing of how good the model is


@dataclass(frozen=True)
class Picture:
    """An SVG picture. `print(picture.svg)` shows its text, a notebook shows the picture."""

    svg: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, which any browser shows."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({len(self.svg)} characters of SVG)"


def picture_of(columns: Mapping[str, Any]) -> Picture:
    """A picture of columns over the one that is called "epoch" or "step": the losses in one panel,
    each other column in one of its own, below.
    """
    axis = next(name for name in AXES if name in columns)
    names = [name for name in columns if name != axis and not name.startswith(UNDRAWN)]
    losses = [name for name in names if name.endswith("loss")]
    panels = [[name] for name in names if name not in losses]
    if losses:
        panels.insert(0, losses)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT * len(panels)}" '
        f'width="{WIDTH}" height="{HEIGHT * len(panels)}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT * len(panels)}" fill="white"/>',
    ]
    x = np.asarray(columns[axis], np.float64)
    for number, panel in enumerate(panels):
        curves = {name: np.asarray(columns[name], np.float64) for name in panel}
        parts += _panel(number * HEIGHT, axis, x, curves)
    return Picture("\n".join([*parts, "</svg>", ""]))


def _panel(top: float, axis: str, x: Array, curves: Mapping[str, Array]) -> Iterator[str]:
    """Frame, ticks, curves, and a legend where there are several curves."""
    across = _Scale(_ends(x), LEFT, WIDTH - RIGHT)
    down = _Scale(_ends(*curves.values()), top + HEIGHT - BOTTOM, top + TOP)
    for value in down.ticks():
        yield _line(LEFT, down.place(value), WIDTH - RIGHT, down.place(value), GRID)
        yield _text(LEFT - 8, down.place(value) + 4, f"{value:.4g}", "end")
    for value in across.ticks(whole=True):
        yield _line(across.place(value), down.begin, across.place(value), down.begin + 5, INK)
        yield _text(across.place(value), down.begin + 20, f"{value:g}", "middle")
    yield _line(LEFT, down.begin, WIDTH - RIGHT, down.begin, INK)
    yield _text(WIDTH - RIGHT, down.begin + 38, axis, "end")
    at = float(LEFT)
    for color, (name, y) in zip(_endless(COLORS), curves.items(), strict=False):
        yield from _curve(across, down, x, y, color)
        yield _line(at, top + 16, at + 18, top + 16, color, 2.5)
        yield _text(at + 24, top + 20, name, "start")
        at += 24 + 8 * len(name) + 18


def _endless(colors: Sequence[str]) -> Iterator[str]:
    while True:
        yield from colors


def _curve(across: _Scale, down: _Scale, x: Array, y: Array, color: str) -> Iterator[str]:
    """A line through the points that are finite, with a gap where some are not."""
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    for rows in np.split(chosen, np.flatnonzero(~np.isfinite(y[chosen]))):
        points = [
            f"{across.place(a):.1f},{down.place(b):.1f}"
            for a, b in zip(x[rows], y[rows], strict=True)
            if math.isfinite(b)
        ]
        if len(points) == 1:
            a, _, b = points[0].partition(",")
            yield f'<circle cx="{a}" cy="{b}" r="2.5" fill="{color}"/>'
        elif points:
            drawn = f'fill="none" stroke="{color}" stroke-width="1.8"'
            yield f'<polyline points="{" ".join(points)}" {drawn}/>'


@dataclass(frozen=True)
class _Scale:
    """Where numbers between two ends lie in the picture."""

    ends: tuple[float, float]
    begin: float
    end: float

    def place(self, value: float) -> float:
        low, high = self.ends
        return self.begin + (self.end - self.begin) * (value - low) / (high - low)

    def ticks(self, whole: bool = False) -> list[float]:
        """Round numbers between the ends, about five."""
        low, high = self.ends
        rough = (high - low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        width = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
        width = max(1.0, width) if whole else width
        first, last = math.ceil(low / width - 1e-9), math.floor(high / width + 1e-9)
        return [width * i for i in range(first, last + 1)]


def _ends(*values: Array) -> tuple[float, float]:
    """The least and the largest finite number; apart from one another in any case."""
    finite = np.concatenate(values)
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = 1e-9 + abs(low) * 1e-6
    return (low, high) if high - low > room else (low - 0.5 - abs(low) / 2, high + 0.5 + abs(high))


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} stroke="{color}" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{escape(text)}</text>'
    )
