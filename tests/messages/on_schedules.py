"""Bad input to schedules and to L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wengert as wg

o = wg.optim
HALVES = o.Exponential(1.0, 0.5)


class Written(o.Schedule):
    """A schedule that gives this value for every update."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def values(self, indices: range) -> Sequence[float]:
        return [self.value] * len(indices)


def plateau(**changes: Any) -> None:
    """Load a changed state into a ReduceOnPlateau."""
    schedule = o.ReduceOnPlateau(1.0)
    schedule.load_state_dict(schedule.state_dict() | changes)


def bowl(w: Any) -> Any:
    return wg.sum(w * w)


def searched() -> tuple[o.LBFGS, np.ndarray[Any, Any]]:
    """An LBFGS that has made a step, and its weights."""
    search, w = o.LBFGS(max_iter=2), np.array([3.0, 4.0])
    search.step(wg.value_and_grad(bowl), w)
    return search, w


def loading(**changes: Any) -> None:
    """Load a changed state into an LBFGS."""
    search, _ = searched()
    saved = search.state_dict()
    search.load_state_dict(saved | {"state": saved["state"] | changes})


SCHEDULES: dict[str, Callable[[], Any]] = {
    "schedule: a negative index": lambda: HALVES(-1),
    "schedule: an index that is no whole number": lambda: HALVES(2.5),  # type: ignore[arg-type]
    "schedule: a rate that is not finite": lambda: Written(np.nan)(3),
    "schedule: rates that are no numbers": lambda: o.Lambda(0.1, lambda index: "a").table(3, 2),  # type: ignore[arg-type,return-value]
    "schedule: a rate that is no number": lambda: o.Lambda(0.1, lambda index: [1.0])(3),  # type: ignore[arg-type,return-value]
    "schedule: a rate beyond all floats": lambda: o.Exponential(1.0, 1e200)(3),
    "schedule: a table from a negative index": lambda: HALVES.table(-1, 3),
    "schedule: a table with a negative rate": lambda: Written(-1.0).table(5, 3),
    "schedule: a table beyond all floats": lambda: o.Exponential(1.0, 1e200).table(0, 5),
    "schedule: state for one without any": lambda: HALVES.load_state_dict({"rate": 1.0}),
    "schedule: state that is no dictionary": lambda: HALVES.load_state_dict(None),  # type: ignore[arg-type]
    "Chain: a number among the schedules": lambda: o.Chain([0.1, HALVES], [5]),  # type: ignore[arg-type]
    "Chain: too many milestones": lambda: o.Chain([HALVES], [5]),  # type: ignore[arg-type]
    "Chain: state of other members": lambda: o.Chain([HALVES], []).load_state_dict({"0": {}}),  # type: ignore[arg-type]
    "Cosine: no steps": lambda: o.Cosine(0.1, total_steps=0),
    "Lambda: no function": lambda: o.Lambda(0.1, 0.5),  # type: ignore[arg-type]
    "MultiStep: milestones that fall": lambda: o.MultiStep(0.1, (60, 30)),
    "MultiStep: one number": lambda: o.MultiStep(0.1, 30),  # type: ignore[arg-type]
    "ReduceOnPlateau: an unknown mode": lambda: o.ReduceOnPlateau(0.1, mode="down"),
    "ReduceOnPlateau: a metric with an axis": lambda: o.ReduceOnPlateau(0.1).observe(np.ones(2)),
    "ReduceOnPlateau: other state": lambda: o.ReduceOnPlateau(0.1).load_state_dict({"rate": 1.0}),
    "ReduceOnPlateau: a best of NaN": lambda: plateau(best=np.nan),
    "ReduceOnPlateau: a negative count": lambda: plateau(bad_count=-1),
}

LBFGS: dict[str, Callable[[], Any]] = {
    "LBFGS: an unknown line search": lambda: o.LBFGS(line_search_fn="wolfe"),
    "LBFGS: no iterations": lambda: o.LBFGS(max_iter=0),
    "LBFGS: a schedule that gives no rate": lambda: o.LBFGS(lambda index: -1.0).learning_rate,
    "LBFGS.minimize: integers": lambda: o.LBFGS().minimize(bowl, np.arange(3)),
    "LBFGS.minimize: a start that is not finite": lambda: o.LBFGS().minimize(
        bowl, np.array([np.inf, 1.0])
    ),
    "LBFGS.minimize: data that are not finite": lambda: o.LBFGS().minimize(
        lambda w, x: wg.sum((w - x) ** 2), np.zeros(2), np.array([1.0, np.nan])
    ),
    "LBFGS.minimize: a gradient that is not finite": lambda: o.LBFGS().minimize(
        lambda w: wg.sum(wg.sqrt(w)), np.zeros(2)
    ),
    "LBFGS.step: a list": lambda: o.LBFGS().step(wg.value_and_grad(bowl), [1.0]),
    "LBFGS.step: read-only weights": lambda: o.LBFGS().step(
        wg.value_and_grad(bowl), np.broadcast_to(1.0, 3)
    ),
    "LBFGS.step: a function without a gradient": lambda: o.LBFGS().step(bowl, np.ones(2)),
    "LBFGS.step: a value with an axis": lambda: o.LBFGS().step(lambda w: (w, w), np.ones(2)),
    "LBFGS.step: other weights": lambda: searched()[0].step(wg.value_and_grad(bowl), np.ones(3)),
    "LBFGS.load_state_dict: no dictionary": lambda: o.LBFGS().load_state_dict(None),
    "LBFGS.load_state_dict: of another optimizer": lambda: o.LBFGS().load_state_dict(
        {"kind": "SGD", "settings": {"momentum": 0.9}, "state": {}}
    ),
    "LBFGS.load_state_dict: other settings": lambda: o.LBFGS().load_state_dict(
        {"kind": "LBFGS", "settings": {"momentum": 0.9}, "state": {}}
    ),
    "LBFGS.load_state_dict: another state": lambda: loading(mean=3.0),
    "LBFGS.load_state_dict: a rate of NaN": lambda: loading(rate=np.nan),
    "LBFGS.load_state_dict: arrays of another shape": lambda: loading(direction=np.ones(3)),
    "LBFGS.load_state_dict: a schedule before": lambda: o.LBFGS(0.1).load_state_dict(
        o.LBFGS(o.ReduceOnPlateau(0.1)).state_dict()
    ),
}

CASES = SCHEDULES | LBFGS
