"""Norms and reductions where JAX has no answer: overflow, zeros, nothing at all."""

import numpy as np
import pytest
from linalg_calls import drawn, require_close

import wengert as wg
from wengert.core.table import op

# Norms.


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float64, 1e200), (np.float64, 1e-200), (np.float32, 1e30), (np.float32, 1e-35)],
)
@pytest.mark.parametrize("ord", [2, 3, 1.5, 10])
def test_norms_neither_overflow_nor_underflow(dtype, scale, ord):
    x = np.array([3.0, -4.0, 1.0])
    unit = np.sign(x) * (np.abs(x) / np.linalg.norm(x, ord)) ** (ord - 1)
    scaled = (x * scale).astype(dtype)
    value, pull = wg.vjp(lambda x: op.vector_norm(x, ord=ord), scaled)
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    assert value.dtype == dtype
    require_close(value / dtype(scale), np.linalg.norm(x, ord), tolerance)
    require_close(pull(np.ones((), dtype))[0], unit, 4 * tolerance)


def test_the_norm_of_ordinary_numbers_has_the_bits_of_the_definition():
    for x in (drawn(5), drawn(3, 4) * 1e100, drawn(3, 4).astype(np.float32)):
        assert op.norm(x) == np.sqrt(np.sum(x * x))


@pytest.mark.parametrize("ord", [1, 2, 3, 1.5, np.inf])
def test_derivatives_of_a_norm_are_zero_at_the_zero_vector(ord):
    zero = np.zeros((2, 3))
    f = lambda x: wg.sum(op.vector_norm(x, axis=1, ord=ord))  # noqa: E731
    assert np.array_equal(wg.grad(f)(zero), zero)
    assert wg.jvp(f, (zero,), (drawn(2, 3),))[1] == 0
    assert np.array_equal(wg.jvp(wg.grad(f), (zero,), (drawn(2, 3),))[1], zero)


def test_norms_of_infinite_and_empty_vectors():
    assert op.norm(np.array([np.inf, 1.0])) == np.inf
    assert op.norm(np.array([-np.inf, 1.0]), ord=3) == np.inf
    assert np.isnan(op.norm(np.array([np.nan, np.inf])))
    assert np.array_equal(op.vector_norm(np.ones((2, 0)), axis=1), [0, 0])
    assert op.norm(np.ones(0), ord=3) == 0
    assert np.array_equal(op.vector_norm(np.array([0.0, 2.0, -1.0]), ord=0), 2)


# Reductions.


def test_a_product_with_zeros_is_differentiated_to_third_order():
    x = np.array([2.0, 0.0, 3.0, 0.0])
    hessian = np.zeros((4, 4))
    hessian[1, 3] = hessian[3, 1] = 6
    assert np.array_equal(wg.hessian(op.prod)(x), hessian)
    rest = wg.jvp(wg.hessian(op.prod), (x,), (np.array([1.0, 0, 0, 0]),))[1]
    assert np.array_equal(rest, hessian / 2)


def test_reductions_that_have_no_slope():
    x = drawn(3, 4)
    for f in (op.argmax, op.argmin, op.any, op.all, op.count_nonzero):
        _, pull = wg.vjp(lambda x, f=f: wg.sum(x) * wg.astype(f(x), np.float64), x)
        assert np.array_equal(pull(np.ones(()))[0], np.full((3, 4), float(f(x))))
    assert op.argmax(x, axis=-1, keepdims=True).shape == (3, 1)
    assert op.argmin(x) == np.argmin(x)
    assert op.any(np.zeros((0, 2)), axis=0).tolist() == [False, False]
    assert op.count_nonzero(np.array([[1, 0], [2, 3]]), axis=1).tolist() == [1, 2]
