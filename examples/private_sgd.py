"""Private training: every example is clipped by itself, then noise is added (DP-SGD, Abadi et al.,
2016): `make demo EXAMPLE=private_sgd`.

`wg.vmap` of a gradient gives one gradient per example. Each is shortened to a given length, so that
no single person's data can move the model far, and noise of that size hides what is left of it.
The whole update is one compiled function. It is run for several amounts of noise; what more noise
costs in accuracy, it gives in privacy.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from handwriting import CLASSES, PIXELS, Samples, accuracy, load, loss, split
from picture import BLUE, GREEN, INK, ORANGE, Array, Curve, Panel, draw, linear_axis

import wengert as wg

HELD_OUT = 360  # a fifth of the digits
BATCH, RATE = 64, 0.5
LENGTH = 1.0  # of an example's gradient, at most


def clipped_sum(model: Any, x: Any, y: Any, length: float) -> Any:
    """The sum of the gradients of all examples, each shortened to a length."""

    def of_one(x: Any, y: Any) -> Any:
        gradient = wg.grad(loss)(model, x[None], y[None])
        squares = [wg.sum(g * g) for g in wg.tree.leaves(gradient)]
        norm = wg.sqrt(sum(squares[1:], squares[0]))
        return wg.tree.map(
            lambda g: g * wg.minimum(1.0, length / wg.maximum(norm, 1e-12)), gradient
        )

    return wg.tree.map(lambda g: wg.sum(g, axis=0), wg.vmap(of_one)(x, y))


@wg.compile
def private_update(model: Any, x: Any, y: Any, key: Any, noise: Any, rate: Any) -> Any:
    """The model after a step: gradients clipped by example, noise added, then averaged."""
    total = clipped_sum(model, x, y, LENGTH)
    generator = iter(range(len(wg.tree.leaves(model))))

    def moved(w: Any, g: Any) -> Any:
        draw = wg.random.normal(wg.random.fold_in(key, next(generator)), w.shape)
        return w - rate * (g + noise * LENGTH * draw) / x.shape[0]

    return wg.tree.map(moved, model, total)


def train(data: Samples, held: Samples, noise: float, epochs: int) -> list[float]:
    """Accuracies on held-out digits, after each epoch."""
    model: Any = wg.nn.Mlp((PIXELS, 32, CLASSES), "tanh", seed=0)
    rng, key = np.random.default_rng(0), wg.random.key(1)
    measured = wg.compile(accuracy)
    accuracies, steps = [], 0
    for _ in range(epochs):
        order = rng.permutation(len(data.x))
        for begin in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[begin : begin + BATCH]
            step_key = wg.random.fold_in(key, steps)
            numbers = np.float32(noise), np.float32(RATE)
            model = private_update(model, data.x[rows], data.y[rows], step_key, *numbers)
            steps += 1
        accuracies.append(float(measured(model, *held)))
    return accuracies


def picture(curves: dict[float, list[float]]) -> str:
    epochs = len(next(iter(curves.values())))
    colors = [INK, BLUE, GREEN, ORANGE]
    shown: list[Curve] = []
    for color, (noise, values) in zip(colors, curves.items(), strict=False):
        ends: Array = np.arange(1, epochs + 1)
        shown.append(Curve(f"noise {noise:g}", color, ends, 100 * np.array(values), dots=True))
    title = f"Each example's gradient clipped to {LENGTH:g}, then noise added"
    accuracies = linear_axis("held-out accuracy, %", 0, 100)
    return draw([Panel(title, linear_axis("epoch", 0, epochs), accuracies, shown)])


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train a digit classifier with clipping by example and noise.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--epochs", type=int, default=8, metavar="N")
    parser.add_argument("--picture", type=Path, default="build/private_sgd.svg", metavar="FILE")
    options = parser.parse_args()
    if options.epochs < 1:
        parser.error(f"--epochs {options.epochs} was given; it must be at least 1")
    return options


def main() -> None:
    options = read_options()
    held_out, data = split(load(), 0, HELD_OUT)
    curves = {}
    for noise in (0.0, 1.0, 4.0, 16.0):
        curves[noise] = train(data, held_out, noise, options.epochs)
        print(f"noise {noise:4g}: {curves[noise][-1]:.2%} of the held-out digits are right")
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(picture(curves), encoding="utf-8")
    print(f"curves in {options.picture}")


if __name__ == "__main__":
    main()
