"""Sizes that are left open and that a function fixes: the line, and a repair that works."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from core.warned_calls import X, warned


def test_a_warning_of_an_open_size_has_the_users_line():
    def f(x):
        return x * int(x.shape[0])

    (found,) = warned(lambda: wg.compile(f, dims={"x": {0: wg.Dim("n")}})(X))
    assert found.category is wg.errors.SizeWarning
    assert (found.filename, found.lineno) == (__file__, f.__code__.co_firstlineno + 1)


def test_a_warning_of_an_open_size_names_the_function_that_leaves_it_open():
    def f(x):
        return x * np.ones(1) * np.eye(x.shape[0])[0]

    (found,) = warned(lambda: wg.compile(f, dims={"x": {0: wg.Dim("n")}})(np.ones(4)))
    assert "wg.eye(…, dtype=x.dtype) in the place of np.eye would leave" in str(found.message)
    assert "ones" not in str(found.message)


def masked(x):
    return np.max(wg.where(~wg.eye(x.shape[0], dtype=bool), x @ x.T, -np.inf))


def returns_of(x):
    found = [0.0]
    for reward in x[::-1]:
        found.append(reward + 0.5 * found[-1])
    return wg.stack(found[:0:-1])


TOLD_OF_MASKS = "wg.where(mask, x, 0) in the place of x[mask], with -np.inf for 0 where a max, a"
TABLE = np.arange(40.0).reshape(10, 4)
REPAIRED = {
    "a table": (
        lambda x: x * TABLE[: x.shape[0]],
        lambda x: x * wg.take(TABLE, wg.arange(x.shape[0]), axis=0),
        "wg.take(TABLE, wg.arange(x.shape[0]), axis=0) in the place of TABLE[: x.shape[0]]",
    ),
    "the first rows": (
        lambda x: x[:2] * 1.0,
        lambda x: wg.take(x, wg.arange(2), axis=0) * 1.0,
        "wg.take(x, wg.arange(2), axis=0) in the place of x[:2]",
    ),
    "len": (lambda x: x * len(x), lambda x: x * x.shape[0], "x.shape[0] in the place of len(x)"),
    "range": (
        lambda x: sum(x[i] for i in range(x.shape[0])),
        lambda x: wg.scan(lambda c, row: (c + row, None), np.zeros(4), x)[0],
        "wg.scan in the place of a loop over range(x.shape[0])",
    ),
    "backwards": (
        returns_of,
        lambda x: wg.linear_recurrence(0.5, x, reverse=True),
        "discounted returns are wg.linear_recurrence(discount, rewards, reverse=True)",
    ),
    "in reverse": (
        lambda x: returns_of([x[i] for i in reversed(range(len(x)))][::-1]),
        lambda x: wg.scan(lambda g, r: (r + 0.5 * g,) * 2, np.zeros(4), x, reverse=True)[1],
        "wg.scan(body, carry, x, reverse=True), whose results stay in the order of x, would",
    ),
    "zeros": (
        lambda x: x + np.zeros((x.shape[0], 1)),
        lambda x: x + wg.zeros((x.shape[0], 1), dtype=x.dtype),
        "wg.zeros(…, dtype=x.dtype) in the place of np.zeros",
    ),
    "places": (
        lambda x: x[np.arange(x.shape[0]), 1] * 2.0,
        lambda x: x[wg.arange(x.shape[0]), 1] * 2.0,
        "wg.arange(x.shape[0]) in the place of np.arange would",
    ),
    "places of as many as there are": (
        lambda x: x[0, np.arange(len(x))] * 2.0,
        lambda x: x[0, wg.arange(x.shape[0])] * 2.0,
        "and wg.arange(x.shape[0]) in the place of np.arange, would",
    ),
    "classes": (
        lambda x: wg.cross_entropy(x @ x.T, np.arange(len(x))),
        lambda x: wg.cross_entropy(x @ x.T, wg.arange(x.shape[0])),
        "and wg.arange(x.shape[0]) in the place of np.arange, would",
    ),
    "one class": (
        lambda x: wg.cross_entropy(x, np.full(x.shape[0], 1)),
        lambda x: wg.cross_entropy(x, wg.full(x.shape[0], 1)),
        "wg.full(x.shape[0], 1) in the place of np.full would",
    ),
    "bools": (
        lambda x: wg.where(np.eye(x.shape[0], dtype=bool), 0.0, x @ x.T),
        lambda x: wg.where(wg.eye(x.shape[0], dtype=bool), 0.0, x @ x.T),
        "wg.eye(x.shape[0], dtype=bool) in the place of np.eye would",
    ),
    "a mask": (lambda x: np.max((x @ x.T)[~wg.eye(x.shape[0], dtype=bool)]), masked, TOLD_OF_MASKS),
    "a mask of NumPy's": (
        lambda x: np.max((x @ x.T)[~np.eye(len(x), dtype=bool)]),
        masked,
        TOLD_OF_MASKS,
    ),
    "places of a mask": (
        lambda x: np.max((x @ x.T)[np.nonzero(wg.eye(x.shape[0]) == 0)]),
        masked,
        TOLD_OF_MASKS,
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_a_warning_of_an_open_size_names_a_repair_that_leaves_it_open(name):
    before, after, told = REPAIRED[name]
    dims = {"x": {0: wg.Dim("n")}}
    x = np.linspace(0.0, 1.0, 12).reshape(3, 4)
    results = []
    (found,) = warned(lambda: results.append(wg.compile(before, dims=dims)(x)))
    assert found.category is wg.errors.SizeWarning
    assert told in str(found.message)
    assert warned(lambda: results.append(wg.compile(after, dims=dims)(x))) == []
    np.testing.assert_array_equal(*results)
