"""Paired rows of arrays that a function reads from outside, or that loops stack: (n, 1) beside
(n,).
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg

rng = np.random.default_rng(0)
x, y = rng.standard_normal((32, 1)), rng.standard_normal(32)
column_of_y = y[:, None]
few, few_too = x[:3].copy(), y[:3].copy()
p = np.array([1.0, 2.0])


def step(loss):
    return wg.TrainStep(loss, p, wg.optim.SGD(0.1))


def paired(p):
    return np.mean((p[0] * x + p[1] - y) ** 2)


WAYS = {
    "value_and_grad": lambda f: wg.compile(wg.value_and_grad(f))(p),
    "grad": lambda f: wg.compile(wg.grad(f))(p),
    "hessian": lambda f: wg.compile(wg.hessian(f))(p),
    "LBFGS": lambda f: wg.optim.LBFGS(max_iter=2).minimize(f, p),
    "TrainStep": lambda f: step(f)(),
}


def residuals(p):
    return np.tanh(p[0] * x + p[1] - y).ravel()


def gauss_newton(p):
    r, slopes = residuals(p), wg.jacobian(residuals)(p)
    return p - np.linalg.solve(slopes.T @ slopes + np.eye(2), slopes.T @ r)


DERIVED = {
    "jacfwd": lambda: wg.compile(wg.jacfwd(residuals))(p),
    "a Gauss-Newton step": lambda: wg.compile(gauss_newton)(p),
    "hvp": lambda: wg.compile(lambda p, v: wg.hvp(paired, p, v))(p, p),
    "a step of a descent": lambda: wg.compile(lambda p: p - 0.1 * wg.grad(paired)(p))(p),
    "by another argument": lambda: wg.compile(wg.grad(lambda a, p: a * paired(p), 1))(1.0, p),
}
MEANT = {
    "one shape": lambda p: np.mean((p[0] * x[:, 0] + p[1] - y) ** 2),
    "columns": lambda p: np.mean((p[0] * x + p[1] - y[:, None]) ** 2),
    "written": lambda p: np.mean((p[0] * x + p[1] - y[None, :]) ** 2),
    "a grid": lambda p: np.mean((p[0] * column_of_y + p[1] - y) ** 2),
    "a kernel": lambda p: np.mean(np.exp(-((x / p[0] - y / p[0]) ** 2))),
    "of data alone": lambda p: np.mean(p[0] * np.exp(-((x - y) ** 2))),
    "few": lambda p: np.mean((p[0] * few + p[1] - few_too) ** 2),
}


@pytest.mark.parametrize("way", WAYS)
def test_pairs_are_named(way):
    with pytest.warns(wg.errors.PairedRowsWarning, match=r"subtract: given shapes \(n, 1\)"):
        WAYS[way](paired)


@pytest.mark.parametrize("case", DERIVED)
def test_pairs_are_named_wherever_a_derivative_is_taken(case):
    with pytest.warns(
        wg.errors.PairedRowsWarning, match=r"subtract: given shapes \(n, 1\)"
    ) as told:
        DERIVED[case]()
    assert len({(each.filename, each.lineno) for each in told}) == len(told) == 1


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_let_pass(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.PairedRowsWarning)
        WAYS["grad"](MEANT[case])
        WAYS["TrainStep"](MEANT[case])


STACKED = {
    "scan": lambda p, x: wg.scan(lambda c, a: (c * p[0], c), np.ones(1), x)[1],
    "vmap": lambda p, x: wg.vmap(lambda a: wg.stack([p[0] * a]))(x),
    "odeint": lambda p, x: wg.odeint(lambda u, t: -p[0] * u, np.ones(1), x),
}
times = np.linspace(0, 1, 32)


@pytest.mark.parametrize("case", STACKED)
def test_what_is_stacked_counts(case):
    with pytest.warns(wg.errors.PairedRowsWarning, match=r"subtract: given shapes \(n, 1\)"):
        step(lambda p, x, y: np.mean((STACKED[case](p, x) - y) ** 2))(times, y)


def test_what_is_stacked_of_single_numbers_does_not_count():
    def loss(p, x, y):
        u = wg.scan(lambda c, a: (c * p[0], c), np.ones(()), x)[1]
        return np.mean((u - y) ** 2) + np.mean((u[:, None] - y[None, :]) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.PairedRowsWarning)
        step(loss)(times, y)


def test_an_argument_beside_data_from_outside():
    table = rng.standard_normal((32, 3))
    made = wg.TrainStep(
        lambda w, y: np.mean((table @ w - y) ** 2), np.zeros((3, 1)), wg.optim.SGD(0.1)
    )
    with pytest.warns(wg.errors.PairedRowsWarning, match=r"subtract: given shapes \(n, 1\)"):
        made(y)


def smoothed(p, y):
    return wg.scan(lambda c, v: ((1 - p) * c + p * v, c), np.zeros(1), y)[1]


def lagged(w, x, y):
    return np.mean((wg.tanh(x @ w)[:-1] - y[1:]) ** 2)


rate = np.array(0.5)
ONE_ARRAY = {
    "times and data from outside": lambda: wg.compile(
        wg.grad(lambda k: np.mean((wg.odeint(lambda u, t: -k * u, [1.0], times) - y) ** 2))
    )(rate),
    "times from outside": lambda: wg.TrainStep(
        lambda k, y: np.mean((wg.odeint(lambda u, t: -k * u, 1.0, times) - y) ** 2),
        rate,
        wg.optim.SGD(0.1),
    )(y),
    "a filter": lambda: wg.compile(wg.grad(lambda p, y: np.mean((smoothed(p, y) - y) ** 2)))(
        rate, y
    ),
    "a filter, one step ahead": lambda: wg.TrainStep(
        lambda p, y: np.mean((smoothed(p, y)[1:] - y[1:]) ** 2), rate, wg.optim.SGD(0.1)
    )(y),
    "a lagged regression": lambda: wg.compile(wg.grad(lagged))(np.ones((1, 1)), x, y),
    "a step of it": lambda: wg.TrainStep(lagged, np.ones((1, 1)), wg.optim.SGD(0.1))(x, y),
}


@pytest.mark.parametrize("case", ONE_ARRAY)
def test_pairs_of_one_array_and_of_cut_rows_are_named(case):
    with pytest.warns(
        wg.errors.PairedRowsWarning, match=r"subtract: given shapes \(n, 1\)"
    ) as told:
        ONE_ARRAY[case]()
    assert len(told) == 1


def test_cut_rows_of_one_shape_and_written_pairs_of_them_are_let_pass():
    def loss(w, x, y):
        ahead = wg.tanh(x @ w)[:-1, 0]
        return np.mean((ahead - y[1:]) ** 2) + np.mean((ahead[:, None] - y[1:][None, :]) ** 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.PairedRowsWarning)
        wg.TrainStep(loss, np.ones((1, 1)), wg.optim.SGD(0.1))(x, y)
        wg.compile(wg.grad(loss))(np.ones((1, 1)), x, y)
