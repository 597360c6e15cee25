"""Keys in the body of a scan: one from outside draws the same in every step, which is told."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.errors import RandomnessWarning

random = wg.random
KEY = random.key(0)
START, ROWS, COUNT = np.zeros(2, np.float32), np.zeros(3, np.float32), np.arange(3)
TOLD = "draws in the body of a scan, under a key from outside.*the same in every step"


def walk(key, start=START):
    return wg.scan(lambda at, _: (at + random.normal(key, (2,)), at), start, ROWS)[0]


SLIPS = {
    "a constant": lambda: walk(KEY),
    "an argument": lambda: wg.compile(walk)(KEY),
    "differentiated": lambda: wg.grad(lambda start: wg.sum(walk(KEY, start)))(START),
    "a key for each example": lambda: wg.vmap(walk)(random.split(KEY, 4)),
    "a generator of the body": lambda: wg.scan(
        lambda at, _: (at + random.Generator(KEY).normal((2,)), at), START, ROWS
    ),
    "in an inner loop": lambda: wg.scan(
        lambda at, key: (at + walk(key), None), START, random.split(KEY, 2)
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_key_from_outside_is_told_once(name):
    with pytest.warns(RandomnessWarning, match=TOLD) as told:
        SLIPS[name]()
    assert len(told) == 1
    assert told[0].filename == __file__


def carried(key):
    def step(carry, _):
        key, at = carry
        key, now = random.split(key)
        return (key, at + random.normal(now, (2,))), None

    return wg.scan(step, (key, START), ROWS)[0][1]


def by_step(key_of, xs):
    return wg.scan(lambda at, x: (at + random.normal(key_of(x), (2,)), None), START, xs)[0]


def with_branch(key):
    def step(at, now):
        drawn = wg.cond(at[0] > 0, lambda: random.normal(now, (2,)), lambda: at)
        return at + drawn, None

    return wg.scan(step, START, random.split(key, 3))[0]


def with_examples(key):
    def step(at, now):
        return at + wg.vmap(lambda each: random.normal(each))(random.split(now, 2)), None

    return wg.scan(step, START, random.split(key, 3))[0]


def with_derivative(key):
    def step(at, now):
        return at - wg.grad(lambda w: wg.sum(w * random.normal(now, (2,))))(at), None

    return wg.scan(step, START, random.split(key, 3))[0]


def of_generator(key):
    rng = random.Generator(key)
    return wg.scan(lambda at, _: (at + rng.normal((2,)), None), START, ROWS)[0]


RIGHT = {
    "carried": carried,
    "among xs": lambda key: by_step(lambda x: x, random.split(key, 3)),
    "folded": lambda key: by_step(lambda i: random.fold_in(key, i), COUNT),
    "one of many": lambda key: by_step(lambda i: wg.asarray(random.split(key, 3))[i], COUNT),
    "in a branch": with_branch,
    "in a vmap": with_examples,
    "in a derivative": with_derivative,
    "a generator from outside": of_generator,
    "in a vmap alone": lambda key: wg.vmap(lambda x: x + random.normal(key))(ROWS),
    "an equation of our own loop": lambda key: wg.odeint(
        lambda y, t: -y * random.normal(key, (2,)), START, [0.0, 1.0]
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", RIGHT)
def test_keys_that_differ_are_not_told(name):
    RIGHT[name](KEY)
    wg.compile(RIGHT[name])(KEY)
    with wg.eager():
        wg.compile(RIGHT[name])(KEY)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("compiled", [True, False])
def test_keys_of_a_training_step_are_not_told(compiled):
    def loss(w, key, rng):
        drawn = wg.scan(lambda at, _: (at + rng.normal((2,)), None), w, ROWS)[0]
        return wg.sum((drawn + carried(key)) ** 2)

    wg.TrainStep(loss, START, wg.optim.SGD(0.1), compiled=compiled)(KEY)
