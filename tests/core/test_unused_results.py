"""Assignments such as `v /= s`, of which nothing is left where v is a Tensor."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import UnusedWarning

X = np.array([[1.0, 2.0], [3.0, 5.0]])


def normalise_(v):
    v /= v.sum()


def in_a_helper(x):
    y = x * 1.0
    normalise_(y)
    return y


def rows_of_a_loop(x):
    y = x * 1.0
    for row in y:
        row -= row.mean()
    return y


def a_slice(x):
    y = x * 1.0
    first = y[0]
    first += 10
    return y


def turned(x):
    y = x * 1.0
    other = y.T
    other *= 2 if len(x) else 3
    return y


def parameters_of_a_loop(x):
    for w, g in zip([x], [x], strict=True):
        w -= 0.1 * g
    return x


@pytest.mark.parametrize("f", [in_a_helper, rows_of_a_loop, a_slice, turned, parameters_of_a_loop])
@pytest.mark.parametrize("transform", [wg.compile, lambda f: wg.grad(lambda x: f(x)[0, 0])])
def test_a_result_that_nothing_reads_is_told(f, transform):
    with pytest.warns(UnusedWarning, match=r"\w+ .=.*given a Tensor, which is never changed"):
        transform(f)(X)


def read_at_once(x):
    x *= 2
    return x


def read_in_the_next_round(x):
    total = 0.0 * x[0]
    for row in x:
        total += row
        row = row * 2
        row += total
        total -= row
    return total


def read_in_one_branch(x):
    x += 1
    y = x * 2 if len(x) > 1 else np.zeros(2)
    y -= 1
    if len(x) > 5:
        return x
    return y


def read_by_an_inner_function(x):
    y = x * 1.0
    y += 1

    def inner():
        return y

    return inner()


def read_when_something_fails(x):
    y = x * 1.0
    try:
        y += 1
        raise KeyError
    except KeyError:
        return y


def stored_elsewhere(x):
    held = {"y": x * 1.0, "all": [x]}
    held["y"] += 1
    held["all"][0] -= 1
    return held["y"] + held["all"][0]


def called_as_a_function(x):
    return operator.iadd(x, 1)


def read_by_name(x):
    y = x * 1.0
    y += 1
    return locals()["y"]


@pytest.mark.parametrize(
    "f",
    [
        read_at_once,
        read_in_the_next_round,
        read_in_one_branch,
        read_by_an_inner_function,
        read_when_something_fails,
        stored_elsewhere,
        called_as_a_function,
        read_by_name,
    ],
)
def test_results_that_are_read_are_no_reason_to_warn(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(wg.compile(f)(X), f(X.copy()))
        wg.grad(lambda x: wg.sum(f(x)))(X)


class Trainer:
    """An update that is compiled and donated, under the name of the method."""

    def __init__(self, optimizer):
        self.update = wg.compile(optimizer.update, donate=("model", "state"))

    def call(self, model, grads, state):
        self.update(model, grads, state)


def dropped_update(optimizer, w, state):
    optimizer.update(w, w, state)


def read_update(optimizer, w, state):
    w, state = optimizer.update(w, w, state)
    return w, state


def recorded_update(optimizer, w, state):
    @wg.compile
    def compiled(w, state):
        optimizer.update(w, w, state)
        return optimizer.update(w, w, state)

    compiled(w, state)


def donated_update(optimizer, w, state):
    Trainer(optimizer).call(w, w.copy(), state)


def test_an_update_that_nothing_reads_is_told():
    optimizer, w = wg.optim.SGD(0.1, momentum=0.9), np.ones(2)
    with pytest.warns(UnusedWarning, match=r"SGD.update: .* Write model, state = optimizer.update"):
        dropped_update(optimizer, w, optimizer.init(w))
    for call in (read_update, recorded_update, donated_update):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UnusedWarning)
            call(optimizer, w.copy(), optimizer.init(w))
            with wg.eager():
                call(optimizer, w.copy(), optimizer.init(w))
