"""Class labels: what metrics need of targets and predictions, above all of those that are classes.

Columns of scores stand for the classes 0, 1 and so on. Of two classes with other names the larger
one is the positive one, where that cannot be mistaken; all else is refused rather than guessed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import located
from wengert.core.tensor import Tensor
from wengert.errors import ShapeError, TraceError

Array = np.ndarray[Any, Any]
SHOWN = 4  # classes that a message names
TEXTS = "USO"  # kinds of dtypes that may hold texts
# What measures rows of several labels, in scikit-learn.
OF_LABELS = {
    "accuracy": "accuracy_score(y, said > 0)",
    "auc": "roc_auc_score(y, said, average='macro')",
    "precision": "precision_score(y, said > 0, average='macro')",
    "recall": "recall_score(y, said > 0, average='macro')",
}

# What computes the same of values that are recorded.
_RECORDED = {
    "accuracy": "wg.mean(wg.argmax(logits, axis=-1) == target)",
    "mae": "wg.mae(prediction, target)",
    "mse": "wg.mse(prediction, target)",
}


def require_values(by: str, *given: Any) -> None:
    """Refuse values that are recorded, as inside of a loss or of what is evaluated, and a network
    of them: metrics compute with the numbers of all rows.
    """
    tensors = [x for each in given for x in tree.leaves(each) if isinstance(x, Tensor)]
    if tensors:
        inside = f"Write {_RECORDED[by]} there, or call" if by in _RECORDED else "Call"
        error = TraceError(
            f"{by}: given a Tensor, in a function that is recorded or differentiated; metrics are "
            f"of arrays, the rows of a whole data set. {inside} it outside: predict = "
            f"step.bind(lambda model, x: model(x)), and {by}(y, predict(x))."
        )
        raise located(error, tensors)


def without_column(x: Array) -> Array:
    """One number per row, where there is one column."""
    return x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x


def require_classes(by: str, given: Any) -> Array:
    """Targets as classes: whole numbers, bools or texts."""
    target = without_column(np.asarray(given))
    if target.dtype.kind == "f" and not (target == np.trunc(target)).all():
        wrong = target[target != np.trunc(target)].flat[0]
        raise ValueError(
            f"{by}: given targets {target.dtype}{target.shape} with {wrong:.6g}; they are classes, "
            f"whole numbers. Write {by}(target, prediction), targets first."
        )
    return target


def classes(by: str, target: Any, prediction: Any, threshold: float | None) -> tuple[Array, Array]:
    """Classes as they are and as they are said to be, one per row."""
    target, predicted = require_classes(by, target), without_column(np.asarray(prediction))
    refuse_several_labels(by, target, predicted)
    if predicted.ndim == target.ndim + 1 == 2:
        target = require_columns(by, target, predicted.shape[1])
        predicted = np.argmax(predicted, axis=-1)
    elif predicted.dtype.kind == "f" and predicted.shape == target.shape:
        predicted = _from_threshold(by, target, predicted, threshold)
        target = _zero_or_one(by, target)
    if predicted.shape != target.shape or predicted.ndim != 1:
        raise ShapeError(
            f"{by}: given targets {target.shape} and predictions {np.shape(prediction)}; it needs "
            "one class per row, and predictions of as many rows: classes, or one score per class. "
            f"{_as_rows(by, target, predicted)}"
        )
    if len(predicted) and _holds_texts(target) != _holds_texts(predicted):
        raise TypeError(
            f"{by}: given targets such as {target.tolist()[0]!r} and predictions such as "
            f"{predicted.tolist()[0]!r}; texts and numbers are never equal. Pass classes of one "
            "kind, as in names[prediction]."
        )
    return target, predicted


def _as_rows(by: str, target: Array, predicted: Array) -> str:
    """How targets and predictions have one class per row; each row may have one for each time."""
    if target.ndim < 2 or predicted.shape[: target.ndim] != target.shape:
        return "Reshape them."
    scores = ", p.shape[-1]" if predicted.ndim > target.ndim else ""
    flat = f"wg.train.metrics.{by}(y.reshape(-1), p.reshape(-1{scores}))"
    if by == "accuracy" and scores:
        flat = "(p.argmax(-1) == y).mean()"
    return f"For a class at each time, give wg.train.fit metrics={{{by!r}: lambda y, p: {flat}}}."


def refuse_several_labels(by: str, target: Array, prediction: Array) -> None:
    """Refuse zeros and ones with a column for each class, where rows have several ones or none: no
    column is the class of such a row.
    """
    if target.ndim != 2 or target.shape != prediction.shape or target.dtype.kind in TEXTS:
        return
    counts = np.count_nonzero(target, axis=1)
    if not ((target == 0) | (target == 1)).all() or (counts == 1).all():
        return
    row = int(np.flatnonzero(counts != 1)[0])
    other = OF_LABELS.get(by, "f1_score(y, said > 0, average='macro')")
    raise ShapeError(
        f"{by}: given targets of shape {target.shape} with {counts[row] or 'no'} ones in row "
        f"{row}; it measures one class per row, and rows of several labels are not covered. Pass "
        f"a function of your own, as in lambda y, said: sklearn.metrics.{other} of logits."
    )


def _from_threshold(by: str, target: Array, scores: Array, threshold: float | None) -> Array:
    if target.ndim == 2 and target.shape == scores.shape:
        raise ShapeError(
            f"{by}: given targets and predictions of shape {target.shape}, with a column for "
            "each class; targets are one class per row. Pass target.argmax(axis=1)."
        )
    if threshold is None:
        raise ValueError(
            f"{by}: given one score per row, predictions {scores.dtype}{scores.shape}; where class "
            f"1 begins is not known. Say so, as in functools.partial(wg.train.metrics.{by}, "
            "threshold=0.0) for logits or threshold=0.5 for probabilities, or pass one score per "
            "class."
        )
    return (scores >= threshold).astype(np.int64)


def _holds_texts(x: Array) -> bool:
    return x.dtype.kind in TEXTS and isinstance(x.flat[0], str | bytes)


def require_columns(by: str, target: Array, columns: int) -> Array:
    """Targets as the numbers of the columns that stand for them."""
    if columns == 2:
        return _zero_or_one(by, target)
    if target.dtype.kind not in TEXTS and ((target >= 0) & (target < columns)).all():
        return target
    raise ValueError(
        f"{by}: given targets of the classes {_shown(np.unique(target))} and {columns} columns of "
        f"scores; these stand for the classes 0 to {columns - 1}. Pass the numbers of the columns: "
        "np.unique(target, return_inverse=True)[1], if all classes are there."
    )


def _zero_or_one(by: str, target: Array) -> Array:
    """Two classes as 0 and 1: of others than these, the larger one is 1."""
    return target if target.dtype == bool else is_positive(by, target).astype(np.int64)


def is_positive(by: str, target: Array) -> Array:
    """Which rows are of the positive one of two classes: of class 1, or of the larger one."""
    kinds = np.unique(target)
    if positive_of(kinds) is not None:
        return np.asarray(target == 1)
    if len(kinds) == 2:
        return np.asarray(target == kinds[1])
    if len(kinds) == 1:
        raise ValueError(
            f"{by}: given targets of one class only, {_shown(kinds)}; which of two classes it is "
            "cannot be seen. Pass targets of 0 and 1, or data that have both."
        )
    raise ValueError(
        f"{by}: given targets of {len(kinds)} classes, {_shown(kinds)}, and scores for two; a "
        "score is needed for each. Pass one column of scores per class."
    )


def positive_of(kinds: Array) -> int | None:
    """Class 1, where all classes are 0 and 1, or -1 and 1; None where that is not so."""
    known = set(kinds.tolist())
    return 1 if known <= {0, 1} or known <= {-1, 1} else None


def binary_class(by: str, kinds: Array, average: str) -> Any:
    """The class that a score of one class is about; None where it is a mean over classes."""
    positive = positive_of(kinds)
    if average == "binary" and 1 in kinds.tolist():
        return 1
    if positive is None and (average == "binary" or (average == "auto" and len(kinds) == 2)):
        raise ValueError(
            f"{by}: given the classes {_shown(kinds)}; which one it is about is not known, unless "
            f"they are 0 and 1, or -1 and 1. Write {by}(target == c, prediction == c) for a class "
            'c, or average="macro" for the mean over classes.'
        )
    return positive if average in ("auto", "binary") else None


def _shown(kinds: Array) -> str:
    named = [repr(x) for x in kinds[:SHOWN].tolist()]
    return ", ".join([*named, "…"] if len(kinds) > SHOWN else named)
