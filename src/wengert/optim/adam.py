"""Adam and AdamW, and the two moments that RAdam and Lamb share with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.core.table import op
from wengert.optim.lifecycle.constructors import GivenRate, chosen_rate
from wengert.optim.numbers import power, root, zeros_like
from wengert.optim.optimizer import Arrays, Optimizer
from wengert.optim.settings import Setting, not_negative, truth, two_below_one


class Moments(Optimizer):
    """An optimizer that averages the gradient (`mean`) and its square (`square`)."""

    betas = Setting(two_below_one)
    eps = Setting(not_negative)
    weight_decay = Setting(not_negative)

    def __init__(
        self, lr: GivenRate, betas: tuple[float, float], eps: float, weight_decay: float
    ) -> None:
        self.betas = betas
        self.eps = eps
        self.weight_decay = weight_decay
        super().__init__(lr)

    def initial(self, weights: Any) -> Arrays:
        return {"mean": zeros_like(weights), "square": zeros_like(weights)}

    def numbers(self, count: Any) -> dict[str, Any]:
        beta1, beta2 = self.betas
        return super().numbers(count) | {
            "beta1": beta1,
            "beta2": beta2,
            "taken1": 1 - beta1,
            "taken2": 1 - beta2,
            "correction1": 1 - power(beta1, count),  # both averages begin at 0
            "correction2": 1 - power(beta2, count),
        }

    def moments(self, grad: Any, state: Arrays, s: Mapping[str, Any]) -> tuple[Any, Any]:
        """The averages with this gradient in them."""
        mean = s["beta1"] * state["mean"] + s["taken1"] * grad
        square = s["beta2"] * state["square"] + s["taken2"] * (grad * grad)
        return mean, square


class Adam(Moments):
    """Steps of about lr in every element: the average gradient over the root of its average square
    (Kingma and Ba, 2015). Weight decay is part of the gradient; AdamW keeps it apart.

    With `amsgrad` the average square never shrinks (Reddi et al., 2018).

    >>> w = np.array([1.0, 1.0])
    >>> Adam(0.1).step("w", w, np.array([100.0, -0.01]))
    >>> w.round(6)
    array([0.9, 1.1])
    """

    amsgrad = Setting(truth, fixed=True)
    decoupled = False  # whether weights decay beside the gradient instead of in it

    def __init__(
        self,
        lr: GivenRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.amsgrad = amsgrad
        super().__init__(chosen_rate(lr, learning_rate), betas, eps, weight_decay)

    def initial(self, weights: Any) -> Arrays:
        largest = {"largest_square": zeros_like(weights)} if self.amsgrad else {}
        return super().initial(weights) | largest

    def numbers(self, count: Any) -> dict[str, Any]:
        shared = super().numbers(count)
        return shared | {
            "lr_corrected": shared["lr"] / shared["correction1"],
            "per_root_correction2": 1 / root(shared["correction2"]),  # a product costs less
            "kept": 1 - shared["lr"] * self.weight_decay,
        }

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        if self.decoupled:
            weights = weights * s["kept"]
        else:
            grad = grad + s["weight_decay"] * weights
        mean, square = self.moments(grad, state, s)
        new = {"mean": mean, "square": square}
        if self.amsgrad:
            square = op.maximum(state["largest_square"], square)
            new["largest_square"] = square
        scale = op.sqrt(square) * s["per_root_correction2"] + s["eps"]
        return weights - s["lr_corrected"] * (mean / scale), new


class AdamW(Adam):
    """Adam whose weight decay acts on the weights directly: w ← w · (1 − lr · weight_decay) before
    each step (Loshchilov and Hutter, 2019).

    >>> AdamW(3e-4, weight_decay=0.1)
    AdamW(lr=0.0003, weight_decay=0.1)
    """

    decoupled = True

    def __init__(
        self,
        lr: GivenRate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        learning_rate: GivenRate | None = None,
    ) -> None:
        super().__init__(chosen_rate(lr, learning_rate), betas, eps, weight_decay, amsgrad)
