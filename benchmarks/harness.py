"""Run several implementations of the same work side by side and compare their best times."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping


def best_times(
    cases: Mapping[str, Callable[[], object]], seconds: float = 3.0, inner: int = 20
) -> dict[str, float]:
    """The best time per call of each case, in seconds.

    Cases take turns, so that a noisy moment of the machine hits all of them; the best of many
    rounds is what the code can do.
    """
    best = dict.fromkeys(cases, float("inf"))
    for run in cases.values():  # warm up: imports, caches, allocators
        for _ in range(inner):
            run()
    gc.disable()
    try:
        end = time.perf_counter() + seconds * len(cases)
        while time.perf_counter() < end:
            for name, run in cases.items():
                start = time.perf_counter()
                for _ in range(inner):
                    run()
                best[name] = min(best[name], (time.perf_counter() - start) / inner)
    finally:
        gc.enable()
    return best


def report(title: str, best: Mapping[str, float], ours: str = "wengert") -> None:
    """Print times, and how many times faster we are than each of the others."""
    print(title)
    for name, seconds in best.items():
        ratio = seconds / best[ours]
        print(f"  {name:28s} {seconds * 1e6:10.1f} µs   {ratio:6.2f} × {ours}")
