"""Random programs for many examples: `python -m tests.fuzz.mapping --programs 500 --seed 7`.

Each is called by vmap and in a Python loop over the examples. In NumPy both agree but for rounding;
with `--compiled` every bit of an example is what it is alone.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import wengert as wg

from .program import Program
from .search import visit

EXAMPLES = 3


def check_mapped(program: Program, compiled: bool = False) -> None:
    """Compare a program for many examples with a loop over them; some arguments are the same."""
    arguments = program.arguments(program.sizes[0])
    if not arguments:
        return
    rng = np.random.default_rng(len(program.steps))
    mapped = [bool(rng.integers(0, 3)) for _ in arguments]
    mapped[0] = mapped[0] or not any(mapped)
    given = [
        np.stack([_varied(x, i) for i in range(EXAMPLES)]) if m else x
        for x, m in zip(arguments, mapped, strict=True)
    ]
    alone = program.function()
    at_once: Any = wg.vmap(alone, in_axes=tuple(0 if m else None for m in mapped))
    if compiled:
        alone, at_once = wg.compile(alone), wg.compile(at_once)
    with np.errstate(all="ignore"):
        found = wg.tree.leaves(at_once(*given))
        rows = [
            wg.tree.leaves(alone(*(x[i] if m else x for x, m in zip(given, mapped, strict=True))))
            for i in range(EXAMPLES)
        ]
    for y, *column in zip(found, *rows, strict=True):
        expected = np.stack([np.asarray(each) for each in column])
        told = f"{mapped}: {y} is not {expected}\n{program}"
        assert (y.dtype, y.shape) == (expected.dtype, expected.shape), told
        if compiled:
            assert np.array_equal(y, expected, equal_nan=y.dtype.kind == "f"), told
        else:
            near = 1e-3 if any(x.dtype == np.float32 for x in arguments) else 1e-8
            assert np.allclose(y, expected, rtol=near, atol=near, equal_nan=True), told


def _varied(x: Any, number: int) -> Any:
    """Another argument of the same kind: floats are scaled, integers turned round."""
    if x.dtype.kind == "f":
        return x * x.dtype.type(1 - 0.03 * number)
    return x[::-1] if number % 2 and x.ndim else x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    first = options.seed * 10**7
    for number in range(first, first + options.programs):
        visit(number, lambda program: check_mapped(program, options.compiled))


if __name__ == "__main__":
    main()
