"""Entries as one table of ratios: for a terminal, and for a page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.case import OURS, duration
from benchmarks.record import Entry, Verdict

LIBRARIES = ("NumPy", "JAX", "torch")
NONE = "–"  # in a cell: not measured
HEAD = ("", OURS, *(f"× {name}" for name in LIBRARIES), "goals")


def cells(entry: Entry) -> list[str]:
    ratios = [entry.ratio_to(library) for library in LIBRARIES]
    return [
        entry.key,
        duration(entry.seconds[OURS]),
        *(NONE if each is None else number(each) for each in ratios),
        "; ".join(map(verdict_text, entry.verdicts)),
    ]


def number(x: float) -> str:
    """With three digits.

    >>> number(1.2345), number(12.345), number(123.4)
    ('1.23', '12.3', '123')
    """
    return f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def verdict_text(verdict: Verdict) -> str:
    """The goal, whether it is reached, and where it is not or cannot be seen elsewhere, what was
    found.

    >>> verdict_text(Verdict("≥ 2 × JAX", 1.5, False))
    '≥ 2 × JAX: NO, 1.50'
    """
    if verdict.measured is None:
        return f"{verdict.goal}: not measured"
    told = duration(verdict.measured) if verdict.goal.startswith("≤") else number(verdict.measured)
    return f"{verdict.goal}: {'yes' if verdict.reached else 'NO'}, {told}"


def aligned(table: Sequence[Sequence[str]]) -> str:
    """Columns aligned: the first and the last to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def text_table(entries: Sequence[Entry]) -> str:
    return aligned([HEAD, *map(cells, entries)])


def markdown_table(entries: Sequence[Entry]) -> str:
    """Ratios below 1, where we are slower, are bold."""
    rows = [list(HEAD), ["---", *["---:"] * (len(HEAD) - 2), "---"]]
    for entry in entries:
        name, ours, *ratios, goals = cells(entry)
        rows.append([name, ours, *(_bold(each) for each in ratios), goals.replace("NO", "**no**")])
    return "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows)


def _bold(cell: str) -> str:
    return f"**{cell}**" if cell != NONE and float(cell) < 1 else cell


def summary(entries: Sequence[Entry]) -> str:
    """Wins and losses in one sentence."""
    ratios = [each.ratio for each in entries if each.ratio is not None]
    wins = sum(each >= 1 for each in ratios)
    goals = [verdict.reached for each in entries for verdict in each.verdicts]
    judged = [reached for reached in goals if reached is not None]
    return (
        f"Faster than the best peer in {wins} of {len(ratios)} cases; "
        f"{sum(judged)} of {len(judged)} goals reached."
    )
