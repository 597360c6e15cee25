"""256 trainings of a digit classifier in one call, 16 learning rates and 16 seeds each:
`make demo EXAMPLE=sweep_digits`.

Every run has the bits that it would have alone. A heat map shows how many held-out digits each one
reads, and so which learning rates depend on luck.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from handwriting import CLASSES, PIXELS, accuracy, load, loss, split
from heat_map import heat_map

import wengert as wg

HELD_OUT = 360  # a fifth of the digits
BATCH = 64
HIDDEN = 32


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Train a digit classifier with many learning rates and seeds at once.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--rates", type=int, default=16, metavar="N", help="learning rates, from 1e-4 to 1")
    add("--seeds", type=int, default=16, metavar="N", help="seeds for each of them")
    add("--epochs", type=int, default=6, metavar="N", help="passes over the data")
    add("--picture", type=Path, default="build/sweep_digits.svg", metavar="FILE")
    options = parser.parse_args()
    if min(options.rates, options.seeds, options.epochs) < 1:
        parser.error("--rates, --seeds and --epochs must be at least 1")
    return options


def new_model(seed: int) -> wg.nn.Mlp:
    return wg.nn.Mlp((PIXELS, HIDDEN, CLASSES), "relu", init="he_uniform", seed=seed)


def main() -> None:
    options = read_options()
    held_out, data = split(load(), 0, HELD_OUT)
    rates = np.logspace(-4, 0, options.rates)
    grid = [(rate, seed) for rate in rates for seed in range(options.seeds)]
    ensemble = wg.Ensemble(
        loss,
        new_model,
        wg.optim.Adam(np.array([rate for rate, _ in grid])),
        seeds=[seed for _, seed in grid],
        nonfinite="skip",
    )
    began = time.perf_counter()
    history = ensemble.run(
        *data, batch_size=BATCH, epochs=options.epochs, shuffle_seed=ensemble.seeds
    )
    seconds = time.perf_counter() - began
    right = ensemble.evaluate(accuracy, *held_out, batch_size=HELD_OUT)
    table = right.reshape(options.rates, options.seeds)
    print(f"{len(ensemble)} runs of {len(history)} steps in {seconds:.1f} s, compiling included")
    best = grid[ensemble.best(right, largest=True)]
    print(f"best: {right.max():.2%} with the rate {best[0]:.2g} and seed {best[1]}")
    for rate, row in zip(rates, table, strict=True):
        print(f"  rate {rate:8.2g}: {row.mean():7.2%}, from {row.min():.2%} to {row.max():.2%}")
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    shown = np.clip((table - 0.5) / 0.5, 0, 1)
    title = "Held-out digits that are right, from 50 % (pale) to 100 % (dark)"
    names = [f"{rate:.2g}" for rate in rates], [str(seed) for seed in range(options.seeds)]
    picture = heat_map(shown, *names, title, ("learning rate", "seed"))
    options.picture.write_text(picture, encoding="utf-8")
    print(f"heat map in {options.picture}")


if __name__ == "__main__":
    main()
