"""The command line that the examples share: whole numbers by name, a seed, and a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def read_options(
    about: str | None, name: str, least: dict[str, int] | None = None, **counts: int
) -> argparse.Namespace:
    """The options of an example: a count for each name, with its default; 1 or more, or as many as
    `least` says.
    """
    bounds = dict.fromkeys(counts, 1) | (least or {})
    parser = argparse.ArgumentParser(
        description=(about or "").split("\n\n")[0],
        epilog=f"with make: make demo EXAMPLE={name} ARGS='--seed 1'",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    for each, default in counts.items():
        add(f"--{each}", type=int, default=default, metavar="N", help=f"{bounds[each]} or more")
    add("--seed", type=int, default=0, metavar="N", help="of all that is drawn")
    add("--picture", type=Path, default=f"build/{name}.svg", metavar="FILE", help="to write")
    options = parser.parse_args()
    for each, bound in (bounds | {"seed": 0}).items():
        value = getattr(options, each)
        if value < bound:
            parser.error(f"--{each} {value} was given; it must be at least {bound}")
    return options


def import_scipy() -> Any:
    """scipy.optimize, or the end of the program with what to do."""
    try:
        from scipy import optimize
    except ModuleNotFoundError:
        sys.exit("This example needs SciPy: pip install scipy")
    return optimize
