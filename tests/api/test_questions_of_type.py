"""A function that asks what it is given takes the same branch in every transformation."""

import functools

import numpy as np
import pytest

import wengert as wg
from wengert.core.tensor import Tensor


def asks(x):
    if isinstance(x, list | tuple):
        return np.sum(x[0])
    if isinstance(x, np.ndarray):
        return np.sum(x * 2.0)
    return np.sum(x * 5.0)


@functools.singledispatch
def dispatched(x):
    return np.sum(x * 5.0)


X = np.ones(2)
WAYS = {
    "compile": lambda f: wg.compile(f)(X),
    "value_and_grad": lambda f: wg.value_and_grad(f)(X)[0],
    "jvp": lambda f: wg.jvp(f, (X,), (X,))[0],
    "trace": lambda f: wg.trace(f, X).run(x=X)[0],
    "vmap": lambda f: wg.vmap(f)(X[None])[0],
    "scan": lambda f: wg.scan(lambda c, x: (c, f(x)), 0.0, X[None])[1][0],
    "step": lambda f: wg.TrainStep(lambda w, x: f(w) + 0 * np.sum(x), X, wg.optim.SGD(0.1))(X),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_array_is_an_array_to_the_user(way):
    assert asks(X) == WAYS[way](asks) == 4.0


def test_our_own_code_tells_them_apart():
    def f(x):
        assert type(x) is Tensor
        assert isinstance(x, Tensor)
        with pytest.raises(AttributeError):
            x.__class__ = np.ndarray
        return x * 1.0

    wg.compile(f)(X)


def test_single_dispatch_finds_the_function_for_arrays():
    dispatched.register(np.ndarray, lambda x: np.sum(x * 2.0))
    assert wg.compile(lambda x: dispatched(x))(X) == wg.grad(dispatched)(X).sum() == 4.0
