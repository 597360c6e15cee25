"""scikit-learn's handwritten digits as arrays, split by a seed; what the examples share."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

import wengert as wg

Array = np.ndarray[Any, Any]
PIXELS, CLASSES = 64, 10


class Samples(NamedTuple):
    x: Array  # (samples, 64), pixels from 0 to 1, float32
    y: Array  # (samples,), digits


def load() -> Samples:
    """All 1797 digits, in the order of the file."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        sys.exit("This example needs scikit-learn for its data: pip install 'wengert[demo]'")
    x, y = load_digits(return_X_y=True)
    return Samples((x / 16).astype(np.float32), y)


def split(samples: Samples, seed: int, *sizes: int) -> list[Samples]:
    """The samples in an order that the seed determines, cut into parts; the last is the rest."""
    order = wg.random.permutation(wg.random.key(seed), len(samples.x))
    return [Samples(samples.x[rows], samples.y[rows]) for rows in np.split(order, np.cumsum(sizes))]


def loss(model: wg.nn.Mlp, x: Array, y: Array) -> Any:
    return wg.cross_entropy(model(x), y)


def accuracy(model: wg.nn.Mlp, x: Array, y: Array) -> Any:
    return wg.mean(wg.argmax(model(x), axis=1) == y)
