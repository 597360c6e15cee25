"""Dicts of optimizers and arrays of rates that are changed after a step was made with them."""

import gc
import weakref

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, Y, warned
from wengert.errors import CopiedWarning

SGD = wg.optim.SGD


def loss(m, x, y):
    return wg.mean((x @ m["a"] + m["b"] - y) ** 2)


def model(start=0.0):
    return {"a": np.full(3, start), "b": np.full((), start)}


def step_of(groups):
    return wg.TrainStep(loss, model(), groups)


def ensemble_of(optimizer):
    return wg.Ensemble(loss, [model(), model(1.0)], optimizer)


TRAINING = {
    "calls": lambda step: [step(X, Y) for _ in range(20)],
    "run": lambda step: step.run(X, Y, batch_size=4),
    "epochs": lambda step: list(step.epochs(X, Y, batch_size=4)),
}


def fitted(step):
    return wg.train.fit(step, (X, Y), epochs=1, batch_size=4, progress=False)


@pytest.mark.parametrize("train", [*TRAINING.values(), fitted], ids=[*TRAINING, "fit"])
def test_a_dict_of_optimizers_that_is_changed_is_told_once(train):
    groups = {"a": SGD(0.1), "*": SGD(0.01)}
    step = step_of(groups)
    assert warned(lambda: train(step)) == []
    groups["a"] = None
    found = warned(lambda: [train(step), train(step)])
    assert [each.category for each in found] == [CopiedWarning]
    told = "'a' was set to None in the dict of optimizers that it was made with; a step has copies"
    assert told in str(found[0].message)
    assert "goes on with SGD(lr=0.1) there" in str(found[0].message)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda groups: groups.update(a=SGD(0.5)), "'a' was set to SGD(lr=0.5) in"),
        (lambda groups: groups.update(b=SGD(0.5)), "'b' was set to SGD(lr=0.5) in"),
        (lambda groups: groups.pop("a"), "'a' was removed from"),
    ],
)
def test_how_a_dict_was_changed_is_told(change, told):
    groups = {"a": SGD(0.1), "*": SGD(0.01)}
    step = step_of(groups)
    change(groups)
    (found,) = warned(lambda: step(X, Y))
    assert told in str(found.message)


@pytest.mark.parametrize("train", TRAINING.values(), ids=TRAINING)
@pytest.mark.parametrize(("wrapped", "way"), [(list, ""), (wg.optim.EMA, ".optimizer")])
def test_an_array_of_rates_that_is_changed_is_told_once(train, wrapped, way):
    rates = np.array([0.1, 0.2])
    ensemble = ensemble_of(wrapped(SGD(rates)))
    assert warned(lambda: train(ensemble)) == []
    rates[1] = 0.08
    found = warned(lambda: [train(ensemble), train(ensemble)])
    assert [each.category for each in found] == [CopiedWarning]
    told = "Ensemble: entry 1 of the array of lr that it was made with was set to 0.08"
    assert told in str(found[0].message)
    assert str(found[0].message).endswith(f"Set ensemble.members[1].optimizer{way}.lr = 0.08.")


def test_settings_that_have_another_use_are_let_be():
    def grid():
        groups, steps = {}, []
        for rate in (0.1, 0.2):
            groups["*"] = SGD(rate)
            steps.append(step_of(groups))
        for step in steps:
            TRAINING["calls"](step)
            TRAINING["run"](step)

    def frozen_later():
        groups = {"a": SGD(0.1), "*": SGD(0.01)}
        first = step_of(groups)
        first.run(X, Y, batch_size=4)
        groups["a"] = None
        first.evaluate(loss, X, Y, batch_size=4)
        second = wg.TrainStep(loss, first.model, groups)
        second.run(X, Y, batch_size=4)
        first.run(X, Y, batch_size=4)

    def population():
        rates = np.array([0.1, 0.2])
        ensemble = ensemble_of(SGD(rates))
        for _ in range(3):
            ensemble.run(X, Y, batch_size=4)
            rates[0] = 1.2 * rates[1]
            ensemble.members[0].optimizer.lr = rates[0]
        rates *= 0.5
        other = ensemble_of(SGD(rates))
        TRAINING["calls"](ensemble)
        TRAINING["run"](other)

    for use in (grid, frozen_later, population):
        assert warned(use) == []


def test_settings_that_nobody_else_has_are_not_looked_at():
    step = step_of({"*": SGD(0.1)})
    step(X, Y)
    assert not step._originals.settings
    rates = np.array([0.1, 0.2])
    ensemble, gone = ensemble_of(SGD(rates)), weakref.ref(rates)
    del rates
    gc.collect()
    assert gone() is None
    ensemble(X, Y)
    assert not ensemble.members[0]._originals.settings
