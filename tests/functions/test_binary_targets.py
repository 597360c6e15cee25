"""Targets of a binary loss that lie outside of [0, 1] are told of, wherever they come from."""

import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.errors import TargetsWarning

LOGITS, LABELS = np.array([3.0, -3.0]), np.array([1.0, -1.0])
X = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
Y = np.where(X[:, 0] > 0, 1, -1)
WRONG = "bce_with_logits: targets from -1 to 1 were given"


def loss(w, x, y):
    return wg.bce_with_logits(x @ w, y[:])


def step():
    return wg.TrainStep(loss, np.zeros(2, np.float32), wg.optim.SGD(0.1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: wg.bce_with_logits(LOGITS, LABELS),
        lambda: wg.bce_with_logits([3.0, -3.0], [1, -1]),
        lambda: wg.grad(wg.bce_with_logits)(LOGITS, LABELS),
        lambda: wg.vmap(wg.bce_with_logits)(LOGITS, LABELS),
        lambda: wg.compile(lambda z: wg.bce_with_logits(z, LABELS))(LOGITS),
    ],
    ids=["arrays", "lists", "grad", "vmap", "constant"],
)
def test_known_targets_are_refused(call):
    with pytest.raises(ValueError, match=WRONG):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: wg.compile(lambda z, y: wg.bce_with_logits(z, y))(LOGITS, LABELS),
        lambda: wg.compile(wg.value_and_grad(wg.bce_with_logits))(LOGITS, LABELS),
        lambda: step()(X, Y),
        lambda: step()(X, Y.astype(np.float64)),
        lambda: step().run(X, Y, batch_size=4),
        lambda: step().evaluate(loss, X, Y, batch_size=4),
        lambda: step().bind(loss)(X, Y),
        lambda: wg.train.fit(step(), (X, Y), epochs=1, batch_size=4, progress=False),
        lambda: wg.Ensemble(loss, [np.zeros(2, np.float32)] * 2, wg.optim.SGD(0.1))(X, Y),
    ],
    ids=["compile", "gradient", "step", "floats", "run", "evaluate", "bind", "fit", "ensemble"],
)
def test_targets_of_a_first_call_are_told(call):
    with pytest.warns(TargetsWarning, match=WRONG) as caught:
        call()
    assert caught[0].filename == __file__


def test_probabilities_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step()(X, Y > 0)
        wg.bce_with_logits(LOGITS, np.array([0.0, 1 + 1e-7]))  # rounded
        wg.bce_with_logits(LOGITS, np.array([np.nan, 1.0]))  # a matter of nonfinite=
        # What is computed of an argument is not known before the program runs.
        wg.compile(lambda z, y: wg.bce_with_logits(z, (y + 1) / 2))(LOGITS, LABELS)
        wg.compile(lambda z, y: wg.bce_with_logits(z, -y))(LOGITS, np.array([-1.0, 0.0]))
