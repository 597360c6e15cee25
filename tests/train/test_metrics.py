"""Metrics against those of scikit-learn, and by hand where it has none."""

from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn import metrics as reference

import wengert as wg
from wengert.train import class_labels, metrics

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
    "auc of logits": (
        metrics.auc,
        CLASSES,
        SCORES + 9 * rng.normal(size=(60, 1)),  # which softmax does not see
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


@pytest.mark.parametrize("name", metrics.__all__)
def test_no_rows_are_refused_in_words(name):
    prediction = np.zeros((0, 6)) if name in ("top_k", "auc") else np.zeros(0, int)
    with pytest.raises(ValueError, match=f"{name}: given no rows"):
        getattr(metrics, name)(np.zeros(0, int), prediction)


@pytest.mark.parametrize("name", ["f1", "precision", "recall"])
def test_a_number_for_each_class_is_not_what_is_given(name):
    with pytest.raises(ValueError, match=rf"average=None was given.*write {name}\(target == c"):
        getattr(metrics, name)([0, 1, 2, 2], [0, 1, 1, 2], average=None)


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


# Labels other than 0 and 1.


@pytest.mark.parametrize(("low", "high"), [(-1, 1), (1, 2), (0, 2), ("no", "yes")])
def test_the_larger_of_two_classes_is_the_positive_one(low, high):
    labels = np.where(TWO == 1, high, low)
    expected = reference.roc_auc_score(labels, TIES)
    assert metrics.auc(labels, TIES) == pytest.approx(expected, rel=1e-12)
    assert metrics.auc(labels, SCORES[:, :2]) == metrics.auc(TWO, SCORES[:, :2])
    assert metrics.accuracy(labels, SCORES[:, :2]) == metrics.accuracy(TWO, SCORES[:, :2])
    for metric in (metrics.accuracy, metrics.f1, metrics.precision, metrics.recall):
        found = metric(labels, TIES, threshold=0.6)
        assert found == metric(TWO, TIES, threshold=0.6) == metric(TWO, (TIES >= 0.6).astype(int))


def test_labels_of_minus_one_and_one_have_a_positive_class():
    target, found = 2 * TWO - 1, np.where(SAID > 1, 1, -1)
    for name in ("f1", "precision", "recall"):
        expected = getattr(reference, f"{name}_score")(target, found)
        assert getattr(metrics, name)(target, found) == pytest.approx(expected, rel=1e-12)


def test_which_of_two_other_classes_is_positive_is_not_guessed():
    target, found = TWO + 1, (SAID > 1) + 1
    with pytest.raises(ValueError, match="given the classes 1, 2; which one it is about"):
        metrics.f1(target, found)
    macro = reference.f1_score(target, found, average="macro")
    assert metrics.f1(target, found, average="macro") == pytest.approx(macro, rel=1e-12)


def test_several_columns_are_several_classes_where_few_are_there():
    target, scores = np.array([0, 1, 1]), np.eye(3)[[0, 1, 0]]
    expected = reference.f1_score(target, [0, 1, 0], average="macro")
    assert metrics.f1(target, scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.accuracy(PROBABILITIES[:, 0], TWO), "targets first"),
        (lambda: metrics.auc(PROBABILITIES[:, 0], TWO), "targets first"),
        (lambda: metrics.accuracy(CLASSES + 1, SCORES), "stand for the classes 0 to 3"),
        (lambda: metrics.auc(CLASSES + 1, SCORES), "stand for the classes 0 to 3"),
        (lambda: metrics.top_k(CLASSES + 1, SCORES, k=2), "stand for the classes 0 to 3"),
        (lambda: metrics.auc(CLASSES, TIES), "given targets of 4 classes, 0, 1, 2, 3, and"),
        (lambda: metrics.auc(CLASSES % 3, SCORES), "no row of class 3, for 4 columns"),
        (lambda: metrics.auc(np.zeros(60), TIES), "rows of one class only"),
        (lambda: metrics.accuracy(TWO, PROBABILITIES[:, 0]), "threshold=0.5 for probabilities"),
        (lambda: metrics.accuracy(np.where(TWO, "a", "b"), TWO), "never equal"),
    ],
)
def test_what_cannot_be_classes_is_refused_in_words(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_a_prediction_that_is_not_a_number_is_no_class():
    unknown = SCORES.copy()
    unknown[3] = np.nan
    for metric in (metrics.accuracy, metrics.f1, metrics.auc, partial(metrics.top_k, k=2)):
        assert np.isnan(metric(CLASSES, unknown))
    assert np.isnan(metrics.auc(TWO, unknown[:, 0]))


EACH = [
    metrics.accuracy,
    metrics.balanced_accuracy,
    metrics.precision,
    metrics.recall,
    metrics.f1,
    metrics.auc,
    partial(metrics.top_k, k=2),
]


@pytest.mark.parametrize("metric", EACH)
@pytest.mark.parametrize("target", [SCORES > 0, np.zeros((60, 4)), (SCORES > 1.5).astype(int)])
def test_several_labels_in_a_row_are_not_covered(metric, target):
    with pytest.raises(wg.errors.ShapeError, match=r"several labels are not .* sklearn\.metrics"):
        metric(target, SCORES)


def test_what_is_advised_for_several_labels_measures_them():
    labels = SCORES[:, ::-1] > 0
    for name in ("accuracy", "auc", "precision", "recall", "f1"):
        with pytest.raises(wg.errors.ShapeError) as found:
            getattr(metrics, name)(labels, SCORES)
        function = str(found.value).partition("as in ")[2].removesuffix(" of logits.")
        assert 0 < eval(function, {"sklearn": sklearn})(labels, SCORES) < 1


def test_one_hot_targets_have_their_classes_told():
    with pytest.raises(wg.errors.ShapeError, match=r"Pass target\.argmax\(axis=1\)"):
        metrics.f1(np.eye(4)[CLASSES], SCORES)


@pytest.mark.parametrize("name", metrics.__all__)
def test_values_that_are_recorded_are_refused_with_the_way(name):
    metric, rows, classes = getattr(metrics, name), np.ones((4, 2)), np.array([0, 1, 1, 0])
    step = wg.TrainStep(lambda w, x, y: wg.mean((x @ w)[:, 0] - y), np.eye(2), wg.optim.SGD(0.1))
    for f in (metric, lambda w, x, y: metric(y, x @ w), lambda w, x, y: metric(x @ w, y)):
        with pytest.raises(
            wg.errors.TraceError, match=rf"^{name}: .*and {name}\(y, predict\(x\)\)"
        ):
            step.evaluate(f, rows, classes, batch_size=2)
    with pytest.raises(wg.errors.TraceError, match=rf"^{name}: given a Tensor"):
        wg.grad(lambda scores: metric(classes, scores))(rows)


def test_what_is_said_to_write_inside_gives_what_the_metric_gives():
    logits = np.array([[2.0, 1.0], [0.0, 3.0], [1.0, 4.0], [5.0, 0.0]])
    target = np.array([0, 0, 1, 0])
    for name, written in class_labels._RECORDED.items():
        prediction, true = (logits, target) if name == "accuracy" else (logits[:, 0], logits[:, 1])
        given = {"wg": wg, "logits": prediction, "prediction": prediction, "target": true}
        assert float(eval(written, given)) == pytest.approx(
            getattr(metrics, name)(true, prediction)
        )


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "f1"])
@pytest.mark.parametrize("scores", [SCORES, SAID])
def test_classes_at_all_times_are_told_how_they_are_measured(name, scores):
    y, p = CLASSES.reshape(12, 5), scores.reshape(12, 5, *scores.shape[1:])
    with pytest.raises(wg.errors.ShapeError, match=r"wg\.train\.fit metrics=\{'") as found:
        getattr(metrics, name)(y, p)
    _, _, written = str(found.value).partition("metrics=")
    measured = eval(written.removesuffix("."), {"wg": wg})[name](y, p)
    assert measured == getattr(metrics, name)(CLASSES, scores)
    with pytest.raises(wg.errors.ShapeError, match=r"Reshape them\.$"):
        getattr(metrics, name)(y, p[:, :3])
