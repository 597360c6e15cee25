"""Entries as a picture: how many times as fast as the best peer we are, case by case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from benchmarks.drawing import BAD, GOOD, GRID, INK, LogAxis, box, line, svg, text
from benchmarks.record import Entry
from benchmarks.table import number, summary

LEFT, RIGHT, TOP, ROW = 330, 60, 62, 15
WIDTH = 900


def picture(entries: Sequence[Entry]) -> str:
    """An SVG: one bar for each case that has a peer, from 1, where both are as fast, to the right
    where we are faster. Green: all goals of the case are reached, or it has none and we are faster.
    """
    shown = [each for each in entries if each.ratio is not None]
    groups = {
        name: list(in_group) for name, in_group in groupby(shown, key=lambda each: each.group)
    }
    height = TOP + ROW * (len(shown) + 1.6 * len(groups)) + 20
    ratios = [each.ratio for each in shown if each.ratio is not None]
    axis = LogAxis(min(0.25, *ratios, 1), max(10, *ratios, 1), LEFT, WIDTH - LEFT - RIGHT)
    machines = dict.fromkeys(each.machine for each in shown)
    shapes = [
        text(10, 18, "The best peer's time, divided by Wengert's: " + "; ".join(machines)),
        text(
            10,
            34,
            summary(entries) + " Green: all its goals are reached, or it has none and is faster.",
        ),
        *_grid(axis, height),
        *_bars(groups, axis),
    ]
    return svg(WIDTH, height, shapes)


def _grid(axis: LogAxis, height: float) -> Iterator[str]:
    for tick in axis.ticks():
        x = axis.place(tick)
        yield line(x, TOP - 4, x, height - 14, INK if tick == 1 else GRID)
        yield text(x, TOP - 8, f"{tick:g}", "middle")


def _bars(groups: dict[str, list[Entry]], axis: LogAxis) -> Iterator[str]:
    y = float(TOP)
    for name, entries in groups.items():
        y += 0.6 * ROW
        yield text(10, y + ROW - 4, name)
        y += ROW
        for each in entries:
            assert each.ratio is not None
            start, end = sorted((axis.place(1), axis.place(each.ratio)))
            good = each.reached and (bool(each.verdicts) or each.ratio >= 1)
            told = f"{each.key}: {number(each.ratio)} × {each.best_peer}"
            yield text(LEFT - 8, y + ROW - 4, _short(each.key), "end")
            yield box(start, y + 2, end - start, ROW - 4, GOOD if good else BAD, told)
            yield text(end + 4, y + ROW - 4, number(each.ratio))
            y += ROW


def _short(name: str, most: int = 52) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
