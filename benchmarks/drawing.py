"""A little of SVG: shapes as text, and axes that are logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

INK, GRID, GOOD, BAD, PALE = "#333333", "#e2e2e2", "#2a8f4f", "#d9660a", "#1f6fb4"


@dataclass(frozen=True)
class LogAxis:
    """From low to high, over so many pixels from a first one; backwards where `pixels` < 0."""

    low: float
    high: float
    first: float
    pixels: float

    def place(self, value: float) -> float:
        """Values beyond an end lie at it."""
        value = min(max(value, self.low), self.high)
        return self.first + self.pixels * math.log(value / self.low) / math.log(
            self.high / self.low
        )

    def ticks(self, steps: tuple[int, ...] = (1, 2, 5)) -> Iterator[float]:
        """Round numbers."""
        for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
            for step in steps:
                tick = step * 10.0**power
                if self.low * 0.999 <= tick <= self.high * 1.001:
                    yield tick


def text(x: float, y: float, what: str, anchor: str = "start", color: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(what)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, color: str = GRID, width: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{color}" stroke-width="{width:g}"/>'
    )


def box(x: float, y: float, width: float, height: float, color: str, title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" '
        f'fill="{color}">{told}</rect>'
    )


def dot(x: float, y: float, radius: float, color: str, title: str) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}" fill-opacity="0.75" '
        f'stroke="{INK}" stroke-width="0.5"><title>{escape(title)}</title></circle>'
    )


def svg(width: float, height: float, shapes: Iterable[str]) -> str:
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'font-family="sans-serif" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )
