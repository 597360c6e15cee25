"""The folder of a sweep: what is finished is kept, and not run again."""

from __future__ import annotations

import argparse
import copy
import functools
import importlib
import json
import math
import sys
from collections import OrderedDict
from dataclasses import dataclass
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from sweeping.trained import GRID, Counted, train
from wengert.sweeping.sweep_folder import SweepFolder
from wengert.sweeping.train_identity import train_identity, what_differs
from wengert.sweeping.value_identity import identity_of_value


def counting(function, counted):
    """A train function that counts its calls."""

    def counts(**settings):
        counted.count()
        return function(**settings)

    return counts


def swept(function, grid, folder, **options):
    return wg.sweep(function, grid, folder=folder, progress=False, **options)


def test_an_interrupted_sweep_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt) as caught:
        swept(counting(train, Counted(stop=3)), GRID, tmp_path)
    assert caught.value.__notes__ == [
        f"sweep: 3 of 4 settings were finished. The same call goes on from {str(tmp_path)!r}."
    ]
    again = Counted(stop=3)
    found = swept(counting(train, again), GRID, tmp_path)
    assert again.calls == 1
    assert [run.resumed for run in found] == [True, True, True, False]
    whole = wg.sweep(train, GRID, progress=False)
    for one, other in zip(found, whole, strict=True):
        assert one.settings == other.settings
        assert one.metrics == other.metrics
        np.testing.assert_array_equal(one["history"].grad_norm, other["history"].grad_norm)
        assert list(one["step"]) == list(other["step"])
        for a, b in zip(wg.tree.leaves(one["step"]), wg.tree.leaves(other["step"]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_failed_is_run_again(tmp_path):
    allowed = tmp_path / "allowed"

    def fails(n):
        if n == 1 and not allowed.exists():
            raise ValueError("not yet")
        return n

    with pytest.warns(wg.errors.SweepWarning, match="not yet"):
        swept(fails, {"n": [0, 1]}, tmp_path / "runs")
    allowed.touch()
    found = swept(fails, {"n": [0, 1]}, tmp_path / "runs")
    assert [(run["result"], run.resumed) for run in found] == [(0, True), (1, False)]


def test_a_larger_grid_goes_on_silently_and_another_one_is_told_of(tmp_path):
    counted = Counted()
    square = counting(lambda n: n * n, counted)
    swept(square, {"n": [1, 2]}, tmp_path)
    assert [run["result"] for run in swept(square, {"n": [1, 2, 3]}, tmp_path)] == [1, 4, 9]
    assert counted.calls == 3
    with pytest.warns(
        wg.errors.SweepWarning, match="2 finished settings that are not in this grid"
    ):
        found = swept(square, {"n": [3, 4]}, tmp_path)
    assert [run["result"] for run in found] == [9, 16]
    assert counted.calls == 4


def changed(function, **globals):
    """The same function with other globals."""
    return FunctionType(function.__code__, function.__globals__ | globals, function.__name__)


def scaled(n):
    return n * FACTOR + shifted(n)


def shifted(n):
    return n + 1


FACTOR = 3


def test_a_changed_train_function_is_told_of(tmp_path):
    swept(scaled, {"n": [1]}, tmp_path)
    other = changed(scaled, FACTOR=4)
    with pytest.raises(wg.errors.CheckpointError, match=r"holds 1 results of .*: 'FACTOR' changed"):
        swept(other, {"n": [1]}, tmp_path)
    assert swept(scaled, {"n": [1]}, tmp_path)[0].resumed  # nothing was lost
    kept = swept(other, {"n": [1, 2]}, tmp_path, resume="anyway")
    assert [run["result"] for run in kept] == [5, 11]
    anew = swept(other, {"n": [1, 2]}, tmp_path, resume=False)
    assert [run["result"] for run in anew] == [6, 11]
    assert not any(run.resumed for run in anew)


def test_what_train_is_known_by():
    before = train_identity(scaled)
    assert set(before) == {"Python", "scaled", "FACTOR", "shifted"}
    assert what_differs(before, train_identity(changed(scaled))) == []
    assert what_differs(before, train_identity(changed(scaled, shifted=lambda n: n))) == ["shifted"]
    half = functools.partial(train, lr=0.5)
    assert (
        what_differs(train_identity(half), train_identity(functools.partial(train, lr=0.5))) == []
    )
    assert what_differs(train_identity(half), train_identity(functools.partial(train, lr=0.6))) == [
        "train, its arguments"
    ]
    assert {"loss", "X", "Y"} <= set(train_identity(train))


def test_comments_and_documentation_are_not_the_function():
    sources = ["def f(n):\n    'one'\n    return n", "def f(n):\n\n    'two'\n    return n  # n"]
    made = []
    for source in sources:
        space = {"__name__": "made"}
        exec(source, space)
        made.append(train_identity(space["f"]))
    assert made[0] == made[1]


def test_settings_are_known_by_what_they_are(tmp_path):
    choices = [wg.relu, wg.tanh, lambda x: x, lambda x: 2 * x, wg.optim.Adam(0.1), (1, 2.5), None]
    counted = Counted()
    named = counting(lambda choice, scale: {"text": str(type(choice))}, counted)
    swept(named, {"choice": choices, "scale": [1, 0.5]}, tmp_path)
    assert counted.calls == 14
    same = [wg.relu, wg.tanh, lambda x: x, lambda x: 2 * x, wg.optim.Adam(0.1), (1, 2.5), None]
    swept(named, {"choice": same, "scale": [1.0, np.float64(0.5)]}, tmp_path)
    assert counted.calls == 14


def test_a_damaged_file_is_run_again(tmp_path):
    swept(scaled, {"n": [1, 2]}, tmp_path)
    first, _ = sorted(tmp_path.glob("*.safetensors"))
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.warns(wg.errors.SweepWarning, match="cannot be read .* it is run again"):
        found = swept(scaled, {"n": [1, 2]}, tmp_path)
    assert sorted(run.resumed for run in found) == [False, True]
    assert [run["result"] for run in found] == [5, 9]


def test_a_folder_belongs_to_one_sweep_at_a_time(tmp_path):
    running = SweepFolder(tmp_path, True, {})
    with pytest.raises(wg.errors.CheckpointError, match="used by a sweep that is running"):
        swept(scaled, {"n": [1]}, tmp_path)
    running.close()
    assert swept(scaled, {"n": [1]}, tmp_path)[0]["result"] == 5


def test_files_are_for_people_and_other_programs_too(tmp_path):
    swept(train, {"lr": [0.1]}, tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    tree = wg.load(path)
    assert tree["settings"] == {"lr": "0.1"}
    assert tree["metrics"]["loss"] == tree["kept"]["history"]["loss"][-1]
    described = json.loads((tmp_path / "sweep.json").read_text())
    assert "loss" in described["train"]


def test_values_are_known_by_what_is_in_them():
    values = [
        np.array([1, 2]),
        np.array([1.0, 2.0]),
        np.array([[1.0, 2.0]]),
        np.array(["2026-01-01"], "datetime64[D]"),
        np.array([None, "a"], object),
        {"a": 1},
        {"a": [1, None]},
        True,
        1,
        "1",
        math.nan,
    ]
    texts = list(map(identity_of_value, values))
    assert len(set(texts)) == len(values)
    assert list(map(identity_of_value, copy.deepcopy(values))) == texts
    assert identity_of_value(np.float32(0.5)) == identity_of_value(0.5)
    assert identity_of_value(np.arange(6.0)[::2]) == identity_of_value(np.array([0.0, 2.0, 4.0]))


# What is not plain: objects, tables, functions.


@dataclass
class Options:
    depth: int
    weights: np.ndarray
    inner: Any = None

    def scaled(self, n):
        return n * self.depth


class Slotted:
    __slots__ = ("depth",)

    def __init__(self, depth):
        self.depth = depth

    def __repr__(self):
        return "Slotted"


class Plain:
    def __init__(self, depth):
        self.depth = depth


def frame(value):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"a": np.arange(500.0), "b": np.where(np.arange(500) == 250, value, 0)})


def polars_frame(value):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"a": np.arange(500.0), "b": [0.0] * 499 + [float(value)]})


