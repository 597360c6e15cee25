"""A small ConvNet with BatchNorm reads handwritten digits: `make demo EXAMPLE=convnet`.

Images are 8 × 8. Two convolutions, each with a BatchNorm, then the largest of every 2 × 2 pixels;
two more; then one layer that decides. Every batch is moved by up to a pixel in both directions, so
that no image is seen twice in the same place. Running statistics of the norms are the state that
the step carries along.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from handwriting import CLASSES, Array, Samples, load, split
from picture import BLUE, ORANGE, Curve, Panel, draw, linear_axis, log_axis, save

import wengert as wg

HELD_OUT = 360  # a fifth of the digits
SIDE = 8


@dataclass
class Block:
    """A convolution that keeps the size, its norm, and relu."""

    conv: wg.nn.Conv2d
    norm: wg.nn.BatchNorm

    @classmethod
    def of(cls, given: int, outs: int) -> Block:
        conv = wg.nn.Conv2d(given, outs, 3, padding="same", bias=False)
        return cls(conv, wg.nn.BatchNorm(outs, axis=1))

    def __call__(self, x: Any, state: Any, training: bool) -> tuple[Any, Any]:
        y, state = self.norm(self.conv(x), state, training=training)
        return wg.relu(y), state


@dataclass
class ConvNet:
    blocks: list[Block]
    drop: wg.nn.Dropout
    decide: wg.nn.Linear

    @classmethod
    def of(cls, width: int) -> ConvNet:
        sizes = (1, width, width, 2 * width, 2 * width)
        blocks = [Block.of(given, outs) for given, outs in pairwise(sizes)]
        pixels = (SIDE // 4) ** 2
        return cls(blocks, wg.nn.Dropout(0.3), wg.nn.Linear(2 * width * pixels, CLASSES))

    def initial_state(self) -> list[Any]:
        return [block.norm.initial_state() for block in self.blocks]

    def __call__(
        self, x: Any, state: list[Any], training: bool = False, rng: Any = None
    ) -> tuple[Any, list[Any]]:
        after = []
        for i, (block, before) in enumerate(zip(self.blocks, state, strict=True)):
            x, new_state = block(x, before, training)
            after.append(new_state)
            if i % 2:
                x = wg.max_pool(x, 2)
        x = x.reshape(x.shape[0], -1)
        return self.decide(self.drop(x, rng)), after


def loss(model: ConvNet, state: list[Any], x: Array, y: Array, rng: Any) -> tuple[Any, Any]:
    logits, state = model(x, state, training=True, rng=rng)
    return wg.cross_entropy(logits, y, label_smoothing=0.1), state


def moved(x: Array, rng: np.random.Generator) -> Array:
    """Images moved by up to a pixel in both directions; what comes in is empty."""
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    rows, columns = rng.integers(0, 3, (2, len(x), 1))
    at = np.arange(SIDE)
    i, j = (rows + at)[:, :, None], (columns + at)[:, None, :]
    cut: Array = wide[np.arange(len(x))[:, None, None], 0, i, j][:, None]
    return cut


def images(samples: Samples) -> Samples:
    return Samples(samples.x.reshape(-1, 1, SIDE, SIDE), samples.y)


def train(
    options: argparse.Namespace, data: Samples, held: Samples
) -> tuple[wg.TrainStep, Array, Array]:
    """The step after all epochs, and of each epoch the mean loss and the share of held-out digits
    that are read right.
    """
    wg.nn.seed(options.seed)
    model = ConvNet.of(options.width)
    batches = len(data.x) // options.batch
    step = wg.TrainStep(
        loss,
        model,
        wg.optim.AdamW(wg.optim.Cosine(options.rate, options.epochs * batches), weight_decay=0.05),
        state=model.initial_state(),
        seed=options.seed,
        threads=options.threads,
    )
    read = wg.compile(lambda model, state, x: wg.argmax(model(x, state)[0], axis=1))
    rng = np.random.default_rng(options.seed)
    losses, right = [], []
    for epoch in range(1, options.epochs + 1):
        order = rng.permutation(len(data.x))[: batches * options.batch]
        told = [
            float(step(moved(data.x[rows], rng), data.y[rows])) for rows in np.split(order, batches)
        ]
        losses.append(np.mean(told))
        right.append(np.mean(read(step.model, step.state, held.x) == held.y))
        if epoch % max(options.epochs // 10, 1) == 0 or epoch == 1:
            print(f"epoch {epoch:3}  loss {losses[-1]:.4f}  held-out accuracy {right[-1]:.2%}")
    return step, np.array(losses), np.array(right)


def picture(losses: Array, right: Array) -> str:
    epochs = np.arange(1, len(losses) + 1)
    axis = linear_axis("epoch", 0, len(losses))
    learned = Panel(
        "Loss",
        axis,
        linear_axis("cross-entropy", 0, 1.1 * losses.max()),
        [Curve("", BLUE, epochs, losses, dots=True, radius=2)],
    )
    wrong = np.maximum(100 * (1 - right), 0.1)  # none has no place on a logarithmic scale
    missed = Panel(
        f"Held-out digits that are read right: {right[-1]:.2%} at the end",
        axis,
        log_axis("wrong, %", wrong.min(), wrong.max()),
        [Curve("", ORANGE, epochs, wrong, dots=True, radius=2)],
    )
    return draw([learned, missed], height=240)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train a ConvNet on handwritten digits, in under a minute.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--epochs", type=int, default=30, metavar="N", help="passes over the data")
    add("--batch", type=int, default=64, metavar="N", help="samples per step")
    add("--width", type=int, default=16, metavar="N", help="channels of the first convolution")
    add("--rate", type=float, default=5e-3, metavar="X", help="the first learning rate")
    add("--seed", type=int, default=0, metavar="N", help="of the split, the weights, the order")
    add("--threads", type=int, metavar="N", help="None: all cores; the bits are the same")
    add("--picture", type=Path, default="build/convnet.svg", metavar="FILE", help="for the curves")
    options = parser.parse_args()
    for name in ("epochs", "batch", "width"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} {getattr(options, name)} was given; it must be at least 1")
    return options


def main() -> None:
    options = read_options()
    held_out, data = map(images, split(load(), options.seed, HELD_OUT))
    began = time.perf_counter()
    step, losses, right = train(options, data, held_out)
    seconds = time.perf_counter() - began
    print(f"{right[-1]:.2%} of the held-out digits are right after {seconds:.0f} s")
    print(f"fingerprint {step.fingerprint()}")
    save(picture(losses, right), options.picture)


if __name__ == "__main__":
    main()
