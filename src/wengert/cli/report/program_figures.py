"""The compiled step as a picture: its kernels in order, what each reads, and how long it takes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from wengert.cli.report.chart_axes import short
from wengert.cli.report.charts import figure, svg
from wengert.cli.report.report_style import html_table
from wengert.codegen.kernel import Program
from wengert.errors import ScheduleWarning
from wengert.runtime.profile import KernelProfile, Profile
from wengert.train.step import TrainStep

_WIDTH, _ROW, _TOP = 560, 20, 8
_LEFT, _BAR = 96, 84  # room for the arcs; for the bars
_LETTERS = 52  # of a label
_MOST_KERNELS = 150
_COLOURS = {"gemm": 0, "map": 2, "rows": 1, "columns": 1, "special": 3, "scan": 4, "cond": 4}


def program_section(step: TrainStep, batch: Sequence[Any]) -> str:
    """The graph of the kernels and a table of their times. The step is not changed."""
    with warnings.catch_warnings():
        # A schedule that has come to its end has no rate for the step that is only looked at.
        warnings.simplefilter("ignore", ScheduleWarning)
        profile = step.profile(*batch)
        program = step._program("report", tuple(batch), {})[0].program
    shown = profile.kernels[:_MOST_KERNELS]
    names = {f"k{number}": row for row, number in enumerate(program.order[:_MOST_KERNELS])}
    arcs = [(a, b) for a, b in _edges(program) if a in names and b in names]
    places = [(names[a], names[b]) for a, b in arcs]
    height = _TOP * 2 + _ROW * len(shown)
    parts = [*_arcs(places), *_rows(shown)]
    total = (
        f"{len(profile.kernels)} kernels take {_time(profile.seconds)} for a batch of "
        f"{len(batch[0])} rows: loss, gradient and update in one call. A line leads from a kernel "
        "to those that read what it has written."
    )
    picture = figure(
        "The program: kernels in the order in which they run",
        f'<div class="drawing">{svg(_WIDTH, height, parts, "kernels and what they read")}</div>',
        total,
    )
    return f"{picture}<details><summary>Time per kernel</summary>{_table(profile)}</details>"


def _edges(program: Program) -> Iterator[tuple[str, str]]:
    """From each kernel to those that read what it stores."""
    for number in program.order:
        for root in program.kernels[number].reads:
            owner = program.owner.get(root)
            if owner is not None and owner != number:
                yield f"k{owner}", f"k{number}"


def _middle(row: int) -> float:
    return _TOP + _ROW * (row + 0.5)


def _arcs(places: Sequence[tuple[int, int]]) -> Iterator[str]:
    longest = max((abs(b - a) for a, b in places), default=1)
    for a, b in sorted(set(places), key=lambda each: -abs(each[1] - each[0])):
        reach = 8 + (_LEFT - 26) * (abs(b - a) / longest) ** 0.6
        y1, y2, x = _middle(a), _middle(b), _LEFT - 8
        yield (
            f'<path class="axis" fill="none" stroke-opacity="0.55" d="M{x} {y1:.1f} '
            f'C{x - reach:.1f} {y1:.1f} {x - reach:.1f} {y2:.1f} {x} {y2:.1f}"/>'
        )


def _rows(kernels: Sequence[KernelProfile]) -> Iterator[str]:
    most = max((kernel.share for kernel in kernels), default=1.0) or 1.0
    for row, kernel in enumerate(kernels):
        y, colour = _middle(row), _COLOURS.get(kernel.kind, 5)
        label = _short_label(kernel)
        yield f'<circle class="d c{colour}" cx="{_LEFT - 4}" cy="{y:.1f}" r="4"/>'
        yield (
            f'<text class="strong mono" x="{_LEFT + 6}" y="{y + 4:.1f}">{escape(label)}'
            f"<title>{escape(', '.join(kernel.ops))}</title></text>"
        )
        yield (
            f'<rect class="b" x="{_WIDTH - _BAR}" y="{y - 6:.1f}" height="12" '
            f'width="{max(0.5, 34 * kernel.share / most):.1f}"/>'
            f'<text x="{_WIDTH}" y="{y + 4:.1f}" text-anchor="end">{_time(kernel.seconds)}</text>'
        )


def _short_label(kernel: KernelProfile) -> str:
    ops = list(dict.fromkeys(kernel.ops))
    text = f"{kernel.name} {kernel.kind}: {', '.join(ops)}" if ops else f"{kernel.name}"
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _table(profile: Profile) -> str:
    rows = [
        (
            kernel.name,
            kernel.kind,
            _time(kernel.seconds),
            f"{kernel.share:.1%}",
            short(kernel.flops),
            short(kernel.bytes),
            f"{kernel.share_of_gemm_rate:.0%}",
            f"{kernel.share_of_bandwidth:.0%}",
        )
        for kernel in profile.kernels
    ]
    head = ("kernel", "kind", "time", "share", "flops", "bytes", "of gemm rate", "of bandwidth")
    return html_table(head, rows, (2, 3, 4, 5, 6, 7))


def _time(seconds: float) -> str:
    """A duration in the unit that suits it.

    >>> _time(3.21e-6), _time(0.5e-9)
    ('3.21 µs', '0.5 ns')
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"
