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


def parameters_of(engine: Engine, f: Callable[..., Any]) -> FunctionParameters:
    """The parameters of a function that is called with the model of an engine."""
    return FunctionParameters(f, False, engine.plan.storage.averages, True)


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
