"""Members that are all one model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import AlikeWarning

X = np.arange(12.0).reshape(4, 3) / 12
ZEROS = [np.zeros(3) for _ in range(3)]


def loss(w, x, rng=None):
    return wg.mean((x @ w - 1.0) ** 2)


def noisy(w, x, rng):
    return wg.mean((x @ w - rng.normal((4,))) ** 2)


def test_members_that_take_the_same_steps_are_told_of_once():
    ensemble = wg.Ensemble(loss, ZEROS, wg.optim.Adam(0.1))
    with pytest.warns(AlikeWarning, match="Ensemble: all 3 members have the same numbers"):
        ensemble(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensemble(X)
    with pytest.warns(AlikeWarning, match=r"Ensemble\.run: all 3"):
        wg.Ensemble(loss, lambda seed: np.zeros(3), wg.optim.Adam(0.1), members=3).run(
            X, batch_size=2
        )


def test_members_that_take_the_same_epochs_are_told_of_once():
    ensemble = wg.Ensemble(loss, ZEROS, wg.optim.Adam(0.1), compiled=False)
    with pytest.warns(AlikeWarning, match=r"Ensemble\.epochs: all 3") as found:
        for _ in ensemble.epochs(X, batch_size=2, epochs=3):
            pass
    assert len(found) == 1
    assert found[0].filename == __file__


def ridge(w, x, l2):
    return loss(w, x) + wg.mean(l2) * wg.sum(w * w)  # no gradient at zeros


PENALTIES = wg.train.each(np.array([0.1, 1.0, 2.0]))


def test_what_each_is_given_alike_is_no_difference():
    with pytest.warns(AlikeWarning):
        wg.Ensemble(ridge, ZEROS, wg.optim.SGD(0.1))(X, wg.train.each(np.ones(3)))


DIFFERENT = {
    "models": lambda: wg.Ensemble(loss, [z + i for i, z in enumerate(ZEROS)], wg.optim.SGD(0.1))(X),
    "rates": lambda: wg.Ensemble(loss, ZEROS, wg.optim.SGD([0.0, 0.0, 0.1]))(X),
    "draws": lambda: wg.Ensemble(noisy, ZEROS, wg.optim.SGD(0.1))(X),
    "batches": lambda: wg.Ensemble(loss, ZEROS, wg.optim.SGD(0.1))(
        wg.train.each(np.stack([X, X + 1, X + 2]))
    ),
    "penalties": lambda: wg.Ensemble(ridge, ZEROS, wg.optim.SGD(0.1))(X, PENALTIES),
    "penalties in a run": lambda: wg.Ensemble(ridge, ZEROS, wg.optim.SGD(0.1)).run(
        X, wg.train.each(np.repeat([[0.1], [1.0], [2.0]], 4, axis=1)), batch_size=4
    ),
    "limits": lambda: wg.Ensemble(loss, ZEROS, wg.optim.SGD(0.1), clip_norm=[9.0, 8.0, 7.0])(X),
    "orders": lambda: wg.Ensemble(loss, ZEROS, wg.optim.SGD(0.1)).run(
        X, batch_size=2, shuffle_seed=[0, 1, 2]
    ),
    "one member": lambda: wg.Ensemble(loss, ZEROS[:1], wg.optim.SGD(0.1))(X),
}


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.filterwarnings("error")
def test_members_that_differ_are_not(name):
    DIFFERENT[name]()
