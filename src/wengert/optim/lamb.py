"""LAMB: Adam's direction with LARS's norms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.core.table import op
from wengert.functions.clipping import length
from wengert.optim.adam import Moments
from wengert.optim.exclusion import Exclude, Excluding, excludes
from wengert.optim.lifecycle.constructors import GivenRate, chosen_rate
from wengert.optim.optimizer import Arrays


class Lamb(Excluding, Moments):
    """Adam's step u, with weight_decay · w added, scaled so that it is as long as the weights:
    w ← w − lr · ‖w‖ / ‖u‖ · u (You et al., 2020). Where a norm is 0 the step is not scaled.

    Parameters whose path `exclude` matches are neither scaled nor decayed.

    >>> w = np.array([3.0, 4.0])
    >>> Lamb(0.1).step("w", w, np.array([1.0, 1.0]))
    >>> w.round(4)
    array([2.6464, 3.6464])
    """

    def __init__(
        self,
        lr: GivenRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        exclude: Exclude = None,
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.exclude = exclude
        super().__init__(chosen_rate(lr, learning_rate), betas, eps, weight_decay)

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        mean, square = self.moments(grad, state, s)
        scale = op.sqrt(square / s["correction2"]) + s["eps"]
        step = mean / s["correction1"] / scale
        rate = s["lr"]
        if not excludes(self.exclude, path):
            step = step + s["weight_decay"] * weights
            size, reach = length(weights), length(step)
            vanishes = op.logical_or(op.equal(size, 0), op.equal(reach, 0))
            ratio = op.where(vanishes, 1, size / op.where(vanishes, 1, reach))
            rate = op.astype(rate * ratio, weights.dtype)
        return weights - rate * step, {"mean": mean, "square": square}
