"""A cache for tests, and one program in a process of its own:
`python -m runtime.caching <seed of its arguments>` prints how it was found and a digest of its
results.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from compiler.running import bits

import wengert as wg
from wengert.runtime.caching import cache, cache_key
from wengert.runtime.caching.cache_writer import settle

TESTS = Path(__file__).resolve().parents[1]


@contextmanager
def cache_in(folder: Path, **variables: str) -> Iterator[None]:
    """The cache is on, in this folder. The package may be edited meanwhile: tests of one process
    load one state of it.
    """
    changed = {"WENGERT_CACHE": "1", "WENGERT_CACHE_DIR": str(folder), **variables}
    with (
        mock.patch.dict(os.environ, changed),
        mock.patch.object(cache_key, "source", return_value="as it was loaded"),
    ):
        cache._warn.cache_clear()
        cache._store.cache_clear()
        yield
        settle()


def made(function: Any, *args: Any, **options: Any) -> Any:
    """A new executable for a function, when its entry has been written."""
    found = wg.compile(function, **options).executable(*args)
    settle()
    return found


def is_lazy(executable: Any) -> bool:
    """Whether nothing was passed, lowered or written for it."""
    return not {"ready", "requirements", "_written"} & executable.__dict__.keys()


def training(w: Any, v: Any, x: Any, y: Any) -> Any:
    """One step of a small network."""

    def loss(w: Any, v: Any) -> Any:
        return wg.mean((np.tanh(x @ w) @ v - y) ** 2)

    value, (gw, gv) = wg.value_and_grad(loss, argnums=(0, 1))(w, v)
    return value, w - 0.1 * gw, v - 0.1 * gv


def arguments(seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    shapes = ((6, 20), (20, 3), (11, 6), (11, 3))
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in shapes)


def entries(folder: Path, kind: str = "") -> list[str]:
    """The names of entries that begin like this."""
    return sorted(name for name in os.listdir(folder) if name.startswith(kind))


def digest(tree: Any) -> str:
    return hashlib.sha256(b"".join(bits(tree))).hexdigest()


if __name__ == "__main__":
    with cache_in(Path(os.environ["WENGERT_CACHE_DIR"])):
        compiled = wg.compile(training)
        given = arguments(int(sys.argv[1]))
        found = digest([compiled(*given), compiled(*given)])
        print(json.dumps([compiled.executable(*given).cached, found]))
