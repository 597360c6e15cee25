"""What a model does on the rows that were held out, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.cli.datasets.preparation import Preparation
from wengert.cli.running.table_network import Predictor

Array = np.ndarray[Any, Any]
ROWS = 2000  # that importances are measured on, at most
FEATURES = 120  # that are shuffled, at most
_SHUFFLES = 3
_BINS = 10


@dataclass(frozen=True, eq=False)
class Importance:
    """How much worse the metric is when a feature is shuffled: mean and spread over shuffles."""

    name: str
    loss: float
    spread: float


@dataclass(frozen=True, eq=False)
class Bins:
    """What was predicted and what came of it, in bins of rows with like predictions."""

    said: Array
    true: Array
    rows: Array


def confusion(true: Array, said: Array, classes: int) -> Array:
    """Rows are the true classes, columns what was said."""
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (true, said), 1)
    return counts


def confidence_bins(true: Array, probabilities: Array) -> tuple[Bins, float]:
    """How often the class that is said is right, by how sure the model is; and the expected
    calibration error, the mean gap between the two.
    """
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == true
    place = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    rows = np.bincount(place, minlength=_BINS)
    kept = rows > 0
    said = np.bincount(place, sure, _BINS)[kept] / rows[kept]
    share_right = np.bincount(place, right, _BINS)[kept] / rows[kept]
    error = float(np.sum(np.abs(said - share_right) * rows[kept]) / len(true))
    return Bins(said, share_right, rows[kept]), error


def quantile_bins(true: Array, said: Array) -> Bins:
    """Means of what was predicted and of what is true, in bins of as many rows each."""
    parts = np.array_split(np.argsort(said, kind="stable"), min(_BINS, len(said)))
    return Bins(
        np.array([said[part].mean() for part in parts]),
        np.array([true[part].mean() for part in parts]),
        np.array([len(part) for part in parts]),
    )


def importances(
    predictor: Predictor,
    preparation: Preparation,
    x: Array,
    score: Callable[[Array], float],
    weights: Array,
    seed: int,
) -> list[Importance]:
    """How much the score of the outputs falls when a feature is shuffled over the rows; the most
    important first. Of many features those are shuffled whose first weights (out, in) are largest.
    """
    rng = np.random.default_rng(seed)
    rows = x[:ROWS]
    base = score(predictor.outputs(rows))
    groups = preparation.groups()
    groups.sort(key=lambda group: -float(np.abs(weights[:, group[1]]).sum()))
    ranked = []
    for name, columns in groups[:FEATURES]:
        falls = []
        for _ in range(_SHUFFLES):
            shuffled = rows.copy()
            shuffled[:, columns] = rows[rng.permutation(len(rows))][:, columns]
            falls.append(base - score(predictor.outputs(shuffled)))
        ranked.append(Importance(name, float(np.mean(falls)), float(np.std(falls))))
    return sorted(ranked, key=lambda each: -each.loss)
