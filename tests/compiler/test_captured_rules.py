"""What derivatives of a function's own read from outside."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X
from wengert.core import tree

scale: Any = 2.0


def set_global(name: str, value: Any) -> None:
    globals()[name] = value


@pytest.fixture(autouse=True)
def _restored():
    yield
    set_global("scale", 2.0)


def _with_rules(function, forward, backward):
    found = wg.custom_vjp(function)
    found.defvjp(forward, backward)
    return found


def _read_inside(x):
    return x * scale


RULED = {
    "its function": _with_rules(lambda x: x * scale, lambda x: (x * 2.0, None), lambda _, g: (g,)),
    "forward": _with_rules(lambda x: x * 2.0, lambda x: (x * scale, None), lambda _, g: (g,)),
    "backward": _with_rules(
        lambda x: x * 2.0, lambda x: (x * 2.0, None), lambda _, g: (g * scale,)
    ),
    "a wrapper as a rule": _with_rules(
        lambda x: x * 2.0,
        lambda x: (x * 2.0, None),
        functools.partial(lambda _s, _, g: (wg.checkpoint(_read_inside)(g),), 1.0),
    ),
}

IN_FUNCTIONS = {
    "grad": lambda f: wg.grad(lambda x: np.sum(f(x))),
    "value_and_grad": lambda f: wg.value_and_grad(lambda x: np.sum(f(x))),
    "value": lambda f: lambda x: f(x),
    "itself": lambda f: f,
    "checkpoint": lambda f: wg.grad(wg.checkpoint(lambda x: np.sum(f(x)))),
    "scan": lambda f: wg.grad(
        lambda x: np.sum(wg.scan(lambda c, _: (f(c), c), x, None, length=2)[0])
    ),
    "compiled": lambda f: wg.grad(lambda x: np.sum(wg.compile(f)(x))),
    "partial": lambda f: functools.partial(lambda f, x: wg.grad(lambda x: np.sum(f(x)))(x), f),
}


@pytest.mark.parametrize("place", IN_FUNCTIONS)
@pytest.mark.parametrize("rule", RULED)
def test_what_a_function_with_a_rule_of_its_own_reads(rule, place):
    plain = IN_FUNCTIONS[place](RULED[rule])
    compiled = wg.compile(plain)
    for value in (2.0, 3.0, 2.0):
        set_global("scale", value)
        np.testing.assert_array_equal(
            np.hstack(tree.leaves(compiled(X))), np.hstack(tree.leaves(plain(X)))
        )


def test_what_the_rules_of_a_method_read():
    class Model:
        def __init__(self):
            self.k = 2.0
            self.f = _with_rules(
                lambda x: x * self.k, lambda x: (x * self.k, None), lambda _, g: (g * self.k,)
            )

        def loss(self, x):
            return np.sum(self.f(x))

    model = Model()
    gradient, value = wg.compile(wg.grad(model.loss)), wg.compile(model.loss)
    for model.k in (2.0, 3.0):
        assert gradient(X)[0] == model.k
        assert value(X) == 3 * model.k


def test_a_rule_that_is_another_one_now():
    f = _with_rules(lambda x: x * 1.0, lambda x: (x * 1.0, None), lambda _, g: (g,))
    gradient = wg.compile(wg.grad(lambda x: np.sum(f(x))))
    assert gradient(X)[0] == 1.0
    f.defvjp(lambda x: (x * 1.0, None), lambda _, g: (g * 7.0,))
    assert gradient(X)[0] == 7.0


def test_what_the_rules_of_a_training_step_read():
    f = _with_rules(lambda x: x * 1.0, lambda x: (x * 1.0, None), lambda _, g: (g * scale,))
    weights = np.zeros(3)
    step = wg.TrainStep(lambda w: np.sum(f(w)), weights, wg.optim.SGD(1.0))
    step()
    set_global("scale", 5.0)
    step()
    assert (step.model == -7.0).all()
