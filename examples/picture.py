"""Curves as a picture: an SVG file of a few kilobytes, which every browser shows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
BLUE, ORANGE, GREEN, PALE_BLUE = "#1f6fb4", "#d9660a", "#2a8f4f", "#b5d3ea"
INK, GRID = "#333333", "#e2e2e2"


@dataclass(frozen=True)
class Axis:
    """What is shown along one side: a label, the ends, and ticks (value, text) between them."""

    label: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    log: bool = False

    def share(self, values: Any) -> Any:
        """How far along the axis values lie: 0 at its low end, 1 at its high end."""
        scale = np.log10 if self.log else np.asarray
        low, high = scale(self.low), scale(self.high)
        return np.clip((scale(values) - low) / (high - low), 0, 1)


@dataclass(frozen=True)
class Curve:
    """A line through points; from each of them `spread` reaches up and down."""

    name: str
    color: str
    x: Any
    y: Any
    spread: Any = None
    dots: bool = False
    width: float = 1.8


@dataclass(frozen=True)
class Panel:
    """Curves over two axes; with several curves, their names are told in a corner."""

    title: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]


class Box(NamedTuple):
    """Where the curves of a panel lie, in pixels."""

    left: float
    top: float
    width: float
    height: float

    def place(self, panel: Panel, x: Any, y: Any) -> tuple[Any, Any]:
        return (
            self.left + self.width * panel.x.share(x),
            self.top + self.height * (1 - panel.y.share(y)),
        )


def linear_axis(label: str, low: float, high: float, form: str = "g", count: int = 5) -> Axis:
    """An axis from low to high with about `count` ticks at round numbers."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    width = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = math.ceil(low / width - 1e-9)
    ticks = [width * i for i in range(first, math.floor(high / width + 1e-9) + 1)]
    return Axis(label, low, high, [(tick, format(tick, form)) for tick in ticks])


def log_axis(label: str, low: float, high: float) -> Axis:
    """An axis over whole powers of ten that hold all values from low to high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    ticks = [(10.0**power, _power_of_ten(power)) for power in range(first, last + 1)]
    return Axis(label, 10.0**first, 10.0**last, ticks, log=True)


def _power_of_ten(power: int) -> str:
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return {0: "1", 1: "10"}.get(power, f"10{raised}")


def draw(panels: Sequence[Panel], width: int = 720, height: int = 300) -> str:
    """An SVG picture of panels, each of that width and height, one below the other."""
    total = height * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" '
        f'width="{width}" height="{total}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{total}" fill="white"/>',
    ]
    for i, panel in enumerate(panels):
        box = Box(64, i * height + 34, width - 64 - 24, height - 34 - 50)
        parts += [*_frame(panel, box), *_curves(panel, box), *_names(panel, box)]
    return "\n".join([*parts, "</svg>", ""])


def _frame(panel: Panel, box: Box) -> Iterator[str]:
    """Title, grid, ticks and labels."""
    left, top, width, height = box
    right, bottom = left + width, top + height
    yield _text(left, top - 12, panel.title, "start", ' font-weight="bold"')
    for value, text in panel.y.ticks:
        y = box.place(panel, panel.x.low, value)[1]
        yield _line(left, y, right, y, GRID)
        yield _text(left - 8, y + 4, text, "end")
    for value, text in panel.x.ticks:
        x = box.place(panel, value, panel.y.low)[0]
        yield _line(x, bottom, x, bottom + 5, INK)
        yield _text(x, bottom + 20, text, "middle")
    yield _line(left, bottom, right, bottom, INK)
    yield _text(left + width / 2, bottom + 40, panel.x.label, "middle")
    middle = f"{16:g},{top + height / 2:.1f}"
    turned = f' transform="rotate(-90 {middle})"'
    yield _text(16, top + height / 2, panel.y.label, "middle", turned)


def _curves(panel: Panel, box: Box) -> Iterator[str]:
    for curve in panel.curves:
        xs, ys = box.place(panel, curve.x, curve.y)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        stroke = f'stroke="{curve.color}" stroke-width="{curve.width:g}"'
        yield f'<polyline points="{points}" fill="none" {stroke}/>'
        if curve.spread is not None:
            _, low = box.place(panel, curve.x, np.subtract(curve.y, curve.spread))
            _, high = box.place(panel, curve.x, np.add(curve.y, curve.spread))
            for x, a, b in zip(xs, low, high, strict=True):
                yield _line(x, a, x, b, curve.color)
        if curve.dots:
            for x, y in zip(xs, ys, strict=True):
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{curve.color}"/>'


def _names(panel: Panel, box: Box) -> Iterator[str]:
    """The names of the curves, in the lower left corner."""
    if len(panel.curves) < 2:
        return
    for i, curve in enumerate(reversed(panel.curves)):
        y = box.top + box.height - 14 - 19 * i
        yield _line(box.left + 12, y, box.left + 36, y, curve.color, 2.5)
        yield _text(box.left + 44, y + 4, curve.name, "start")


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} stroke="{color}" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{INK}"{more}>{escape(text)}</text>'
