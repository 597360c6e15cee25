"""Sweeps of what cannot be swept, and results that cannot be kept."""

from __future__ import annotations

import contextlib
import functools
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import wengert as wg
from wengert.sweeping.returned import returned
from wengert.sweeping.sweep_backends import BACKENDS, Shares, _require_room
from wengert.sweeping.sweep_call import TrainCall, Unit
from wengert.sweeping.sweep_folder import SweepFolder

LOCK = threading.Lock()


def train(lr: float = 0.1) -> Any:
    return {"score": lr}


def other(lr: float = 0.1) -> Any:
    return {"score": -lr}


def fails(lr: float) -> Any:
    return 1 / (lr - lr)


def sweep(grid: Any = None, function: Any = train, **options: Any) -> Any:
    grid = {"lr": [0.1, 0.2]} if grid is None else grid
    return wg.sweep(function, grid, progress=False, **options)


def in_folder(function: Callable[[str], Any]) -> Any:
    """Call a function in a folder, whose name is the same every time."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return function("runs")


def into_a_file(name: str) -> Any:
    Path(name).write_text("a file")
    return sweep(folder=name)


def of_another_function(name: str) -> Any:
    sweep(folder=name)
    return sweep(folder=name, function=other)


def without_a_description(name: str) -> Any:
    sweep(folder=name)
    Path(name, "sweep.json").unlink()
    return sweep(folder=name)


def at_the_same_time(name: str) -> Any:
    with contextlib.closing(SweepFolder(name, True, {})):
        return sweep(folder=name)


def without(package: str, function: Callable[[], Any]) -> Any:
    with mock.patch.dict(sys.modules, {package: None}):
        return function()


def sent(function: Any) -> Any:
    unit = Unit((0,), ({"lr": 0.1},))
    return list(BACKENDS["joblib"]([unit], TrainCall(function, (), 1), Shares(1, 1)))


def in_group(value: Any) -> Any:
    settings: tuple[dict[str, Any], ...] = ({"lr": 1}, {"lr": 2})
    return TrainCall(train, ("lr",), None)._values(value, Unit((0, 1), settings))


CASES: dict[str, Callable[[], Any]] = {
    "sweep: a number as grid": lambda: sweep(3),
    "sweep: an empty grid": lambda: sweep([]),
    "sweep: a value that is no list": lambda: sweep({"lr": 0.1}),
    "sweep: a string as values": lambda: sweep({"lr": "0.1"}),
    "sweep: a set of values": lambda: sweep({"lr": {0.1, 0.2}}),
    "sweep: no values": lambda: sweep({"lr": []}),
    "sweep: a list of numbers": lambda: sweep([0.1, 0.2]),
    "sweep: a key that is no name": lambda: sweep({0: [1]}),
    "sweep: a setting twice": lambda: sweep({"lr": [1, 1.0]}),
    "sweep: seeds beside a seed": lambda: sweep({"seed": [0]}, seeds=2),
    "sweep: seeds that are none": lambda: sweep(seeds=0.5),
    "sweep: seeds that train does not take": lambda: sweep(seeds=2),
    "sweep: a setting that is misspelt": lambda: sweep({"l": [0.1]}, lambda lr: lr),
    "sweep: what train returns in its place": lambda: sweep(function=train()),
    "sweep: an unknown backend": lambda: sweep(backend="jobblib"),
    "sweep: workers without a backend": lambda: sweep(workers=3),
    "sweep: no workers": lambda: sweep(backend="joblib", workers=0),
    "sweep: a wrong resume": lambda: sweep(resume="yes"),
    "sweep: an unknown option": lambda: sweep(n_jobs=2),
    "sweep: a group of what is no setting": lambda: sweep(group="seed"),
    "sweep: a group without a list": lambda: in_group({"score": 1}),
    "sweep: a group with too few": lambda: in_group([{"score": 1}]),
    "sweep: all settings fail": lambda: sweep(function=fails),
    "sweep: without joblib": lambda: without("joblib.externals", lambda: sweep(backend="joblib")),
    "sweep: without ray": lambda: without("ray", lambda: sweep(backend="ray")),
    "sweep: more threads than a machine has": lambda: _require_room([2, 4], 8),
    "sweep: a lock in a train function": lambda: sent(functools.partial(train, LOCK)),
    "sweep: a folder that is a number": lambda: sweep(folder=3),
    "sweep: a folder in the place of a file": lambda: in_folder(into_a_file),
    "sweep: a folder of another function": lambda: in_folder(of_another_function),
    "sweep: a folder without its description": lambda: in_folder(without_a_description),
    "sweep: a folder that is in use": lambda: in_folder(at_the_same_time),
    "sweep: nothing is returned": lambda: returned(None, {}),
    "sweep: a result without a name": lambda: returned({0: 1.0}, {}),
    "sweep: a setting is returned as another": lambda: returned({"lr": 2}, {"lr": 1}),
    "sweep: a function is returned": lambda: returned({"net": [np.ones(2), np.tanh]}, {}),
    "sweep: an object is returned": lambda: returned({"net": [np.array(["a"])]}, {}),
    "SweepRun: a name that is not there": lambda: sweep()[0]["scores"],
    "SweepResults: the best by another name": lambda: sweep().best_params_,
    "SweepResults.best: without mode": lambda: sweep().best("score"),
    "SweepResults.best: a wrong mode": lambda: sweep().best("score", "lowest"),
    "SweepResults.best: a name that is not there": lambda: sweep().best("loss"),
    "SweepResults.best: a name that is misspelt": lambda: sweep().best("scores"),
    "SweepResults.best: no name": lambda: sweep().best(),
    "SweepResults.mean_over: no such setting": lambda: sweep().mean_over(),
    "SweepResults.to_pandas: without pandas": lambda: without("pandas", sweep().to_pandas),
}
