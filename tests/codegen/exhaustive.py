"""Every float32 through compiled functions of one argument: `python -m tests.codegen.exhaustive`.

Not part of the test suite: a function takes minutes. The reference is NumPy's float64 function,
good to 1e-14 where it is good at all; tests against mpmath cover the rest.

    python -m tests.codegen.exhaustive exp log tanh
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.codegen.ulp import compiled, errors_in_float32

_CHUNK = 1 << 17


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small)


REFERENCES: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "cbrt": np.cbrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": _sigmoid,
}


def chunks() -> Iterator[Any]:
    """All float32 numbers in the order of their bits."""
    for begin in range(0, 1 << 32, _CHUNK):
        bits = np.arange(begin, begin + _CHUNK, dtype=np.uint64).astype(np.uint32)
        yield bits.view(np.float32)


def worst(name: str) -> tuple[float, float]:
    """The largest error of a function in ulps, and where it is."""
    function = compiled(lambda e, x: getattr(e, name)(x), np.float32)
    largest, where = 0.0, 0.0
    for x in chunks():
        with np.errstate(all="ignore"):
            true = REFERENCES[name](x.astype(np.float64))
        error = errors_in_float32(function(x), true)
        at = int(error.argmax())
        if error[at] > largest:
            largest, where = float(error[at]), float(x[at])
    return largest, where


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", default=["exp", "log", "tanh"], choices=REFERENCES)
    for name in parser.parse_args().name:
        error, x = worst(name)
        sys.stdout.write(f"{name}: {error:.4f} ulp at {x.hex()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
