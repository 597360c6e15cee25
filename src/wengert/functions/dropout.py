"""Dropout."""

from __future__ import annotations

from typing import Any

from wengert.core.define import function
from wengert.core.table import op
from wengert.functions.parameter import canonical_number


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
        return x
    return op.where(rng.bernoulli(1 - rate, x.shape), x * (1 / (1 - rate)), 0)
