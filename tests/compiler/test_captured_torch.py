"""Tensors and random numbers of torch that a recorded function takes from outside. Wengert knows
them by the names of their classes and imports nothing, and so a stand-in will do.
"""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import wengert as wg
from wengert.errors import CaptureWarning, RandomnessWarning

X = np.ones((3, 2), np.float32)


class Tensor:
    """As much of a tensor of torch as a loss reads."""

    def __init__(self, x):
        self.x = np.asarray(x, np.float32)

    def item(self):
        return self.x.item()

    def numpy(self):
        return self.x.copy()


class Module:
    def __init__(self):
        self.weight = Tensor([1.0, 2.0])


class Generator:
    """Counts its draws."""

    def __init__(self):
        self.drawn = 0

    def get_state(self):
        return Tensor(self.drawn)

    def draw(self):
        self.drawn += 1
        return self.drawn


Tensor.__module__, Module.__module__, Generator.__module__ = "torch", "torch.nn", "torch._C"


class Policy(Module):
    """A network of the user's."""


TENSOR, POLICY, OWN = Tensor(0.5), Policy(), Generator()

READ = {
    "'TENSOR', a Tensor of torch": lambda m, o: TENSOR.item() * wg.mean(m(o) ** 2),
    "'POLICY', a Policy of torch": lambda m, o: wg.mean(m(o * POLICY.weight.numpy()) ** 2),
}


def _step(loss):
    return wg.TrainStep(loss, wg.nn.Linear(2, 1, seed=0), wg.optim.SGD(0.1))


@pytest.mark.parametrize("name", READ)
def test_a_tensor_of_torch_that_a_loss_reads_is_named(name):
    with pytest.warns(CaptureWarning, match=rf"{name}, from outside.*detach") as found:
        _step(READ[name])(X)
    assert [each.filename for each in found] == [__file__]


def test_a_bound_function_names_it_too():
    step = _step(lambda m, o: wg.mean(m(o) ** 2))
    with pytest.warns(CaptureWarning, match="'TENSOR', a Tensor of torch"):
        step.bind(lambda m, o: m(o) * TENSOR.item())(X)


def test_what_torch_draws_is_the_same_in_every_call(monkeypatch):
    torch = types.ModuleType("torch")
    torch.random = types.SimpleNamespace(get_rng_state=OWN.get_state)
    monkeypatch.setitem(sys.modules, "torch", torch)
    torch.randn = OWN.draw
    with pytest.warns(RandomnessWarning, match="the generator of torch was used"):
        _step(lambda m, o: torch.randn() * wg.mean(m(o) ** 2))(X)


def test_a_generator_of_torch_that_a_loss_draws_from():
    with pytest.warns(RandomnessWarning, match="a generator of torch was used"):
        _step(lambda m, o: OWN.draw() * wg.mean(m(o) ** 2))(X)


@pytest.mark.filterwarnings("error")
def test_numbers_of_a_tensor_are_arguments():
    _step(lambda m, o, alpha: alpha * wg.mean(m(o) ** 2))(X, TENSOR.numpy())
