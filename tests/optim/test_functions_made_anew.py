"""Functions that a loop makes anew for each search, which compiles each of them."""

import functools
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ProgramsWarning


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
