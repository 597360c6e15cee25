"""What the examples of reinforcement learning share around the learning itself: a memory of what
happened, a run and its curve, and a program that makes runs and draws them.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from environments import Array, Environments, Reached
from picture import draw, learning_curves, save


class Replay:
    """Steps that were made, as rows of one array; when it is full, the oldest are overwritten."""

    def __init__(self, capacity: int, world: Environments, action_numbers: int) -> None:
        self._rows = np.zeros((capacity, 2 * world.observations + action_numbers + 2), np.float32)
        self._rng, self._added = world.rng, 0

    def add(self, seen: Array, action: Array, reached: Reached) -> None:
        count = len(seen)
        parts = (seen, action, reached.reward, reached.ended, reached.observation)
        rows = np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
        self._rows[np.arange(self._added, self._added + count) % len(self._rows)] = rows
        self._added += count

    def sample(self, count: int) -> Array:
        """So many rows, each drawn from all."""
        return self._rows[self._rng.integers(min(self._added, len(self._rows)), size=count)]


def parts_of(rows: Any, world: type[Environments]) -> tuple[Any, Any, Any, Any, Any]:
    """What a step of the replay was, inside a loss: seen, action, reward, ended, reached."""
    n = world.observations
    return rows[:, :n], rows[:, n : -n - 2], rows[:, -n - 2], rows[:, -n - 1], rows[:, -n:]


def setting(value: Any, told: str) -> Any:
    """A field of the settings of an example, which is an option of its program."""
    return dataclasses.field(default=value, metadata={"help": told})


class Run(NamedTuple):
    """What learning came to."""

    steps: Sequence[float]  # in the environment, at the points of its curve
    returns: Sequence[float]  # the mean return there
    learned: float  # the mean return of 100 new episodes, at the end
    updates: int
    fingerprint: str


def curve(world: Environments, episodes: int) -> tuple[list[float], list[float]]:
    """The mean return of the last so many episodes, whenever one was over."""
    total = np.cumsum([0.0, *world.returns])
    count = np.minimum(np.arange(len(world.returns)) + 1, episodes)
    means = (total[1:] - total[np.arange(len(world.returns)) + 1 - count]) / count
    points = np.unique(np.linspace(0, len(means) - 1, 300).astype(int))  # enough for a picture
    return np.array(world.over_at)[points].tolist(), means[points].tolist()


def report(world: Environments, total: int, episodes: int = 100, times: int = 10) -> bool:
    """Whether one of so many equal parts of all steps has just gone by; then a line says how the
    last episodes went.
    """
    before = world.steps - world.count
    if world.steps * times // total == before * times // total:
        return False
    mean = np.mean(world.returns[-episodes:]) if world.returns else np.nan
    print(f"step {world.steps:7,}  mean return of the last episodes {mean:7.1f}", flush=True)
    return True


def run_program(
    train: Callable[[Any], Run],
    settings: Any,
    title: str,
    goal: float,
    between: tuple[float, float],
) -> None:
    """A program around `train`: every setting is an option, `--runs` are made with one seed after
    the other, and drawn with `--picture`.
    """
    parser = argparse.ArgumentParser(
        description=title, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    for field in dataclasses.fields(settings):
        kind, told = type(field.default), field.metadata["help"]
        parser.add_argument(f"--{field.name}", type=kind, default=field.default, help=told)
    parser.add_argument("--runs", type=int, default=1, help="seeds, from --seed on")
    parser.add_argument("--picture", type=Path, help="a file for the curves, as SVG")
    given = vars(parser.parse_args())
    count, picture = given.pop("runs"), given.pop("picture")
    runs = []
    for seed in range(given["seed"], given["seed"] + count):
        began = time.perf_counter()
        run = train(settings(**(given | {"seed": seed})))
        seconds = time.perf_counter() - began
        print(
            f"seed {seed}: mean return {run.learned:.1f} of 100 new episodes, after {seconds:.1f} "
            f"seconds and {run.updates:,} updates\nfingerprint {run.fingerprint}",
            flush=True,
        )
        runs.append(run)
    if picture:
        panel = learning_curves(title, [run[:2] for run in runs], goal, *between)
        save(draw([panel]), picture)
