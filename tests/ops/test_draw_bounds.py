"""Bounds of draws that are arrays, or arguments of a function that is recorded."""

import warnings

import numpy as np
import pytest

import wengert as wg

KEY = wg.random.key(3)
ROWS = {"x": {0: wg.Dim("n")}}


@wg.compile
def integers(key, low, high):
    return wg.random.randint(key, (6,), low, high)


@wg.compile
def reals(key, low, high):
    return wg.random.uniform(key, (6,), low=low, high=high)


def test_bounds_that_are_arguments_run_one_program():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for low, high in ((0, 7), (-3, 2**40), (5, 6), (-(2**62), 2**62)):
            found = integers(KEY, low, high)
            assert np.array_equal(found, wg.random.randint(KEY, (6,), low, high))
        for low, high in ((0.0, 7.0), (-3.5, 0.1), (1.0, 1.0 + 2.0**-20)):
            found = reals(KEY, low, high)
            assert found.dtype == np.float32
            assert np.array_equal(found, wg.random.uniform(KEY, (6,), low=low, high=high))
    assert len(list(integers.programs)) == len(list(reals.programs)) == 1


def test_bounds_may_be_arrays():
    high = np.array([1, 2, 3, 100])
    found = wg.random.randint(KEY, (500, 4), 0, high)
    assert (found.min(axis=0) == 0).all()
    assert (found.max(axis=0)[:3] == high[:3] - 1).all()
    assert np.array_equal(found[:, 3], wg.random.randint(KEY, (500, 4), 0, 100)[:, 3])
    x = wg.random.uniform(KEY, (500, 2), low=np.array([0.0, 5.0]), high=np.array([1.0, 7.0]))
    assert ((x >= [0, 5]) & (x < [1, 7])).all()
    assert np.abs(x.mean(axis=0) - [0.5, 6]).max() < 0.1


def test_open_sizes_are_bounds():
    draw = wg.compile(lambda key, x: wg.random.randint(key, (9,), 1, x.shape[0] + 1), dims=ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1, 5):
            found = draw(KEY, np.ones(size))
            assert np.array_equal(found, wg.random.randint(KEY, (9,), 1, size + 1))


def test_the_gradient_goes_to_the_bounds_of_a_uniform_draw():
    unit = wg.random.uniform(KEY, (6,), np.float64)

    def draw(low, high):
        return wg.sum(wg.random.uniform(KEY, (6,), np.float64, low, high))

    by_low, by_high = wg.grad(draw, argnums=(0, 1))(-1.0, 3.0)
    assert np.allclose([by_low, by_high], [np.sum(1 - unit), np.sum(unit)])


def test_a_step_is_given_bounds():
    def loss(w, x, n, rng):
        return wg.mean(w * x[rng.randint((5,), 0, n)])

    step = wg.TrainStep(loss, np.ones(()), wg.optim.SGD(0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert step(np.arange(9.0), 1) == 0
        assert 0 < step(np.arange(9.0), 9) < 8
    with pytest.raises(ValueError, match="randint: low=0 and high=0 were given; low must be less"):
        step(np.arange(9.0), 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: integers(KEY, 0, 0), "randint: low=0 and high=0 were given; low must be less"),
        (lambda: integers(KEY, 0, 2.5), "randint: high has dtype float64; bounds are integers"),
        (
            lambda: wg.random.randint(KEY, (2,), 0, np.array([3, 0])),
            "randint: low=0 and high=0 were given",
        ),
        (lambda: wg.random.randint(KEY, (2,), 0, 4.7), "randint: high=4.7 was given; bounds are"),
        (lambda: wg.random.randint(KEY, 0, 5, (3,)), r"randint: high=\(3,\) was given; bounds"),
        (
            lambda: wg.random.randint(KEY, (2,), 0, np.array([3, 2]), np.int8),
            "randint: dtype int8 was given with bounds that are arrays",
        ),
        (
            lambda: wg.random.randint(KEY, (), 0, np.array([3, 2])),
            r"randint: shape \(\) was given for bounds of shape \(2,\)",
        ),
    ],
)
def test_bounds_between_which_nothing_lies_are_refused(call, words):
    with pytest.raises((ValueError, TypeError, wg.errors.WengertError), match=words):
        call()


def test_a_uniform_draw_without_room_is_nan():
    assert np.isnan(reals(KEY, 2.0, 1.0)).all()


def test_three_plain_numbers_in_the_order_of_numpy_are_refused():
    key = wg.random.key(0)
    rng = wg.random.Generator(key)
    for draw in (rng.randint, lambda *given: wg.random.randint(key, *given)):
        with pytest.raises(ValueError, match=r"1, 3, 6 were given.*Write randint\(\(6,\), 1, 3\)"):
            draw(1, 3, 6)
        assert draw(3, 0, 5).shape == (3,)
        assert draw((1,), 3, 6).shape == (1,)
    assert rng.randint(1, low=3, high=6).shape == (1,)
    assert rng.randint(shape=0, low=2, high=32).shape == (0,)
