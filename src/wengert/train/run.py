"""Runs: many steps over batches of data, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.train.data import Data, shuffled
from wengert.train.drive import Drive
from wengert.train.engine import Engine
from wengert.train.history import Epoch, Rates, Recorder


@dataclass(frozen=True)
class Run:
    """How a run goes through its data."""

    data: Data
    epochs: int
    shuffle_seed: int | None
    drop_last: bool

    def each_epoch(self, engine: Engine, rates: Rates) -> Iterator[Epoch]:
        """Take all steps of an epoch, then yield what came of it."""
        drive = Drive(engine, self.data, self.shuffle_seed is not None)
        steps = self.data.steps(self.drop_last)
        for _ in range(self.epochs):
            recorder = Recorder(steps, rates)
            order = shuffled(self.data.rows, self.shuffle_seed, engine.epoch)
            engine.shuffled |= order is not None
            number = 0
            while number < steps:
                number += drive.advance(number, order, recorder)
            engine.epoch += 1
            history = recorder.history()
            yield Epoch(engine.epoch - 1, float(np.mean(history.loss)), history)


def require_shuffle_seed(by: str, shuffle_seed: Any) -> None:
    whole = isinstance(shuffle_seed, int | np.integer) and not isinstance(shuffle_seed, bool)
    if shuffle_seed is not None and not (whole and 0 <= shuffle_seed < 2**64):
        raise ValueError(
            f"{by}: shuffle_seed={shuffle_seed!r} was given; it is an integer from 0 to 2**64 - 1, "
            "or None for the order of the rows. Choose one."
        )
