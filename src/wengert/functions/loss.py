"""Losses between two arrays of one shape, with an explicit reduction."""

from __future__ import annotations

import math
from typing import Any

from wengert.core import dtypes
from wengert.core.define import composite
from wengert.core.op_parts.samples import Integers, Real, sample
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.functions.parameter import canonical_number
from wengert.functions.reduction import (
    Reduction,
    canonical_reduction,
    reduce_losses,
    reduced_type,
    require_equal_shapes,
)
from wengert.functions.statistics import as_float
from wengert.interpret.mistakes.binary_targets import note_binary_targets
from wengert.interpret.mistakes.called_again import is_in_loss
from wengert.interpret.mistakes.probabilities import note_probabilities, note_swapped


def _targets(name: str, x: Any, targets: Any) -> Any:
    """Targets as floats. Shapes must be equal: (n, 1) against (n,) would make n * n losses."""
    require_equal_shapes(name, x, targets)
    if dtypes.is_float(targets.dtype):
        return targets
    return op.astype(targets, dtypes.floating(x.dtype))


def _paired_type(name: str) -> Any:
    def rule(x: Any, targets: Any, reduction: Reduction, **_params: Any) -> ArrayType:
        require_equal_shapes(name, x, targets)
        dtype = dtypes.floating(x.dtype)
        if dtypes.is_float(targets.dtype):
            dtype = dtypes.promote(ArrayType((), dtype), targets)
        return reduced_type(tuple(x.shape), dtype, reduction)

    return rule


def _paired(name: str) -> Any:
    return lambda x, targets, reduction: {"reduction": canonical_reduction(name, reduction)}


_PAIRED_SAMPLES = (
    sample((3, 4), (3, 4)),
    sample((2, 3), (2, 3), reduction="sum"),
    sample((2, 3, 1), (2, 3, 1), reduction="none"),
    sample((), ()),
)


@composite(type=_paired_type("mse"), canonical=_paired("mse"), samples=_PAIRED_SAMPLES)
def mse(predictions: Any, targets: Any, /, reduction: Reduction = "mean") -> Any:
    """Squared differences.

    >>> wg.mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array(2.)
    """
    return reduce_losses(op.square(predictions - _targets("mse", predictions, targets)), reduction)


@composite(type=_paired_type("mae"), canonical=_paired("mae"), samples=_PAIRED_SAMPLES)
def mae(predictions: Any, targets: Any, /, reduction: Reduction = "mean") -> Any:
    """Absolute differences.

    >>> wg.mae(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    array(1.)
    """
    return reduce_losses(op.abs(predictions - _targets("mae", predictions, targets)), reduction)


def _huber_params(_x: Any, _targets: Any, delta: float, reduction: Any) -> dict[str, Any]:
    needed = "a positive, finite number"
    return {
        "delta": canonical_number("huber", "delta", delta, lambda d: 0 < d < math.inf, needed),
        "reduction": canonical_reduction("huber", reduction),
    }


@composite(
    type=_paired_type("huber"),
    canonical=_huber_params,
    samples=(*_PAIRED_SAMPLES, sample((3, 4), (3, 4), delta=0.5)),
)
def huber(
    predictions: Any, targets: Any, /, delta: float = 1.0, reduction: Reduction = "mean"
) -> Any:
    """Half the squared difference up to delta, and beyond it a line of slope delta.

    >>> wg.huber(np.array([0.5, 3.0]), np.zeros(2), reduction="none")
    array([0.125, 2.5  ])
    """
    difference = predictions - _targets("huber", predictions, targets)
    bounded = op.clip(difference, -delta, delta)
    return reduce_losses(bounded * (difference - bounded * 0.5), reduction)


def _bce_params(logits: Any, targets: Any, reduction: Any) -> dict[str, Any]:
    note_probabilities("bce_with_logits", logits)
    note_binary_targets("bce_with_logits", targets)
    if is_in_loss():
        note_swapped("bce_with_logits", logits, targets, "sigmoid")
    return {"reduction": canonical_reduction("bce_with_logits", reduction)}


@composite(
    type=_paired_type("bce_with_logits"),
    canonical=_bce_params,
    samples=(
        sample((3, 4), Real((3, 4), 0.0, 1.0)),
        sample((2, 3), Real((2, 3), 0.0, 1.0), reduction="sum"),
        sample((2, 3, 1), Integers((2, 3, 1), 0, 2), reduction="none"),
    ),
)
def bce_with_logits(logits: Any, targets: Any, /, reduction: Reduction = "mean") -> Any:
    """Binary cross-entropy between the sigmoid of the logits and targets in [0, 1].

    Exact for logits of any size: neither the sigmoid nor its logarithm is ever formed.

    >>> wg.bce_with_logits(np.array([0.0, -1000.0]), np.array([1, 1]), reduction="none")
    array([6.93147181e-01, 1.00000000e+03])
    """
    x, targets = as_float(logits), _targets("bce_with_logits", logits, targets)
    # Where a target is 0 or 1, an infinite loss of the other class must not count: 0 wins.
    losses = op.pull(targets, op.softplus(-x)) + op.pull(1 - targets, op.softplus(x))
    return reduce_losses(losses, reduction)
