"""RAdam: Adam that waits until the average square is known well enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.core.table import op
from wengert.optim.adam import Moments
from wengert.optim.lifecycle.constructors import GivenRate, chosen_rate
from wengert.optim.numbers import choice, power, root
from wengert.optim.optimizer import Arrays
from wengert.optim.settings import Setting, truth

TRUSTED_LENGTH = 5  # the average square is used when this many samples stand behind it


def _rectification(length: Any, longest: float, trusted: Any) -> Any:
    """The variance at full length over the variance now; 1 where it is not trusted."""
    if longest <= TRUSTED_LENGTH:
        return 1.0  # it never will be
    known = choice(trusted, length, longest)
    return (known - 4) * (known - 2) * longest / ((longest - 4) * (longest - 2) * known)


class RAdam(Moments):
    """Adam with a rectified rate (Liu et al., 2020): the first updates follow the average gradient
    alone, until the variance of the average square is tractable; then a factor grows to 1.

    >>> w = np.array([1.0])
    >>> RAdam(0.1).step("w", w, np.array([2.0]))  # as yet plain: 1 - 0.1 · 2
    >>> w
    array([0.8])
    """

    decoupled_weight_decay = Setting(truth, fixed=True)

    def __init__(
        self,
        lr: GivenRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.decoupled_weight_decay = decoupled_weight_decay
        super().__init__(chosen_rate(lr, learning_rate), betas, eps, weight_decay)

    def numbers(self, count: Any) -> dict[str, Any]:
        shared = super().numbers(count)
        beta2 = self.betas[1]
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * count * power(beta2, count) / shared["correction2"]
        trusted = length > TRUSTED_LENGTH
        factor = root(_rectification(length, longest, trusted) * shared["correction2"])
        return shared | {
            "lr_corrected": shared["lr"] / shared["correction1"],
            "rectification": choice(trusted, factor, 0.0),
            "kept": 1 - shared["lr"] * self.weight_decay,
        }

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        if self.decoupled_weight_decay:
            weights = weights * s["kept"]
        else:
            grad = grad + s["weight_decay"] * weights
        mean, square = self.moments(grad, state, s)
        rectified = s["rectification"] / (op.sqrt(square) + s["eps"])
        factor = op.where(op.greater(s["rectification"], 0), rectified, 1)
        new = {"mean": mean, "square": square}
        return weights - s["lr_corrected"] * (mean * factor), new
