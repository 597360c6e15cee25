"""`python -m benchmarks [--threads N] [name …]`: run the benchmarks, all by default.

With one thread for everybody, or with as many as are asked for.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from benchmarks.setting import machine_line, use_threads

ALL = (
    "gemm",
    "elementwise",
    "mlp",
    "scans",
    "train_step",
    "mlp_native",
    "optimizers",
    "nonfinite",
    "threads",
    "compile_time",
    "call_path",
    "arena",
    "eager_tape",
    "graph_building",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Run benchmarks, or all.")
    parser.add_argument("--threads", type=int, default=1, help="for every library (default: 1)")
    parser.add_argument("name", nargs="*", help=", ".join(ALL))
    asked = parser.parse_args()
    names = asked.name or ALL
    for name in names:
        if name not in ALL:
            sys.exit(f"benchmarks: no benchmark {name!r}; there are {', '.join(ALL)}.")
    use_threads(asked.threads)
    print(machine_line())
    # Not before: it imports NumPy.
    rates = importlib.import_module("benchmarks.rates")
    print(rates.rates_line(), flush=True)
    for name in names:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
