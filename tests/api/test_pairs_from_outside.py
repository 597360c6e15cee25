"""Paired rows of arrays that a function reads from outside: (n, 1) beside (n,)."""

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


def paired(p):
    return np.mean((p[0] * x + p[1] - y) ** 2)


WAYS = {
    "value_and_grad": lambda f: wg.compile(wg.value_and_grad(f))(p),
    "grad": lambda f: wg.compile(wg.grad(f))(p),
    "hessian": lambda f: wg.compile(wg.hessian(f))(p),
    "LBFGS": lambda f: wg.optim.LBFGS(max_iter=2).minimize(f, p),
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


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_let_pass(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.errors.PairedRowsWarning)
        WAYS["grad"](MEANT[case])
