"""Static values that are compared: by value where that means something, else by identity."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

X = np.ones(3)


class Elementwise:
    """Compares like an array."""

    def __init__(self, factor):
        self.factor = factor

    def __eq__(self, other):
        return np.array([True, False])

    __hash__ = object.__hash__


class Raising(Elementwise):
    def __eq__(self, other):
        raise RuntimeError("cannot be compared")

    __hash__ = object.__hash__


class Unhashable(Elementwise):
    """Equal to others that have another factor."""

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize("kind", [Elementwise, Raising, Unhashable])
def test_objects_with_an_eq_of_their_own_among_the_arguments(kind):
    f = wg.compile(lambda x, thing: x * thing.factor)
    one, other = kind(2.0), kind(3.0)
    for _ in range(2):
        assert f(X, one)[0] == 2.0
        assert f(X, other)[0] == 3.0
    assert wg.tree.flatten((X, one))[1].count == 1
    assert "*" in str(wg.tree.flatten((X, one))[1])


@pytest.mark.parametrize("kind", [Elementwise, Raising])
def test_objects_with_an_eq_of_their_own_that_are_static(kind):
    f = wg.compile(lambda x, thing: x * thing.factor, static="thing")
    one, other = kind(2.0), kind(3.0)
    for _ in range(2):
        assert f(X, one)[0] == 2.0
        assert f(X, other)[0] == 3.0


def test_a_lambda_made_anew_is_the_same_static_value():
    calls = []

    @wg.compile
    def f(x, function):
        calls.append(function)
        return function(x)

    for factor in (2.0, 2.0, 3.0):
        assert f(X, lambda x, factor=factor: x * factor)[0] == factor
    assert len(calls) == 2


def test_many_shapes_in_turn_are_looked_up():
    """Every program is found by its shapes, whatever was called before."""
    f = wg.compile(lambda x: x * 2.0)
    sizes = list(range(1, 12))
    programs = [f.executable(np.ones(n)) for n in sizes]
    for n, program in zip(sizes, programs, strict=True):
        for other in programs:
            other.suits = None  # it is not asked
        program.suits = type(program).suits.__get__(program)
        assert f(np.ones(n)).shape == (n,)
