"""Small models and data that the tests of training share."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import wengert as wg

OPTIMIZERS = {
    "sgd": lambda: wg.optim.SGD(0.1),
    "momentum": lambda: wg.optim.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda: wg.optim.Adam(0.01),
    "adamw": lambda: wg.optim.AdamW(0.01),
    "rmsprop": lambda: wg.optim.RMSProp(0.01, centered=True),
    "adagrad": lambda: wg.optim.Adagrad(0.1),
    "radam": lambda: wg.optim.RAdam(0.01),
    "lion": lambda: wg.optim.Lion(0.001),
    "lars": lambda: wg.optim.Lars(1.0, momentum=0.9, weight_decay=0.01, exclude="*.b"),
    "lamb": lambda: wg.optim.Lamb(0.01),
    "lookahead": lambda: wg.optim.Lookahead(wg.optim.Adam(0.01), k=3),
    "average": lambda: wg.optim.EMA(wg.optim.SGD(0.1)),
    "schedule": lambda: wg.optim.SGD(wg.optim.Cosine(0.1, 20, min_lr=1e-3)),
}


@dataclass
class Layer:
    w: Any
    b: Any


@dataclass
class Net:
    layers: list[Layer]
    scale: float = 1.0  # static


def net(dims=(3, 5, 2), dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return Net(
        [
            Layer(rng.normal(size=(m, n)).astype(dtype), np.zeros(n, dtype))
            for m, n in pairwise(dims)
        ]
    )


def forward(model, x):
    *hidden, last = model.layers
    for layer in hidden:
        x = np.tanh(x @ layer.w + layer.b)
    return (x @ last.w + last.b) * model.scale


def squared_error(model, x, y):
    return wg.mean((forward(model, x) - y) ** 2)


def data(rows=8, dtype=np.float64, seed=1, features=3, outputs=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)).astype(dtype)
    return x, rng.normal(size=(rows, outputs)).astype(dtype)


def by_hand(loss, model, optimizer, batches):
    """A training loop of wg.value_and_grad and the optimizer's own step: (losses, model)."""
    model, optimizer = wg.tree.copy(model), optimizer.copy()
    losses = []
    for batch in batches:
        value, gradient = wg.value_and_grad(loss)(model, *batch)
        losses.append(float(value))
        leaves = zip(
            wg.tree.paths(model), wg.tree.leaves(model), wg.tree.leaves(gradient), strict=True
        )
        for path, w, g in leaves:
            optimizer.step(path, w, g)
    return losses, model


def distance(a, b):
    """The largest difference between the arrays of two trees."""
    pairs = zip(wg.tree.leaves(a), wg.tree.leaves(b), strict=True)
    return max(float(np.max(np.abs(x - y), initial=0.0)) for x, y in pairs)
