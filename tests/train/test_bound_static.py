"""Arguments of bound functions that are part of the program: `bind(f, static=…)`."""

import warnings

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned

W, X = np.array([[0.5, 0.0], [1.0, 0.5]]), np.ones((1, 2))


def loss(w, x):
    return wg.mean((x @ w) ** 2)


def made():
    return wg.TrainStep(loss, W, wg.optim.SGD(0.1))


def members():
    return wg.Ensemble(loss, [W, 2 * W], wg.optim.SGD(0.1))


def generate(w, x, n):
    return wg.scan(lambda x, _: (x @ w, x), x, length=n)[1]


def shaped(w, x, shape):
    return wg.broadcast_to(wg.sum(x @ w), shape)


def by_numpy(n):
    rows = [X]
    for _ in range(n - 1):
        rows.append(rows[-1] @ W)
    return np.array(rows)


@pytest.mark.parametrize("static", ["n", 2, ("n",)])
def test_a_length_is_part_of_the_program_without_a_warning(static):
    generated = made().bind(generate, static=static)
    with warnings.catch_warnings(action="error"):
        for n in (1, 2, 3, 4, 5, 2):
            assert np.array_equal(generated(X, n), by_numpy(n))
        assert np.array_equal(generated(X, n=3), by_numpy(3))


def test_members_have_static_arguments_too():
    with warnings.catch_warnings(action="error"):
        given = members().bind(generate, static="n")(X, 3)
        assert members().bind(shaped, static="shape")(X, (3, 4)).shape == (2, 3, 4)
    assert np.array_equal(given[0], by_numpy(3))


def test_a_tuple_and_a_generator_beside_it():
    def drawn(w, x, shape, rng):
        return x @ w + rng.normal(shape)

    with warnings.catch_warnings(action="error"):
        assert made().bind(shaped, static="shape")(X, (3, 4)).shape == (3, 4)
        assert made().bind(drawn, static="shape")(X, (3, 2)).shape == (3, 2)


def test_the_same_function_with_and_without():
    step = made()
    assert np.array_equal(step.bind(generate, static="n")(X, 2), by_numpy(2))
    (found,) = warned(lambda: step.bind(generate)(X, 2))
    assert 'write bind(f, static="n")' in str(found.message)
    assert "length=" in str(found.message)
    (found,) = warned(lambda: wg.compile(generate)(W, X, 2))
    assert 'write wg.compile(f, static="n")' in str(found.message)


def test_a_bound_function_is_no_loss():
    with pytest.raises(
        TypeError, match=r"TrainStep\.bind: n can only be given by name to the func"
    ):
        made().bind(lambda m, x, *, n=2: x * n)(X, n=3)
