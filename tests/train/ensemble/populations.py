"""Small ensembles, and the same training steps alone."""

from itertools import pairwise

import numpy as np

import wengert as wg

MEMBERS = 5
RATES = np.logspace(-3, -1, MEMBERS)
LIMITS = [0.5, 1.0, np.inf, 0.1, 2.0]
rng = np.random.default_rng(0)
X = rng.normal(size=(44, 3)).astype(np.float32)
Y = rng.normal(size=(44, 1)).astype(np.float32)


def init(seed, sizes=(3, 8, 1)):
    draw = np.random.default_rng(seed)
    return [
        {
            "w": (draw.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32),
            "b": np.zeros(b, np.float32),
        }
        for a, b in pairwise(sizes)
    ]


def forward(model, x):
    for layer in model[:-1]:
        x = wg.tanh(x @ layer["w"] + layer["b"])
    return x @ model[-1]["w"] + model[-1]["b"]


def loss(model, x, y):
    return wg.mean((forward(model, x) - y) ** 2)


def noisy(model, x, y, rng):
    return loss(model, x + 0.1 * rng.normal(x.shape), y)


def rates(kind=wg.optim.Adam, **options):
    """An optimizer with a learning rate for each member."""
    return kind(RATES, **options)


def ensemble(function=loss, optimizer=None, **options):
    optimizer = rates() if optimizer is None else optimizer
    options = {"members": MEMBERS, "clip_norm": LIMITS} | options
    return wg.Ensemble(function, init, optimizer, **options)


def alone(function=loss, optimizers=None, **options):
    """The same steps, each one by itself."""
    optimizers = rates() if optimizers is None else optimizers
    return [
        wg.TrainStep(
            function, init(i), optimizers[i], **{"clip_norm": LIMITS[i], "seed": i} | options
        )
        for i in range(MEMBERS)
    ]


def prints(population):
    """The fingerprints of all members."""
    if isinstance(population, wg.Ensemble):
        return [population.fingerprint(i) for i in range(len(population))]
    return [step.fingerprint() for step in population]