def network(value):
    made = wg.nn.Mlp([3, 4, 1], seed=0)
    made.layers[0].bias[...] = value
    return made


def large(value):
    x = np.zeros(5000)
    x[2500] = value
    return x


THINGS = {
    "dataclass": lambda k: Options(k, np.zeros(2)),
    "an array of a dataclass": lambda k: Options(0, large(k)),
    "nested": lambda k: Options(0, np.zeros(2), {"inner": [Options(k, np.zeros(1))]}),
    "namespace": lambda k: SimpleNamespace(depth=k, name="a"),
    "an array of a namespace": lambda k: SimpleNamespace(depth=large(k)),
    "arguments of a program": lambda k: argparse.Namespace(depth=k),
    "pandas": frame,
    "a column": lambda k: frame(k)["b"],
    "polars": polars_frame,
    "slots": Slotted,
    "an object": Plain,
    "a network": network,
    "an optimizer": lambda k: wg.optim.Adam(0.1 + k),
    "a schedule": lambda k: wg.optim.SGD(wg.optim.StepDecay(0.1, 10 + k)),
    "a set": lambda k: {"a", "b", k},
    "an ordered dict": lambda k: OrderedDict(a=1, b=k),
    "masked": lambda k: np.ma.masked_array([1.0, 2.0], [False, bool(k)]),
    "a function": lambda k: (lambda x: x + 1) if k else (lambda x: x + 2),
    "what a function reads": lambda k: lambda x: x + k,
    "a partial function": lambda k: functools.partial(max, k),
    "a method": lambda k: Options(k, np.zeros(2)).scaled,
    "a function of a library": lambda k: wg.tanh if k else wg.relu,
    "a generator": lambda k: np.random.default_rng(k),
    "itself": lambda k: [k, {"function": identity_of_value}],
}


