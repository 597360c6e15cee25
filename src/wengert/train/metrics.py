"""Metrics: how well predictions agree with what was to be predicted, as plain functions.

Each is called `metric(target, prediction, weight=None)` with the rows of a whole data set, NumPy
arrays, and returns a Python float. Predictions of classes are scores with one column per class
(logits or probabilities), or the classes themselves as whole numbers. `wg.train.fit` takes these
functions, their names, and any function of yours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from wengert.core.words.foreign_names.missing import explain_missing_names
from wengert.core.words.foreign_names.nearest import ALIKE, nearest
from wengert.core.words.foreign_names.repairs import THEIR_METRICS
from wengert.errors import ShapeError
from wengert.train.class_labels import (
    binary_class,
    classes,
    is_positive,
    refuse_several_labels,
    require_classes,
    require_columns,
    require_values,
    without_column,
)

Array = np.ndarray[Any, Any]

__all__ = [
    "accuracy",
    "auc",
    "balanced_accuracy",
    "f1",
    "mae",
    "mse",
    "precision",
    "r2",
    "recall",
    "rmse",
    "top_k",
]


def _nan_for_nan(metric: Callable[..., float]) -> Callable[..., float]:
    """The metric that is NaN where a prediction is: no class is right or wrong then."""

    @functools.wraps(metric)
    def checked(target: Any, prediction: Any, weight: Any = None, **named: Any) -> float:
        require_values(metric.__name__, target, prediction)
        scores = np.asarray(prediction)
        if scores.dtype.kind == "f" and np.isnan(scores).any():
            return float("nan")
        return metric(target, prediction, weight, **named)

    return checked


class Metric(Protocol):
    """What a metric is called with."""

    def __call__(self, target: Any, prediction: Any, weight: Any = None) -> float: ...


@_nan_for_nan
def accuracy(
    target: Any, prediction: Any, weight: Any = None, *, threshold: float | None = None
) -> float:
    """The share of rows whose class is right. One score per row needs a `threshold`, from which on
    the class is 1: 0 for logits, 0.5 for probabilities.

    >>> wg.train.metrics.accuracy(np.array([0, 1, 1]), np.array([0, 1, 0]))
    0.6666666666666666
    """
    target, predicted = classes("accuracy", target, prediction, threshold)
    return float(np.average(target == predicted, weights=_weights("accuracy", weight, target)))


@_nan_for_nan
def balanced_accuracy(
    target: Any, prediction: Any, weight: Any = None, *, threshold: float | None = None
) -> float:
    """The mean, over the classes of the target, of the share of their rows whose class is right.

    >>> wg.train.metrics.balanced_accuracy(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    0.5
    """
    by = "balanced_accuracy"
    target, predicted = classes(by, target, prediction, threshold)
    weights = _weights(by, weight, target)
    shares = [
        np.average((predicted == target)[rows], weights=weights[rows])
        for rows in (target == each for each in np.unique(target))
    ]
    return float(np.mean(shares))


@_nan_for_nan
def top_k(target: Any, prediction: Any, weight: Any = None, *, k: int = 5) -> float:
    """The share of rows whose class is among the k that have the highest scores. Of equal scores
    the class with the larger number counts as the higher one.

    >>> scores = np.array([[0.1, 0.5, 0.4], [0.6, 0.3, 0.1]])
    >>> wg.train.metrics.top_k(np.array([2, 2]), scores, k=2)
    0.5
    """
    scores, target = np.asarray(prediction), np.asarray(target)
    refuse_several_labels("top_k", target, scores)
    if scores.ndim != 2 or scores.shape[1] < 2 or target.shape != scores.shape[:1]:
        raise ShapeError(
            f"top_k: given targets {target.shape} and predictions {scores.shape}; it needs one "
            "class per row, and one score per row and class. Pass the logits or probabilities."
        )
    if not 1 <= k <= scores.shape[1]:
        raise ValueError(
            f"top_k: k={k!r} was given for {scores.shape[1]} classes; it is a whole number from 1 "
            "to their number. Choose one, as in functools.partial(top_k, k=2)."
        )
    target = require_columns("top_k", require_classes("top_k", target), scores.shape[1])
    best = np.argsort(scores, axis=1, kind="stable")[:, -k:]
    return float(
        np.average((best == target[:, None]).any(axis=1), weights=_weights("top_k", weight, target))
    )


@_nan_for_nan
def precision(
    target: Any,
    prediction: Any,
    weight: Any = None,
    *,
    average: str = "auto",
    threshold: float | None = None,
) -> float:
    """Of the rows that are said to be of a class, the share that is; 0 where none is said to be.
    `average` is that of `f1`.

    >>> wg.train.metrics.precision(np.array([0, 1, 1, 1]), np.array([1, 1, 0, 0]))
    0.5
    """
    return _averaged("precision", target, prediction, weight, average, threshold, _precision)


@_nan_for_nan
def recall(
    target: Any,
    prediction: Any,
    weight: Any = None,
    *,
    average: str = "auto",
    threshold: float | None = None,
) -> float:
    """Of the rows that are of a class, the share that is said to be; 0 where none is.
    `average` is that of `f1`.

    >>> wg.train.metrics.recall(np.array([0, 1, 1, 1, 1]), np.array([1, 1, 0, 0, 0]))
    0.25
    """
    return _averaged("recall", target, prediction, weight, average, threshold, _recall)


@_nan_for_nan
def f1(
    target: Any,
    prediction: Any,
    weight: Any = None,
    *,
    average: str = "auto",
    threshold: float | None = None,
) -> float:
    """The harmonic mean of precision and recall. `average` says of what: "binary" of class 1,
    "macro" the mean over classes, "weighted" that mean by their rows, "micro" of all rows together;
    "auto" is "binary" where all classes are 0 and 1 or -1 and 1, else "macro", and refuses two
    classes of other names.

    >>> wg.train.metrics.f1(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
    0.8
    """
    return _averaged("f1", target, prediction, weight, average, threshold, _f1)


@_nan_for_nan
def auc(target: Any, prediction: Any, weight: Any = None) -> float:
    """The area under the ROC curve: how often a row of class 1 has a higher score than one of class
    0, where equal scores count half; of two other classes the larger one takes the place of 1. The
    scores are one per row, or two columns whose difference decides. With more columns, the mean
    over classes of each against all others, by its probability: that of softmax, where rows are not
    probabilities already.

    >>> wg.train.metrics.auc(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]))
    0.75
    """
    scores = without_column(np.asarray(prediction, np.float64))
    target = require_classes("auc", target)
    refuse_several_labels("auc", target, scores)
    if target.ndim != 1 or scores.ndim not in (1, 2) or len(target) != len(scores):
        raise ShapeError(
            f"auc: given targets {target.shape} and predictions {scores.shape}; it needs one class "
            "per row, and one score per row, or per row and class. Pass the logits or "
            "probabilities."
        )
    weights = _weights("auc", weight, target)
    if scores.ndim == 1 or scores.shape[1] == 2:
        flat = scores if scores.ndim == 1 else scores[:, 1] - scores[:, 0]
        _require_both(len(np.unique(target)) > 1)
        return _area(is_positive("auc", target), flat, weights)
    count = scores.shape[1]
    target = require_columns("auc", target, count)
    for k in range(count):
        _require_both((target == k).any(), f"no row of class {k}, for {count} columns of scores")
    scores = _ranked_by_class(scores)
    return float(np.mean([_area(target == k, scores[:, k], weights) for k in range(count)]))


def mae(target: Any, prediction: Any, weight: Any = None) -> float:
    """The mean absolute error.

    >>> wg.train.metrics.mae(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """
    target, predicted, weights = _numbers("mae", target, prediction, weight)
    return float(np.mean(_over_rows(np.abs(target - predicted), weights)))


def mse(target: Any, prediction: Any, weight: Any = None) -> float:
    """The mean squared error.

    >>> wg.train.metrics.mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    2.0
    """
    target, predicted, weights = _numbers("mse", target, prediction, weight)
    return float(np.mean(_over_rows((target - predicted) ** 2, weights)))


def rmse(target: Any, prediction: Any, weight: Any = None) -> float:
    """The root of the mean squared error; of several columns, the mean of theirs.

    >>> wg.train.metrics.rmse(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    3.0
    """
    target, predicted, weights = _numbers("rmse", target, prediction, weight)
    return float(np.mean(np.sqrt(_over_rows((target - predicted) ** 2, weights))))


def r2(target: Any, prediction: Any, weight: Any = None) -> float:
    """The share of the variance that is explained: 1 at best, 0 for a prediction that is always the
    mean; of several columns, the mean of theirs. Where the target does not vary, it is 1 if all of
    it is right and 0 if not.

    >>> wg.train.metrics.r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """
    target, predicted, weights = _numbers("r2", target, prediction, weight)
    left = _over_rows((target - predicted) ** 2, weights)
    centre = _over_rows(target, weights)
    whole = _over_rows((target - centre) ** 2, weights)
    ratio = left / np.where(whole == 0, 1, whole)
    return float(np.mean(np.where(whole == 0, np.where(left == 0, 1.0, 0.0), 1.0 - ratio)))


_NEAR_ONE = 1e-3  # how far a sum of rounded probabilities is from 1, at most
BY_NAME: Mapping[str, Metric] = {name: globals()[name] for name in __all__}
SMALLER_IS_BETTER = frozenset({mae, mse, rmse})


def metric_named(by: str, name: str) -> Metric:
    """The metric of a name, or a refusal that says which there are."""
    if name in BY_NAME:
        return BY_NAME[name]
    meant = THEIR_METRICS.get(name) or nearest(name, list(BY_NAME), ALIKE)
    repair = f"Write {meant!r}" if meant else "Choose one, or pass a function"
    raise ValueError(f"{by}: no metric {name!r}; there are {', '.join(BY_NAME)}. {repair}.")


def better_direction(metric: Callable[..., Any]) -> str | None:
    """Whether "min" or "max" is better, if it is known; partial functions are those within."""
    while isinstance(metric, functools.partial):
        metric = metric.func
    if metric in SMALLER_IS_BETTER:
        return "min"
    return "max" if metric in BY_NAME.values() else None


# What metrics need of their arguments.


def _numbers(by: str, target: Any, prediction: Any, weight: Any) -> tuple[Array, Array, Array]:
    """Numbers in float64, with one column at least; and the weights of rows."""
    require_values(by, target, prediction)
    target = without_column(np.asarray(target, np.float64))
    predicted = without_column(np.asarray(prediction, np.float64))
    if target.shape != predicted.shape or not target.ndim:
        raise ShapeError(
            f"{by}: given targets {np.shape(target)} and predictions {np.shape(prediction)}; they "
            "must have the same shape. Reshape one of them."
        )
    weights, rows = _weights(by, weight, target), len(target)
    return target.reshape(rows, -1), predicted.reshape(rows, -1), weights


def _over_rows(x: Array, weights: Array) -> Array:
    """The mean of each column: np.average without its checks, which take longer than a mean of the
    few rows that validate a small fit.
    """
    means: Array = np.add.reduce(x * weights[:, None]) / np.add.reduce(weights)
    return means


def _weights(by: str, weight: Any, target: Array) -> Array:
    if not len(target):
        raise ValueError(f"{by}: given no rows; a metric is of one at least. Pass some.")
    if weight is None:
        return np.ones(len(target))
    weights = np.asarray(weight, np.float64).reshape(-1)
    if len(weights) != len(target) or not np.all(weights >= 0) or not weights.any():
        raise ValueError(
            f"{by}: given weights {np.shape(weight)} for {len(target)} rows; there must be one per "
            "row, none below 0 and not all 0. Pass such weights, or None."
        )
    return weights


# Counting.


def _averaged(
    by: str,
    target: Any,
    prediction: Any,
    weight: Any,
    average: str,
    threshold: float | None,
    of: Callable[[Array, Array, Array], Array],
) -> float:
    """A score of right, said and true rows, for one class or as a mean over classes."""
    target, predicted = classes(by, target, prediction, threshold)
    weights, kinds = _weights(by, weight, target), np.union1d(target, predicted)
    if average not in ("auto", "binary", "macro", "weighted", "micro"):
        each = f", or write {by}(target == c, prediction == c) for class c" if not average else ""
        raise ValueError(
            f"{by}: average={average!r} was given; it is one of auto, binary, macro, weighted, "
            f"micro, and the result is one number. Choose one{each}."
        )
    if average == "auto" and np.ndim(prediction) == 2 and np.shape(prediction)[1] > 2:
        average = "macro"  # also where few of the classes are there
    chosen = binary_class(by, kinds, average)
    kinds = kinds if chosen is None else np.array([chosen])
    said = np.array([weights[predicted == each].sum() for each in kinds])
    true = np.array([weights[target == each].sum() for each in kinds])
    right = np.array([weights[(predicted == each) & (target == each)].sum() for each in kinds])
    if average == "micro":
        right, said, true = (x.sum(keepdims=True) for x in (right, said, true))
    scores = of(right, said, true)
    return float(np.average(scores, weights=true) if average == "weighted" else np.mean(scores))


def _precision(right: Array, said: Array, true: Array) -> Array:
    del true
    return right / np.where(said == 0, 1, said)


def _recall(right: Array, said: Array, true: Array) -> Array:
    del said
    return right / np.where(true == 0, 1, true)


def _f1(right: Array, said: Array, true: Array) -> Array:
    both = said + true
    return 2 * right / np.where(both == 0, 1, both)


def _require_both(known: bool, given: str = "rows of one class only") -> None:
    if not known:
        raise ValueError(
            f"auc: given {given}; the area under the curve compares each class with the others. "
            "Pass data that have rows of all."
        )


def _ranked_by_class(scores: Array) -> Array:
    """Numbers with the order, in each column, of the probability of its class. Of logits: how far
    each is above all others together, which tells more probabilities near 1 apart than softmax.
    """
    if (scores >= 0).all() and np.allclose(np.add.reduce(scores, axis=1), 1.0, atol=_NEAR_ONE):
        return scores
    before = np.logaddexp.accumulate(scores, axis=1)
    behind = np.logaddexp.accumulate(scores[:, ::-1], axis=1)[:, ::-1]
    others = np.empty_like(scores)
    others[:, 0], others[:, -1] = behind[:, 1], before[:, -2]
    others[:, 1:-1] = np.logaddexp(before[:, :-2], behind[:, 2:])
    return scores - others


def _area(positive: Array, scores: Array, weights: Array) -> float:
    """The area under the ROC curve of one class against the others."""
    order = np.argsort(scores, kind="stable")
    _, groups = np.unique(scores[order], return_inverse=True)  # equal scores
    ones = np.bincount(groups, np.where(positive, weights, 0)[order])
    others = np.bincount(groups, np.where(positive, 0, weights)[order])
    below = np.cumsum(others) - others
    return float(np.sum(ones * (below + others / 2)) / (ones.sum() * others.sum()))


explain_missing_names(globals())
