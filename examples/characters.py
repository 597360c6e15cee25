"""A small language model of characters, learned from Python's own help: `make demo
EXAMPLE=characters`.

It is a transformer, or with `--layers mamba` a state-space model. It learns to continue the text of
`help()`, which ships with Python, and then writes some: one character after the other, each from
what the layers kept of those before it.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from picture import BLUE, GRAY, Array, Curve, Panel, draw, linear_axis, save

import wengert as wg

SIZE, HEADS, ROOM = 96, 4, 512  # of a row, of attention, of the longest text
CONTEXT, BATCH = 64, 32


@dataclass
class Mixer:
    """A Mamba with a norm in front, added to what comes in."""

    norm: wg.nn.LayerNorm
    mamba: wg.nn.Mamba

    def __call__(self, x: Any) -> Any:
        return x + self.mamba(self.norm(x))

    def step(self, x: Any, state: Any) -> tuple[Any, Any]:
        y, state = self.mamba.step(self.norm(x), state)
        return x + y, state


@dataclass
class Writer:
    """Characters as rows, layers over them, and how likely each character is to follow."""

    embedding: wg.nn.Embedding
    layers: list[Any]
    norm: wg.nn.LayerNorm
    out: wg.nn.Linear

    @classmethod
    def of(cls, kind: str, characters: int, depth: int) -> Writer:
        def layer() -> Any:
            if kind == "mamba":
                return Mixer(wg.nn.LayerNorm(SIZE), wg.nn.Mamba(SIZE))
            return wg.nn.TransformerBlock(SIZE, HEADS, causal=True, rotary=True)

        return cls(
            wg.nn.Embedding(characters, SIZE, init="lecun_normal"),
            [layer() for _ in range(depth)],
            wg.nn.LayerNorm(SIZE),
            wg.nn.Linear(SIZE, characters),
        )

    def __call__(self, text: Any) -> Any:
        x = self.embedding(text)
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))

    def begin(self) -> list[Any]:
        """What the layers know before the first character."""
        return [
            layer.mamba.initial_state() if isinstance(layer, Mixer) else layer.cache(ROOM)
            for layer in self.layers
        ]

    def step(self, character: Any, states: list[Any]) -> tuple[Any, list[Any]]:
        x, after = self.embedding(character), []
        for layer, state in zip(self.layers, states, strict=True):
            x, state = layer.step(x, state)
            after.append(state)
        return self.out(self.norm(x)), after


def loss(model: Writer, text: Any) -> Any:
    logits = model(text[:, :-1])
    return wg.cross_entropy(logits, text[:, 1:])


def next_character(model: Writer, character: Any, states: Any) -> tuple[Any, Any]:
    logits, states = model.step(character, states)
    return wg.softmax(logits / 0.7), states


def write(model: Writer, prompt: list[int], count: int, rng: np.random.Generator) -> list[int]:
    """The prompt, continued character by character."""
    follow = wg.compile(next_character)
    states, text = model.begin(), list(prompt)
    for t in range(len(prompt) + count - 1):
        chances, states = follow(model, np.asarray(text[t]), states)
        if t + 1 >= len(prompt):
            chances = chances.astype(np.float64)
            text.append(int(rng.choice(len(chances), p=chances / chances.sum())))
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", choices=("attention", "mamba"), default="attention")
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--characters", type=int, default=300, help="how many to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--picture", type=Path, default="build/characters.svg")
    options = parser.parse_args()
    wg.nn.seed(options.seed)
    rng = np.random.default_rng(options.seed)
    text = "".join(topics[name] for name in sorted(topics))
    alphabet = sorted(set(text))
    data = np.array([alphabet.index(each) for each in text[:200_000]])
    model = Writer.of(options.layers, len(alphabet), options.depth)
    rate = wg.optim.Cosine(3e-3, options.steps)
    step = wg.TrainStep(loss, model, wg.optim.AdamW(rate), clip_norm=1.0, threads=options.threads)
    begun = time.perf_counter()
    losses = []
    for number in range(1, options.steps + 1):
        places = rng.integers(0, len(data) - CONTEXT - 1, BATCH)
        losses.append(step(data[places[:, None] + np.arange(CONTEXT + 1)]))
        if number == 1 or number % max(options.steps // 6, 1) == 0:
            seconds = time.perf_counter() - begun
            print(f"step {number:4}: loss {losses[-1]:.3f} after {seconds:.1f} s", flush=True)
    prompt = [alphabet.index(each) for each in "The statement "]
    begun = time.perf_counter()
    written = write(step.model, prompt, options.characters, rng)
    seconds = time.perf_counter() - begun
    print("".join(alphabet[i] for i in written))
    print(f"{len(written) / seconds:,.0f} characters per second")
    save(picture(np.array(losses), len(alphabet)), options.picture)


def picture(losses: Array, characters: int) -> str:
    """The loss of every step, beside that of one who knows nothing of the text."""
    steps = np.arange(1, len(losses) + 1)
    nothing = np.log(characters)
    curves = [
        Curve("every character alike", GRAY, steps[[0, -1]], [nothing, nothing], dashed=True),
        Curve("of each step", BLUE, steps, losses, width=1.2),
    ]
    axes = linear_axis("step", 0, len(losses)), linear_axis("nats per character", 0, 1.1 * nothing)
    return draw([Panel("Loss", *axes, curves)])


if __name__ == "__main__":
    main()
