"""Scores: which members are best, and the seeds that members are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import ShapeError
from wengert.train.ensemble.each import Each
from wengert.train.option_checks import whole
from wengert.train.runs.run import require_shuffle_seed


def best_of(metric: Any, members: int, count: int | None, largest: bool) -> int | list[int]:
    """The number of the best member, or those of so many, the best first. Of equal ones the first
    is better, and NaN is worse than any number.
    """
    scores = np.asarray(metric)
    if scores.shape != (members,) or scores.dtype.kind not in "biuf":
        raise ShapeError(
            f"Ensemble.best: given a metric of shape {scores.shape}; it must be a number for each "
            f"of the {members} members. Pass an array of these, or a function that returns one "
            "number."
        )
    scores = scores.astype(np.float64)
    if np.isnan(scores).all():
        raise ValueError(
            f"Ensemble.best: given NaN for all {members} members; none is better than another. "
            "Look at ensemble.last.skipped, and go on from an earlier state."
        )
    order = np.argsort(-scores if largest else scores, kind="stable")  # NaN comes last
    if count is None:
        return int(order[0])
    number = whole(count)
    if number is None or not 1 <= number <= members:
        raise ValueError(
            f"Ensemble.best: count={count!r} was given; it is a whole number from 1 to {members}. "
            "Choose one."
        )
    return [int(i) for i in order[:number]]


def bootstrap_seeds(by: str, given: Any, members: int) -> list[int] | None:
    """The seeds that members draw rows by, as far as these are not their own."""
    if given is None or given is False:
        return None
    if np.ndim(given) == 0:
        raise TypeError(
            f"{by}: bootstrap={given!r} was given; it is True, or a list with a seed for each "
            "member, since members of one seed would have the same rows. Write bootstrap=True."
        )
    return seeds_of_members(by, "bootstrap", given, members)


def seeds_of_members(by: str, name: str, given: Any, members: int) -> list[int] | None:
    """A seed for each member; one for all of them may be given, or None."""
    if given is None:
        return None
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and np.ndim(given):
        if len(given) != members:
            raise ShapeError(
                f"{by}: {name} was given with {len(given)} seeds for {members} members; it is one "
                "seed for all, or a list with one for each. Pass ensemble.seeds."
            )
        for seed in given:
            require_shuffle_seed(by, seed)
        return [int(seed) for seed in given]
    require_shuffle_seed(by, given)
    return [int(given)] * members


def rows_of(arrays: Sequence[Any]) -> int:
    """How many rows the first of these has that has any; 1 where none has."""
    for x in arrays:
        shape = np.shape(x.tree if isinstance(x, Each) else x)[isinstance(x, Each) :]
        if shape:
            return int(shape[0])
    return 1
