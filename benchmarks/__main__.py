"""`python -m benchmarks [name …]`: run the benchmarks, all by default."""

from __future__ import annotations

import importlib
import sys

ALL = ("eager_tape", "graph_building")


def main() -> None:
    for name in sys.argv[1:] or ALL:
        if name not in ALL:
            sys.exit(f"benchmarks: no benchmark {name!r}; there are {', '.join(ALL)}.")
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
