"""Dropouts without a generator in the loss of a step: which were forgotten, and which are meant."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import DropoutWarning

ROWS = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
NET = wg.nn.Sequential(wg.nn.Linear(4, 5, seed=0), wg.nn.Dropout(0.5), wg.nn.Linear(5, 4, seed=1))
TEACHER = wg.tree.copy(NET)
PAIR = {"first": NET, "second": TEACHER}
SGD = wg.optim.SGD(0.1)


def told(loss, model, *batch, optimizer=SGD, compiled=False):
    step = wg.TrainStep(loss, model, optimizer, compiled=compiled)
    return [each.category for each in warned(lambda: step(*batch))]


def denoised(m, x, rng):
    noise = rng.normal(x.shape)
    return wg.mean((m(x + noise) - noise) ** 2)


def one_of_two(m, x, rng):
    return wg.mean(m["second"](m["first"](x, rng=rng)) ** 2)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("loss", "model"), [(denoised, NET), (one_of_two, PAIR)])
def test_a_dropout_is_forgotten_whatever_else_is_drawn(loss, model, compiled):
    assert told(loss, model, ROWS, compiled=compiled) == [DropoutWarning]


def test_a_forgotten_one_behind_a_frozen_layer_and_one_of_data_are_told():
    def loss(m, x):
        return wg.mean(m["second"](m["first"](x)) ** 2)

    def of_data(m, x):
        return wg.mean(m(wg.dropout(2 * x, 0.5)) ** 2)

    frozen = {"first.*": None, "*": SGD}
    assert told(loss, PAIR, ROWS, optimizer=frozen, compiled=True) == [DropoutWarning]
    assert told(of_data, wg.nn.Linear(4, 1), ROWS, compiled=True) == [DropoutWarning]


def by_a_global(m, x):
    return wg.mse(m(x), TEACHER(x))


def by_an_argument(m, x, teacher):
    return wg.mse(m(x), teacher(x))


def by_the_average(m, x, rng, averaged):
    return wg.mse(m(x, rng=rng), averaged(x))


def by_a_second_pass(m, x, rng):
    moved = x + 0.1 * wg.grad(lambda v: wg.mean(m(v)))(x)
    return wg.mse(m(x, rng=rng), m(moved))


def through_what_is_fixed(m, x, critic):
    return wg.mean(critic(m(x)))


STUDENT = wg.nn.Linear(4, 4, seed=2)
MEANT = {
    "global": (by_a_global, STUDENT, ROWS),
    "argument": (by_an_argument, STUDENT, ROWS, TEACHER),
    "average": (by_the_average, NET, ROWS),
    "second pass": (by_a_second_pass, NET, ROWS),
    "critic": (through_what_is_fixed, STUDENT, ROWS, TEACHER),
    "detached": (
        lambda m, x: wg.mse(m["out"](x), wg.stop_gradient(m["net"](x))) + wg.mean(m["net"][0](x)),
        {"net": NET, "out": STUDENT},
        ROWS,
    ),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", MEANT)
def test_a_network_that_is_evaluated_without_dropout_is_no_reason_to_warn(name, compiled):
    loss, model, *batch = MEANT[name]
    optimizer = wg.optim.EMA(SGD) if name == "average" else SGD
    categories = told(loss, model, *batch, optimizer=optimizer, compiled=compiled)
    assert DropoutWarning not in categories


def test_a_frozen_body_is_no_reason_to_warn():
    model = {"body": NET, "head": STUDENT}
    frozen = {"body.*": None, "*": SGD}
    assert not told(lambda m, x: wg.mean(m["head"](m["body"](x))), model, ROWS, optimizer=frozen)
