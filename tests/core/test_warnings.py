"""Programs that run and are most likely not what was meant: a warning at the user's line, once."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from core.warned_calls import W, X, trained, warned
from wengert.errors import (
    AccumulationWarning,
    DropoutWarning,
    FrozenValueWarning,
    LiveWarning,
)

DROPPING = {
    "the function": lambda x, rng=None: wg.dropout(x, 0.5, rng),
    "the layer": lambda x, rng=None: wg.nn.Dropout(0.5)(x, rng=rng),
    "in a Sequential": lambda x, rng=None: wg.nn.Sequential(wg.nn.Dropout(0.5))(x, rng=rng),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", DROPPING)
def test_a_dropout_that_drops_nothing_in_a_loss(name, compiled):
    f = DROPPING[name]
    (found,) = warned(lambda: trained(lambda w, x: wg.mean(f(x * w)), compiled=compiled))
    assert found.category is DropoutWarning
    assert (found.filename, found.lineno) == (__file__, f.__code__.co_firstlineno)
    assert "Give the loss an argument rng" in str(found.message)


@pytest.mark.parametrize("name", DROPPING)
def test_a_generator_that_the_loss_keeps_to_itself(name):
    (found,) = warned(lambda: trained(lambda w, x, rng: wg.mean(DROPPING[name](x * w))))
    assert "Pass the loss's rng on" in str(found.message)


@pytest.mark.parametrize("name", DROPPING)
def test_a_dropout_with_a_generator_is_no_reason_to_warn(name):
    f = DROPPING[name]
    assert warned(lambda: trained(lambda w, x, rng: wg.mean(f(x * w, rng)))) == []
    assert warned(lambda: trained(lambda w, x, rng: wg.mean(f(x * w, rng.fold_in(1))))) == []


def test_a_clean_pass_beside_a_noisy_one_is_no_reason_to_warn():
    def loss(w, x, rng):
        return wg.mean((wg.dropout(x * w, 0.5, rng) - wg.dropout(x * w, 0.5)) ** 2)

    assert warned(lambda: trained(loss)) == []


def test_a_rate_of_nothing_and_use_outside_of_a_loss_are_no_reason_to_warn():
    assert warned(lambda: trained(lambda w, x: wg.mean(wg.dropout(x * w, 0.0)))) == []
    f = DROPPING["the layer"]
    assert warned(lambda: wg.compile(f)(X)) == []
    step = wg.TrainStep(lambda w, x: wg.mean(x * w), W, wg.optim.SGD(0.1))
    assert warned(lambda: step.bind(lambda w, x: f(x * w))(X)) == []
    assert warned(lambda: step.evaluate(lambda w, x: wg.mean(f(x)), X, batch_size=2)) == []


def test_every_warning_of_the_source_goes_the_one_way():
    source = Path(inspect.getfile(wg)).parent
    users = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "warnings.warn" in path.read_text(encoding="utf-8")
    ]
    assert users == ["core/words/warn.py"]


def accumulating(accumulate: int) -> wg.TrainStep:
    return wg.TrainStep(lambda w, x: wg.mean(x @ w), W, wg.optim.SGD(0.1), accumulate=accumulate)


@pytest.mark.parametrize("way", ["run", "epochs"])
def test_a_run_without_an_update_is_named(way):
    step = accumulating(8)

    def run(**options: Any) -> None:
        found = getattr(step, way)(X, batch_size=1, **options)
        if way == "epochs":
            list(found)

    (found,) = warned(lambda: run(epochs=2))
    assert found.category is AccumulationWarning
    assert "accumulate=8 needs 8 more" in str(found.message)
    assert found.filename == __file__
    assert np.array_equal(step.model, W)  # it is no false alarm
    assert warned(lambda: run(epochs=0)) == []
    assert warned(lambda: run(epochs=1)) == []  # the ninth call: what came before counts
    assert not np.array_equal(step.model, W)


def test_a_run_with_an_update_is_no_reason_to_warn():
    assert warned(lambda: accumulating(3).run(X, batch_size=1)) == []
    assert warned(lambda: accumulating(2).run(X, batch_size=1)) == []


def test_live_arrays_that_are_assigned_to_themselves_are_named():
    model = {"w": W, "b": np.zeros((), np.float32)}
    step = wg.TrainStep(
        lambda m, h, x: (wg.mean(x @ m["w"]) + m["b"], h + 1), model, wg.optim.SGD(0.1), state=0.0
    )
    best, state = step.model, step.state
    step(X)
    (found,) = warned(lambda: setattr(step, "model", best))
    assert found.category is LiveWarning
    assert found.filename == __file__
    assert "wg.tree.copy(step.model)" in str(found.message)
    (found,) = warned(lambda: setattr(step, "state", state))
    assert "wg.tree.copy(step.state)" in str(found.message)


def test_snapshots_and_new_arrays_are_no_reason_to_warn():
    model = {"w": W, "b": np.zeros((), np.float32)}
    step = wg.TrainStep(lambda m, x: wg.mean(x @ m["w"]) + m["b"], model, wg.optim.SGD(0.1))
    best = wg.tree.copy(step.model)
    step(X)
    assert warned(lambda: setattr(step, "model", best)) == []
    assert warned(lambda: setattr(step, "model", {**step.model, "b": np.ones(())})) == []
    assert warned(lambda: setattr(step, "model", {**step.model, "w": step.model["w"][::-1]})) == []


class Counters:
    """Functions that count by themselves."""

    count = 0

    def __init__(self) -> None:
        self.items, self.elements, self.own = {"t": 0}, [0], 0

    def item(self, x):
        self.items["t"] += 1
        return x * self.items["t"]

    def element(self, x):
        self.elements[0] += 1
        return x * self.elements[0]

    def attribute(self, x):
        self.own += 1
        return x * 0.5**self.own

    def branch(self, x):
        self.own += 1
        return x + 1 if self.own % 2 else x * 2

    def of_the_class(self, x):
        Counters.count += 1
        return x * Counters.count


def variable():
    count = 0

    def counting(x):
        nonlocal count
        count += 1
        return x * count

    return counting


FROZEN = {
    "an item": lambda: Counters().item,
    "an element": lambda: Counters().element,
    "an attribute": lambda: Counters().attribute,
    "a branch": lambda: Counters().branch,
    "of the class": lambda: Counters().of_the_class,
    "a variable": variable,
}


@pytest.mark.parametrize("way", ["compile", "TrainStep", "bind"])
@pytest.mark.parametrize("name", FROZEN)
def test_a_count_that_recording_freezes_is_named_at_its_line(name, way):
    f = FROZEN[name]()

    def run() -> None:
        if way == "compile":
            wg.compile(f)(X)
        elif way == "TrainStep":
            trained(lambda w, x: wg.mean(f(x @ w)), times=3)
        else:
            step = wg.TrainStep(lambda w, x: wg.mean(x @ w), W, wg.optim.SGD(0.1))
            step.bind(lambda w, x: f(x))(X)

    (found,) = warned(run)
    code = getattr(f, "__func__", f).__code__
    assert found.category is FrozenValueWarning
    assert found.filename == __file__
    assert code.co_firstlineno < found.lineno <= code.co_firstlineno + 3
    assert "Pass it as an argument" in str(found.message)


def test_who_counts_recordings_has_the_right_count_and_no_warning():
    made = {"recordings": 0}
    own = Counters()

    def f(x):
        made["recordings"] += 1
        own.own += 1
        return x * 2

    compiled = wg.compile(f)
    assert warned(lambda: [compiled(X[:rows]) for rows in (1, 2, 1, 2)]) == []
    assert made["recordings"] == own.own == 2


A_KEY = wg.random.key(0)
FROZEN_DRAWS = {
    "dropout": lambda w, x: wg.sum(wg.dropout(x * w, 0.5, wg.random.Generator(wg.random.key(0)))),
    "drawn": lambda w, x: wg.sum(x * w * wg.random.Generator(wg.random.key(1)).normal((4,))),
    "of a key from outside": lambda w, x: wg.sum(x * w * wg.random.normal(A_KEY, (4,))),
    "of a key that stands there": lambda w, x: wg.sum(
        x * w * wg.random.gamma(wg.random.fold_in(wg.random.key(0), 3), 2.0, (4,))
    ),
    "from a distribution": lambda w, x: wg.sum(x * wg.distributions.Normal(w, 1.0).sample(A_KEY)),
}
DRAWN_ANEW = {
    "rng": lambda w, x, rng: wg.sum(wg.dropout(x * w, 0.5, rng)),
    "rng in the place of a key": lambda w, x, rng: wg.sum(x * w * wg.random.normal(rng, (4,))),
    "a distribution": lambda w, x, rng: wg.sum(x * wg.distributions.Normal(w, 1.0).sample(rng)),
    "of a key that is an argument": lambda w, x, key=A_KEY: wg.sum(
        wg.dropout(x * w, 0.5, wg.random.Generator(wg.asarray(key)).fold_in(wg.sum(x > 0)))
    ),
}


@pytest.mark.parametrize("name", FROZEN_DRAWS)
def test_a_generator_of_a_constant_key_in_a_loss_is_named(name):
    (found,) = warned(lambda: trained(FROZEN_DRAWS[name], times=2))
    assert found.category is wg.errors.RandomnessWarning
    assert found.filename == __file__
    assert "parameter rng" in str(found.message)
    assert "the same in every call" in str(found.message)


def test_a_constant_key_in_a_bound_function_is_named():
    step = wg.TrainStep(lambda w, x: wg.sum(w * x), np.ones(4), wg.optim.SGD(0.1))
    for draw in (
        lambda w, x: wg.random.categorical(wg.random.key(0), w * x),
        lambda w, x: wg.random.Generator(wg.random.key(0)).normal((4,)) * w * x,
    ):
        (found,) = warned(lambda draw=draw: step.bind(draw)(np.ones(4)))
        assert found.category is wg.errors.RandomnessWarning
        assert found.filename == __file__
        assert "TrainStep.bind was given; its numbers are the same in every" in str(found.message)
    act = step.bind(lambda w, x, rng: wg.random.categorical(rng, w * x))
    assert warned(lambda: act(np.ones(4))) == []
    noisy = step.bind(lambda w, x, key: wg.random.categorical(key, w * x))
    assert warned(lambda: noisy(np.ones(4), A_KEY)) == []


@pytest.mark.parametrize("name", DRAWN_ANEW)
def test_a_generator_that_draws_anew_is_no_reason_to_warn(name):
    assert warned(lambda: trained(DRAWN_ANEW[name])) == []


def test_the_refusal_of_a_key_in_dropout_names_the_parameter_rng():
    with pytest.raises(TypeError, match="name a parameter rng and pass it on"):
        wg.dropout(X, 0.5, wg.random.key(0))
