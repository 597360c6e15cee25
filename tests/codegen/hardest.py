"""Where compiled functions of one argument err most: `python -m tests.codegen.hardest`.

Not part of the test suite: a function takes half a minute. All numbers are divided by their leading
bits; parts with the largest errors are divided further and looked at more closely. The reference is
NumPy's function of long doubles, good to a thousandth of an ulp of a float64 where they have 64
bits. `tests/codegen/hard_points.py` keeps what was found, and tests repeat it against mpmath.

    python -m tests.codegen.hardest --seed 1 asin acosh
    python -m tests.codegen.hardest --dtype float32 exp
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.codegen.exhaustive import REFERENCES
from tests.codegen.ulp import compiled, ulp_of

Array = np.ndarray[Any, Any]

_LEADING = 18  # bits of the first parts: sign, exponent, and six of the fraction
_DIVIDED = 4  # bits by which a part is divided further
_CHUNK = 1 << 18
_ROUNDS = {"float32": 3, "float64": 6}


def _errors(name: str, dtype: str) -> Callable[[Array], Array]:
    """A function from points to errors in ulps; 0 where there is nothing to compare."""
    function = compiled(lambda e, x: getattr(e, name)(x), dtype)

    def errors(x: Array) -> Array:
        with np.errstate(all="ignore"):
            true = REFERENCES[name](x.astype(np.longdouble))
            rounded = true.astype(np.float64)
            found = function(x)
            error = np.abs(found - true) / ulp_of(rounded, dtype)
        known = np.isfinite(rounded.astype(dtype)) & np.isfinite(found)
        return np.where(known, error, 0).astype(np.float64)

    return errors


def _inside(starts: Array, rest: int, count: int, rng: np.random.Generator) -> Array:
    """`count` numbers of each part: all that begin with its bits, and end with any `rest` bits."""
    ends = rng.integers(0, 1 << rest, (starts.size, count), dtype=np.uint64)
    ends[:, 0], ends[:, 1] = 0, (1 << rest) - 1  # where breakpoints may lie
    return (starts[:, None] << np.uint64(rest)) | ends


def worst(
    name: str, dtype: str, rng: np.random.Generator, parts: int = 6000, samples: int = 1 << 23
) -> tuple[float, Array]:
    """The largest error found of a function, and the points with the largest ones, that first.

    After each round so many parts are left; each round looks at about so many samples.
    """
    errors = _errors(name, dtype)
    size = np.dtype(dtype).itemsize
    rest, places = 8 * size - _LEADING, np.arange(1 << _LEADING, dtype=np.uint64)
    found: list[tuple[float, float]] = []
    for _ in range(_ROUNDS[dtype]):
        count = max(2, samples // places.size)
        largest = np.empty(places.size)
        step = max(_CHUNK // count, 1)
        for begin in range(0, places.size, step):
            bits = _inside(places[begin : begin + step], rest, count, rng)
            x = bits.astype(f"u{size}").view(dtype)
            error = errors(x.ravel()).reshape(x.shape)
            largest[begin : begin + step] = error.max(axis=1)
            at = np.argsort(error, axis=None)[-8:]
            found += zip(error.ravel()[at].tolist(), x.ravel()[at].tolist(), strict=True)
        kept = places[np.argsort(largest)[-parts:]]
        smaller = np.arange(1 << _DIVIDED, dtype=np.uint64)
        places = ((kept[:, None] << np.uint64(_DIVIDED)) | smaller).ravel()
        rest -= _DIVIDED
    found.sort(reverse=True)
    return found[0][0], np.array(list(dict.fromkeys(x for _, x in found[:40])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", default=list(REFERENCES))
    parser.add_argument("--dtype", default="float64", choices=list(_ROUNDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.name:
        error, points = worst(name, options.dtype, np.random.default_rng(options.seed))
        shown = " ".join(float(x).hex() for x in points[:4])
        sys.stdout.write(f"{name}: {error:.4f} ulp at {shown}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
