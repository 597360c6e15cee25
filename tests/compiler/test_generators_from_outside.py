"""A generator from outside a compiled function would draw the same numbers in every call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TraceError

x = np.ones(4, np.float32)
outer = wg.random.Generator(wg.random.key(0))


@dataclass
class Noisy:
    w: Any
    g: Any

    def __call__(self, x: Any) -> Any:
        return self.w * x + self.g.normal((4,))


def _in_a_step(loss: Any, model: Any, *batch: Any) -> Any:
    return wg.TrainStep(loss, model, wg.optim.SGD(0.1))(*batch)


FROM_OUTSIDE = {
    "closed over": lambda: wg.compile(lambda x: x + outer.normal((4,)))(x),
    "an argument": lambda: wg.compile(lambda x, g: x + g.normal((4,)))(x, outer),
    "of dropout": lambda: wg.compile(lambda x: wg.dropout(x, 0.5, outer))(x),
    "in a loop": lambda: wg.compile(
        lambda x: wg.scan(lambda c, y: (c + outer.normal(()) * y, c), x[0], x)
    )(x),
    "next_key": lambda: wg.compile(lambda x: x + wg.random.normal(outer.next_key(), (4,)))(x),
    "an attribute": lambda: wg.compile(lambda m, x: m(x))(Noisy(x, outer), x),
    "in a gradient": lambda: wg.compile(wg.grad(lambda x: wg.sum(x * outer.normal((4,)))))(x),
    "in a loss": lambda: _in_a_step(lambda w, x: wg.sum(wg.dropout(w * x, 0.5, outer)), x, x),
    "in a model": lambda: _in_a_step(lambda m, x: wg.sum(m(x)), Noisy(x, outer), x),
    "in a batch": lambda: _in_a_step(lambda w, x, g: wg.sum(w * g.normal((4,))), x, x, outer),
}


@pytest.mark.parametrize("name", FROM_OUTSIDE)
def test_it_is_refused_and_has_not_moved(name):
    sites = outer.sites
    with pytest.raises(TraceError, match=r"one from outside.*parameter rng.*test_generators"):
        FROM_OUTSIDE[name]()
    assert outer.sites == sites


def test_one_that_is_made_inside_of_an_argument_differs_from_call_to_call():
    @wg.compile
    def noise(key):
        g = wg.random.Generator(key)
        return wg.stack([g.normal(()), g.fold_in(3).normal(())])

    key = wg.random.key(0)
    first, second = (noise(wg.random.fold_in(key, i)) for i in range(2))
    assert not np.any(first == second)


def test_one_that_is_told_apart_by_an_argument_is_no_constant():
    noise = wg.compile(lambda i: outer.fold_in(i).uniform((3,)))
    first, second = (noise(np.array(i)) for i in range(2))
    assert not np.any(first == second)
    np.testing.assert_array_equal(first, outer.fold_in(0).uniform((3,)))


def test_one_that_is_made_inside_of_a_fixed_key_repeats_as_it_does_without_compiling():
    def noise(x):
        return x + wg.random.Generator(wg.random.key(7)).uniform((4,))

    np.testing.assert_array_equal(wg.compile(noise)(x), noise(x))


def test_outside_of_compiled_functions_it_draws():
    before = outer.sites
    wg.grad(lambda x: wg.sum(x * outer.normal((4,))))(x)
    with wg.eager():
        wg.compile(lambda x: x + outer.normal((4,)))(x)
    assert outer.sites == before + 2


def test_a_parameter_rng_is_made_by_the_step():
    def loss(w, x, rng):
        return wg.sum(w * rng.normal((4,)))

    step = wg.TrainStep(loss, x, wg.optim.SGD(0.0))
    assert step(x) != step(x)
