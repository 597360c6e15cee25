"""check: a step op by op, compiled, and by differences of its loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import DType, float32, float64, is_float
from wengert.core.graph import Graph, Node
from wengert.core.table import op
from wengert.core.types import ArrayType, type_of
from wengert.interpret.derive import vjp_flat
from wengert.interpret.replay import replay, replay_all
from wengert.interpret.trace import trace_flat
from wengert.train.batch import leaf_names
from wengert.train.eager_steps import run_eagerly
from wengert.train.engine import Engine
from wengert.train.nonfinite import explain_nonfinite
from wengert.train.recorded.loss_call import leaves_of
from wengert.train.recorded.step_arrays import CALLS, LOSS, REPORT
from wengert.train.recorded.step_function import flat_loss
from wengert.train.storage import Array
from wengert.train.wide_program import in_float64

# By the least precise dtype that is computed in.
TOLERANCES = {float32: 1e-4, float64: 1e-9}  # of compiled code against op by op
# So many times as far from op by op as rounding carries that: far where a small loss, or a gradient
# near its zero, is the difference of large numbers.
ROUNDINGS = 8.0
TRIALS = 3
ROUNDED = 0.05  # the farthest from float64 that rounding explains; random numbers are others there
# Of the differences, one after the other: between two points that are near enough no kink lies, as
# a relu has them. A wrong derivative disagrees with all.
WIDTHS = {float32: (1e-2, 3e-3, 1e-3), float64: (1e-4, 1e-5, 1e-6, 1e-7)}
SLOPE_TOLERANCES = {float32: 1e-3, float64: 1e-5}
MOVED = 1e-3  # how far from a point that may be a kink itself, as 0 is of a relu


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
    loss, gradients, _ = _one_way(engine, batch, compiled=False)
    compiled_loss, compiled_gradients, tolerance = _one_way(engine, batch, compiled=True)
    error = max(map(_relative_error, compiled_gradients, gradients))
    slopes = _slopes(engine, batch)
    check = Check(loss, compiled_loss, error, slopes.by_gradient, slopes.by_differences)
    losses = _relative_error(np.asarray(compiled_loss), np.asarray(loss))
    apart = max(error, losses)
    if not apart <= tolerance:  # NaN is a disagreement
        tolerance = max(tolerance, ROUNDINGS * _rounding(engine, batch, loss, gradients))
    if not apart <= tolerance:
        raise AssertionError(
            f"TrainStep.check: compiled code and op by op differ by {apart:.2g} of "
            f"the largest element; {tolerance:.2g} is allowed. Please report the program."
        )
    if not slopes.agree:
        raise AssertionError(
            f"TrainStep.check: along a random direction the gradient gives {check.slope:.9g}; "
            f"differences of the loss give {check.difference:.9g}. Look at custom derivatives, at "
            "stop_gradient in bodies of loops, and at points where the loss is not smooth."
        )
    return check


def _one_way(
    engine: Engine,
    batch: Sequence[Any],
    compiled: bool,
    weights: Sequence[Array] | None = None,  # in the place of the live ones
) -> tuple[float, list[Array], float]:
    """Loss and gradients of the next call, computed on copies of the live arrays; and the tolerance
    for compiled code.
    """
    after = engine.arrays.map(np.array)
    if weights is not None:
        after = replace(after, weights=weights)
    live, early = after.divided(engine.plan.accumulate > 1)
    own = engine.own_arguments()._replace(live=live, early=early)
    programs = engine.programs[engine.updating]
    dtype = float64
    if compiled:
        results, executable = programs.call(own, batch)
        dtype = _least_precise(executable.graph.nodes)
    else:
        results = run_eagerly(programs.function, own, batch, False, lambda write: write())
    if int(after.counts[CALLS]) == engine.calls:
        raise explain_nonfinite(engine.plan, programs, own, batch)
    return results[REPORT].item(LOSS), list(after.gradients), TOLERANCES[dtype]


def _rounding(engine: Engine, batch: Sequence[Any], loss: float, gradients: list[Array]) -> float:
    """How far loss and gradients, op by op, are from the same in float64, and from the same where
    weights move by a unit of the last place.
    """

    def distance(other: Any, others: Sequence[Array]) -> float:
        pairs = zip([np.asarray(loss), *gradients], [np.asarray(other), *others], strict=True)
        return max(_relative_error(x, y) for x, y in pairs)

    rng = np.random.default_rng(0)

    def moved(x: Array) -> Array:
        signs = rng.choice((-1, 1), x.shape)
        return np.asarray(x * (1 + np.finfo(x.dtype).eps * signs), x.dtype)

    wide = distance(*_in_float64(engine, batch, gradients))
    apart = [wide if wide <= ROUNDED else 0.0]
    for _ in range(TRIALS):
        weights = [moved(x) for x in engine.arrays.weights]
        apart.append(distance(*_one_way(engine, batch, compiled=False, weights=weights)[:2]))
    return max(apart)


def _in_float64(
    engine: Engine, batch: Sequence[Any], gradients: Sequence[Array]
) -> tuple[Array, list[Array]]:
    """Loss and gradients with all floats in float64, in the form of these gradients."""
    loss = _wide_loss(engine, batch)
    (value,), pullback = vjp_flat(lambda *values: [loss(values)], loss.trained)
    wide, found = iter(pullback([np.ones(value.shape, value.dtype)])), []
    for segment, narrow in zip(engine.plan.storage.trained, gradients, strict=True):
        found.append(np.zeros(narrow.shape))
        for parameter in segment.parameters:
            g = next(wide)
            parameter.view(found[-1])[...] = 0.0 if g is None else g
    return value, found


def _least_precise(nodes: Iterable[Node]) -> DType:
    """The least precise dtype of the floats that are computed."""
    for node in nodes:
        types = (node.type,) if isinstance(node.type, ArrayType) else node.type
        bodies = [value.nodes for value in node.params.values() if isinstance(value, Graph)]
        dtypes = [each.dtype for each in types] if node.op.kind != "source" else []
        if float32 in (*dtypes, *map(_least_precise, bodies)):
            return float32
    return float64


def _moved(graph: Graph, inputs: Sequence[int]) -> list[Node]:
    """The nodes that depend on one of these inputs."""
    reached = set(inputs)
    for number, node in enumerate(graph.nodes):
        if reached.intersection(node.operands):
            reached.add(number)
    return [graph.nodes[number] for number in sorted(reached)]


def _relative_error(computed: Array, expected: Array) -> float:
    if not expected.size:
        return 0.0
    largest = float(np.max(np.abs(expected)))
    return float(np.max(np.abs(computed - expected))) / (largest or 1.0)


@dataclass(frozen=True)
class _Slopes:
    """The slope along a random direction, and how far the two may be apart."""

    by_gradient: float
    by_differences: float
    allowed: float

    @property
    def agree(self) -> bool:
        return abs(self.by_gradient - self.by_differences) <= self.allowed  # not NaN


def _slopes(engine: Engine, batch: Sequence[Any]) -> _Slopes:
    loss = _wide_loss(engine, batch)
    xs, graph = loss.trained, loss.graph
    # What a function with rules of its own casts to float32 stays float32, and so do the errors of
    # differences.
    dtype = _least_precise(_moved(graph, graph.inputs[: len(xs)]))
    rng = np.random.default_rng(0)
    vs: list[Array] = [np.asarray(rng.standard_normal(x.shape)) for x in xs]
    slopes = _slopes_at(loss, xs, vs, dtype)
    if slopes.agree or dtype == float32:
        return slopes
    moved = [x + MOVED * rng.standard_normal(x.shape) for x in xs]
    beside = _slopes_at(loss, moved, vs, dtype)
    return beside if beside.agree else slopes


def _slopes_at(loss: _WideLoss, xs: Sequence[Array], vs: Sequence[Array], dtype: DType) -> _Slopes:
    """The slopes at a point, by the differences that agree with the gradient, or else the first."""
    loss_beside = _with_stopped_values(loss, xs)
    (value,), pullback = vjp_flat(lambda *values: [loss(values)], xs)
    seed = np.ones(value.shape, value.dtype)
    gradients = [
        np.zeros(x.shape) if g is None else g for g, x in zip(pullback([seed]), xs, strict=True)
    ]
    slope = float(sum(np.sum(g * v) for g, v in zip(gradients, vs, strict=True)))
    norm = float(np.sqrt(sum(np.sum(g * g) for g in gradients)))

    def central(h: float) -> float:
        ahead, behind = (
            loss_beside([x + sign * h * v for x, v in zip(xs, vs, strict=True)]) for sign in (1, -1)
        )
        return float(ahead - behind) / (2 * h)

    def by_differences(width: float) -> _Slopes:
        difference = (4 * central(width / 2) - central(width)) / 3
        scale = max(abs(slope), abs(difference), norm, abs(float(value)))
        return _Slopes(slope, difference, SLOPE_TOLERANCES[dtype] * scale)

    first, *others = WIDTHS[dtype]
    slopes = by_differences(first)
    if slopes.agree:
        return slopes
    return next(filter(lambda each: each.agree, map(by_differences, others)), slopes)


def _with_stopped_values(loss: _WideLoss, xs: Sequence[Array]) -> Callable[[Sequence[Any]], Any]:
    """The loss, with what `stop_gradient` is given at a point: its derivative there is that of a
    function in which this is constant. In bodies of loops it is computed anew.
    """
    graph = loss.graph
    values = replay_all(graph, dict(zip(graph.inputs, [*xs, *loss.others], strict=True)))
    stopped = {
        number: values[number]
        for number, node in enumerate(graph.nodes)
        if node.op is op.stop_gradient
    }

    def function(beside: Sequence[Any]) -> Any:
        inputs = dict(zip(graph.inputs, [*beside, *loss.others], strict=True))
        return replay_all(graph, stopped | inputs)[graph.returns[0]]

    return function


@dataclass(frozen=True)
class _WideLoss:
    """The loss as a function of the trained parameters, with all floats in float64."""

    graph: Graph  # of these parameters, then of all else that it is given
    trained: list[Array]
    others: list[Array]

    def __call__(self, values: Sequence[Any]) -> Any:
        return replay(self.graph, [*values, *self.others])[0]


def _wide_loss(engine: Engine, batch: Sequence[Any]) -> _WideLoss:
    """It is recorded in the dtypes of the step, as it is for training."""
    plan, arrays = engine.plan, engine.arrays
    leaves = leaves_of(plan.storage, arrays.weights, engine.fixed)
    trained = [leaves[parameter.place] for parameter in plan.trained]
    others, structure = tree.flatten((tuple(arrays.in_order()), engine.fixed, tuple(batch)))

    def loss(*values: Any) -> Sequence[Any]:
        given, fixed, batch = tree.unflatten(structure, values[len(trained) :])
        named = arrays.named(given, ())
        full = leaves_of(plan.storage, named.weights, fixed)
        return flat_loss(plan, named, full, fixed, batch)[0](*values[: len(trained)])[:1]

    inputs = [*trained, *others]
    names = [parameter.path for parameter in plan.trained]
    names += [f"own{i}" for i in range(len(others) - len(tree.leaves(tuple(batch))))]
    names += leaf_names(plan.parameters.names(len(batch)), batch)
    graph, _ = trace_flat(loss, [type_of(x) for x in inputs], names)
    return _WideLoss(in_float64(graph), [_wide(x) for x in trained], [_wide(x) for x in others])


def _wide(x: Any) -> Any:
    return np.array(x, float64) if is_float(x.dtype) else x
