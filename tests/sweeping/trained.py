"""A training that is swept: importable, so that other processes find it."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np

import wengert as wg

X = np.random.default_rng(0).standard_normal((32, 3))
Y = X @ np.arange(3.0)
GRID = {"lr": [0.1, 0.02], "epochs": [1, 3]}


def loss(w: Any, x: Any, y: Any) -> Any:
    return wg.mean((x @ w - y) ** 2)


def train(lr: float, epochs: int = 1, seed: int = 0) -> dict[str, Any]:
    step = wg.TrainStep(loss, np.zeros(3), wg.optim.SGD(lr))
    history = step.run(X, Y, batch_size=8, epochs=epochs, shuffle_seed=seed)
    return {"loss": history.loss[-1], "history": history, "step": step}


class Counted:
    """How often train was called. `of` is a train function that counts, and can be interrupted."""

    def __init__(self, stop: int | None = None) -> None:
        self.stop, self.calls = stop, 0

    def count(self) -> None:
        if self.calls == self.stop:
            raise KeyboardInterrupt
        self.calls += 1


def deadly(n: int) -> dict[str, Any]:
    """For one setting, the end of the process that it runs in."""
    if n == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 2:
        raise RuntimeError("two is\ntoo many")
    found = {"square": n * n, "threads": os.environ["WENGERT_NUM_THREADS"], "process": os.getpid()}
    return found | {"blas": os.environ.get("OPENBLAS_NUM_THREADS"), **train(0.1)}
