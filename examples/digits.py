"""Train a small classifier on scikit-learn's handwritten digits: `make demo`.

The model is a plain dataclass, the loss plain NumPy, the optimizer a few lines over `wg.tree.map`.
Every step runs op by op in NumPy.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

import wengert as wg

SIZES = (64, 64, 32, 10)  # pixels, two hidden layers, classes
BATCH = 32


@dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray


@dataclass
class Mlp:
    layers: list[Layer]

    def __call__(self, x):
        *hidden, last = self.layers
        for layer in hidden:
            x = np.tanh(x @ layer.w + layer.b)
        return x @ last.w + last.b


def new_model(rng: np.random.Generator) -> Mlp:
    def layer(fan_in: int, fan_out: int) -> Layer:
        w = rng.standard_normal((fan_in, fan_out)) / np.sqrt(fan_in)
        return Layer(w.astype(np.float32), np.zeros(fan_out, np.float32))

    return Mlp([layer(fan_in, fan_out) for fan_in, fan_out in pairwise(SIZES)])


def loss(model: Mlp, x, y):
    return wg.cross_entropy(model(x), y)


class Adam(NamedTuple):
    """Running means of gradients and of their squares (Kingma and Ba, 2015)."""

    mean: Mlp
    square: Mlp
    count: int = 0

    @staticmethod
    def start(model: Mlp) -> Adam:
        return Adam(wg.tree.map(np.zeros_like, model), wg.tree.map(np.zeros_like, model))

    def step(self, model: Mlp, gradient: Mlp, rate: float) -> tuple[Mlp, Adam]:
        t = self.count + 1
        mean = wg.tree.map(lambda m, g: 0.9 * m + 0.1 * g, self.mean, gradient)
        square = wg.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, self.square, gradient)
        rate *= (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)  # both means begin at zero
        model = wg.tree.map(lambda p, m, s: p - rate * m / (s**0.5 + 1e-8), model, mean, square)
        return model, Adam(mean, square, t)


class Data(NamedTuple):
    x: np.ndarray  # (samples, 64), pixels from 0 to 1
    y: np.ndarray  # (samples,), digits

    def batches(self, rng: np.random.Generator) -> Iterator[Data]:
        order = rng.permutation(len(self.x))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            yield Data(self.x[chosen], self.y[chosen])


def load(rng: np.random.Generator) -> tuple[Data, Data]:
    """Training data and, every fifth sample, held-out data."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        sys.exit("This demo needs scikit-learn for its data: pip install 'wengert[demo]'")
    x, y = load_digits(return_X_y=True)
    order = rng.permutation(len(x))
    x, y = (x[order] / 16).astype(np.float32), y[order]
    held_out = np.arange(len(x)) % 5 == 0
    return Data(x[~held_out], y[~held_out]), Data(x[held_out], y[held_out])


def accuracy(model: Mlp, data: Data) -> float:
    return float(np.mean(np.argmax(model(data.x), axis=1) == data.y))


def bar(part: float) -> str:
    done = round(part * 20)
    return "[" + "#" * done + "." * (20 - done) + "]"


def train(epochs: int, seed: int) -> float:
    """Train, report on the way, and return the accuracy on held-out data."""
    rng = np.random.default_rng(seed)
    data, held_out = load(rng)
    model = new_model(rng)
    optimizer = Adam.start(model)
    step = wg.value_and_grad(loss)
    count = sum(x.size for x in wg.tree.leaves(model))
    print(f"{len(data.x)} digits to learn from, {len(held_out.x)} held out; {count} parameters")

    live = sys.stdout.isatty()
    seconds = 0.0
    for epoch in range(1, epochs + 1):
        seen, total, began = 0, 0.0, time.perf_counter()
        for x, y in data.batches(rng):
            value, gradient = step(model, x, y)
            rate = 3e-3 * (1 - (epoch - 1) / epochs)
            model, optimizer = optimizer.step(model, gradient, rate)
            seen, total = seen + len(x), total + float(value) * len(x)
            if live:
                print(f"\repoch {epoch:2}  {bar(seen / len(data.x))}", end="", flush=True)
        seconds += time.perf_counter() - began
        report = f"loss {total / seen:.4f}  held-out accuracy {accuracy(model, held_out):6.2%}"
        start = "\r" if live else ""
        print(f"{start}epoch {epoch:2}  {bar(1)}  {report}", flush=True)

    final = accuracy(model, held_out)
    speed = epochs * len(data.x) / seconds
    print(f"\n{final:.2%} of the held-out digits are right; {speed:,.0f} samples per second")
    return final


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small classifier on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"--epochs {options.epochs} was given; at least one is needed")
    try:
        train(options.epochs, options.seed)
    except KeyboardInterrupt:
        sys.exit("\nstopped")


if __name__ == "__main__":
    main()
