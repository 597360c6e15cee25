"""Passes through a BatchNorm whose statistics nobody has to carry."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import BatchNormWarning

ROWS = np.random.default_rng(0).normal(size=(6, 4))
MODEL = {
    "in": wg.nn.Linear(4, 3, dtype=np.float64, seed=0),
    "norm": wg.nn.BatchNorm(3, dtype=np.float64),
}
STATE = MODEL["norm"].initial_state()


def net(m, state, x):
    y, state = m["norm"](m["in"](x), state, training=True)
    return wg.mean((y - x[:, :3]) ** 2), state


def attacked(m, state, x):
    gradient = wg.grad(lambda v: net(m, state, v)[0])(x)
    return net(m, state, wg.stop_gradient(x + 0.1 * wg.sign(gradient)))


def sharpness_aware(m, state, x):
    (_, new), gradient = wg.value_and_grad(lambda m: net(m, state, x), has_aux=True)(m)
    moved = wg.tree.map(lambda p, g: p + 0.05 * wg.stop_gradient(g), m, gradient)
    return net(moved, state, x)[0], new


def by_the_average(m, state, x, averaged):
    value, new = net(m, state, x)
    return value + net(averaged, new, -x)[0], new


def by_another_network(m, state, x, other, other_state):
    value, new = net(m, state, x)
    return value + net(other, other_state, x)[0], new


@pytest.mark.parametrize("loss", [attacked, sharpness_aware, by_the_average, by_another_network])
def test_a_pass_beside_one_that_returns_its_statistics_is_not_told(loss):
    optimizer = wg.optim.EMA(wg.optim.SGD(0.1))
    step = wg.TrainStep(loss, MODEL, optimizer, state=STATE)
    others = (wg.tree.copy(MODEL), wg.tree.copy(STATE)) if loss is by_another_network else ()
    assert not warned(lambda: step(ROWS, *others))


def test_passes_of_which_none_returns_its_statistics_are_told():
    step = wg.TrainStep(
        lambda m, state, x: (attacked(m, state, x)[0], state), MODEL, wg.optim.SGD(0.1), state=STATE
    )
    assert {each.category for each in warned(lambda: step(ROWS))} == {BatchNormWarning}
