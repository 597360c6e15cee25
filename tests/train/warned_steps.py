"""Calls whose warnings the tests of training look at, and what they call."""

import warnings
from collections import namedtuple
from dataclasses import dataclass

import numpy as np

import wengert as wg
from wengert.errors import WengertWarning

X = np.random.default_rng(0).standard_normal((8, 3))
Y = X @ np.array([1.0, -2.0, 0.5])


def warned(call):
    """Our warnings in a call, however often they were shown before."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [each for each in found if issubclass(each.category, WengertWarning)]


def stepped(loss, model, *batch, **options):
    return lambda: wg.TrainStep(loss, model, wg.optim.SGD(0.01), **options)(*batch)


@dataclass
class Layer:
    w: np.ndarray
    eps: float = 1e-5
    betas: tuple = (0.9, 0.99)
    extra: dict | None = None


Pair = namedtuple("Pair", "w rate")
W = np.ones(3, np.float32)


def squares(w, x):
    return wg.mean((x @ w) ** 2)
