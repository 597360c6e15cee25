"""check: a step op by op, compiled, and by differences of its loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import float32, float64, is_float
from wengert.interpret.derive import vjp_flat
from wengert.train.engine import Engine
from wengert.train.nonfinite import explain_nonfinite
from wengert.train.program import LOSS, REPORT, call_loss, leaves_of, read_live
from wengert.train.results import read_results
from wengert.train.stepwise import run_eagerly
from wengert.train.storage import Array

WIDTH = 1e-4  # of the differences
SLOPE_TOLERANCE = 1e-5
TOLERANCES = {float32: 1e-4, float64: 1e-9}  # of compiled code against op by op


@dataclass(frozen=True)
class Check:
    """How well three ways to compute a step agree."""

    loss: float  # op by op
    compiled_loss: float
    gradient_error: float  # of compiled code: the largest, relative to the largest element
    slope: float  # of the loss along a random direction, by the gradient, in float64
    difference: float  # the same, by differences of the loss


def check_step(engine: Engine, batch: Sequence[Any]) -> Check:
    """Compute a step on copies; AssertionError where the ways disagree."""
    batch = engine.kinds.prepared(batch)
    loss, gradients = _one_way(engine, batch, compiled=False)
    compiled_loss, compiled_gradients = _one_way(engine, batch, compiled=True)
    error = max(map(_relative_error, compiled_gradients, gradients))
    slope, difference, scale = _slopes(engine, batch)
    found = Check(loss, compiled_loss, error, slope, difference)
    tolerance = max(TOLERANCES[g.dtype] for g in gradients)
    losses = _relative_error(np.asarray(compiled_loss), np.asarray(loss))
    if not max(error, losses) <= tolerance:  # NaN is a disagreement
        raise AssertionError(
            f"TrainStep.check: compiled code and op by op differ by {max(error, losses):.2g} of "
            f"the largest element; {tolerance:.2g} is allowed. Please report the program."
        )
    if not abs(slope - difference) <= SLOPE_TOLERANCE * scale:
        raise AssertionError(
            f"TrainStep.check: along a random direction the gradient gives {slope:.9g}; "
            f"differences of the loss give {difference:.9g}. Look at custom derivatives, at "
            "stop_gradient, and at points where the loss is not smooth."
        )
    return found


def _one_way(engine: Engine, batch: Sequence[Any], compiled: bool) -> tuple[float, list[Array]]:
    """Loss and gradients of the next call, on copies of the live arrays."""
    live, early = (tuple(np.array(x) for x in each) for each in (engine.live, engine.early))
    own = (live, early, engine.fixed, engine.scalars.row(engine.updates + 1))
    programs = engine.programs[engine.updating]
    if compiled:
        found = programs.find(own, batch)(*own, *batch)
    else:
        found = run_eagerly(programs.function, own, batch, always=False)
    after = read_live(engine.plan, live, early)
    if int(after.counter[0]) == engine.calls:
        raise explain_nonfinite(engine.plan, programs, own, batch)
    return found[REPORT].item(LOSS), list(after.gradients)


def _relative_error(found: Array, expected: Array) -> float:
    if not expected.size:
        return 0.0
    largest = float(np.max(np.abs(expected)))
    return float(np.max(np.abs(found - expected))) / (largest or 1.0)


def _slopes(engine: Engine, batch: Sequence[Any]) -> tuple[float, float, float]:
    """The slope along a random direction by the gradient and by differences, and its scale."""
    loss, xs = _wide_loss(engine, batch)
    rng = np.random.default_rng(0)
    vs = [rng.standard_normal(x.shape) for x in xs]
    _, pullback = vjp_flat(lambda *values: [loss(values)], xs)
    gradients = [
        np.zeros(x.shape) if g is None else g for g, x in zip(pullback([1.0]), xs, strict=True)
    ]
    slope = float(sum(np.sum(g * v) for g, v in zip(gradients, vs, strict=True)))

    def central(h: float) -> float:
        ahead, behind = (
            loss([x + sign * h * v for x, v in zip(xs, vs, strict=True)]) for sign in (1, -1)
        )
        return float(ahead - behind) / (2 * h)

    difference = (4 * central(WIDTH / 2) - central(WIDTH)) / 3
    norm = float(np.sqrt(sum(np.sum(g * g) for g in gradients)))
    return slope, difference, max(abs(slope), abs(difference), norm, abs(float(loss(xs))))


def _wide_loss(
    engine: Engine, batch: Sequence[Any]
) -> tuple[Callable[[Sequence[Any]], Any], list[Array]]:
    """The loss as a function of the trained parameters, all floats in float64; and these."""
    plan = engine.plan
    live = read_live(plan, engine.live, engine.early)
    live = replace(live, carried=[_wide(x) for x in live.carried])
    leaves = [_wide(x) for x in leaves_of(plan.storage, live.weights, engine.fixed)]
    batch = [tree.map(_wide, x) for x in batch]
    places = [p.place for segment in plan.storage.trained for p in segment.parameters]

    def loss(values: Sequence[Any]) -> Any:
        full = list(leaves)
        for place, x in zip(places, values, strict=True):
            full[place] = x
        returned = call_loss(plan, plan.storage.tree(full), live, engine.fixed, batch)
        return read_results(returned, plan.carried, live.carried, plan.has_aux)[0]

    return loss, [leaves[place] for place in places]


def _wide(x: Any) -> Any:
    return np.array(x, float64) if is_float(x.dtype) else x
