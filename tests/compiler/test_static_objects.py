"""Static arguments are found again by their types and all they hold, not by == alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api.compiling.met import MANY_OBJECTS

x = np.ones(2)


@dataclass(frozen=True)
class Config:
    size: Any
    note: Any = field(default=0, compare=False)


class Named:
    def __init__(self, name, scale):
        self.name, self.scale = name, scale

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


class Slotted(Named):
    __slots__ = ("name", "scale")


class Token:
    pass


def recordings(values):
    """How often a function is recorded that is called with these."""
    count = []

    def f(x, value):
        count.append(value)
        return x * 2.0

    compiled = wg.compile(f, static="value")
    for value in values:
        compiled(x, value)
    return len(count)


DIFFERENT = {
    "int and float": (Config(2), Config(2.0)),
    "not compared": (Config(2, 1), Config(2, 3)),
    "bool and int": (Config(1), Config(True)),
    "signs of zero": (Config(0.0), Config(-0.0)),
    "float32 and float64": (Config(np.float32(2)), Config(np.float64(2))),
    "in a tuple": ((Config(2),), (Config(2.0),)),
    "sets": (frozenset([1]), frozenset([True])),
    "names alone": (Named("a", 1), Named("a", 2)),
    "slots": (Slotted("a", 1), Slotted("a", 2)),
}
EQUAL = {
    "fields": (Config(2), Config(2)),
    "NaN": (float("nan"), float("nan")),
    "NaN in a field": (Config(float("nan")), Config(float("nan"))),
    "sets": (frozenset([1, 2]), frozenset([2, 1])),
    "names and the rest": (Named("a", 1), Named("a", 1)),
    "lambdas of one line": [lambda x: x for _ in range(3)],
}


@pytest.mark.parametrize("values", DIFFERENT.values(), ids=DIFFERENT)
def test_others_have_programs_of_their_own(values):
    assert recordings([*values, *values]) == 2


@pytest.mark.parametrize("values", EQUAL.values(), ids=EQUAL)
def test_equals_share_a_program(values):
    assert recordings([*values, *values]) == 1


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_program_is_the_right_one():
    f = wg.compile(lambda x, c: x / c.size, static="c")
    np.testing.assert_array_equal(f(x, Config(0.0, 1)), np.divide(x, 0.0))
    np.testing.assert_array_equal(f(x, Config(-0.0, 1)), np.divide(x, -0.0))


def test_new_objects_in_every_call_are_told():
    f = wg.compile(lambda x, token: x * 2.0, static="token")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(MANY_OBJECTS - 1):
            f(x, Token())
    with pytest.warns(wg.errors.ProgramsWarning, match="static argument 'token' is another Token"):
        f(x, Token())
