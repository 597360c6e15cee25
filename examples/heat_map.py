"""A heat map as a picture: an SVG file of coloured squares, which every browser shows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from picture import INK, Array

CELL, LEFT, TOP, BELOW = 30, 76, 44, 62
PALE, DARK = np.array([235, 242, 250]), np.array([8, 64, 129])


def heat_map(
    values: Array,  # (rows, columns), from 0 to 1
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    labels: tuple[str, str],  # of the rows and of the columns
) -> str:
    """An SVG picture of a table: the darker, the larger; nothing where a value is not finite."""
    height, width = TOP + CELL * len(rows) + BELOW, LEFT + CELL * len(columns) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(LEFT, 24, title, "start", ' font-weight="bold"'),
    ]
    for i, row in enumerate(rows):
        y = TOP + CELL * i
        parts.append(_text(LEFT - 8, y + CELL / 2 + 4, row, "end"))
        parts += [_cell(LEFT + CELL * j, y, float(x)) for j, x in enumerate(values[i])]
    bottom, right = TOP + CELL * len(rows), LEFT + CELL * len(columns)
    corners = f"{LEFT},{TOP} {right},{TOP} {right},{bottom} {LEFT},{bottom} {LEFT},{TOP}"
    parts.append(f'<polyline points="{corners}" fill="none" stroke="{INK}"/>')
    for j, column in enumerate(columns):
        parts.append(_text(LEFT + CELL * (j + 0.5), bottom + 18, column, "middle"))
    parts.append(_text(LEFT + CELL * len(columns) / 2, bottom + 42, labels[1], "middle"))
    middle = TOP + CELL * len(rows) / 2
    turned = f' transform="rotate(-90 16,{middle:g})"'
    parts.append(_text(16, middle, labels[0], "middle", turned))
    return "\n".join([*parts, "</svg>", ""])


def _cell(x: float, y: float, value: float) -> str:
    if not np.isfinite(value):
        return ""
    share = min(max(value, 0.0), 1.0)
    color = "#" + "".join(f"{round(c):02x}" for c in PALE + share * (DARK - PALE))
    side = CELL - 1
    return f'<rect x="{x:g}" y="{y:g}" width="{side}" height="{side}" fill="{color}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{INK}"{more}>{escape(text)}</text>'
