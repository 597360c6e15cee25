"""Batches, states and results that a training step cannot use, met while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

X, Y = np.ones((4, 3)), np.ones(4)


def loss(w: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ w - y) ** 2)


def step(function: Callable[..., Any] = loss, **options: Any) -> wg.TrainStep:
    return wg.TrainStep(function, np.ones(3), wg.optim.SGD(0.1), **options)


def evaluated(function: Callable[..., Any], batch_size: int = 2) -> Any:
    return step().evaluate(function, X, batch_size=batch_size)


CASES: dict[str, Callable[[], Any]] = {
    "TrainStep: an empty batch": lambda: step()(X[:0], Y[:0]),
    "TrainStep: gradients whose norm is beyond all floats": lambda: step(
        lambda w, x: wg.sum(w * x), clip_norm=1.0
    )(np.array([1.5e308, 0.0, -1.5e308])),
    "TrainStep: a state whose dtype changes": lambda: step(
        lambda w, state, x: (wg.sum(w), state.astype(np.float32)), state=np.zeros(2)
    )(X),
    "TrainStep.evaluate: a result per row": lambda: evaluated(lambda w, x: x @ w),
    "TrainStep.evaluate: a result per row, in a tree": lambda: evaluated(
        lambda w, x: {"scores": [wg.matrix_transpose(x)]}, 3
    ),
}
