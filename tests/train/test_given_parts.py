"""Parts of a model that the user still has when the model itself is gone: the step has a copy."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, warned
from wengert.errors import CopiedWarning


def told(call):
    """The only warning in a call."""
    (found,) = warned(call)
    assert found.category is CopiedWarning
    return str(found.message)


@dataclass
class Config:
    scale: float = 1.0
    width: int = 3


@dataclass
class Configured:
    line: wg.nn.Linear
    config: Config

    def __call__(self, x):
        return self.config.scale * self.line(x)

    def clipped(self, x, config):
        return wg.minimum(self.line(x), config.scale)


@dataclass
class Made:
    line: wg.nn.Linear
    config: Config  # what it was made by, which it does not read


def linear(seed=0):
    return wg.nn.Linear(3, 2, dtype=np.float64, seed=seed)


def step_of(model, loss=None):
    """The model is nobody's afterwards, unless the caller has it."""
    loss = loss or (lambda m, x: wg.mean(m(x) ** 2))
    return wg.TrainStep(loss, model, wg.optim.SGD(0.1), compiled=False)


@pytest.mark.parametrize(
    ("holding", "loss"),
    [
        (lambda config: config, None),
        (lambda config: {"a": [config]}, lambda m, x: wg.mean(m.config["a"][0].scale * m.line(x))),
    ],
    ids=["a field", "a list"],
)
def test_a_setting_of_a_part_is_told_where_the_model_is_gone(holding, loss):
    config = Config()
    step = step_of(Configured(linear(), holding(config)), loss)
    step(X)
    config.width = 4  # nobody reads it
    assert not warned(lambda: [step(X), step(X)])
    config.scale = 10.0
    found = told(lambda: [step(X) for _ in range(20)])
    assert ".scale' of the model that it was made with was set to 10.0" in found
    assert "where it is 1.0" in found


def test_a_setting_of_a_layer_that_is_a_part_is_told_where_the_model_is_gone():
    drop = wg.nn.Dropout(0.5)
    step = step_of(wg.nn.Sequential(linear(), drop), lambda m, x, rng: wg.mean(m(x, rng=rng) ** 2))
    step(X)
    drop.rate = 0.0
    found = told(lambda: [step(X) for _ in range(5)])
    assert "'layers.1.rate' of the model that it was made with was set to 0.0" in found


def test_an_array_that_is_replaced_in_a_part_is_told_where_the_model_is_gone():
    inner, config = linear(), Config()
    parts = {"inner": Configured(inner, config)}
    step = step_of(
        wg.nn.Sequential(wg.nn.Sequential(parts["inner"], linear(1)), wg.nn.Linear(2, 1, seed=2)),
        lambda m, x: wg.mean(m.layers[0].layers[0](x) ** 2),
    )
    assert not warned(lambda: [step(X), step(X)])
    del parts["inner"]  # the parts of that are left
    assert not warned(lambda: [step(X), step(X)])
    inner.bias = np.full(2, 5.0)
    found = told(lambda: [step(X) for _ in range(9)])
    assert "leaf 'layers.0.layers.0.line.bias' of the model" in found


def test_a_setting_of_a_part_that_members_were_made_with_is_told_once():
    config = Config()
    ensemble = wg.Ensemble(
        lambda m, x: wg.mean(m(x) ** 2),
        [Configured(linear(seed), config) for seed in range(3)],
        wg.optim.SGD(0.1),
        compiled=False,
    )
    ensemble(X)
    config.scale = 2.0
    found = told(lambda: [ensemble(X) for _ in range(9)])
    assert "'config.scale' of the model" in found


def test_nothing_is_kept_alive_for_the_sake_of_parts():
    config, line = Config(), linear()
    step = step_of(Configured(line, config))
    step(X)
    gone = [weakref.ref(each) for each in (config, line, line.weight)]
    del config, line
    gc.collect()
    assert [each() for each in gone] == [None] * 3
    assert not warned(lambda: [step(X), step(X)])


def make_another_step(config):
    step = step_of(Configured(linear(), config))
    step(X)
    config.scale = 3.0
    other = step_of(Configured(linear(), config))
    return lambda: [step(X), other(X)]


def make_another_step_and_set_it_back(config):
    run = make_another_step(config)
    config.scale = 1.0
    return run


def make_another_of_a_model_that_is_kept(config):
    model = Configured(linear(), config)
    step = step_of(model)
    step(X)
    config.scale = 3.0
    other = step_of(model if config.width == 3 else Configured(linear(), config))
    return lambda: [step(X), other(X), model]


def give_it_as_an_argument(config):
    step = step_of(Configured(linear(), config), lambda m, x, config: wg.mean(m.clipped(x, config)))
    step(X, config)
    config.scale = 3.0
    return lambda: step(X, config)


def read_it_from_outside(config):
    step = step_of(Made(linear(), config), lambda m, x: wg.mean(m.line(x) ** 2) * config.scale)
    before = step(X)
    config.scale = 3.0
    assert step(X) > before
    return lambda: step(X)


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize(
    "use",
    [
        make_another_step,
        make_another_step_and_set_it_back,
        make_another_of_a_model_that_is_kept,
        give_it_as_an_argument,
        read_it_from_outside,
    ],
    ids=lambda f: f.__name__,
)
def test_a_part_with_another_use_is_let_be(use, width):
    run = use(Config(width=width))
    assert not warned(lambda: [run() for _ in range(9)])
