"""What the methods and functions of a model or a state read from outside is compared in every call,
as what the loss reads itself is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import wengert as wg

SCALE = 1.0
CONFIG = {"scale": 1.0}
MEAN = np.ones(3)
G = np.random.default_rng(0)
x = np.ones(3)


def scaled(h):
    return h * SCALE


class Scaled:
    def __init__(self):
        self.scale = 1.0

    def __call__(self, h):
        return h * self.scale


@dataclass
class Net:
    w: np.ndarray

    def __call__(self, x):
        return np.sum(x * self.w) * SCALE


@dataclass
class Configured(Net):
    def __call__(self, x):
        return np.sum(x * self.w) * CONFIG["scale"]


@dataclass
class WithClassAttribute(Net):
    factor = 1.0  # no field

    def __call__(self, x):
        return np.sum(x * self.w) * self.factor


@dataclass
class WithProperty(Net):
    @property
    def gain(self):
        return SCALE

    def __call__(self, x):
        return np.sum(x * self.w) * self.gain


@dataclass
class Holding(Net):
    function: Any

    def __call__(self, x):
        return self.function(np.sum(x * self.w))


@dataclass
class Centred(Net):
    def __call__(self, x):
        return np.sum((x - MEAN) * self.w)


def the_model(m, x):
    return m(x)


@pytest.fixture(autouse=True)
def as_before():
    yield
    CONFIG["scale"], WithClassAttribute.factor = 1.0, 1.0
    globals().update(SCALE=1.0, MEAN=np.ones(3))


def set_scale():
    globals()["SCALE"] = 10.0


CASES = {
    "global": (Net(x), set_scale, the_model),
    "dict": (Configured(x), lambda: CONFIG.update(scale=10.0), the_model),
    "class": (
        WithClassAttribute(x),
        lambda: setattr(WithClassAttribute, "factor", 10.0),
        the_model,
    ),
    "property": (WithProperty(x), set_scale, the_model),
    "inside": ({"net": [Net(x)]}, set_scale, lambda m, x: m["net"][0](x)),
    "function": (Holding(x, scaled), set_scale, the_model),
    "sequential": (
        wg.nn.Sequential(wg.nn.Linear(3, 1), lambda h: np.tanh(h) * SCALE),
        set_scale,
        lambda m, x: np.sum(m(x)),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", ["step", "bind", "evaluate"])
def test_methods_of_a_model_see_what_is_there_now(case, how):
    model, change, function = CASES[case]
    step = wg.TrainStep(function, model, wg.optim.SGD(0.0))
    bound = step.bind(function)
    call = {
        "step": lambda: step(x),
        "bind": lambda: float(bound(x)),
        "evaluate": lambda: step.evaluate(lambda m, x: function(m, x[0]), x[None], batch_size=1),
    }[how]
    before = call()
    assert call() == before
    change()
    assert call() == pytest.approx(10.0 * before)


def test_an_object_in_a_model():
    held = Scaled()
    step = wg.TrainStep(the_model, Holding(x, held), wg.optim.SGD(0.0))
    assert step(x) == 3.0
    held.scale = 10.0
    assert step(x) == 30.0


def test_methods_of_a_state():
    @dataclass
    class Count:
        n: np.ndarray

        def scaled(self, h):
            return h * SCALE

    def loss(w, state, x):
        return state.scaled(np.sum(w * x)), state

    step = wg.TrainStep(loss, x, wg.optim.SGD(0.0), state=Count(np.zeros(())))
    assert step(x) == 3.0
    set_scale()
    assert step(x) == 30.0


def test_an_array_that_a_method_reads():
    step = wg.TrainStep(the_model, Centred(x), wg.optim.SGD(0.0))
    assert step(x) == 0.0
    globals()["MEAN"] = np.zeros(3)
    assert step(x) == 3.0
    MEAN[:] = 5.0
    with pytest.raises(wg.errors.TraceError, match="'MEAN' was changed"):
        step.run(x[None], batch_size=1, epochs=3)


def test_generators_that_a_method_uses():
    @dataclass
    class Global(Net):
        def __call__(self, x):
            return np.sum(x * self.w) + G.normal()

    @dataclass
    class Own(Net):
        g: Any = field(default_factory=np.random.default_rng)

        def __call__(self, x):
            return np.sum(x * self.w) + self.g.normal()

    for kind in (Global, Own):
        step = wg.TrainStep(the_model, kind(x), wg.optim.SGD(0.0))
        with pytest.warns(wg.errors.RandomnessWarning):
            step(x)


def test_what_a_model_does_not_read_costs_nothing():
    def places(model, function):
        step = wg.TrainStep(function, model, wg.optim.SGD(0.0))
        step(x)
        (compiled,) = step._engine.programs[True]._compiled.values()
        return len(compiled.latest.watch.places)

    plain = places({"w": x}, lambda m, x: np.sum(m["w"] * x))
    layers = wg.nn.Sequential(wg.nn.Linear(3, 1), wg.tanh)
    assert places(layers, lambda m, x: np.sum(m(x))) == plain
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        places(Net(x), the_model)


def test_rules_of_the_users():
    class Scaling(wg.optim.SGD):
        gain = 1.0

        def rule(self, weights, gradients, states, numbers, path=None):
            return super().rule(weights, gradients * SCALE * self.gain, states, numbers)

    for wrapped in (lambda x: x, lambda x: wg.optim.EMA(x, 0.5)):
        globals()["SCALE"] = 1.0
        step = wg.TrainStep(lambda w, x: np.sum(w * x), np.zeros(3), wrapped(Scaling(1.0)))
        step(x)
        np.testing.assert_array_equal(step.model, -x)
        set_scale()
        step(x)
        np.testing.assert_array_equal(step.model, -11 * x)
    step = wg.TrainStep(lambda w, x: np.sum(w * x), np.zeros(3), Scaling(1.0))
    step(x)
    step.optimizer.gain = 5.0
    step(x)
    np.testing.assert_array_equal(step.model, -60 * x)
