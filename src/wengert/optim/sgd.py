"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.errors import OptimError
from wengert.optim.lifecycle.constructors import GivenRate, chosen_rate
from wengert.optim.numbers import choice, zeros_like
from wengert.optim.optimizer import Arrays, Optimizer
from wengert.optim.settings import Setting, below_one, fraction, not_negative, truth


class SGD(Optimizer):
    """Gradient descent, with momentum if wanted: v ← momentum · v + (1 − dampening) · g, and
    w ← w − lr · v, where g includes weight_decay · w. The first v is g itself.

    With `nesterov` the step is g + momentum · v.

    >>> w = np.array([1.0])
    >>> SGD(0.1).step("w", w, np.array([2.0]))
    >>> w
    array([0.8])
    """

    momentum = Setting(below_one)
    dampening = Setting(fraction)
    weight_decay = Setting(not_negative)
    nesterov = Setting(truth, fixed=True)

    def __init__(
        self,
        lr: GivenRate = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.momentum = momentum
        self.dampening = dampening
        self.weight_decay = weight_decay
        self.nesterov = nesterov
        super().__init__(chosen_rate(lr, learning_rate))

    def require_consistent(self) -> None:
        if self.nesterov and (self.momentum == 0 or self.dampening != 0):
            raise OptimError(
                f"SGD: nesterov was given with momentum={self.momentum} and "
                f"dampening={self.dampening}; it looks ahead along an undamped momentum. "
                "Set momentum=0.9 and dampening=0."
            )

    def initial(self, weights: Any) -> Arrays:
        return {"momentum": zeros_like(weights)} if self.momentum else {}

    def numbers(self, count: Any) -> dict[str, Any]:
        taken = choice(count == 1, 1.0, 1 - self.dampening)  # the first is not damped
        return super().numbers(count) | {"taken": taken}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        step = grad + s["weight_decay"] * weights
        if "momentum" in state:
            velocity = s["momentum"] * state["momentum"] + s["taken"] * step
            step = step + s["momentum"] * velocity if self.nesterov else velocity
            state = {"momentum": velocity}
        return weights - s["lr"] * step, state
