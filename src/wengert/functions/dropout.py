"""Dropout."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wengert.core.define import function
from wengert.core.source import Line, user_line
from wengert.core.table import op
from wengert.functions.parameter import canonical_number


class _Watch(threading.local):
    idle: list[Line | None] | None = None  # lines where nothing is dropped, while somebody asks


_watch = _Watch()


@contextmanager
def noting_idle_dropout() -> Iterator[list[Line | None]]:
    """The lines where a dropout with a rate is given no generator, meanwhile."""
    before, _watch.idle = _watch.idle, []
    try:
        yield _watch.idle
    finally:
        _watch.idle = before


@function()
def dropout(x: Any, rate: float, rng: Any = None) -> Any:
    """Each element becomes 0 with probability `rate` and is divided by 1 - rate otherwise.

    Without a generator nothing happens: there is no hidden training mode.

    >>> rng = wg.random.Generator(wg.random.key(0))
    >>> sorted(set(wg.dropout(np.ones(100), 0.5, rng).tolist()))
    [0.0, 2.0]
    """
    rate = canonical_number("dropout", "rate", rate, lambda r: 0 <= r < 1, "in [0, 1)")
    x = op.asarray(x)
    if rng is not None and not hasattr(rng, "bernoulli"):
        kind = f"{type(rng).__module__}.{type(rng).__qualname__}".removeprefix("builtins.")
        raise TypeError(
            f"dropout: rng is {kind}; it must be a wg.random.Generator, or None to drop nothing. "
            "Make one of a key: wg.random.Generator(wg.random.key(0))."
        )
    if rng is None or rate == 0:
        if rate > 0 and _watch.idle is not None:
            _watch.idle.append(user_line())
        return x
    return op.where(rng.bernoulli(1 - rate, x.shape), x * (1 / (1 - rate)), 0)
