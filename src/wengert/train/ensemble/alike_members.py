"""Members that are all alike: the same model, settings and batches. They take the same steps, and
an ensemble of them is one model many times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.trees.same import same
from wengert.core.words.warn import warn_user
from wengert.errors import AlikeWarning
from wengert.optim.optimizer import Optimizer
from wengert.train.engine import Engine
from wengert.train.ensemble.each import Each
from wengert.train.ensemble.given import GivenMember


def may_be_alike(given: Sequence[GivenMember]) -> bool:
    """Whether no setting of the members differs: only their models, seeds and batches can."""
    first = given[0]
    return len(given) > 1 and all(
        each.limits == first.limits and _are_same(each.optimizer, first.optimizer)
        for each in given[1:]
    )


def are_given_others(arguments: Sequence[Any]) -> bool:
    """Whether members are given different numbers by `each`, so that they are different models,
    even where all take the same first step: a penalty has no gradient where weights are 0.
    """
    arrays = [x for given in arguments if isinstance(given, Each) for x in tree.leaves(given.tree)]
    return any(x[i].tobytes() != x[0].tobytes() for x in arrays for i in range(1, len(x)))


def _are_same(one: Any, other: Any) -> bool:
    """Whether optimizers, or dicts of them, have the same settings."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_are_same(one[k], other[k]) for k in one)
    return isinstance(one, Optimizer) and type(one) is type(other) and same(vars(one), vars(other))


def warn_of_alike(by: str, engines: Sequence[Engine]) -> None:
    """Warn where all members have the same bits after steps that they have taken."""
    first = engines[0].arrays.in_order()
    for engine in engines[1:]:
        for x, y in zip(engine.arrays.in_order(), first, strict=True):
            if np.asarray(x).tobytes() != np.asarray(y).tobytes():
                return
    warn_user(
        f"{by}: all {len(engines)} members have the same numbers after their first steps; they "
        "began with the same model, and have the same settings and batches, so that all are one "
        "model. Give them other models (a function of the seed: lambda seed: make(seed)), "
        "settings, or batches (wg.train.each, shuffle_seed=ensemble.seeds, bootstrap=True).",
        AlikeWarning,
    )
