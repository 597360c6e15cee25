"""The price of the fixed order of sums: `python -m benchmarks fixed_order`.

Each program is compiled twice, once as always and once with sums in whatever order is fastest. Both
take turns in this process, on one thread; the best of many calls counts, and the price is the ratio
of both, less 1.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import Run, duration
from benchmarks.setting import variables
from benchmarks.table import aligned

LIMIT = 0.05  # that we want to pay at most
SECONDS = 2.5  # for one row of the table
BURST = 200e-6  # seconds that calls are repeated for between two readings of the clock


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def compiled(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Run:
    """A program of arrays of these shapes."""
    import wengert as wg
    from wengert.errors import ProgramsWarning

    arrays = [drawn(*shape) for shape in shapes]
    run = wg.compile(lambda *x: function(*x))
    with warnings.catch_warnings():  # that such a function is compiled again and again
        warnings.simplefilter("ignore", ProgramsWarning)
        run(*arrays)
    return lambda: run(*arrays)


def step(network: str) -> Run:
    from benchmarks.networks import NETWORKS, data
    from benchmarks.training import our_step

    made, (_, x, y) = our_step(NETWORKS[network]), data(NETWORKS[network])
    made(x, y)
    return lambda: made(x, y)


def gradient(name: str, rows: int, columns: int) -> Run:
    """Of a function of rows, by them and by what they are scaled and shifted by."""
    import wengert as wg
    from benchmarks.cases.rows import FUNCTIONS

    (function,) = (each for each in FUNCTIONS if each.name == name)
    by = tuple(range(1 + function.weights))
    derivative = wg.grad(lambda x, w, b, g: wg.sum(function.ours(wg, x, w, b) * g), argnums=by)
    return compiled(derivative, (rows, columns), (columns,), (columns,), (rows, columns))


def programs() -> dict[str, Callable[[], Run]]:
    import wengert as wg

    by_title: dict[str, Callable[[], Run]] = {
        f"step {network}, Adam": partial(step, network) for network in ("tiny", "small", "mnist")
    }
    for name in ("softmax", "layer_norm"):
        for size in ((512, 256), (4096, 1024)):
            title = f"{name} {' × '.join(map(str, size))}, gradient"
            by_title[title] = partial(gradient, name, *size)
    for axis, title in ((0, "axis 0"), (1, "axis 1"), (None, "all")):
        for size in ((512, 256), (4096, 1024)):
            total = partial(wg.sum, axis=axis)
            by_title[f"sum of {' × '.join(map(str, size))}, {title}"] = partial(
                compiled, total, size
            )
    for n in (64, 512):
        by_title[f"product of {n} × {n} matrices"] = partial(compiled, np.matmul, (n, n), (n, n))
    for n in (256, 1024):
        by_title[f"{n} × {n} matrix × vector"] = partial(compiled, np.matmul, (n, n), (n,))
    for n in (1 << 16, 1 << 20):
        by_title[f"dot of {n:,}"] = partial(compiled, np.matmul, (n,), (n,))
    return by_title


def best(runs: Sequence[Run], seconds: float = SECONDS) -> list[float]:
    """Seconds of a call of each, taking turns."""
    for run in runs:
        run()
    seconds_of = [_burst(run, 3) for run in runs]
    counts = [max(1, int(BURST / each)) for each in seconds_of]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for n, (run, count) in enumerate(zip(runs, counts, strict=True)):
            seconds_of[n] = min(seconds_of[n], _burst(run, count))
    return seconds_of


def _burst(run: Run, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def row(title: str, make: Callable[[], Run], seconds: float = SECONDS) -> list[str]:
    from benchmarks.free_order import free_order

    fixed = make()
    with free_order():
        free = make()
    ours, other = best([fixed, free], seconds)
    price = ours / other - 1
    verdict = "yes" if price <= LIMIT else "NO"
    return [title, duration(ours), duration(other), f"{price:+.1%}", f"≤ {LIMIT:.0%}: {verdict}"]


def main() -> None:
    os.environ.update(variables(1) | {"WENGERT_CACHE": "0"})
    table = [["", "fixed order", "free order", "price", ""]]
    for title, make in programs().items():
        table.append(row(title, make))
        print("  ".join(table[-1]), flush=True)
    print(f"\n{aligned(table)}")


if __name__ == "__main__":
    main()
