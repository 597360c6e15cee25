"""Masks of places that choose among rows, in a run that shuffles the rows: it says so."""

import numpy as np
import pytest

import wengert as wg
from train.warned_steps import warned
from wengert.errors import ScannedRowsWarning

N = 12
DRAWS = np.random.default_rng(0)
X, TIMES = DRAWS.standard_normal((N, 3)), DRAWS.permutation(N) / N
TRIANGLE = np.tri(N, dtype=bool)


def places(x):
    i = wg.arange(x.shape[0])
    return i[None, :], i[:, None]


def likelihood(eta, at_risk):
    chosen = wg.where(at_risk, eta[None, :], -np.inf)
    return wg.mean(wg.logsumexp(chosen, axis=1) - eta)


def risk_sets(w, x, t):
    j, i = places(x)
    return likelihood(x @ w, j <= i)


def risk_sets_behind(w, x, t):
    j, i = places(x)
    return likelihood(x @ w, ~(j < i))


def summed_by_hand(w, x, t):
    j, i = places(x)
    eta = x @ w
    return wg.mean(wg.log(wg.sum((j >= i) * wg.exp(eta), axis=1, keepdims=True))[:, 0] - eta)


def added(w, x, t):
    j, i = places(x)
    eta = x @ w
    chosen = eta + wg.where(j > i - 1, 0.0, -1e9)
    return wg.mean(wg.log(wg.sum(wg.exp(chosen), axis=1)) - eta)


def multiplied(w, x, t):
    j, i = places(x)
    eta = x @ w
    return wg.mean(wg.log((j <= i).astype(x.dtype) @ wg.exp(eta)) - eta)


def constant(w, x, t):
    return likelihood(x @ w, TRIANGLE)


def constant_numbers(w, x, t):
    return wg.mean(wg.log(wg.sum(TRIANGLE * wg.exp(x @ w), axis=1)))


IN_ORDER = [
    risk_sets,
    risk_sets_behind,
    summed_by_hand,
    added,
    multiplied,
    constant,
    constant_numbers,
]


def run(loss, size=N, **options):
    step = wg.TrainStep(loss, np.full(3, 0.1), wg.optim.SGD(0.01))
    return warned(lambda: step.run(X, TIMES, batch_size=size, epochs=2, **options))


@pytest.mark.parametrize("loss", IN_ORDER)
def test_rows_that_are_chosen_by_the_order_of_places_are_named(loss):
    (found,) = run(loss, shuffle_seed=0)
    assert found.category is ScannedRowsWarning
    assert found.filename == __file__
    assert "by a mask of their places" in str(found.message)
    assert "t[None, :] >= t[:, None]" in str(found.message)


def test_places_in_batches_and_in_a_fit_are_named():
    (found,) = run(risk_sets, size=4, shuffle_seed=0)
    assert found.category is ScannedRowsWarning
    step, options = wg.TrainStep(risk_sets, np.full(3, 0.1), wg.optim.SGD(0.01)), {"batch_size": N}
    (found,) = warned(lambda: wg.train.fit(step, (X, TIMES), epochs=2, progress=False, **options))
    assert found.category is ScannedRowsWarning


@pytest.mark.parametrize("loss", IN_ORDER)
def test_places_are_let_pass_where_rows_keep_their_order(loss):
    assert run(loss) == []


def by_times(w, x, t):
    return likelihood(x @ w, t[None, :] >= t[:, None])


def by_times_and_places(w, x, t):
    j, i = places(x)
    tied = (t[None, :] == t[:, None]) & (j <= i)
    return likelihood(x @ w, (t[None, :] > t[:, None]) | tied)


def sorted_first(w, x, t):
    j, i = places(x)
    return likelihood((x @ w)[wg.argsort(t)], j <= i)


def sorted_first_constant(w, x, t):
    return likelihood((x @ w)[wg.argsort(t)], TRIANGLE)


def all_others(w, x, t):
    j, i = places(x)
    return likelihood(x @ w, i != j) + likelihood(x @ w, ~np.eye(N, dtype=bool))


def contrast(w, x, t):
    j, i = places(x)
    z = x * w
    return wg.mean(wg.where(i == j, z @ z.T, 0.0)) + wg.mean(wg.where(i == j, t[None, :], 0.0))


def pairs_once(w, x, t):
    j, i = places(x)
    apart = (x @ w)[None, :] - (x @ w)[:, None]
    return wg.mean(wg.where(j < i, apart**2, 0.0)) + wg.mean(np.triu(np.ones((N, N)), 1) * apart**2)


def weighted_pairs_once(w, x, t):
    j, i = places(x)
    apart = (x @ w)[None, :] - (x @ w)[:, None]
    return wg.sum((j < i) * t[None, :] * t[:, None] * apart**2)


def differences_once(w, x, t):
    j, i = places(x)
    eta = x @ w
    apart = wg.where(j < i, eta[None, :], 0.0) - wg.where(j < i, eta[:, None], 0.0)
    return wg.mean(apart**2)


def times_of_each_row(w, x, t):
    k = wg.arange(3)
    return wg.mean(wg.sum(wg.where(k[None, :] <= k[:, None], (x * w)[:, None, :], 0.0), axis=-1))


@pytest.mark.parametrize(
    "loss",
    [
        by_times,
        by_times_and_places,
        sorted_first,
        sorted_first_constant,
        all_others,
        contrast,
        pairs_once,
        weighted_pairs_once,
        differences_once,
        times_of_each_row,
    ],
)
def test_masks_without_an_order_of_places_are_let_pass(loss):
    assert run(loss, shuffle_seed=0) == []
