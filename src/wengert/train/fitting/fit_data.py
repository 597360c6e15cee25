"""The data of a fit: arguments of the loss by position or by name, and rows kept for validation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.errors import ShapeError
from wengert.runtime.outside.live import is_live
from wengert.train.batch import POSITIONAL
from wengert.train.engine import Engine
from wengert.train.runs.orders import shuffled
from wengert.train.step import TrainStep

BY = "fit"  # how errors begin
OF_VALIDATION = 2**62  # in the place of an epoch: the order that decides what validates


def engine_of(step: Any) -> Engine:
    """The engine of a training step; all else is refused."""
    if not isinstance(step, TrainStep):
        raise TypeError(
            f"{BY}: given {type(step).__name__} as the step; it is a wg.TrainStep, which knows the "
            "loss, the model and the optimizer. Write fit(wg.TrainStep(loss, model, optimizer), …)."
        )
    return step._engine


def batch_arguments(step: TrainStep, called: str, given: Any) -> tuple[Any, ...]:
    """The arguments of the loss behind the model, by position: given as a tuple, as a dict by the
    names that the loss gives them, or as one array.
    """
    if isinstance(given, Mapping):
        known = step._engine.names(len(given))
        if not any(name in known for name in given):
            raise TypeError(
                f"{BY}: {called} is a dict with {', '.join(map(str, given)) or 'nothing'}; its "
                f"names are those of the loss, which begin with {', '.join(known) or 'none'}. Use "
                f"these, or write {called}=(batch,) if the loss takes the dict itself."
            )
        return step._parameters.by_place(f"{BY}: {called}", (), given)
    if isinstance(given, tuple):
        return given
    if hasattr(given, "shape"):
        return (given,)
    raise TypeError(
        f"{BY}: {called} is {type(given).__name__}; it is a tuple of arrays, as in "
        f"{called}=(x, y), or a dict by the names that the loss gives them. Pass one of these."
    )


def state_name(engine: Engine) -> str | None:
    """What the loss calls the state that it carries, if it carries one."""
    if engine.plan.carried is None:
        return None
    parameters = inspect.signature(engine.plan.loss).parameters.values()
    places = [
        p.name for p in parameters if p.kind in POSITIONAL and p.name not in _provided(engine)
    ]
    return places[1] if len(places) > 1 else None


def _provided(engine: Engine) -> set[str]:
    return set(engine.plan.parameters.given)


def divided(
    arguments: tuple[Any, ...], share: float, seed: int | None
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments without a share of their rows, drawn at random, and with these rows alone."""
    leaves, structure = tree.flatten(tuple(tree.with_numpy(x) for x in arguments))
    whole = [np.ndim(x) == 0 or is_live(x) for x in leaves]
    counts = {len(x) for x, as_is in zip(leaves, whole, strict=True) if not as_is}
    rows = min(counts, default=0)
    kept = round(rows * share)
    if len(counts) != 1 or not 0 < kept < rows:
        raise ShapeError(
            f"{BY}: validation={share} was given for data of {sorted(counts)} rows; arrays of one "
            "length are needed, of which some rows validate and some train. Pass other data, or "
            "validation=(x, y)."
        )
    order = shuffled(rows, seed or 0, OF_VALIDATION)
    assert order is not None  # there is a seed

    def some(chosen: Any) -> tuple[Any, ...]:
        chosen = np.sort(chosen)
        parts = [
            x if as_is else np.asarray(x)[chosen] for x, as_is in zip(leaves, whole, strict=True)
        ]
        found: tuple[Any, ...] = tree.unflatten(structure, parts)
        return found

    return some(order[kept:]), some(order[:kept])


def require_share(validation: float) -> float:
    """A share of the rows: above 0, below 1."""
    if not 0 < validation < 1:
        raise ValueError(
            f"{BY}: validation={validation!r} was given; a share of the rows is above 0 and below "
            "1, as in 0.1. Choose one, or pass data, as in validation=(x, y)."
        )
    return float(validation)
