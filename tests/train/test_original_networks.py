"""Networks that one step has trained, and another is given as they were drawn: layers in a row, and
an Mlp, whose weights are drawn by itself.
"""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import CopiedWarning

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((8, 4)).astype(np.float32), np.ones((8, 2), np.float32)


def layers(inputs, outputs):
    return wg.nn.Sequential(wg.nn.Linear(inputs, 3), "tanh", wg.nn.Linear(3, outputs))


def perceptron(inputs, outputs):
    return wg.nn.Mlp((inputs, 3, outputs))


def step(loss, model, optimizer=None):
    return wg.TrainStep(loss, model, optimizer or wg.optim.SGD(0.1))


def errors(m, x, y):
    return wg.mean((m(x) - y) ** 2)


def coded(m, x, y):
    return errors(m["head"], m["code"](x), y)


def of_teacher(net):
    teacher = net(4, 2)
    trained = step(errors, teacher)
    student = step(lambda m, t, x: wg.mean((m(x) - t(x)) ** 2), net(4, 2))
    return trained, lambda live: student(live if live else teacher, X)


def of_world_model(net):
    world = net(4, 2)
    trained = step(errors, world)
    actor = step(lambda m, w, x: -wg.mean(w(m(x))), net(4, 4))
    return trained, lambda live: actor(live if live else world, X)


def of_encoder(net):
    code = net(4, 5)
    trained = step(
        lambda m, x, y: errors(m["decoder"], m["code"](x), y), {"code": code, "decoder": net(5, 2)}
    )
    made = []

    def train(live):
        if not made:
            parts = {"code": live["code"] if live else code, "head": net(5, 2)}
            made.append(step(coded, parts, {"code.*": None, "*": wg.optim.SGD(0.1)}))
        made[0](X, Y)

    return trained, train


def told(net, case, is_live):
    trained, train = case(net)
    for _ in range(3):
        trained(X, Y)
    given = trained.model if is_live else None
    return [each.category for each in warned(lambda: [train(given) for _ in range(20)])]


@pytest.mark.parametrize("net", [layers, perceptron])
@pytest.mark.parametrize("case", [of_teacher, of_world_model, of_encoder])
def test_originals_are_told_and_trained_ones_are_not(net, case):
    assert told(net, case, is_live=False) == [CopiedWarning]
    assert told(net, case, is_live=True) == []
