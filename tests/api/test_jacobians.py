"""Jacobians forwards and backwards: the same matrix, eager, nested and compiled."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, TraceError

rng = np.random.default_rng(5)
MODEL = {"w": rng.standard_normal((3, 2)), "b": [rng.standard_normal(2)], "count": np.array(3)}
X = rng.standard_normal((4, 3))


def outputs(model: Any, x: Any) -> Any:
    h = np.tanh(x @ model["w"] + model["b"][0])
    return {"h": h, "norm": np.sum(h * h), "sign": wg.sign(h) > 0}


def pairs(found: Any, expected: Any) -> Any:
    return zip(wg.tree.leaves(found), wg.tree.leaves(expected), strict=True)


@pytest.mark.parametrize("way", [lambda f: f, wg.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0)], ids=str)
def test_both_ways_are_one_matrix(way: Any, argnums: Any):
    backwards = wg.jacrev(outputs, argnums=argnums)(MODEL, X)
    forwards = way(wg.jacfwd(outputs, argnums=argnums))(MODEL, X)
    assert wg.tree.flatten(forwards)[1] == wg.tree.flatten(backwards)[1]
    for x, y in pairs(forwards, backwards):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    for x, y in pairs(way(wg.jacrev(outputs, argnums=argnums))(MODEL, X), backwards):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def test_against_jax():
    def f(np: Any, x: Any) -> Any:
        return np.sin(x)[:, None] * np.exp(-x) / (1 + np.sum(x * x))

    x = rng.standard_normal(4)
    with jax.enable_x64(True):
        expected = jax.jacfwd(lambda x: f(jax.numpy, x))(x)
        second = jax.jacfwd(jax.jacrev(lambda x: f(jax.numpy, x)))(x)
    np.testing.assert_allclose(wg.jacfwd(lambda x: f(np, x))(x), expected, rtol=1e-12, atol=1e-15)
    for one in (wg.jacfwd, wg.jacrev):
        for other in (wg.jacfwd, wg.jacrev):
            found = one(other(lambda x: f(np, x)))(x)
            np.testing.assert_allclose(found, second, rtol=1e-11, atol=1e-14)


def test_gradient_through_a_forward_jacobian():
    x = rng.standard_normal(3)
    loss = lambda j: lambda x: wg.sum(j(lambda y: wg.sin(y) * wg.sum(y))(x) ** 2)  # noqa: E731
    expected = wg.grad(loss(wg.jacrev))(x)
    np.testing.assert_allclose(wg.grad(loss(wg.jacfwd))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(loss(wg.jacfwd)))(x), expected, rtol=1e-12)


def test_aux_and_branches_see_values():
    def f(x: Any) -> Any:
        seen = "large" if x[0] > 1 else "small"  # a value, as under grad
        return x * x, {"seen": seen, "sum": wg.sum(x)}

    found, aux = wg.jacfwd(f, has_aux=True)(np.array([2.0, 3.0]))
    assert np.array_equal(found, np.diag([4.0, 6.0]))
    assert aux["seen"] == "large"
    assert type(aux["sum"]) is np.ndarray
    assert aux["sum"] == 5.0


def test_what_has_no_way_back():
    def root(a: Any) -> Any:
        return wg.while_loop(lambda x: wg.any(wg.abs(x * x - a) > 1e-13 * a), half, a)

    def half(x: Any) -> Any:
        return (x + A / x) / 2

    A = np.array([2.0, 9.0])
    with pytest.raises(wg.errors.NotDifferentiable, match="jacfwd"):
        wg.jacrev(root)(A)

    def both(a: Any) -> Any:
        step = lambda x: (x + a / x) / 2  # noqa: E731
        return wg.while_loop(lambda x: wg.any(wg.abs(x * x - a) > 1e-13 * a), step, a)

    expected = np.diag(0.5 / np.sqrt(A))
    np.testing.assert_allclose(wg.jacfwd(both)(A), expected, rtol=1e-6)
    np.testing.assert_allclose(wg.compile(wg.jacfwd(both))(A), expected, rtol=1e-6)


def test_all_columns_are_of_one_function():
    """A generator from outside draws the same for every column."""
    mask = wg.random.Generator(wg.random.key(1)).bernoulli(0.5, (8,))
    generator = wg.random.Generator(wg.random.key(1))
    found = wg.jacfwd(lambda x: x * generator.bernoulli(0.5, (8,)))(np.ones(8))
    assert np.array_equal(found, np.diag(np.where(mask, 1.0, 0.0)))
    assert 0 < np.sum(found) < 8


def test_results_own_their_memory():
    x, y = np.ones(2), np.ones(2)
    gx, gy = wg.jacfwd(lambda x, y: x * y, argnums=(0, 1))(x, y)
    gx[:] = 7.0
    assert np.array_equal(gy, np.eye(2))
    assert gx.flags.writeable


def test_dtypes():
    x = np.ones(3, np.float32)
    for jacobian in (wg.jacfwd, wg.jacrev):
        assert jacobian(np.sin)(x).dtype == np.float32
        assert jacobian(lambda x: x > 0)(x).tolist() == np.zeros((3, 3)).tolist()


@pytest.mark.parametrize("name", ["jacfwd", "jacrev"])
def test_refusals(name: str):
    jacobian = getattr(wg, name)
    with pytest.raises(DTypeError, match=f"{name}: the argument to differentiate by has dtype int"):
        jacobian(np.sin)(np.arange(3))
    with pytest.raises(TraceError, match=f"{name}: the function returned ndarray|{name}: .*aux"):
        jacobian(lambda x: x, has_aux=True)(np.ones(3))
    with pytest.raises(ValueError, match=f"{name}: argnums 3"):
        jacobian(np.sin, argnums=3)(np.ones(3))
    decorated = jacobian(argnums=1)(lambda x, y: x * y)
    assert np.array_equal(decorated(2.0, np.ones(2)), 2 * np.eye(2))
