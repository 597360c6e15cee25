"""Does a faint tone rise or fall? S4D on long signals: `make demo EXAMPLE=long_signals`.

Somewhere in 2048 samples of noise a tone goes up or down. It begins anywhere and with any phase, so
no sample tells anything by itself, and a linear model guesses. Two `wg.nn.S4D` layers, each a bank
of damped oscillations that goes through the whole signal, learn to hear it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from command import read_options
from picture import BLUE, GRAY, ORANGE, Array, Curve, Panel, draw, linear_axis, save

import wengert as wg

SIZE, STATES = 8, 16


def make_signals(count: int, length: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Signals, (count, length), and whether the tone rises in each."""
    rises = rng.integers(0, 2, count)
    duration = length // 3
    t = np.arange(length)
    begin = rng.integers(0, length - duration, (count, 1))
    along = np.clip((t - begin) / duration, 0, 1)  # from 0 to 1 while it sounds
    slow, fast = 0.04, 0.12  # in cycles per sample
    way = np.where(rises[:, None] == 1, along, 1 - along)
    frequency = slow + (fast - slow) * way
    phase = 2 * np.pi * (np.cumsum(frequency, axis=1) + rng.uniform(size=(count, 1)))
    loudness = np.sin(np.pi * along)
    x = loudness * np.sin(phase) + 0.4 * rng.standard_normal((count, length))
    return x.astype(np.float32), rises


@dataclass
class Listener:
    """Layers over time, each added to what comes in, and a decision from their mean."""

    widen: wg.nn.Linear
    layers: list[Any]
    norms: list[Any]
    mix: list[Any]
    decide: wg.nn.Linear

    @classmethod
    def of(cls, depth: int) -> Listener:
        return cls(
            wg.nn.Linear(1, SIZE),
            [wg.nn.S4D(SIZE, states=STATES) for _ in range(depth)],
            [wg.nn.LayerNorm(SIZE) for _ in range(depth)],
            [wg.nn.Linear(SIZE, 2 * SIZE) for _ in range(depth)],
            wg.nn.Linear(SIZE, 2),
        )

    def __call__(self, signal: Any) -> Any:
        x = self.widen(signal[:, :, None])  # (batch, time, size)
        for layer, norm, mix in zip(self.layers, self.norms, self.mix, strict=True):
            x = x + wg.glu(mix(wg.gelu(layer(norm(x)))))
        return self.decide(wg.mean(x, axis=1))


def loss(model: Listener, signal: Any, rises: Any) -> Any:
    return wg.cross_entropy(model(signal), rises)


def linear_accuracy(train: tuple[Array, Array], test: tuple[Array, Array]) -> float:
    """How often ridge regression on all samples of a signal is right."""
    x, rises = train
    weights = np.linalg.solve(x.T @ x + len(x) * np.eye(x.shape[1]), x.T @ (2 * rises - 1))
    return float(np.mean((test[0] @ weights > 0) == test[1]))


def main() -> None:
    options = read_options(__doc__, "long_signals", length=2048, signals=768, epochs=8)
    rng = np.random.default_rng(options.seed)
    train = make_signals(options.signals, options.length, rng)
    test = make_signals(256, options.length, rng)
    linear = linear_accuracy(train, test)
    print(f"a linear model is right about {linear:.1%} of new signals")
    wg.nn.seed(options.seed)
    updates = options.epochs * -(-options.signals // 32)
    rate = wg.optim.Cosine(1e-2, updates)
    step = wg.TrainStep(loss, Listener.of(2), wg.optim.AdamW(rate), clip_norm=1.0)
    hear = step.bind(lambda model, signal: wg.argmax(model(signal), axis=1))
    right, began = [0.5], time.perf_counter()
    for epoch in step.epochs(*train, batch_size=32, epochs=options.epochs, shuffle_seed=0):
        right.append(float(np.mean(hear(test[0]) == test[1])))
        seconds = time.perf_counter() - began
        told = f"loss {epoch.loss:.4f}  {right[-1]:.1%} of new signals right"
        print(f"epoch {epoch.index + 1}  {told}  {seconds:4.1f} s")
    save(picture(*train, right, linear), options.picture)


def picture(signals: Array, rises: Array, right: list[float], linear: float) -> str:
    """A signal of each kind, and how often new ones are heard right."""
    panels = []
    for kind, name in enumerate(("falls", "rises")):
        x = signals[rises == kind][0]
        t = np.arange(len(x))
        curves = [Curve("", GRAY, t, x, width=0.6)]
        axes = linear_axis("time", 0, len(x)), linear_axis("", -3, 3, count=2)
        panels.append(Panel(f"A tone that {name}", *axes, curves))
    epochs = np.arange(len(right))
    curves = [
        Curve("linear model", ORANGE, epochs[[0, -1]], [100 * linear] * 2, dashed=True),
        Curve("S4D", BLUE, epochs, 100 * np.array(right), dots=True),
    ]
    axes = linear_axis("epoch", 0, len(right) - 1), linear_axis("right, %", 40, 100)
    return draw(
        [*panels, Panel("New signals that are heard right", *axes, curves, "upper left")],
        height=200,
    )


if __name__ == "__main__":
    main()
