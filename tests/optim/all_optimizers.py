"""One of every optimizer and of every option that makes a rule another one."""

from collections.abc import Callable

import numpy as np

import wengert as wg

o = wg.optim

EVERY: dict[str, Callable[[], o.Optimizer]] = {
    "SGD": lambda: o.SGD(0.1, weight_decay=0.1),
    "SGD momentum": lambda: o.SGD(0.1, momentum=0.9, dampening=0.2),
    "SGD nesterov": lambda: o.SGD(0.1, momentum=0.9, nesterov=True),
    "Lars": lambda: o.Lars(0.5, momentum=0.9, weight_decay=0.01, trust_coefficient=0.1),
    "Lars plain": lambda: o.Lars(0.5),
    "Lars nesterov": lambda: o.Lars(0.5, 0.9, nesterov=True, eps=1e-3, exclude="b*"),
    "Lars clip": lambda: o.Lars(0.5, 0.9, clip=True, trust_coefficient=0.2),
    "Lars optax": lambda: o.Lars(0.5, 0.9, 0.1, variant="optax"),
    "Lamb": lambda: o.Lamb(0.01, weight_decay=0.1, exclude=["b*", "b"]),
    "Adam": lambda: o.Adam(0.01, weight_decay=0.1),
    "Adam amsgrad": lambda: o.Adam(0.01, amsgrad=True),
    "AdamW": lambda: o.AdamW(0.01),
    "RMSProp": lambda: o.RMSProp(0.01, weight_decay=0.1),
    "RMSProp centered": lambda: o.RMSProp(0.01, centered=True, momentum=0.9),
    "Adagrad": lambda: o.Adagrad(0.1, lr_decay=0.1, initial_accumulator_value=0.1),
    "RAdam": lambda: o.RAdam(0.01, betas=(0.9, 0.9)),
    "RAdam decoupled": lambda: o.RAdam(0.01, weight_decay=0.1, decoupled_weight_decay=True),
    "Lion": lambda: o.Lion(0.01, weight_decay=0.1),
    "Lookahead": lambda: o.Lookahead(o.SGD(0.1, momentum=0.9), k=3, alpha=0.7),
    "EMA": lambda: o.EMA(o.Adam(0.01), decay=0.9, warmup=True),
    "EMA of Lookahead": lambda: o.EMA(o.Lookahead(o.Lars(0.5, 0.9), k=2)),
}


def trained(optimizer, steps=5, start=None):
    """Weights after some steps along gradients that depend on them."""
    weights = np.linspace(1, 2, 6).reshape(2, 3) if start is None else start
    for i in range(steps):
        optimizer.step("w", weights, np.sin(weights * (i + 1)))
    return weights
