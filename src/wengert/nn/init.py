"""Initialisers: the first values of weights, drawn from a seeded NumPy generator.

Each is called as `initialiser(shape, seed=None, dtype=np.float32)`. The seed is a number or a NumPy
generator, which then moves on: layers that share one differ. Without a seed each call differs from
those before it, see `wg.nn.seed`. Numbers are drawn in float64 and rounded, so a float32 array is
the float64 one of the same seed, rounded.

A weight of shape (out, in) has fan_in = in and fan_out = out. Axes behind the second belong to
both: a weight (out, in, k) has fan_in = in · k and fan_out = out · k. Normal numbers are not
truncated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from wengert.core.words.arguments import worded
from wengert.errors import ShapeError
from wengert.functions.drawn_weights import note_drawn
from wengert.nn.layer_arguments import require_float, require_shape
from wengert.nn.seeding import Seed, generator_of

Array: TypeAlias = np.ndarray[Any, Any]
GivenShape: TypeAlias = int | Sequence[int]
Initialiser: TypeAlias = Callable[..., Array]


def _fans(by: str, shape: GivenShape) -> tuple[int, int]:
    """(fan_in, fan_out)"""
    shape = require_shape(by, shape)
    if len(shape) < 2:
        raise ShapeError(
            f"{by}: given shape {shape}; fans need an (out, in) weight, with further axes "
            "or without. Use zeros for a bias."
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _uniform(shape: GivenShape, seed: Seed, dtype: Any, by: str, variance: float) -> Array:
    limit, sizes, float_dtype = (
        math.sqrt(3 * variance),
        require_shape(by, shape),
        require_float(by, dtype),
    )
    return generator_of(by, seed).uniform(-limit, limit, sizes).astype(float_dtype)


def _normal(shape: GivenShape, seed: Seed, dtype: Any, by: str, variance: float) -> Array:
    sizes, float_dtype = require_shape(by, shape), require_float(by, dtype)
    return generator_of(by, seed).normal(0.0, math.sqrt(variance), sizes).astype(float_dtype)


@worded
def xavier_uniform(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Uniform with variance 2 / (fan_in + fan_out): within ± sqrt(6 / (fan_in + fan_out)).

    For tanh and sigmoid (Glorot and Bengio 2010).
    """
    by = "xavier_uniform"
    return _uniform(shape, seed, dtype, by, 2 / max(sum(_fans(by, shape)), 1))


@worded
def xavier_normal(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Normal with variance 2 / (fan_in + fan_out)."""
    by = "xavier_normal"
    return _normal(shape, seed, dtype, by, 2 / max(sum(_fans(by, shape)), 1))


@worded
def he_uniform(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Uniform with variance 2 / fan_in: within ± sqrt(6 / fan_in).

    For relu and its relatives (He et al. 2015).
    """
    by = "he_uniform"
    return _uniform(shape, seed, dtype, by, 2 / max(_fans(by, shape)[0], 1))


@worded
def he_normal(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Normal with variance 2 / fan_in."""
    by = "he_normal"
    return _normal(shape, seed, dtype, by, 2 / max(_fans(by, shape)[0], 1))


@worded
def lecun_uniform(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Uniform with variance 1 / fan_in: within ± sqrt(3 / fan_in).

    What goes in with variance 1 comes out with variance 1 (LeCun et al. 1998).
    """
    by = "lecun_uniform"
    return _uniform(shape, seed, dtype, by, 1 / max(_fans(by, shape)[0], 1))


@worded
def lecun_normal(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Normal with variance 1 / fan_in."""
    by = "lecun_normal"
    return _normal(shape, seed, dtype, by, 1 / max(_fans(by, shape)[0], 1))


@worded
def normal(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Normal with variance 1, of any shape."""
    return _normal(shape, seed, dtype, "normal", 1.0)


@worded
def zeros(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Zeros of any shape; nothing is drawn."""
    return np.zeros(require_shape("zeros", shape), require_float("zeros", dtype))


@worded
def orthogonal(shape: GivenShape, seed: Seed = None, dtype: Any = np.float32) -> Array:
    """Orthonormal rows, or columns where there are more rows than columns, uniformly among all such
    matrices (Saxe et al. 2014). Axes behind the first count as one.

    >>> w = orthogonal((2, 5), dtype=np.float64)
    >>> np.allclose(w @ w.T, np.eye(2))
    True
    """
    by = "orthogonal"
    _fans(by, shape)
    rows, *others = sizes = require_shape(by, shape)
    columns, dtype = math.prod(others), require_float(by, dtype)
    drawn = generator_of(by, seed).normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn)
    q = q * np.where(np.diagonal(r) < 0, -1.0, 1.0)  # else QR's signs would not be random
    matrix = q if rows >= columns else q.T
    return matrix.reshape(sizes).astype(dtype)


INITIALISERS: dict[str, Initialiser] = {
    initialiser.__name__: initialiser
    for initialiser in (
        xavier_uniform,
        xavier_normal,
        he_uniform,
        he_normal,
        lecun_uniform,
        lecun_normal,
        normal,
        zeros,
        orthogonal,
    )
}


def initialise(
    by: str, init: str | Initialiser, shape: Sequence[int], seed: Seed, dtype: Any
) -> Array:
    """An array from an initialiser, given by name or as a function; errors begin with `by`."""
    initialiser = INITIALISERS.get(init) if isinstance(init, str) else init
    if not callable(initialiser):
        raise ValueError(
            f"{by}: init={init!r} was given; the initialisers are {', '.join(INITIALISERS)}. "
            "Choose one, or pass a function (shape, seed, dtype)."
        )
    given = generator_of(by, None) if seed is None else seed
    weights = np.asarray(initialiser(tuple(shape), given, dtype))
    if weights.shape != tuple(shape):
        raise ShapeError(
            f"{by}: the initialiser returned shape {weights.shape}; shape {tuple(shape)} was asked "
            "for. Return an array of the shape it is called with."
        )
    return note_drawn(by, weights.astype(dtype, copy=False))
