"""First statistics: a BatchNorm that is trained, and normalizes by the mean 0 and the variance 1
that it begins with, which no call changes. It was meant to have `training=True`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning
from wengert.functions.batch_statistics import BatchStatistics, KeptStatistics, is_first


def warn_of_first_statistics(
    kept: Sequence[KeptStatistics],
    normalizing: Sequence[BatchStatistics],
    begun: Mapping[int, Any],
) -> None:
    """Warn where a layer that is trained has `training=False` alone in a loss, and a state with its
    first numbers. `begun` are numbers of the state by ids of what the loss is given for them. One
    that was trained before has others, and one that is frozen, or no part of the model, may be so.
    """
    for each in kept:
        if not _is_trained(each.layer) or any(each.layer is other.layer for other in normalizing):
            continue
        mean, var = (begun.get(id(x), x) for x in (each.mean, each.var))
        if is_first(mean, var):
            warn_user(
                "BatchNorm: called with training=False in the loss of a TrainStep, with the state "
                "that it begins with, mean 0 and variance 1; it normalizes nothing, and no call "
                "changes that. Pass training=True in the loss and return the new state, and "
                "training=False where you predict; or give it the state that it was trained with.",
                BatchNormWarning,
                each.line,
            )
            return


def _is_trained(layer: Value) -> bool:
    """Whether gradients are taken by this array of a layer."""
    return type(layer) is Tensor and not layer.level.symbolic
