"""Dropout as a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.parameter import canonical_number
from wengert.nn.showing import shown_layer


@worded_methods("__init__", "__call__")
@dataclass(init=False, repr=False)
class Dropout(Explained):
    """Each element becomes 0 with probability `rate` and is divided by 1 - rate otherwise.

    Without a generator it is the identity: there is no hidden training mode.

    >>> layer = wg.nn.Dropout(0.5)
    >>> layer(np.ones(3))
    array([1., 1., 1.])
    >>> rng = wg.random.Generator(wg.random.key(0))
    >>> sorted(set(layer(np.ones(100), rng=rng).tolist()))
    [0.0, 2.0]
    """

    rate: float

    def __init__(self, rate: float) -> None:
        self.rate = canonical_number("Dropout", "rate", rate, lambda r: 0 <= r < 1, "in [0, 1)")

    def __call__(self, x: Value, rng: Any = None) -> Value:
        return op.dropout(x, self.rate, rng)

    def __repr__(self) -> str:
        return shown_layer(self)
