"""Parameters that a loss computes with, and that no gradient reaches: a step says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, warned
from wengert.errors import UnreachedWarning

MODEL = {"actor": wg.nn.Linear(3, 2, seed=0), "critic": wg.nn.Linear(3, 2, seed=1)}


def detached(m, x):
    """The critic's term is detached instead of the actor's target."""
    return wg.mean(m["critic"](x) ** 2) - wg.stop_gradient(wg.mean(wg.log_softmax(m["actor"](x))))


def greedy(m, x):
    """Nothing goes back through the choice of an action."""
    chosen = wg.argmax(m["actor"](x), axis=1)
    return wg.mean(wg.take_along_axis(m["critic"](x), chosen[:, None], axis=1) ** 2)


def unused(m, x):
    return wg.mean(m["critic"](x) ** 2)


def only_shown(m, x):
    return wg.mean(m["critic"](x) ** 2), wg.mean(wg.stop_gradient(m["actor"](x)))


def both(m, x):
    value = m["critic"](x)
    return wg.mean(value**2) - wg.mean(wg.stop_gradient(value) * m["actor"](x))


@pytest.mark.parametrize("loss", [detached, greedy])
@pytest.mark.parametrize("optimizer", [wg.optim.SGD(0.1), wg.optim.EMA(wg.optim.SGD(0.1))])
def test_a_part_that_is_used_and_not_trained_is_named_once(loss, optimizer):
    step = wg.TrainStep(loss, MODEL, optimizer)
    (found,) = warned(lambda: [step(X), step(X), step(X[:4])])
    assert found.category is UnreachedWarning
    assert "'actor.weight', 'actor.bias'" in str(found.message)
    assert "{'actor.*': None, '*': optimizer}" in str(found.message)


def test_the_repair_freezes_all_that_is_named_and_nothing_else():
    def part_is_stopped(m, x):
        hidden = m["critic"]["body"][1](m["critic"]["body"][0](x))
        return wg.mean(m["critic"]["head"](wg.stop_gradient(hidden)) ** 2)

    def whole_is_stopped(m, x):
        return part_is_stopped(m, x) + wg.mean(wg.stop_gradient(m["actor"](x)) * x)

    def layers(seed):
        return wg.nn.Linear(3, 3, seed=seed)

    body = {"body": [layers(0), layers(1)], "head": layers(2)}
    model = {"actor": layers(3), "critic": body}
    (told,) = warned(lambda: wg.TrainStep(whole_is_stopped, model, wg.optim.SGD(0.1))(X))
    assert "{'actor.*': None, 'critic.body.*': None, '*': optimizer}" in str(told.message)
    groups = {"actor.*": None, "critic.body.*": None, "*": wg.optim.SGD(0.1)}
    assert warned(lambda: wg.TrainStep(whole_is_stopped, model, groups)(X)) == []


def test_decay_is_said_instead_of_it():
    found = warned(lambda: wg.TrainStep(detached, MODEL, wg.optim.AdamW(0.1))(X))
    assert all("makes it smaller" in str(each.message) for each in found)


@pytest.mark.parametrize("loss", [unused, both])
def test_parts_that_are_trained_or_not_used_are_let_pass(loss):
    assert warned(lambda: wg.TrainStep(loss, MODEL, wg.optim.SGD(0.1))(X)) == []


def test_what_is_only_returned_is_not_used():
    step = wg.TrainStep(only_shown, MODEL, wg.optim.SGD(0.1), has_aux=True)
    assert warned(lambda: step(X)) == []


def test_freezing_says_that_it_is_meant():
    groups = {"actor.*": None, "*": wg.optim.SGD(0.1)}
    assert warned(lambda: wg.TrainStep(detached, MODEL, groups)(X)) == []


def test_a_run_and_an_ensemble_say_it_too():
    step = wg.TrainStep(detached, MODEL, wg.optim.SGD(0.1))
    assert len(warned(lambda: step.run(X, epochs=2, batch_size=4))) == 1
    members = wg.Ensemble(
        detached, lambda seed: MODEL, wg.optim.SGD(np.array([0.1, 0.2])), members=2
    )
    assert UnreachedWarning in [each.category for each in warned(lambda: members(X))]
