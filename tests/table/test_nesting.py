"""Derivatives of derivatives: to third order, and without confusion between levels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg

POINTS = np.array([0.3, 0.55, 0.8])
THIRD = {
    "exp": jnp.exp,
    "log": jnp.log,
    "tanh": jnp.tanh,
    "sqrt": jnp.sqrt,
    "sin": jnp.sin,
    "acos": jnp.arccos,
    "sigmoid": jax.nn.sigmoid,
    "erf": jax.scipy.special.erf,
    "lgamma": jax.scipy.special.gammaln,
    "expm1": jnp.expm1,
}


def third(grad, f):
    return grad(grad(grad(f)))


@pytest.mark.parametrize("name", THIRD)
def test_third_derivative(name):
    ours = third(wg.grad, getattr(wg, name))
    theirs = jax.jit(jax.vmap(third(jax.grad, THIRD[name])))
    assert np.allclose([ours(x) for x in POINTS], theirs(POINTS), rtol=1e-10, atol=0)


@pytest.mark.parametrize("name", THIRD)
def test_every_mixture_of_directions(name):
    def tangent(f):
        return lambda x: wg.jvp(f, (x,), (1.0,))[1]

    f, x = getattr(wg, name), np.asarray(0.4)
    expected = third(wg.grad, f)(x)
    for ways in np.ndindex(2, 2, 2):
        mixed = f
        for way in ways:
            mixed = (wg.grad, tangent)[way](mixed)
        assert np.allclose(mixed(x), expected, rtol=1e-12, atol=0), ways


def test_no_confusion_of_levels():
    assert wg.grad(lambda x: x * wg.grad(lambda y: x + y)(2.0))(1.0) == 1.0


def test_no_confusion_of_tangents():
    def tangent(f, x):
        return wg.jvp(f, (x,), (1.0,))[1]

    assert tangent(lambda x: x * tangent(lambda y: x + y, 2.0), 1.0) == 1.0
    assert tangent(lambda x: x * wg.grad(lambda y: x * y)(2.0), 3.0) == 6.0
    assert wg.grad(lambda x: x * tangent(lambda y: x * y * y, 2.0))(3.0) == 24.0


def test_an_inner_gradient_may_use_outer_values():
    def f(x):
        slope = wg.grad(lambda y: wg.tanh(x * y) * x)(x)  # x² (1 - tanh²(x y)) at y = x
        return wg.sum(slope * x)

    def g(x):
        slope = jax.grad(lambda y: jnp.tanh(x * y) * x)(x)
        return slope * x

    assert np.allclose(wg.grad(wg.grad(f))(0.7), jax.grad(jax.grad(g))(0.7), rtol=1e-12)
