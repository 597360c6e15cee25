"""Run several implementations of the same work side by side and compare their best times.

A benchmark is a table: one row for each case, one column for each contestant, and how many times
faster we are than each of the others. A figure that we want to reach stands beside the row, and
whether it was reached. Nothing fails where it was not.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.runtime.profile_table import duration

Run = Callable[[], object]
OURS = "wengert"
BURST = 300e-6  # seconds that calls are repeated for between two readings of the clock
NONE = "–"  # in a cell: not measured
LEAST = 3  # rounds of a contestant, however slow it is


@dataclass(frozen=True)
class Figure:
    """What a ratio should be: at least, or at most, so many times somebody's."""

    limit: float
    whose: str
    at_most: bool = False

    def verdict(self, found: float | None) -> str:
        """In words, for a ratio that was measured or was not.

        >>> Figure(5, "JAX").verdict(6.1)
        '≥ 5 × JAX: yes'
        """
        text = f"{'≤' if self.at_most else '≥'} {self.limit:g} × {self.whose}"
        if found is None:
            return f"{text}: not measured"
        reached = found <= self.limit if self.at_most else found >= self.limit
        return f"{text}: {'yes' if reached else 'NO'}"


# Measuring


def best_times(cases: Mapping[str, Run], seconds: float = 1.0) -> dict[str, float]:
    """The best time per call of each case, in seconds; `seconds` is what each may take in all.

    Cases take turns, so that a noisy moment of the machine hits all of them; the best of many
    rounds is what the code can do.
    """
    best = dict.fromkeys(cases, float("inf"))
    counts = {name: max(1, int(BURST / _warm_time(run))) for name, run in cases.items()}
    left = dict.fromkeys(cases, seconds)
    rounds = 0
    gc.disable()
    try:
        while rounds < LEAST or max(left.values()) > 0:
            rounds += 1
            for name, run in cases.items():
                if rounds <= LEAST or left[name] > 0:
                    taken = _burst(run, counts[name])
                    best[name] = min(best[name], taken / counts[name])
                    left[name] -= taken
    finally:
        gc.enable()
    return best


def _burst(run: Run, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return time.perf_counter() - start


def _warm_time(run: Run) -> float:
    """The time of a call when imports, compilers, caches and allocators have had their turn."""
    _burst(run, 2)
    return max(min(_burst(run, 1) for _ in range(2)), 1e-9)


# Agreeing


def require_agreement(cases: Mapping[str, Run], tolerance: float = 1e-3) -> None:
    """All contestants compute the same numbers, or the comparison is worth nothing."""
    expected = numbers(cases[OURS]())
    for name, run in cases.items():
        found = numbers(run())
        assert len(found) == len(expected), f"{name} returns {len(found)} arrays"
        for x, y in zip(found, expected, strict=True):
            scale = tolerance * max(float(np.max(np.abs(y), initial=0)), 1e-30)
            np.testing.assert_allclose(x, y, rtol=0, atol=scale, err_msg=name)


def numbers(found: Any) -> list[np.ndarray]:
    """The arrays in a result, of any library, in one order."""
    if isinstance(found, dict):
        return [x for name in sorted(found) for x in numbers(found[name])]
    if isinstance(found, list | tuple):
        return [x for each in found for x in numbers(each)]
    if hasattr(found, "detach"):  # a tensor of PyTorch's that is being differentiated
        found = found.detach()
    return [np.asarray(found)]


# Tables


def compare(
    title: str,
    rows: Iterable[tuple[str, Mapping[str, Run], Sequence[Figure]]],
    seconds: float = 1.0,
    tolerance: float | None = 1e-3,
) -> None:
    """Measure and print a table: rows are (case, contestants, figures). The tolerance is None where
    contestants do different work.
    """
    print(f"\n{title}", flush=True)
    measured: list[tuple[str, dict[str, float], Sequence[Figure]]] = []
    for case, contestants, figures in rows:
        if tolerance is not None:
            require_agreement(contestants, tolerance)
        measured.append((case, best_times(contestants, seconds), figures))
    others = list(dict.fromkeys(x for _, best, _ in measured for x in best if x != OURS))
    head = ["", OURS, *others, *(f"× {name}" for name in others), ""]
    print_table(head, [_row(case, best, others, figures) for case, best, figures in measured])


def _row(
    case: str, best: Mapping[str, float], others: Sequence[str], figures: Sequence[Figure]
) -> list[str]:
    ratios = {name: best[name] / best[OURS] for name in best}
    return [
        case,
        *(duration(best[name]) if name in best else NONE for name in (OURS, *others)),
        *(f"{ratios[name]:.2f}" if name in ratios else NONE for name in others),
        ", ".join(figure.verdict(ratios.get(figure.whose)) for figure in figures),
    ]


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns aligned: the first and the last to the left, numbers to the right."""
    table = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            cell.ljust(width) if i in (0, len(row) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
