"""Pooling and windows: against JAX and NumPy, ties, NaN, padding, refusals."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import wengert as wg
from wengert.errors import ShapeError

jax.config.update("jax_enable_x64", True)


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def jax_pool(x, window, stride, pads, first, combine):
    return lax.reduce_window(
        x, first, combine, (1, 1, *window), (1, 1, *stride), ((0, 0), (0, 0), *pads)
    )


def jax_max(x, window, stride, pads):
    return jax_pool(x, window, stride, pads, -jnp.inf, lax.max)


def jax_mean(x, window, stride, pads):
    return jax_pool(x, window, stride, pads, 0.0, lax.add) / np.prod(window)


CASES = [
    ((2, 3, 8, 6), (2, 2), (2, 2), ((0, 0), (0, 0))),
    ((2, 3, 9, 7), (3, 2), (2, 1), ((1, 1), (0, 1))),
    ((1, 2, 7, 5), (3, 3), (4, 4), ((0, 0), (0, 0))),
    ((1, 2, 7), (20,), (1,), ((10, 9),)),
    ((1, 1, 4, 3, 5), (2, 2, 2), (1, 2, 3), ((0, 1), (1, 0), (0, 0))),
]


POOLS = {"max": (wg.max_pool, jax_max), "mean": (wg.mean_pool, jax_mean)}
ALL = [(name, number) for name in POOLS for number in range(len(CASES))]


def of_all(which, gradient, compile_, total):
    """Values and gradients of all cases as one program."""

    def one(x, pool, options):
        def weighted(x):
            y = pool(x, *options)
            return total(y * np.cos(np.arange(y.size)).reshape(y.shape)), y

        slope, y = gradient(weighted, has_aux=True)(x)
        return y, slope

    @compile_
    def run(given):
        return [
            one(x, POOLS[name][which], CASES[n][1:])
            for x, (name, n) in zip(given, ALL, strict=True)
        ]

    return run([random(*CASES[n][0]) for _, n in ALL])


@pytest.fixture(scope="module")
def compared():
    return (
        of_all(0, wg.grad, lambda f: f, wg.sum),
        of_all(0, wg.grad, wg.compile, wg.sum),
        of_all(1, jax.grad, jax.jit, jnp.sum),
    )


@pytest.mark.parametrize(("name", "number"), ALL)
def test_values_and_gradients_are_those_of_jax(name, number, compared):
    at = ALL.index((name, number))
    *ours, expected = (each[at] for each in compared)
    for found in ours:
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-12)


def test_both_directions_and_second_order():
    x = random(1, 2, 6, 5)
    wg.check_grads(lambda x: wg.max_pool(wg.tanh(x), 2, stride=1), [x])
    wg.check_grads(lambda x: wg.mean_pool(wg.tanh(x), 3, padding="same") ** 2, [x])
    wg.check_grads(lambda x: wg.adaptive_mean_pool(wg.tanh(x), (4, 2)) ** 2, [x])
    wg.check_grads(lambda x: wg.sliding_windows(wg.tanh(x), (2, 2), stride=2) ** 2, [x])


@pytest.mark.parametrize("padding", [0, 1])  # with a loop over the window, and without
def test_the_first_of_equals_takes_the_gradient_and_a_nan_is_largest(padding):
    x = np.array([[[[1.0, 3.0], [3.0, 3.0]]]])

    def total(x):
        return wg.sum(wg.max_pool(x, 2, 3, padding))

    for slope in (wg.grad(total), wg.compile(wg.grad(total))):
        if not padding:
            np.testing.assert_array_equal(slope(x), [[[[0, 1], [0, 0]]]])
    y = np.array([[[1.0, np.nan, 5.0, np.nan]]])
    for pool in (wg.max_pool, wg.compile(wg.max_pool, static=(1,))):
        assert np.isnan(pool(y, 4)).all()
    slope = wg.compile(wg.grad(lambda x: wg.sum(wg.max_pool(x, 4))))(y)
    np.testing.assert_array_equal(slope, [[[0, 1, 0, 0]]])


def test_integers_and_infinities_are_compared():
    x = np.array([[[3, 1, -2, 7]]])
    assert wg.max_pool(x, 2).tolist() == [[[3, 7]]]
    assert wg.compile(lambda x: wg.max_pool(x, 2))(x).tolist() == [[[3, 7]]]
    low = np.full((1, 1, 4), -np.inf)
    assert wg.compile(lambda x: wg.max_pool(x, 2, padding=1))(low).tolist() == [[[-np.inf] * 3]]


def test_padding_may_be_no_part_of_a_mean():
    x = np.ones((1, 1, 3, 4))
    np.testing.assert_allclose(wg.mean_pool(x, 3, 1, "same", include_padding=False), x, rtol=1e-12)
    assert wg.mean_pool(x, 3, 1, "same")[0, 0, 0, 0] == pytest.approx(4 / 9)


def test_what_is_left_behind_the_last_window_belongs_to_none():
    x = np.arange(5.0).reshape(1, 1, 5)
    assert wg.mean_pool(x, 2).tolist() == [[[0.5, 2.5]]]
    assert wg.max_pool(x, 2).tolist() == [[[1.0, 3.0]]]


@pytest.mark.parametrize("size", [1, 2, 3, (4, 2), (7, 5), (9, 6)])
def test_adaptive_means(size):
    x = random(2, 3, 7, 5)
    counts = (size, size) if isinstance(size, int) else size

    def mean(axis_size, count, i):
        return slice(i * axis_size // count, -(-(i + 1) * axis_size // count))

    expected = np.empty((2, 3, *counts))
    for i in range(counts[0]):
        for j in range(counts[1]):
            part = x[:, :, mean(7, counts[0], i), mean(5, counts[1], j)]
            expected[:, :, i, j] = part.mean(axis=(2, 3))
    np.testing.assert_allclose(wg.adaptive_mean_pool(x, size), expected, rtol=1e-12)


def test_sliding_windows_are_those_of_numpy():
    x = random(2, 7, 6)
    view = np.lib.stride_tricks.sliding_window_view
    np.testing.assert_array_equal(wg.sliding_windows(x, 3), view(x, 3, axis=2))
    np.testing.assert_array_equal(
        wg.sliding_windows(x, (3, 2), stride=(2, 1), dilation=(1, 3)),
        view(x, (3, 4), axis=(1, 2))[:, ::2, :, :, ::3],
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wg.max_pool(np.ones((4, 4)), 2), r"\(batch, channels, \*space\)"),
        (lambda: wg.max_pool(np.ones((1, 1, 4)), 5), "must fit in at least once"),
        (lambda: wg.max_pool(np.ones((1, 1, 4)), 2, padding=2), "every window must hold"),
        (lambda: wg.max_pool(np.ones((1, 1, 4)), (2, 2)), "one axis"),
        (lambda: wg.mean_pool(np.ones((1, 1, 4)), 0), "window=0"),
        (lambda: wg.adaptive_mean_pool(np.ones((1, 1, 4)), 2.5), "size=2.5"),
        (lambda: wg.sliding_windows(np.ones(4), (2, 2)), "1 axes"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ShapeError, match=message):
        call()
