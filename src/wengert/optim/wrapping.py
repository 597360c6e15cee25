"""Optimizers around another: Lookahead, and a moving average of the weights."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Self

import numpy as np

from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import OptimError, ScheduleWarning
from wengert.optim.lifecycle.constructors import Rate
from wengert.optim.lifecycle.given_optimizers import note_copy
from wengert.optim.lifecycle.member_optimizers import note_member_settings
from wengert.optim.numbers import choice
from wengert.optim.optimizer import Arrays, Optimizer, Updates
from wengert.optim.parameters import parameters_of, replaced
from wengert.optim.settings import Setting, fraction, positive_fraction, truth, whole
from wengert.optim.wrapped_originals import warn_of_originals, watch_originals

LEAST_DECAY = 0.5  # below it, an average is made of the last update more than of all others
AVERAGE = "average"  # what EMA calls its state
INNER = "inner."  # stands before the names of what the wrapped optimizer keeps and needs


class Wrapping(Optimizer):
    """An optimizer that lets another one make the step and adds to it. It has a copy of the other,
    without state; learning rate and schedule are the other's.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise OptimError(
                f"{type(self).__name__}: given {type(optimizer).__name__}; it wraps an optimizer. "
                f"Write {type(self).__name__}(wg.optim.Adam(1e-3))."
            )
        self.optimizer = optimizer.remade({})
        note_copy(self.optimizer, optimizer)
        note_member_settings(self.optimizer, optimizer)
        watch_originals(self, optimizer, self.optimizer)
        super().__init__(optimizer.lr)

    @property
    def lr(self) -> Rate:
        """The learning rate of the wrapped optimizer, as it was given."""
        return self.optimizer.lr

    @lr.setter
    def lr(self, value: Any) -> None:
        self.optimizer.lr = value

    def count_by(self, updates: Updates) -> None:
        super().count_by(updates)
        self.optimizer.count_by(updates)

    @property
    def flat(self) -> bool:
        """Whether the wrapped optimizer's rule is elementwise."""
        return self.optimizer.flat

    @property
    def averages(self) -> str | None:
        """The same as that of the wrapped optimizer."""
        inner = self.optimizer.averages
        return None if inner is None else INNER + inner

    @property
    def followers(self) -> tuple[str, ...]:
        """The same as those of the wrapped optimizer."""
        return tuple(INNER + name for name in self.optimizer.followers)

    def remade(self, settings: Mapping[str, Any]) -> Self:
        inner = settings.get("optimizer", {})
        if not isinstance(inner, Optimizer):
            inner = self.optimizer.remade(inner)
        return super().remade({**settings, "optimizer": inner})

    def require_paths(self, paths: Iterable[str]) -> None:
        self.optimizer.require_paths(paths)

    def initial(self, weights: Any) -> Arrays:
        return {INNER + name: x for name, x in self.optimizer.initial(weights).items()}

    def numbers(self, count: Any) -> dict[str, Any]:
        warn_of_originals(self)
        inner = self.optimizer.numbers(count)
        return super().numbers(count) | {INNER + name: x for name, x in inner.items()}

    def inner_rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None
    ) -> tuple[Any, Arrays]:
        """The step of the wrapped optimizer, and its state under the names it has here."""
        new, kept = self.optimizer.rule(weights, grad, _inner(state), _inner(s), path)
        return new, {INNER + name: x for name, x in kept.items()}


def _inner(named: Mapping[str, Any]) -> dict[str, Any]:
    """What belongs to the wrapped optimizer, under its own names."""
    return {k.removeprefix(INNER): x for k, x in named.items() if k.startswith(INNER)}


