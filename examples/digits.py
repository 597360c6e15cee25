"""Train a classifier of handwritten digits with `wg.TrainStep` and `wg.optim.Lars`:
`make demo EXAMPLE=digits`.

Loss, gradient and update are one native call; `step.epochs` makes it for every batch of an epoch.
Run it twice: the fingerprint at the end, of every bit that was trained, is the same.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from handwriting import CLASSES, PIXELS, Samples, accuracy, load, loss, split
from picture import BLUE, ORANGE, PALE_BLUE, Array, Curve, Panel, draw, linear_axis, log_axis

import wengert as wg

HELD_OUT = 360  # a fifth of the digits
HIDDEN = (256, 128)
LEVELS = "▁▂▃▄▅▆▇█"


class Learned(NamedTuple):
    """What a training run leaves."""

    losses: Array  # of every step
    accuracies: list[float]  # on held-out data, after each epoch
    speed: float  # samples per second, without the epoch that compiles
    fingerprint: str


def new_step(options: argparse.Namespace, samples: int) -> wg.TrainStep:
    """The model and how it learns: LARS with momentum, its rate first rising, then falling."""
    per_epoch = -(-samples // options.batch)
    warmup, total = 2 * per_epoch, options.epochs * per_epoch
    rate = wg.optim.warmup_then(
        wg.optim.Polynomial(options.rate, max(total - warmup, 1), power=2), warmup
    )
    return wg.TrainStep(
        loss,
        wg.nn.Mlp((PIXELS, *HIDDEN, CLASSES), "relu", init="he_uniform", seed=options.seed),
        wg.optim.Lars(rate, momentum=0.9, weight_decay=1e-4, trust_coefficient=0.02),
        threads=options.threads,
    )


def train(step: wg.TrainStep, options: argparse.Namespace, data: Samples, held: Samples) -> Learned:
    """All epochs, with a line of progress."""

    def rate_of_right() -> float:
        share: float = step.evaluate(accuracy, *held, batch_size=len(held.x))
        return share

    line = Progress(options.epochs)
    line.show(0, "recording and compiling")
    losses: list[Array] = []
    accuracies: list[float] = []
    seconds: list[float] = []
    began = time.perf_counter()
    for epoch in step.epochs(
        *data, batch_size=options.batch, epochs=options.epochs, shuffle_seed=options.seed
    ):
        seconds.append(time.perf_counter() - began)
        losses.append(epoch.history.loss)
        accuracies.append(rate_of_right())
        line.show(epoch.index + 1, f"loss {epoch.loss:.4f}  held-out accuracy {accuracies[-1]:.2%}")
        began = time.perf_counter()
    timed = seconds[1:] or seconds  # the first epoch compiles
    speed = len(timed) * len(data.x) / sum(timed)
    return Learned(np.concatenate(losses), accuracies, speed, step.fingerprint())


class Progress:
    """One line that is written over in a terminal; elsewhere, some plain lines."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.shown_at = -1.0

    def show(self, epoch: int, report: str) -> None:
        last = epoch == self.epochs
        if self.live:
            now = time.perf_counter()
            if last or now - self.shown_at > 0.03:  # faster than that cannot be read
                self.shown_at = now
                done = 24 * epoch // self.epochs
                text = f"epoch {epoch:3}  [{'#' * done}{'.' * (24 - done)}]  {report}"
                width = shutil.get_terminal_size().columns - 1
                print(f"\r{text[:width]}\x1b[K", end="\n" if last else "", flush=True)
        elif last or epoch == 1 or (epoch and epoch % max(self.epochs // 10, 1) == 0):
            print(f"epoch {epoch:3}  {report}", flush=True)


def sparkline(values: Array, width: int = 60) -> str:
    """Means of the values, from left to right, as heights of characters."""
    means = [part.mean() for part in np.array_split(values, min(width, len(values)))]
    low, high = min(means), max(means)
    levels = LEVELS if can_print(LEVELS) else "_.-=+*#"
    share = np.subtract(means, low) / ((high - low) or 1)
    return "".join(levels[round(s * (len(levels) - 1))] for s in share)


def can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def above_zero(losses: Array) -> Array:
    """Losses for a logarithmic scale, where one of 0 has no place."""
    positive: Array = np.maximum(losses, losses.max() * 1e-6)
    return positive


def picture(learned: Learned) -> str:
    """The losses above the accuracy after every epoch, over the same epochs."""
    epochs = len(learned.accuracies)
    ends = np.arange(1, epochs + 1)
    right = 100 * np.array(learned.accuracies)
    epoch_axis = linear_axis("epoch", 0, epochs, count=min(epochs, 10))
    shown = above_zero(learned.losses)
    each = np.linspace(0, epochs, shown.size + 1)[1:]
    losses = Panel(
        "Loss",
        epoch_axis,
        log_axis("cross-entropy", shown.min(), shown.max()),
        [
            Curve("of each step", PALE_BLUE, each, shown, width=1),
            Curve("mean of an epoch", BLUE, ends, shown.reshape(epochs, -1).mean(axis=1)),
        ],
    )
    accuracies = Panel(
        f"Held-out digits that are right: {right[-1]:.2f} % at the end",
        epoch_axis,
        linear_axis("accuracy, %", min(90, 10 * int(right.min() // 10)), 100),
        [Curve("accuracy", ORANGE, ends, right, dots=True)],
    )
    return draw([losses, accuracies], height=260)


def report(learned: Learned, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture(learned), encoding="utf-8")
    right = learned.accuracies[-1]
    print(f"\nloss      {sparkline(np.log(above_zero(learned.losses)))}")
    print(f"accuracy  {sparkline(np.array(learned.accuracies))}\n")
    print(f"{right:.2%} of the held-out digits are right; {learned.speed:,.0f} samples per second")
    print(f"fingerprint {learned.fingerprint}")
    print(f"curves in {path}")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train a classifier of handwritten digits with LARS, in seconds.",
        epilog="with make: make demo EXAMPLE=digits ARGS='--epochs 10 --seed 1'",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--epochs", type=int, default=40, metavar="N", help="passes over the data")
    add("--batch", type=int, default=64, metavar="N", help="samples per step")
    add("--rate", type=float, default=0.125, metavar="X", help="the highest base learning rate")
    add("--seed", type=int, default=0, metavar="N", help="of the split, the weights, the order")
    add("--threads", type=int, metavar="N", help="None: all cores; the bits are the same")
    add("--picture", type=Path, default="build/digits.svg", metavar="FILE", help="for the curves")
    options = parser.parse_args()
    least = {"epochs": 1, "batch": 1, "seed": 0, "threads": 1, "rate": 0}
    for name, limit in least.items():
        value = getattr(options, name)
        if value is not None and not limit <= value < math.inf:
            parser.error(f"--{name} {value} was given; it must be finite, and at least {limit}")
    return options


def main() -> None:
    options = read_options()
    held_out, data = split(load(), options.seed, HELD_OUT)
    if options.batch > len(data.x):
        sys.exit(f"--batch {options.batch} was given; there are {len(data.x)} digits to learn from")
    step = new_step(options, len(data.x))
    print(f"{len(data.x)} digits to learn from, {len(held_out.x)} held out\n{step.model}")
    try:
        learned = train(step, options, data, held_out)
    except KeyboardInterrupt:
        sys.exit("\nstopped")
    except wg.errors.NonFiniteError as error:
        sys.exit(f"\n{error}\nA lower --rate may help.")
    report(learned, options.picture)


if __name__ == "__main__":
    main()
