"""Steps whose models have a network in common: each trains a copy of it, and says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import X, warned
from wengert.errors import CopiedWarning


def loss(m, x):
    return wg.mean(m["head"](m["encoder"](x)) ** 2)


def network(seed):
    return wg.nn.Linear(3, 3, seed=seed, dtype=np.float64)


def step_of(encoder, seed, optimizer=None):
    model = {"encoder": encoder, "head": network(seed)}
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.01))


def by_calls(*steps):
    for _ in range(4):
        for step in steps:
            step(X)


def by_runs(*steps):
    for _ in range(3):
        for step in steps:
            step.run(X, epochs=1, batch_size=4)


@pytest.mark.parametrize("train", [by_calls, by_runs])
def test_steps_that_take_turns_and_share_a_network_are_told(train):
    encoder = network(0)
    actor, critic = step_of(encoder, 1), step_of(encoder, 2)
    (found,) = warned(lambda: train(actor, critic))
    assert found.category is CopiedWarning
    assert "'encoder.weight' of the model that it was made with, and 1 more" in str(found.message)


def test_networks_that_begin_alike_and_are_trained_one_after_the_other_are_let_pass():
    encoder = network(0)
    first, second = step_of(encoder, 1), step_of(encoder, 2)
    assert warned(lambda: [by_calls(first), by_calls(second)]) == []


def test_one_model_trained_twice_and_a_part_of_it_alone_are_let_pass():
    model = {"encoder": network(0), "head": network(1)}
    steps = [wg.TrainStep(loss, model, wg.optim.SGD(0.01)) for _ in range(2)]
    part = {"encoder": model["encoder"]}
    steps.append(wg.TrainStep(lambda m, x: wg.mean(m["encoder"](x)), part, wg.optim.SGD(0.01)))
    assert warned(lambda: by_calls(*steps)) == []


def test_a_frozen_network_may_be_in_several():
    encoder, frozen = network(0), {"encoder.*": None, "*": wg.optim.SGD(0.01)}
    steps = [step_of(encoder, seed, frozen) for seed in (1, 2)]
    assert warned(lambda: by_calls(*steps)) == []


def test_copies_are_let_pass():
    encoder = network(0)
    steps = [step_of(wg.tree.copy(encoder), seed) for seed in (1, 2)]
    assert warned(lambda: by_calls(*steps)) == []


def test_parts_that_one_step_trains_and_the_other_has_frozen_are_told():
    model = {"encoder": network(0), "head": network(1)}
    of_one = {"encoder.*": wg.optim.SGD(0.01), "*": None}
    of_other = {"head.*": wg.optim.SGD(0.01), "*": None}
    steps = [wg.TrainStep(loss, model, each) for each in (of_one, of_other)]
    (found,) = warned(lambda: by_calls(*steps))
    assert found.category is CopiedWarning
    assert "'head.weight' of the model that it was made with, and 1 more, are frozen here" in str(
        found.message
    )


def test_parts_that_are_written_into_the_other_step_are_let_pass():
    model = {"encoder": network(0), "head": network(1)}
    parts = ("encoder", "head")
    one, other = (
        wg.TrainStep(loss, model, {f"{part}.*": wg.optim.SGD(0.01), "*": None}) for part in parts
    )

    def take_turns():
        for _ in range(4):
            one(X)
            other.model["encoder"].weight[...] = one.model["encoder"].weight
            other(X)
            one.model["head"].weight[...] = other.model["head"].weight

    assert warned(take_turns) == []


def test_a_network_frozen_for_comparison_is_let_pass():
    model = {"encoder": network(0), "head": network(1)}
    probe = wg.TrainStep(loss, model, {"encoder.*": None, "*": wg.optim.SGD(0.01)})
    whole = wg.TrainStep(loss, model, wg.optim.SGD(0.01))
    assert warned(lambda: by_calls(probe, whole)) == []
