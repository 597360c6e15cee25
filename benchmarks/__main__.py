"""`python -m benchmarks [name …]`: run the benchmarks, all by default."""

from __future__ import annotations

import importlib
import sys

from benchmarks.setting import machine_line, one_thread

ALL = (
    "gemm",
    "elementwise",
    "mlp",
    "scans",
    "compile_time",
    "arena",
    "eager_tape",
    "graph_building",
)


def main() -> None:
    names = sys.argv[1:] or ALL
    for name in names:
        if name not in ALL:
            sys.exit(f"benchmarks: no benchmark {name!r}; there are {', '.join(ALL)}.")
    one_thread()
    print(machine_line())
    # Not before: it imports NumPy.
    rates = importlib.import_module("benchmarks.rates")
    print(rates.rates_line(), flush=True)
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
