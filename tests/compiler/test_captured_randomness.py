"""Random numbers that are drawn while a function is recorded."""

from __future__ import annotations

import random
import sys
import warnings

import numpy as np
import pytest

import wengert as wg
from compiler.captured import X
from wengert.errors import RandomnessWarning

NEW, OLD = np.random.default_rng(0), np.random.RandomState(0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.normal(),
        lambda: random.random(),
        lambda: NEW.normal(),
        lambda: OLD.normal(),
    ],
)
def test_random_numbers_drawn_while_recording_are_a_warning(draw):
    compiled = wg.compile(lambda x: x * draw())
    with pytest.warns(RandomnessWarning, match=r"constant of the program.*rng"):
        compiled(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(X)


def test_the_line_that_drew_them_is_named():
    line = sys._getframe().f_lineno + 1
    compiled = wg.compile(lambda x: x + np.random.normal(size=3))
    with pytest.warns(RandomnessWarning, match=rf"test_captured_randomness.py:{line}\)"):
        compiled(X)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().normal(size=3),
        lambda: np.random.Generator(np.random.PCG64()).normal(size=3),
        lambda: np.random.RandomState().normal(size=3),
    ],
)
def test_a_generator_that_is_made_inside_without_a_seed(draw):
    with pytest.warns(UserWarning, match=r"made inside the function .*test_captured_randomness.py"):
        wg.compile(lambda x: x * draw())(X)
    step = wg.TrainStep(lambda w: np.sum(w * draw()), np.ones(3), wg.optim.SGD(0.1))
    with pytest.warns(UserWarning, match="made inside the function"):
        step()


def test_a_generator_that_is_made_inside_with_a_seed():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wg.compile(lambda x: x * np.random.default_rng(3).normal(size=3))(X)
        wg.compile(lambda x: x * np.random.RandomState(3).normal(size=3))(X)


class _SystemsBits(random.SystemRandom):
    """Draws that are told, from a generator without a position."""

    told = iter([1, 1, 1, 0, 1, 1, 1])

    def getrandbits(self, k):
        return next(_SystemsBits.told)


def test_few_numbers_that_are_the_same_by_chance_are_still_random():
    bits = _SystemsBits()
    with pytest.warns(RandomnessWarning, match="constant of the program"):
        wg.compile(lambda x: x * bits.getrandbits(1))(X)
