"""Metrics against those of scikit-learn, and by hand where it has none."""

from functools import partial

import numpy as np
import pytest
from sklearn import metrics as reference

from wengert.train import metrics

rng = np.random.default_rng(0)
CLASSES = rng.integers(0, 4, 60)
SCORES = rng.normal(size=(60, 4))
PROBABILITIES = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)
TIES = rng.integers(0, 5, 60) / 4
WEIGHTS = rng.uniform(0.1, 2.0, 60)
SAID = SCORES.argmax(axis=1)
TWO = (CLASSES > 1).astype(int)
NUMBERS, FOUND = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))

CASES = {
    "accuracy": (metrics.accuracy, CLASSES, SCORES, reference.accuracy_score, SAID),
    "balanced": (metrics.balanced_accuracy, CLASSES, SAID, reference.balanced_accuracy_score, SAID),
    "precision": (
        metrics.precision,
        CLASSES,
        SCORES,
        partial(reference.precision_score, average="macro"),
        SAID,
    ),
    "recall": (
        metrics.recall,
        CLASSES,
        SCORES,
        partial(reference.recall_score, average="macro"),
        SAID,
    ),
    "f1": (metrics.f1, CLASSES, SCORES, partial(reference.f1_score, average="macro"), SAID),
    "f1 of two": (metrics.f1, TWO, (SAID > 1).astype(int), reference.f1_score, SAID > 1),
    "top 2": (
        partial(metrics.top_k, k=2),
        CLASSES,
        SCORES,
        partial(reference.top_k_accuracy_score, k=2),
        SCORES,
    ),
    "auc": (metrics.auc, TWO, TIES, reference.roc_auc_score, TIES),
    "auc of columns": (
        metrics.auc,
        TWO,
        SCORES[:, :2],
        reference.roc_auc_score,
        SCORES[:, 1] - SCORES[:, 0],
    ),
    "auc of several": (
        metrics.auc,
        CLASSES,
        PROBABILITIES,
        partial(reference.roc_auc_score, multi_class="ovr"),
        PROBABILITIES,
    ),
    "mae": (metrics.mae, NUMBERS, FOUND, reference.mean_absolute_error, FOUND),
    "mse": (metrics.mse, NUMBERS, FOUND, reference.mean_squared_error, FOUND),
    "rmse": (metrics.rmse, NUMBERS, FOUND, reference.root_mean_squared_error, FOUND),
    "r2": (metrics.r2, NUMBERS, FOUND, reference.r2_score, FOUND),
    "r2 of a column": (metrics.r2, NUMBERS[:, :1], FOUND[:, 0], reference.r2_score, FOUND[:, 0]),
    **{
        f"f1 {average}": (
            partial(metrics.f1, average=average),
            CLASSES,
            SCORES,
            partial(reference.f1_score, average=average),
            SAID,
        )
        for average in ("weighted", "micro")
    },
}


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_scikit_learn_agrees(name, weight):
    metric, target, prediction, other, given = CASES[name]
    target_there = target[:, 0] if name == "r2 of a column" else target
    found = metric(target, prediction, weight)
    assert type(found) is float
    np.testing.assert_allclose(found, other(target_there, given, sample_weight=weight), rtol=1e-12)


def test_a_threshold_makes_classes_of_scores():
    logits = SCORES[:, 0]
    accuracy = metrics.accuracy(TWO, logits, threshold=0.0)
    assert accuracy == np.mean((logits >= 0) == TWO)
    assert metrics.accuracy(TWO[:, None], logits[:, None], threshold=0.0) == accuracy


def test_a_target_that_does_not_vary():
    assert metrics.r2(np.ones(3), np.ones(3)) == 1.0
    assert metrics.r2(np.ones(3), np.zeros(3)) == 0.0


def test_a_class_that_nobody_names():
    assert metrics.precision(np.array([1, 1]), np.array([0, 0])) == 0.0
    assert metrics.f1(np.array([0, 0]), np.array([0, 0])) == 0.0


def test_directions_are_known():
    assert metrics.better_direction(metrics.mae) == "min"
    assert metrics.better_direction(partial(metrics.top_k, k=2)) == "max"
    assert metrics.better_direction(lambda t, p: 0.0) is None