@pytest.mark.parametrize("kind", THINGS)
def test_a_thing_is_known_by_what_is_in_it(kind):
    make = THINGS[kind]
    assert identity_of_value(make(0)) == identity_of_value(make(0))
    assert identity_of_value(make(0)) != identity_of_value(make(1))


@pytest.mark.parametrize("kind", THINGS)
def test_things_that_train_reads_are_parts_of_it(kind):
    make = THINGS[kind]

    def closing(thing):
        return lambda n: (thing, n)

    def defaulting(thing):
        def train(n, thing=thing):
            return n

        return train

    def reading(thing):
        return changed(reads_thing, THING=thing)

    for around in (closing, defaulting, reading, lambda x: functools.partial(reads_thing, x)):
        before = train_identity(around(make(0)))
        assert what_differs(before, train_identity(around(make(0)))) == []
        assert what_differs(before, train_identity(around(make(1)))) != []


def reads_thing(n):
    return THING, n


THING = None


def test_a_thing_inside_itself_is_known():
    a, b = [1], [1]
    a.append(a)
    b.append(b)
    assert identity_of_value(a) == identity_of_value(b)


def test_another_module_of_the_user_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def identity(scale):
        (tmp_path / "swept_models.py").write_text(
            f"SCALE = {scale}\n\ndef make(n):\n    return SCALE * n\n\nunused = {scale}\n"
        )
        importlib.invalidate_caches()
        module = importlib.reload(importlib.import_module("swept_models"))
        return train_identity(changed(uses_module, models=module))

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = identity(1)
    assert what_differs(before, identity(1)) == []
    assert what_differs(before, identity(23)) == ["SCALE"]


def uses_module(n):
    return models.make(n)  # noqa: F821


def test_settings_that_changed_are_run_again(tmp_path):
    def train(options):
        return options.scaled(2)

    assert swept(train, {"options": [Options(1, large(0))]}, tmp_path)[0]["result"] == 2
    with pytest.warns(wg.errors.SweepWarning, match="1 finished settings that are not in this"):
        found = swept(train, {"options": [Options(1, large(1))]}, tmp_path)
    assert not found[0].resumed


def test_settings_in_a_closure_that_changed_are_told_of_by_name(tmp_path):
    options = SimpleNamespace(depth=1)

    def train(n):
        return n * options.depth

    swept(train, {"n": [1]}, tmp_path)
    options.depth = 2
    with pytest.raises(wg.errors.CheckpointError, match=r"'options\.depth' changed since"):
        swept(train, {"n": [1]}, tmp_path)


def test_what_train_changes_itself_is_no_other_train_function(tmp_path):
    log, seen = [], Plain(0)

    def train(n):
        log.append(n)
        seen.depth += 1
        seen.latest = n
        return n

    swept(train, {"n": [1]}, tmp_path)
    swept(train, {"n": [1, 2]}, tmp_path)
    assert swept(train, {"n": [1, 2, 3]}, tmp_path)[0].resumed
    assert log == [1, 2, 3]
