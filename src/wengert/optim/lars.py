"""LARS: one learning rate per parameter, from the norms of its weights and of its gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from wengert.core.table import op
from wengert.errors import OptimError
from wengert.functions.clipping import length
from wengert.optim.exclusion import Exclude, Excluding, excludes
from wengert.optim.lifecycle.constructors import GivenRate, chosen_rate
from wengert.optim.numbers import zeros_like
from wengert.optim.optimizer import Arrays, Optimizer
from wengert.optim.settings import Setting, below_one, not_negative, positive, truth

VARIANTS = ("paper", "optax")


def _variant(owner: str, name: str, value: Any) -> str:
    if value not in VARIANTS:
        raise OptimError(
            f"{owner}: {name}={value!r} was given; it is one of {', '.join(VARIANTS)}. Choose one."
        )
    return str(value)


class Lars(Excluding, Optimizer):
    """Layer-wise adaptive rate scaling (You et al., 2017), for large batches. Each parameter has a
    rate of its own:

        local = trust · ‖w‖ / (‖g‖ + weight_decay · ‖w‖ + eps)      if both norms > 0, else 1
        v ← momentum · v + local · lr · (g + weight_decay · w),   w ← w − v

    Norms are exact even where squares would overflow or underflow. Parameters whose path `exclude`
    matches ("*.bias", a list of globs, or a predicate) are neither scaled nor decayed. `clip` makes
    the smaller of `local` and `lr` the rate (LARC). `variant="optax"` divides by ‖g + weight_decay
    · w‖ instead of the sum of the norms, as optax.lars does.

    >>> w = np.array([3.0, 4.0])
    >>> Lars(1.0, trust_coefficient=0.1).step("w", w, np.array([0.0, 2.0]))
    >>> w
    array([3. , 3.5])
    """

    rate_name = "base_lr"
    momentum = Setting(below_one)
    weight_decay = Setting(not_negative)
    trust_coefficient = Setting(positive)
    eps = Setting(not_negative)
    nesterov = Setting(truth, fixed=True)
    clip = Setting(truth, fixed=True)
    variant = Setting(_variant, fixed=True)

    def __init__(
        self,
        base_lr: GivenRate | None = None,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        trust_coefficient: float = 0.001,
        *,
        eps: float = 0.0,
        nesterov: bool = False,
        exclude: Exclude = None,
        clip: bool = False,
        variant: str = "paper",
        learning_rate: GivenRate | None = None,
    ) -> None:
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.trust_coefficient = trust_coefficient
        self.eps = eps
        self.nesterov = nesterov
        self.exclude = exclude
        self.clip = clip
        self.variant = variant
        super().__init__(chosen_rate(base_lr, learning_rate))

    @property
    def base_lr(self) -> GivenRate:
        """The learning rate as it was given, before it is scaled per parameter."""
        return self.lr

    def require_consistent(self) -> None:
        if self.nesterov and self.momentum == 0:
            raise OptimError(
                "Lars: nesterov was given without momentum; it looks ahead along the momentum. "
                "Set momentum=0.9."
            )

    def with_momentum(self, momentum: float) -> Self:
        """A new optimizer, without state, that has this momentum, from 0 up to 1."""
        return self.remade({"momentum": momentum})

    def with_weight_decay(self, weight_decay: float) -> Self:
        """A new optimizer, without state, that has this weight decay, 0 or more."""
        return self.remade({"weight_decay": weight_decay})

    def with_trust_coefficient(self, trust_coefficient: float) -> Self:
        """A new optimizer, without state, that has this trust coefficient, above 0."""
        return self.remade({"trust_coefficient": trust_coefficient})

    def initial(self, weights: Any) -> Arrays:
        return {"momentum": zeros_like(weights)} if self.momentum else {}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        if excludes(self.exclude, path):
            move = s["lr"] * grad
        else:
            decayed = grad + s["weight_decay"] * weights
            move = self._rate_of(weights, grad, decayed, s) * decayed
        if "momentum" in state:
            velocity = s["momentum"] * state["momentum"] + move
            move = move + s["momentum"] * velocity if self.nesterov else velocity
            state = {"momentum": velocity}
        return weights - move, state

    def _rate_of(self, weights: Any, grad: Any, decayed: Any, s: Mapping[str, Any]) -> Any:
        """The learning rate of one parameter."""
        size = length(weights)
        if self.variant == "optax":
            slope = length(decayed)
            divisor = slope + s["eps"]
        else:
            slope = length(grad)
            divisor = slope + s["weight_decay"] * size + s["eps"]
        # Compared with 0, not whether above it: of a NaN the rate is NaN, and not silently lr.
        vanishes = op.logical_or(op.equal(size, 0), op.equal(slope, 0))
        local = s["trust_coefficient"] * size / op.where(vanishes, 1, divisor)
        scaled = op.minimum(local, s["lr"]) if self.clip else local * s["lr"]
        return op.astype(op.where(vanishes, s["lr"], scaled), weights.dtype)
