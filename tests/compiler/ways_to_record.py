"""Ways to call a function with a loop, plain and recorded, and what is told of the loop."""

from __future__ import annotations

import warnings

import numpy as np

import wengert as wg

x = np.array([1.0, 2.0, 3.0])


def _step(loss):
    return wg.TrainStep(loss, x.copy(), wg.optim.SGD(0.0))


WAYS = {
    "plain": lambda f: f(x),
    "compile": lambda f: wg.compile(f)(x),
    "grad": lambda f: wg.grad(lambda w: np.sum(f(w)))(x),
    "compiled grad": lambda f: wg.compile(wg.grad(lambda w: np.sum(f(w))))(x),
    "vmap": lambda f: wg.vmap(f)(x[None]),
    "step": lambda f: _step(lambda w, y: np.sum(f(w)) * np.mean(y))(np.ones((2, 1))),
    "bind": lambda f: _step(lambda w, y: np.sum(w) * np.mean(y)).bind(lambda w, y: f(w) * y)(x),
    "minimize": lambda f: wg.optim.LBFGS().minimize(lambda w: np.sum((f(w) - 1.0) ** 2), x),
}


def told(call):
    """The texts of the warnings of values that stay as they were recorded."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    frozen = [w for w in caught if w.category is wg.errors.FrozenValueWarning]
    return {str(w.message) for w in frozen}
