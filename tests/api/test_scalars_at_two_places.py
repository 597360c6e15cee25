"""One NumPy scalar at two places is two numbers, as one Python number is; one array is tied."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

m = np.float64(2.0)
SCALARS = {"a": m, "b": m}
shared = np.array(2.0)
TIED = {"a": shared, "b": shared}


def loss(p):
    return p["a"] * 3 + p["b"] ** 2


@pytest.mark.parametrize("grad", [wg.grad(loss), wg.compile(wg.grad(loss))])
def test_gradients_are_apart(grad):
    assert grad(TIED) == {"a": 7.0, "b": 7.0}  # the tied program first, and then again
    for _ in range(3):
        assert grad(SCALARS) == {"a": 3.0, "b": 4.0}
    assert grad({"a": np.array(2.0), "b": np.array(2.0)}) == {"a": 3.0, "b": 4.0}
    assert grad(SCALARS) == {"a": 3.0, "b": 4.0}
    assert grad(TIED) == {"a": 7.0, "b": 7.0}


def test_other_derivatives():
    assert wg.vjp(loss, SCALARS)[1](1.0)[0] == {"a": 3.0, "b": 4.0}
    assert wg.jvp(loss, (SCALARS,), ({"a": 1.0, "b": 0.0},))[1] == 3.0
    assert wg.hessian(loss)(SCALARS) == {"a": {"a": 0.0, "b": 0.0}, "b": {"a": 0.0, "b": 2.0}}
    wg.check_grads(loss, [SCALARS])


def test_what_is_trained_moves_apart():
    def distance(p):
        return (p["a"] - 3.0) ** 2 + (p["b"] - 1.0) ** 2

    found = wg.optim.LBFGS().minimize(distance, SCALARS).tree
    np.testing.assert_allclose([found["a"], found["b"]], [3.0, 1.0])
    step = wg.TrainStep(distance, SCALARS, wg.optim.SGD(0.25))
    for _ in range(60):
        step()
    np.testing.assert_allclose([step.model["a"], step.model["b"]], [3.0, 1.0])
    copied = wg.tree.copy(SCALARS)
    assert copied["a"] is not copied["b"]


def test_bools_are_apart_too():
    yes = np.bool_(True)

    @wg.compile
    def f(p):
        return wg.where(p["a"], 1.0, 2.0) + wg.where(p["b"], 10.0, 20.0)

    assert f({"a": yes, "b": yes}) == 11.0
    assert f({"a": yes, "b": np.bool_(False)}) == 21.0
