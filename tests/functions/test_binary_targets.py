"""Targets that are no probabilities are told of, wherever they come from: those of a binary loss
outside of [0, 1], and those of classes that do not add up to 1.
"""

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


HOT = np.eye(4, dtype=np.float32)[np.arange(8) % 4]
SEVERAL = np.maximum(HOT, HOT[::-1])
UNEVEN = "cross_entropy: float targets with rows that do not add up to 1 .* wg.bce_with_logits"


def of_classes(w, x, y):
    return wg.cross_entropy(x @ w, wg.astype(y, np.float32))


def classifier(loss=of_classes):
    return wg.TrainStep(loss, np.zeros((2, 4), np.float32), wg.optim.SGD(0.1))


@pytest.mark.parametrize("targets", [SEVERAL, 0.3 + 0.5 * SEVERAL, SEVERAL.astype(int)])
def test_targets_of_classes_that_do_not_add_up_to_one_are_told(targets):
    with pytest.warns(TargetsWarning, match=UNEVEN) as caught:
        classifier()(X, targets)
    assert caught[0].filename == __file__


def test_they_are_told_of_arrays_in_runs_and_along_other_axes():
    calls = [
        lambda: wg.cross_entropy(HOT, SEVERAL),
        lambda: wg.cross_entropy(HOT.T, SEVERAL.T, axis=0),
        lambda: classifier().run(X, SEVERAL, batch_size=4),
        lambda: classifier(lambda w, x, y: wg.cross_entropy((x @ w).T, y.T, axis=0))(X, SEVERAL),
    ]
    for call in calls:
        with pytest.warns(TargetsWarning, match=UNEVEN):
            call()


SOME = (np.arange(8) % 3 > 0).astype(np.float32)[:, None]
PROBABILITIES = {
    "classes": HOT,
    "smoothed": 0.9 * HOT + 0.025,
    "mixed": 0.3 * HOT + 0.7 * HOT[::-1],
    "soft": np.full((8, 4), 0.25, np.float32),
    "padded": HOT * SOME,
    "weighed": HOT * np.linspace(0, 1, 8, dtype=np.float32)[:, None],
    "rounded": np.full((8, 4), 0.24, np.float32),
}


@pytest.mark.parametrize("targets", PROBABILITIES)
def test_probabilities_of_classes_are_not_told(targets):
    with warnings.catch_warnings():
        warnings.simplefilter("error", TargetsWarning)
        wg.cross_entropy(HOT, PROBABILITIES[targets])
        classifier()(X, PROBABILITIES[targets])
        square = PROBABILITIES[targets][:4]  # the axes of an argument may be taken in another order
        classifier(lambda w, x, y: wg.cross_entropy(x @ w, y.T))(X[:4], square.T)
