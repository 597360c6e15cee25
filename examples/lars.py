"""Does LARS help with large batches? An experiment on handwritten digits, in a minute:
`make demo EXAMPLE=lars`. What it shows, and what it cannot show, is in docs/lars.md.

Three ways to train the same network for the same number of epochs, at batches from 64 samples to
all of them. The learning rate of each way and batch is tuned on a grid by validation accuracy; what
is compared is test accuracy. A seed determines the split, the first weights and the order.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from handwriting import CLASSES, PIXELS, Array, Samples, accuracy, load, loss, split
from picture import BLUE, GREEN, ORANGE, Axis, Curve, Panel, draw, linear_axis

import wengert as wg

SIZES = (PIXELS, 64, 32, CLASSES)
VALIDATION, TEST = 270, 270  # samples; 1257 remain to learn from
ROWS = 1797 - VALIDATION - TEST
BATCHES = (64, 256, 1024, ROWS)
WARMUP = 0.1  # of all updates
TRUST = 0.02  # and not Lars's 0.001; docs/lars.md says why
MOMENTUM = 0.9


class Way(NamedTuple):
    """One way to train: a rule, its grid of learning rates, and whether it warms up."""

    name: str
    color: str
    optimizer: wg.optim.Optimizer
    rates: Sequence[float]
    warmup: bool


def ways(trust: float = TRUST, momentum: float = MOMENTUM) -> list[Way]:
    """What is compared. Momentum and weight decay are the same, and the grids equally long."""
    sgd_rates = [2.0**i for i in range(-7, 2)]
    lars_rates = [2.0**i for i in range(-4, 5)]
    lars = wg.optim.Lars(1.0, momentum=momentum, weight_decay=1e-4, trust_coefficient=trust)
    sgd = wg.optim.SGD(1.0, momentum=momentum, weight_decay=1e-4)
    return [
        Way("SGD", BLUE, sgd, sgd_rates, warmup=False),
        Way("SGD + warm-up", GREEN, sgd, sgd_rates, warmup=True),
        Way("Lars + warm-up", ORANGE, lars, lars_rates, warmup=True),
    ]


def schedule(rate: float, updates: int, warmup: bool) -> wg.optim.Schedule:
    """Quadratic decay to 0, as in both papers; with warm-up, a rise from near 0 before it."""
    if not warmup:
        return wg.optim.Polynomial(rate, updates, power=2)
    rising = max(round(WARMUP * updates), 1)
    falling = wg.optim.Polynomial(rate, max(updates - rising, 1), power=2)
    return wg.optim.warmup_then(falling, rising, start_factor=1 / (rising + 1))


def new_model(seed: int) -> wg.nn.Mlp:
    return wg.nn.Mlp(SIZES, "relu", init="he_uniform", seed=seed)


class Outcome(NamedTuple):
    """One run."""

    validation: float
    test: float
    fingerprint: str


class Trainer:
    """Runs of one way. All of them share one step, and so one compiled program: between runs only
    weights, counts and learning rates change, and none of these is part of it.
    """

    def __init__(self, way: Way, epochs: int) -> None:
        self.way, self.epochs = way, epochs
        # On one thread: a step is some ten microseconds of work. A rate that is too high may
        # diverge; its run then goes on where it was, and loses.
        self.step = wg.TrainStep(loss, new_model(0), way.optimizer, threads=1, nonfinite="skip")
        self.start = self.step.state_dict()

    def run(self, samples: Samples, seed: int, batch: int, rate: float) -> Outcome:
        step = self.step
        validation, test, data = split(samples, seed, VALIDATION, TEST)
        step.optimizer.learning_rate = 1.0  # a number, as when the state was taken
        step.load_state_dict(self.start)
        step.model = new_model(seed)
        updates = self.epochs * -(-ROWS // batch)
        step.optimizer.learning_rate = schedule(rate, updates, self.way.warmup)
        step.run(*data, batch_size=batch, epochs=self.epochs, shuffle_seed=seed)
        return Outcome(
            step.evaluate(accuracy, *validation, batch_size=VALIDATION),
            step.evaluate(accuracy, *test, batch_size=TEST),
            step.fingerprint(),
        )


@dataclass
class Cell:
    """One way at one batch: its best rate on validation data, and how that does on test data."""

    rate: float
    edge: bool  # whether the best rate is the first or last of the grid
    test: Array  # (seeds,), in percent

    def __str__(self) -> str:
        edge = ", edge of the grid" * self.edge
        return f"{self.test.mean():.1f} ± {self.test.std(ddof=1):.1f} ({self.rate:g}{edge})"


def tune(runs: dict[float, list[Outcome]]) -> Cell:
    """The rate with the best mean validation accuracy; of equals, the lowest."""
    means = {rate: np.mean([run.validation for run in outcomes]) for rate, outcomes in runs.items()}
    best = max(means, key=lambda rate: (means[rate], -rate))
    edge = best in (min(means), max(means))
    return Cell(best, edge, 100 * np.array([run.test for run in runs[best]]))


@dataclass
class Experiment:
    """All runs of all ways."""

    epochs: int
    seeds: int
    ways: list[Way]
    cells: dict[tuple[str, int], Cell] = field(default_factory=dict)
    prints: Any = field(default_factory=hashlib.sha256)  # of the fingerprints of all runs
    steps: int = 0

    def run(self, samples: Samples) -> None:
        for way in self.ways:
            trainer = Trainer(way, self.epochs)
            for batch in BATCHES:
                runs = {
                    rate: [trainer.run(samples, s, batch, rate) for s in range(self.seeds)]
                    for rate in way.rates
                }
                for outcomes in runs.values():
                    for outcome in outcomes:
                        self.prints.update(outcome.fingerprint.encode())
                count = len(way.rates) * self.seeds
                self.steps += count * self.updates(batch)
                cell = self.cells[way.name, batch] = tune(runs)
                print(f"{way.name:14}  batch {batch:4}  {count} runs  {cell}", flush=True)

    def updates(self, batch: int) -> int:
        return self.epochs * -(-ROWS // batch)

    def table(self) -> str:
        """The table of docs/lars.md."""
        names = [way.name for way in self.ways]
        rows = [["batch", "updates", *names, "Lars − SGD"], ["---"] * (3 + len(names))]
        for batch in BATCHES:
            title = "all 1257" if batch == ROWS else str(batch)
            cells = [str(self.cells[name, batch]) for name in names]
            rows.append([title, str(self.updates(batch)), *cells, self.lead(batch)])
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def lead(self, batch: int) -> str:
        """Lars less SGD, both with warm-up, seed by seed: the mean and its standard error."""
        lars, sgd = (self.cells[f"{name} + warm-up", batch].test for name in ("Lars", "SGD"))
        error = np.std(lars - sgd, ddof=1) / np.sqrt(self.seeds)
        return f"{np.mean(lars - sgd):+.1f} ± {error:.1f}".replace("-", "−")

    def picture(self) -> str:
        """Test accuracy over batches, which lie evenly side by side."""
        ticks = [(i, "all 1257" if b == ROWS else str(b)) for i, b in enumerate(BATCHES)]
        curves = []
        for i, way in enumerate(self.ways):
            accuracies = [self.cells[way.name, batch].test for batch in BATCHES]
            x = np.arange(len(BATCHES)) + 0.06 * (i - 1)  # so that spreads lie side by side
            mean, spread = np.mean(accuracies, axis=1), np.std(accuracies, axis=1, ddof=1)
            curves.append(Curve(way.name, way.color, x, mean, spread, dots=True))
        lowest = min(float((curve.y - curve.spread).min()) for curve in curves)
        return draw(
            [
                Panel(
                    f"Digits after {self.epochs} epochs: mean and deviation of {self.seeds} seeds",
                    Axis("batch, in samples", -0.3, len(BATCHES) - 0.7, ticks),
                    linear_axis("test accuracy, %", 2 * (lowest // 2), 100),
                    curves,
                )
            ],
            height=380,
        )


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="LARS against SGD at large batches, on handwritten digits.",
        epilog="with make: make demo EXAMPLE=lars ARGS='--seeds 2'",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--epochs", type=int, default=30, metavar="N", help="of every run")
    add("--seeds", type=int, default=5, metavar="N", help="2 or more")
    add("--trust", type=float, default=TRUST, metavar="X", help="the trust coefficient of Lars")
    add("--momentum", type=float, default=MOMENTUM, metavar="X", help="of all ways")
    add("--picture", type=Path, default="build/lars.svg", metavar="FILE", help="for the plot")
    options = parser.parse_args()
    for name, least in (("epochs", 1), ("seeds", 2)):
        value = getattr(options, name)
        if value < least:
            parser.error(f"--{name} {value} was given; at least {least} is needed")
    try:
        ways(options.trust, options.momentum)
    except wg.errors.OptimError as error:
        parser.error(str(error))
    return options


def main() -> None:
    options = read_options()
    experiment = Experiment(options.epochs, options.seeds, ways(options.trust, options.momentum))
    samples = load()
    began = time.perf_counter()
    try:
        experiment.run(samples)
    except KeyboardInterrupt:
        sys.exit("\nstopped")
    seconds = time.perf_counter() - began
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(experiment.picture(), encoding="utf-8")
    print(f"\n{experiment.table()}\n")
    print(f"{experiment.steps:,} steps in {seconds:.0f} s")
    print(f"fingerprint of all runs {experiment.prints.hexdigest()}")
    print(f"plot in {options.picture}")


if __name__ == "__main__":
    main()
