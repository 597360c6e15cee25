"""Positions in a sequence: as rows that are added to it, or as turns of queries and keys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core.bind import located
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.values.number import is_traced_number
from wengert.core.words.arguments import worded, worded_methods
from wengert.core.words.foreign_names.missing import Explained
from wengert.errors import DTypeError, ShapeError
from wengert.nn.embedding import rows_of
from wengert.nn.init import Initialiser, initialise
from wengert.nn.layer_arguments import require_float, require_size
from wengert.nn.seeding import Seed
from wengert.nn.sequences.sequence_arguments import require_rows
from wengert.nn.showing import shown_layer


def _angles(count: Any, start: Any, pairs: int, base: float) -> Value:
    """(time, pairs): position / base^(i / pairs), in float64: a float32 has too few digits for
    late positions.
    """
    return _angles_at(op.arange(count) + start, pairs, base)


def _angles_at(positions: Value, pairs: int, base: float) -> Value:
    """(…, pairs), for positions (…)."""
    rates = np.exp(-math.log(base) / pairs * np.arange(pairs))
    places = op.astype(positions, np.float64)
    return op.expand_dims(places, axis=-1) * rates


@worded
def rotary(x: Value, start: Any = 0, *, base: float = 10_000.0) -> Value:
    """x (…, time, size) turned by its positions, which count from `start` (Su et al. 2021).

    Element i of the first half and element i of the second are turned by the angle position /
    base^(2i / size). A product of two turned rows depends on how far they are apart, not on where
    they are.

    >>> np.round(wg.nn.rotary(np.array([[1.0, 0.0], [1.0, 0.0]])), 4)
    array([[1.    , 0.    ],
           [0.5403, 0.8415]])
    """
    x = op.asarray(x)
    if len(x.shape) < 2 or x.shape[-1] % 2:
        raise ShapeError(
            f"rotary: x has shape {tuple(x.shape)}; it must be (…, time, size), with an even size. "
            "Choose another size of heads."
        )
    if begins := tuple(getattr(start, "shape", ())):
        raise ShapeError(
            f"rotary: start has shape {begins}; it must be one number, the "
            "position of the first row of all sequences. Call it for each: wg.vmap(wg.nn.rotary)"
            "(x, start)."
        )
    half = x.shape[-1] // 2
    angles = _angles(x.shape[-2], start, half, base)
    cos, sin = (op.astype(f(angles), x.dtype) for f in (op.cos, op.sin))
    first, second = x[..., :half], x[..., half:]
    return op.concat([first * cos - second * sin, second * cos + first * sin], axis=-1)


@worded_methods("__init__", "__call__", "step")
@dataclass(init=False, eq=False, repr=False)
class SinusoidalPositions(Explained):
    """x (…, time, size) plus sines and cosines of its positions, which count from `start`.
    `layer.step(x, t)` is one step: x (…, size), all of whose rows stand at position t.

    Row t begins with sin(t / base^(2i / size)) for all i, and ends with the cosines (Vaswani et al.
    2017). There is nothing to learn.

    >>> wg.nn.SinusoidalPositions(4)(np.zeros((2, 4)))[0]
    array([0., 0., 1., 1.])
    """

    size: int
    base: float

    def __init__(self, size: int, *, base: float = 10_000.0) -> None:
        self.size = require_size("SinusoidalPositions", "size", size)
        if self.size % 2:
            raise ValueError(
                f"SinusoidalPositions: size={size} was given; it must be even, a sine and a cosine "
                "for each rate. Choose another."
            )
        self.base = base

    def __call__(self, x: Value, start: Any = 0) -> Value:
        x = op.asarray(x)
        require_rows("SinusoidalPositions", x, self.size, 2)
        return self._added(x, _angles(x.shape[-2], start, self.size // 2, self.base))

    def step(self, x: Value, t: Any) -> Value:
        """x (…, size) at position t; or at positions t (…), one for each row."""
        x, t = op.asarray(x), op.asarray(t)
        require_rows("SinusoidalPositions", x, self.size, 1)
        _require_position("SinusoidalPositions", x, t)
        return self._added(x, _angles_at(t, self.size // 2, self.base))

    def _added(self, x: Value, angles: Value) -> Value:
        rows = op.concat([op.sin(angles), op.cos(angles)], axis=-1)
        return x + op.astype(rows, x.dtype)

    def __repr__(self) -> str:
        return shown_layer(self)


@worded_methods("__init__", "__call__", "step")
@dataclass(init=False, eq=False, repr=False)
class PositionalEmbedding(Explained):
    """x (…, time, size) plus a learned row for each position, which count from `start`.
    `layer.step(x, t)` is one step: x (…, size), all of whose rows stand at position t.

    Positions that have no row raise IndexError.

    >>> layer = wg.nn.PositionalEmbedding(10, 4)
    >>> layer(np.zeros((2, 7, 4), np.float32)).shape
    (2, 7, 4)
    """

    weight: Any  # (count, size)

    def __init__(
        self,
        count: int,
        size: int,
        *,
        init: str | Initialiser = "xavier_uniform",
        seed: Seed = None,
        dtype: Any = np.float32,
    ) -> None:
        by = "PositionalEmbedding"
        shape = (require_size(by, "count", count), require_size(by, "size", size))
        self.weight = initialise(by, init, shape, seed, require_float(by, dtype))

    def __call__(self, x: Value, start: Any = 0) -> Value:
        x = op.asarray(x)
        require_rows("PositionalEmbedding", x, self.weight.shape[1], 2)
        self._require_positions(x.shape[-2], start)
        return x + rows_of(self.weight, op.arange(x.shape[-2]) + start)

    def step(self, x: Value, t: Any) -> Value:
        """x (…, size) at position t; or at positions t (…), one for each row."""
        x, t = op.asarray(x), op.asarray(t)
        require_rows("PositionalEmbedding", x, self.weight.shape[1], 1)
        _require_position("PositionalEmbedding", x, t)
        self._require_positions(1, t)
        return x + rows_of(self.weight, t)

    def _require_positions(self, times: Any, start: Any) -> None:
        """Refuse positions that have no row, where they are known; else the program does."""
        count = self.weight.shape[0]
        if not isinstance(times, int) or not isinstance(start, int | np.integer | np.ndarray):
            return
        if is_traced_number(start):  # a Python number to isinstance, of a value to come
            return
        first, last = int(np.min(start, initial=count)), int(np.max(start, initial=-1)) + times - 1
        if np.size(start) and first < 0:
            raise IndexError(
                f"PositionalEmbedding: position {first} was given; positions count from 0, from "
                "the beginning of a sequence. Pass a start of 0 or more."
            )
        if np.size(start) and last >= count:
            raise IndexError(
                f"PositionalEmbedding: positions {first} to {last} were given to a layer of "
                f"count={count}; it has rows for positions 0 to {count - 1}. Give it shorter "
                f"sequences, or make it with a larger count: PositionalEmbedding({last + 1}, "
                f"{self.weight.shape[1]})."
            )

    def __repr__(self) -> str:
        return shown_layer(self)


def _require_position(by: str, x: Any, t: Any) -> None:
    """Refuse positions of one step that are neither one for all rows nor one for each."""
    if np.dtype(t.dtype).kind not in "iu":
        error: Exception = DTypeError(
            f"{by}.step: t has dtype {t.dtype}; it must be the position of x, an integer. Convert "
            "it with astype."
        )
        raise located(error, [t])
    if tuple(t.shape) not in ((), tuple(x.shape[:-1])):
        error = ShapeError(
            f"{by}.step: t has shape {tuple(t.shape)} and x {tuple(x.shape)}; it must be one "
            f"number, or one for each row of x, which is {tuple(x.shape[:-1])}. Pass the position "
            "of the step."
        )
        raise located(error, [x, t])
