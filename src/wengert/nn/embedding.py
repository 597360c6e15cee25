"""Embedding: a row of numbers for each of a count of things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.arguments import worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.functions.drawn_weights import note_drawn_rows
from wengert.nn.init import Initialiser, initialise
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.seeding import Seed
from wengert.nn.showing import shown_layer


def rows_of(table: Value, indices: Value) -> Value:
    """The rows of a table that has one for each index."""
    rows = op.embed(table, indices)
    note_drawn_rows(table, rows)
    return rows


@worded_methods("__init__", "__call__")
@dataclass(init=False, eq=False, repr=False)
class Embedding(Explained):
    """Rows of `weight`, (count, size), at integer indices of any shape; each index becomes a row.

    Indices that do not exist raise IndexError, negative ones too. Rows that are asked for several
    times add up their gradients. The weights begin normal with variance 1.

    >>> layer = wg.nn.Embedding(10, 3)
    >>> layer(np.array([[0, 9], [1, 1]])).shape
    (2, 2, 3)
    """

    weight: Any  # (count, size)

    def __init__(
        self,
        count: int,
        size: int,
        *,
        init: str | Initialiser = "normal",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        shape = (
            require_size("Embedding", "count", count),
            require_size("Embedding", "size", size),
        )
        float_dtype = require_float("Embedding", dtype)
        self.weight = initialise("Embedding", init, shape, seed, float_dtype)

    def __call__(self, indices: Value) -> Value:
        return rows_of(self.weight, indices)

    def __repr__(self) -> str:
        return shown_layer(self)
