"""What is said about calls of NumPy that are not recorded, and about arguments of no use."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.errors import DTypeError, LoopError, ShapeError, TraceError

x = np.arange(6.0).reshape(2, 3)
REFUSED = {
    "reshape": (lambda x: np.reshape(x, (3, 2), order="F"), r"x\.T\.reshape\(shape\[::-1\]\)\.T"),
    "x.reshape": (lambda x: x.reshape((3, 2), order="F"), r"x\.T\.reshape\(shape\[::-1\]\)\.T"),
    "x.ravel": (lambda x: x.ravel("F"), r"Write x\.T\.ravel\(\)"),
    "require": (lambda x: np.require(x), r"Leave it out"),
    "pad": (
        lambda x: np.pad(x, 1, mode="linear_ramp", end_values=1.0),
        r"its end_values argument is not recorded\. Join the parts",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_repair_fits(case):
    function, words = REFUSED[case]
    with pytest.raises(TraceError, match=words):
        wg.compile(function)(x)


def test_the_repair_of_fortran_order_is_right():
    np.testing.assert_array_equal(x.reshape((3, 2), order="F"), x.T.reshape((3, 2)[::-1]).T)
    np.testing.assert_array_equal(x.ravel("F"), x.T.ravel())


def test_allclose_and_array_equal_are_recorded():
    for function in (np.allclose, np.array_equal):
        compiled = wg.compile(lambda x, y, function=function: function(x, y))
        assert compiled(x, x)
        assert not compiled(x, x + 1)
        assert wg.grad(lambda x, f=function: np.sum(x) * (2.0 if f(x, x) else 1.0))(x)[0, 0] == 2.0
        each = wg.vmap(lambda row, function=function: function(row, x[0]))(x)
        np.testing.assert_array_equal(each, [True, False])


def test_complex_and_half_numbers():
    with pytest.raises(DTypeError, match=r"x\.real and x\.imag"):
        wg.multiply(x, 1j)
    with pytest.raises(DTypeError, match="grad: an array of the arguments has dtype float16"):
        wg.grad(lambda x: x[0])(np.ones(2, np.float16))


def test_an_equation_that_does_not_end_is_named():
    with pytest.raises(LoopError, match="odeint: took max_steps=500 steps between two times"):
        wg.odeint(lambda y, t: y * np.nan, np.ones(2), np.linspace(0.0, 1.0, 3))


def test_check_grads_says_which_error_it_means():
    @wg.custom_vjp
    def halved(x):
        return np.sum(x**2) * 1e-3

    halved.defvjp(lambda x: (np.sum(x**2) * 1e-3, x), lambda saved, g: (g * saved * 1e-3,))
    with pytest.raises(AssertionError, match="absolute error"):
        wg.check_grads(halved, [x], modes=("rev",), order=1)


def test_factors_are_checked_when_a_distribution_is_made():
    with pytest.raises(ShapeError, match=r"a factor of shape \(2,\)"):
        wg.distributions.MultivariateNormal(np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match="diagonal is not all above 0"):
        wg.distributions.MultivariateNormal(np.zeros(2), np.diag([1.0, -1.0]))


KEY = wg.random.key(0)
NO_PROBABILITIES = {
    "too few": ({"shape": (3,), "replace": False, "p": [0.5, 0.5, 0.0]}, "p has 2 probabilities"),
    "negative": ({"p": [-0.5, 1.0, 0.5]}, "p holds -0.5"),
    "NaN": ({"p": [np.nan, 0.5, 0.5]}, "p holds nan"),
    "sum": ({"p": [0.5, 0.5, 0.5]}, r"the sum of p is 1\.5"),
}


@pytest.mark.parametrize("case", NO_PROBABILITIES)
def test_choice_refuses_what_are_no_probabilities(case):
    arguments, words = NO_PROBABILITIES[case]
    with pytest.raises(ValueError, match=words):
        wg.random.choice(KEY, 3, **arguments)


def test_logits_that_are_nan_are_refused():
    with pytest.raises(ValueError, match="categorical: logits hold NaN"):
        wg.random.categorical(KEY, np.array([0.0, np.nan]))
    assert wg.random.categorical(KEY, np.array([0.0, -np.inf])) == 0


def test_an_update_that_nothing_reads_is_told():
    def forgotten(x):
        x.at[0].set(100.0)
        return np.sum(x)

    with pytest.warns(wg.errors.UnusedWarning, match=r"Write x = x\.at\[…\]\.set\(…\)"):
        wg.grad(forgotten)(x)
    wg.grad(lambda x: np.sum(x.at[0].set(100.0)))(x)
