"""RMSProp and Adagrad: rates per element, from squares of gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.core.table import op
from wengert.optim.lifecycle.constructors import GivenRate, chosen_rate
from wengert.optim.numbers import zeros_like
from wengert.optim.optimizer import Arrays, Optimizer
from wengert.optim.settings import Setting, below_one, not_negative, truth


class RMSProp(Optimizer):
    """The gradient over the root of its average square (Tieleman and Hinton, 2012).

    `centered` subtracts the square of the average gradient, so that the root is a standard
    deviation; `momentum` averages the steps.

    >>> w = np.array([1.0, 1.0])
    >>> RMSProp(0.01).step("w", w, np.array([100.0, -0.01]))
    >>> w.round(4)
    array([0.9, 1.1])
    """

    alpha = Setting(below_one)
    eps = Setting(not_negative)
    weight_decay = Setting(not_negative)
    momentum = Setting(below_one)
    centered = Setting(truth, fixed=True)

    def __init__(
        self,
        lr: GivenRate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.alpha = alpha
        self.eps = eps
        self.weight_decay = weight_decay
        self.momentum = momentum
        self.centered = centered
        super().__init__(chosen_rate(lr, learning_rate))

    def initial(self, weights: Any) -> Arrays:
        names = ["square", *["mean"] * self.centered, *["momentum"] * (self.momentum > 0)]
        return {name: zeros_like(weights) for name in names}

    def numbers(self, count: Any) -> dict[str, Any]:
        return super().numbers(count) | {"taken": 1 - self.alpha}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        grad = grad + s["weight_decay"] * weights
        square = s["alpha"] * state["square"] + s["taken"] * (grad * grad)
        new = {"square": square}
        if self.centered:
            new["mean"] = s["alpha"] * state["mean"] + s["taken"] * grad
            square = op.maximum(square - new["mean"] * new["mean"], 0)  # rounding can go below
        step = grad / (op.sqrt(square) + s["eps"])
        if "momentum" in state:
            step = new["momentum"] = s["momentum"] * state["momentum"] + step
        return weights - s["lr"] * step, new


class Adagrad(Optimizer):
    """The gradient over the root of the sum of all its squares (Duchi et al., 2011). The rate falls
    with lr_decay, too: lr / (1 + (count − 1) · lr_decay).

    >>> w = np.array([1.0, 1.0])
    >>> Adagrad(0.1).step("w", w, np.array([100.0, -0.01]))
    >>> w.round(6)
    array([0.9, 1.1])
    """

    lr_decay = Setting(not_negative)
    weight_decay = Setting(not_negative)
    initial_accumulator_value = Setting(not_negative)
    eps = Setting(not_negative)

    def __init__(
        self,
        lr: GivenRate = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.lr_decay = lr_decay
        self.weight_decay = weight_decay
        self.initial_accumulator_value = initial_accumulator_value
        self.eps = eps
        super().__init__(chosen_rate(lr, learning_rate))

    def initial(self, weights: Any) -> Arrays:
        return {"total": op.full_like(weights, self.initial_accumulator_value)}

    def numbers(self, count: Any) -> dict[str, Any]:
        shared = super().numbers(count)
        return shared | {"lr_decayed": shared["lr"] / (1 + (count - 1) * self.lr_decay)}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        grad = grad + s["weight_decay"] * weights
        total = state["total"] + grad * grad
        step = grad / (op.sqrt(total) + s["eps"])
        return weights - s["lr_decayed"] * step, {"total": total}
