"""Binding: functions of the model, as a step or an ensemble binds and evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.api.compiling.met import Met
from wengert.api.trace import Dims
from wengert.train.batch import FunctionParameters
from wengert.train.bound_function import BoundFunction
from wengert.train.draw_positions import Draws
from wengert.train.engine import Engine
from wengert.train.runs.evaluation import is_same_function, without_state


def parameters_of(engine: Engine, f: Callable[..., Any]) -> FunctionParameters:
    """The parameters of a function that is called with the model of an engine."""
    return FunctionParameters(f, False, engine.plan.storage.averages, True)


def evaluated_on(
    by: str, engine: Engine, f: Callable[..., Any], arrays: Sequence[Any], named: dict[str, Any]
) -> tuple[Callable[..., Any], Sequence[str], Sequence[Any]]:
    """What to evaluate, the names of its arguments and these. A step's own loss is given the state
    that the step carries.
    """
    plan = engine.plan
    if plan.carried is not None and is_same_function(f, plan.loss):
        f, arrays = without_state(f, plan.has_aux), (engine.carried_state(), *arrays)
    parameters = parameters_of(engine, f)
    arrays = parameters.by_place(by, arrays, named, ("batch_size", "dims"))
    if plan.carried is not None:
        parameters.require_state_given(by, len(arrays))
    return f, parameters.names(len(arrays)), arrays


def bound_to(
    engine: Engine,
    keeps_numbers: bool,  # whether numbers of the model stay numbers in results
    number: int,
    f: Callable[..., Any],
    dims: Dims | None,
    met: Met | None = None,
    static: Sequence[str] = (),
    draws: Draws | None = None,
) -> BoundFunction:
    """A function on the live parameters of an engine."""
    parameters = parameters_of(engine, f)
    return BoundFunction(engine, f, parameters, number, dims, met, keeps_numbers, draws, static)
