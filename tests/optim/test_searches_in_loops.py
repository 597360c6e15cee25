"""Searches in a loop: the function, or the LBFGS, may be made anew in each turn."""

import functools
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ProgramsWarning
from wengert.optim.quasi_newton import minimized_functions


def warned(*calls):
    """The texts of what calls say of their programs."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for call in calls:
            call()
    return [str(each.message) for each in found if each.category is ProgramsWarning]


MADE_ANEW = {
    "around an array": lambda f, x: lambda p: f(p, x),
    "around a number": lambda f, x: lambda p, c=float(x[0]): f(p, c),
    "a partial": lambda f, x: functools.partial(lambda x, p: f(p, x), x),
}


@pytest.mark.parametrize("made", MADE_ANEW)
def test_a_search_for_a_function_that_a_loop_makes_anew(made):
    search = wg.optim.LBFGS(max_iter=2)

    def loss(p, x):
        return wg.sum((p - x) ** 2)

    def turn(i):
        return search.minimize(MADE_ANEW[made](loss, np.arange(2.0) + i), np.zeros(())).tree

    assert not warned(*(lambda i=i: turn(i) for i in range(9)))
    (text,) = warned(*(lambda i=i: turn(i) for i in range(9, 30)))
    assert "which was made anew for the tenth time; each one is recorded" in text
    assert "search.minimize(f, tree, x)" in text


def test_searches_for_functions_that_need_programs_of_their_own():
    search, p = wg.optim.LBFGS(max_iter=2), np.ones(2)

    def loss(p, x):
        return wg.sum((p[0] - x) ** 2) + p[1] ** 2

    def other_lengths(i):
        x = np.arange(i + 1.0)
        return search.minimize(lambda p: loss(p, x), p).tree

    def other_models(i):
        f = [np.tanh, np.sin, np.exp, np.arctan, np.cos, np.sinh, wg.relu, wg.softplus][i % 8]
        return search.minimize(lambda p: loss(f(p), 2.0), p).tree

    def as_an_argument(i):
        return search.minimize(loss, p, np.arange(2.0) + i).tree

    def in_numpy(i):
        return search.minimize(lambda p: loss(p, i), p, compiled=False).tree

    for turn in (other_lengths, other_models, as_an_argument, in_numpy):
        assert not warned(*(lambda i=i, turn=turn: turn(i) for i in range(12)))


# An LBFGS in each turn of a loop, for one function.

TARGET = {"at": 1.0}


def towards(p, x):
    return wg.sum((p - TARGET["at"] * x) ** 2)


def searched(f, x):
    search = wg.optim.LBFGS(max_iter=20, line_search_fn="strong_wolfe")
    return search.minimize(f, np.zeros(3), x).tree


@pytest.fixture
def compilations(monkeypatch):
    """The functions that searches compile."""
    compiled, compile_ = [], minimized_functions._compiled
    monkeypatch.setattr(
        minimized_functions, "_compiled", lambda f: [compiled.append(f), compile_(f)][1]
    )
    return compiled


def test_searches_of_their_own_have_the_program_of_those_before(compilations):
    one = wg.optim.LBFGS(max_iter=20, line_search_fn="strong_wolfe")
    for i in range(6):
        x = np.arange(3.0) + i
        np.testing.assert_array_equal(
            searched(towards, x), one.minimize(towards, np.zeros(3), x).tree
        )
    assert compilations.count(towards) <= 3  # `one` has compiled it as well


def test_what_the_function_reads_is_that_of_now(monkeypatch):
    for at in (1.0, 2.0, 3.0, -1.0):
        monkeypatch.setitem(TARGET, "at", at)
        np.testing.assert_allclose(searched(towards, np.ones(3)), at)


def test_a_function_that_has_the_attributes_of_another_has_its_own_program():
    for _ in range(3):
        searched(towards, np.ones(3))

    @functools.wraps(towards)
    def away(p, x):
        return towards(p, -x)

    for _ in range(3):
        np.testing.assert_allclose(searched(away, np.ones(3)), -1.0)


def test_functions_and_what_they_read_go_when_nobody_has_them():
    def search():
        data = np.ones(3)

        def loss(p, x):
            return wg.sum((p - x * data) ** 2)

        for _ in range(3):
            searched(loss, np.ones(3))
        return weakref.ref(data), weakref.ref(loss)

    found = search()
    gc.collect()
    assert [each() for each in found] == [None, None]


def test_what_a_function_keeps_is_not_pickled():
    for _ in range(3):
        searched(towards, np.ones(3))
    for x in vars(towards).values():
        again = pickle.loads(pickle.dumps(x))
        assert (again.function, again.compiled) == (None, None)
