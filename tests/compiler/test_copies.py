"""Compiled functions can be copied, pickled and sent to other processes."""

import copy
import pickle

import numpy as np
import pytest

import wengert as wg

X = np.arange(3.0)


@wg.compile
def decorated(x):
    return x * 2


def plain(x, k):
    return x * k


class Held:
    @wg.compile
    def method(self):
        return X + 1


@pytest.mark.parametrize("again", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy])
def test_a_decorated_function_is_itself(again):
    assert again(decorated) is decorated
    assert again(Held.method) is Held.method


@pytest.mark.parametrize("again", [lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy])
def test_a_function_that_was_compiled_elsewhere_keeps_its_options(again):
    n = wg.Dim("n")
    first = wg.compile(plain, static="k", dims={"x": {0: n}}, nonfinite="raise")
    first(X, 2)
    second = again(first)
    assert second is not first
    for size in (2, 3, 4):
        np.testing.assert_array_equal(second(np.ones(size), 3), np.full(size, 3.0))
    assert len(list(second.programs)) == 1
    with pytest.raises(wg.errors.NonFiniteError):
        second(np.array([np.inf]), 3)


def test_functions_without_a_name_are_refused_by_pickle():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(wg.compile(lambda x: x))
    f = wg.compile(lambda x: x + 1)
    np.testing.assert_array_equal(copy.deepcopy(f)(X), X + 1)
