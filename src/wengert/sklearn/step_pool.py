"""Steps that are used again: a second fit of the same network records and compiles nothing.

A step is lent to one fit at a time and begins each time with the state that it is given. What it
was used for before leaves no trace in it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.optim.optimizer import Optimizer
from wengert.sklearn.network import NetworkPlan, loss_of, prediction_of
from wengert.train.ranked.ranks import ALONE
from wengert.train.step import TrainStep

MOST = 16  # steps that are kept
LARGEST = 2**26  # bytes of a step that is kept
AVERAGE = "optimizer average"  # of the weights, among the arrays of a step's state
State = Mapping[str, Any]


@dataclass(frozen=True)
class PooledPlan:
    """What makes two steps alike, apart from their state."""

    network: NetworkPlan
    optimizer: str  # with all its settings, as text; "" where steps are not shared
    clips: bool
    threads: int | None


@dataclass(frozen=True)
class PooledStep:
    """A step, and what is evaluated on it."""

    step: TrainStep
    predict: Callable[..., Any]
    fresh: State  # its state before the first update

    @property
    def size(self) -> int:
        """How many bytes its arrays take."""
        return sum(x.nbytes for kind in self.fresh["arrays"].values() for x in kind.values())

    def begin(self, model: Any, seed: int, clip_norm: float | None) -> None:
        """Begin anew, from these weights."""
        arrays = dict(self.fresh["arrays"])
        arrays["model"] = dict(zip(tree.paths(model), tree.leaves(model), strict=True))
        if AVERAGE in arrays:  # begins at the weights
            arrays[AVERAGE] = {path: arrays["model"][path] for path in arrays[AVERAGE]}
        counts = {**self.fresh["counts"], "seed": seed}
        self.step.load_state_dict({**self.fresh, "arrays": arrays, "counts": counts})
        if clip_norm is not None:
            self.step.clip_norm = clip_norm


_idle: OrderedDict[PooledPlan, list[PooledStep]] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def lent_step(plan: PooledPlan, optimizer: Optimizer) -> Iterator[PooledStep]:
    """A step of this plan, for as long as nobody else uses it."""
    step = _taken(plan)
    if step is None:
        step = _made(plan, optimizer)
    try:
        yield step
    finally:
        if plan.optimizer and step.size <= LARGEST:
            _give_back(plan, step)


def _made(plan: PooledPlan, optimizer: Optimizer) -> PooledStep:
    step = TrainStep(
        loss_of(plan.network),
        plan.network.initial(np.random.RandomState(0)),  # which `begin` replaces
        optimizer,
        state=plan.network.initial_state(),
        clip_norm=1.0 if plan.clips else None,
        threads=plan.threads,
        ranks=ALONE,
    )
    fresh = step.state_dict()
    return PooledStep(step, prediction_of(plan.network, AVERAGE in fresh["arrays"]), fresh)


def _taken(plan: PooledPlan) -> PooledStep | None:
    with _lock:
        steps = _idle.get(plan)
        return steps.pop() if steps else None


def _give_back(plan: PooledPlan, step: PooledStep) -> None:
    with _lock:
        _idle.setdefault(plan, []).append(step)
        _idle.move_to_end(plan)
        while sum(map(len, _idle.values())) > MOST:
            oldest = next(iter(_idle))
            _idle[oldest] = _idle[oldest][1:]
            if not _idle[oldest]:
                del _idle[oldest]
