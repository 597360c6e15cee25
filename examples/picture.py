"""Curves, points and bands as a picture: an SVG file of some kilobytes, which every browser shows.

The same numbers give the same text, so that pictures under version control differ only where what
they show does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
BLUE, ORANGE, GREEN, PURPLE = "#1f6fb4", "#d9660a", "#2a8f4f", "#7b4fa3"
PALE_BLUE, GRAY = "#b5d3ea", "#9a9a9a"
INK, GRID = "#333333", "#e2e2e2"
DASHES = ' stroke-dasharray="5 4"'


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
    """A line through points; from each of them `spread` reaches up and down.

    With `dots` the points are seen, too; with a `width` of 0 nothing but them. A curve without a
    name is not told among the names.
    """

    name: str
    color: str
    x: Any
    y: Any
    spread: Any = None
    dots: bool = False
    width: float = 1.8
    radius: float = 3.5  # of the dots
    dashed: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two curves over the same x."""

    name: str
    color: str
    x: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class Panel:
    """Curves and bands over two axes, the first at the back; if several of them have names, these
    are told in a corner: "lower left", "upper right" …
    """

    title: str
    x: Axis
    y: Axis
    curves: Sequence[Curve | Band]
    corner: str = "lower left"


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


def axis_around(label: str, *values: Any, form: str = "g", count: int = 5) -> Axis:
    """An axis that all the values lie on, with some room at both ends."""
    low = min(float(np.min(each)) for each in values)
    high = max(float(np.max(each)) for each in values)
    room = 0.05 * (high - low) or 0.5
    return linear_axis(label, low - room, high + room, form, count)


def log_axis(label: str, low: float, high: float) -> Axis:
    """An axis over whole powers of ten that hold all values from low to high."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    ticks = [(10.0**power, _power_of_ten(power)) for power in range(first, last + 1)]
    return Axis(label, 10.0**first, 10.0**last, ticks, log=True)


def _power_of_ten(power: int) -> str:
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return {0: "1", 1: "10"}.get(power, f"10{raised}")


def draw(panels: Sequence[Panel], width: int = 720, height: int = 300, columns: int = 1) -> str:
    """An SVG picture of that width: panels of that height in rows of so many, from the top."""
    total = height * -(-len(panels) // columns)
    each = width // columns
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" '
        f'width="{width}" height="{total}" font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{total}" fill="white"/>',
    ]
    for i, panel in enumerate(panels):
        row, column = divmod(i, columns)
        box = Box(column * each + 64, row * height + 34, each - 64 - 24, height - 34 - 50)
        parts += [*_frame(panel, box), *_shapes(panel, box), *_names(panel, box)]
    return "\n".join([*parts, "</svg>", ""])


def save(picture: str, path: Path) -> None:
    """Write a picture, and say where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture, encoding="utf-8")
    print(f"picture in {path}")


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
    side, middle = left - 48, top + height / 2
    turned = f' transform="rotate(-90 {side:g},{middle:.1f})"'
    yield _text(side, middle, panel.y.label, "middle", turned)


def _shapes(panel: Panel, box: Box) -> Iterator[str]:
    for shape in panel.curves:
        if isinstance(shape, Band):
            yield _band(shape, panel, box)
        else:
            yield from _curve(shape, panel, box)


def _band(band: Band, panel: Panel, box: Box) -> str:
    x = np.concatenate([band.x, np.flip(band.x)])
    y = np.concatenate([band.low, np.flip(band.high)])
    points = _points(*box.place(panel, x, y))
    return f'<polygon points="{points}" fill="{band.color}" fill-opacity="0.5"/>'


def _curve(curve: Curve, panel: Panel, box: Box) -> Iterator[str]:
    xs, ys = box.place(panel, curve.x, curve.y)
    if curve.width:
        stroke = f'stroke="{curve.color}" stroke-width="{curve.width:g}"'
        stroke += DASHES * curve.dashed
        yield f'<polyline points="{_points(xs, ys)}" fill="none" {stroke}/>'
    if curve.spread is not None:
        _, low = box.place(panel, curve.x, np.subtract(curve.y, curve.spread))
        _, high = box.place(panel, curve.x, np.add(curve.y, curve.spread))
        for x, a, b in zip(xs, low, high, strict=True):
            yield _line(x, a, x, b, curve.color)
    if curve.dots:
        for x, y in zip(xs, ys, strict=True):
            yield _dot(x, y, curve.radius, curve.color)


def _names(panel: Panel, box: Box) -> Iterator[str]:
    """The names of the curves, in their corner."""
    named = [shape for shape in panel.curves if shape.name]
    if len(named) < 2:
        return
    lower, left = panel.corner.startswith("lower"), panel.corner.endswith("left")
    top = box.top + (box.height - 14 - 19 * (len(named) - 1) if lower else 14)
    side, anchor = (box.left, "start") if left else (box.left + box.width, "end")
    inwards = 1 if left else -1
    for i, shape in enumerate(named):
        y = top + 19 * i
        if isinstance(shape, Curve) and not shape.width:
            yield _dot(side + inwards * 24, y, shape.radius, shape.color)
        else:
            ends = side + inwards * 12, y, side + inwards * 36, y
            if isinstance(shape, Band):
                yield _line(*ends, shape.color, 10, ' stroke-opacity="0.5"')
            else:
                yield _line(*ends, shape.color, 2.5, DASHES * shape.dashed)
        yield _text(side + inwards * 44, y + 4, shape.name, anchor)


def _points(xs: Any, ys: Any) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))


def _dot(x: float, y: float, radius: float, color: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{color}"/>'


def _line(
    x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1, more: str = ""
) -> str:
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} stroke="{color}" stroke-width="{width:g}"{more}/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{INK}"{more}>{escape(text)}</text>'


def learning_curves(
    title: str, runs: Sequence[tuple[Any, Any]], goal: float, low: float, high: float
) -> Panel:
    """Returns over steps in the environment: a pale line for every run, their mean, and what is
    called learned.
    """
    last = max(float(steps[-1]) for steps, _ in runs)
    grid = np.linspace(max(float(steps[0]) for steps, _ in runs), last, 200)
    names = ["each of the runs", *[""] * (len(runs) - 1)]
    curves = [Curve(n, PALE_BLUE, *run, width=1.2) for n, run in zip(names, runs, strict=True)]
    mean = np.mean([np.interp(grid, steps, returns) for steps, returns in runs], axis=0)
    curves.append(Curve("learned", ORANGE, [0, last], [goal, goal], width=1.2, dashed=True))
    curves.append(Curve("mean of the runs", BLUE, grid, mean))
    x = linear_axis("steps in the environment", 0, last, ",.0f")
    return Panel(title, x, linear_axis("mean return", low, high), curves, corner="lower right")