class Lookahead(Wrapping):
    """Fast weights that explore and slow ones that follow (Zhang et al., 2019): after every `k`
    updates of a parameter, slow ← slow + alpha · (w − slow), and w goes on from there.

    Every parameter counts its own updates.

    >>> Lookahead(wg.optim.Adam(1e-3), k=6)
    Lookahead(Adam(lr=0.001), k=6)
    """

    k = Setting(whole)
    alpha = Setting(positive_fraction)

    def __init__(self, optimizer: Optimizer, k: int = 5, alpha: float = 0.5) -> None:
        self.k = k
        self.alpha = alpha
        super().__init__(optimizer)

    @property
    def followers(self) -> tuple[str, ...]:
        """The slow weights."""
        return ("slow", *super().followers)

    def initial(self, weights: Any) -> Arrays:
        return {"slow": weights, **super().initial(weights)}

    def numbers(self, count: Any) -> dict[str, Any]:
        return super().numbers(count) | {"synchronise": choice(count % self.k == 0, 1.0, 0.0)}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        fast, kept = self.inner_rule(weights, grad, state, s, path)
        now = op.greater(s["synchronise"], 0)
        slow = state["slow"]
        slow = op.where(now, slow + s["alpha"] * (fast - slow), slow)
        return op.where(now, slow, fast), {"slow": slow, **kept}


class EMA(Wrapping):
    """Training as it is, and an exponential moving average of the weights beside it, which often
    does better on new data: average ← decay · average + (1 − decay) · w, after every update.

    The average begins at the first weights. With `warmup` the decay grows from 2/11 to `decay` as
    (1 + count) / (10 + count), so that an average over many updates soon forgets them.

    >>> optimizer = EMA(wg.optim.SGD(1.0), decay=0.5)
    >>> model = {"w": np.array([8.0])}
    >>> state = optimizer.init(model)
    >>> model, state = optimizer.update(model, {"w": np.array([4.0])}, state)
    >>> model, optimizer.averaged(model, state)
    ({'w': array([4.])}, {'w': array([6.])})
    """

    decay = Setting(fraction)
    warmup = Setting(truth, fixed=True)

    def __init__(self, optimizer: Optimizer, decay: float = 0.999, warmup: bool = False) -> None:
        self.decay = decay
        self.warmup = warmup
        super().__init__(optimizer)
        if self.decay == 1:
            warn_user(
                "EMA: decay=1 was given; the average keeps that part of what it was, all of it, "
                "and stays at the first weights. Choose one below 1, such as decay=0.999.",
                ScheduleWarning,
            )
        if 0 < self.decay < LEAST_DECAY:  # 0 is deliberate: no average
            warn_user(
                f"EMA: decay={self.decay:g} was given; the average keeps that part of what it was, "
                f"and takes {1 - self.decay:g} of the newest weights at every update: it is hardly "
                f"an average. Write decay={1 - self.decay:g} if {self.decay:g} is the part that is "
                "taken (tau).",
                ScheduleWarning,
            )

    @property
    def averages(self) -> str:
        """Its own."""
        return AVERAGE

    @property
    def followers(self) -> tuple[str, ...]:
        """The average."""
        return (AVERAGE, *super().followers)

    def initial(self, weights: Any) -> Arrays:
        return {AVERAGE: weights, **super().initial(weights)}

    def numbers(self, count: Any) -> dict[str, Any]:
        decay: Any = self.decay
        if self.warmup:
            early = (1 + count) / (10 + count)
            decay = choice(early < decay, early, decay)
        return super().numbers(count) | {"decay": decay, "taken": 1 - decay}

    def rule(
        self, weights: Any, grad: Any, state: Arrays, s: Mapping[str, Any], path: str | None = None
    ) -> tuple[Any, Arrays]:
        new, kept = self.inner_rule(weights, grad, state, s, path)
        average = s["decay"] * state[AVERAGE] + s["taken"] * new
        return new, {AVERAGE: average, **kept}

    def average(self, parameter_id: Hashable) -> Any:
        """The average of a parameter that `step` or `step_graph_node` has updated."""
        if parameter_id not in self._states:
            raise OptimError(
                f"EMA: asked for the average of {parameter_id!r}; it exists after an update. "
                "Call step with this id first."
            )
        return np.array(self._states[parameter_id].arrays[AVERAGE])

    def averaged(self, model: Any, state: Mapping[str, Any] | None = None) -> Any:
        """The tree with averages in place of its parameters: from the state that `update` returned
        or, without one, from steps whose ids were the paths of this tree.
        """
        paths = parameters_of("EMA.averaged", model)
        if state is None:
            return replaced(model, {path: self.average(path) for path in paths})
        kept = state["parameters"]
        return replaced(model, {path: kept[path][AVERAGE] for path in paths})
