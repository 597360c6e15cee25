"""The update of a step: the numbers it is made with, clipping, the proof that it stays finite, and
the rules of the optimizers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.functions.clipping import joint_length, shortened, within
from wengert.interpret.splice import spliced
from wengert.train.recorded.finite_proof import Bounds, largest_element
from wengert.train.recorded.norm_rules import BeforeUpdate, Clip, RuleGraphs
from wengert.train.recorded.scalars import Columns
from wengert.train.recorded.step_arrays import LiveArrays
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.segments import Segment


def updated(
    plan: StepPlan,
    columns: Columns,
    before: LiveArrays[Value],
    norm: Value,
    unseen: Value,
    scalars: Value,
) -> LiveArrays[Value]:
    """The arrays after an update by their gradients, which have this norm. `unseen` says whether
    only the step itself can have written to the states, `scalars` is the row of numbers.
    """
    numbers = _numbers(plan, columns, scalars)
    clip = clipping(columns.limits, before.gradients, norm, scalars)
    segments = [
        BeforeUpdate(*each)
        for each in zip(before.weights, before.gradients, before.states, strict=True)
    ]
    safe: list[Value] = [False] * len(segments)  # which updates are certain to stay finite
    extents = before.extents
    if plan.proves and isinstance(norm, Tensor):  # op by op, everything is checked anyway
        bounds = Bounds(extents[0] if extents else None, unseen)
        for i, segment in enumerate(plan.storage.trained):
            # Clipping keeps the order of elements: what bounds all of them, clipped, still does.
            most = clip(largest_element(norm, segment.dtype))
            optimizer = plan.groups[segment.group].trainer
            safe[i] = bounds.prove(optimizer, segment, most, numbers[i], segments[i], clip)
        extents = bounds.extents()
    held = [op.boundary(g, known) for g, known in zip(before.gradients, safe, strict=True)]
    weights: list[Value] = []
    states: list[Mapping[str, Value]] = []
    for i, segment in enumerate(plan.storage.trained):
        optimizer = plan.groups[segment.group].trainer
        rule = _flat_rule if optimizer.flat else _rule_by_parameter
        given = replace(segments[i], gradients=held[i])
        new_weights, state = rule(optimizer, segment, given, clip, numbers[i])
        weights.append(new_weights)
        states.append({name: state[name] for name in segment.states})
    return replace(before, weights=weights, states=states, extents=extents)


def clipping(
    limits: Mapping[str, int], gradients: Sequence[Value], norm: Value, scalars: Value
) -> Clip:
    """How gradients, or parts of them, are clipped: each element between -clip_value and
    clip_value, then all of them to clip_norm. `limits` are the columns of those that there are.
    """
    clips: list[Clip] = []
    if "clip_value" in limits:
        bound = scalars[limits["clip_value"]]
        clips.append(lambda g: within(g, op.astype(bound, g.dtype)))
        norm = joint_length([clips[0](g) for g in gradients])
    if "clip_norm" in limits:
        limit = scalars[limits["clip_norm"]]
        clips.append(lambda g: shortened(g, norm, limit))

    def clip(g: Value) -> Value:
        for each in clips:
            g = each(g)
        return g

    return clip


def _numbers(plan: StepPlan, columns: Columns, scalars: Value) -> list[dict[str, Value]]:
    """The numbers of the update by name, for each segment in its dtype."""
    rounded = {s.dtype: op.astype(scalars, s.dtype) for s in plan.storage.trained}
    return [
        {
            name: rounded[segment.dtype][column]
            for (group, name), column in columns.of_groups.items()
            if group == segment.group
        }
        for segment in plan.storage.trained
    ]


def _flat_rule(
    optimizer: Any, _segment: Segment, given: BeforeUpdate, clip: Clip, numbers: Mapping[str, Value]
) -> tuple[Value, Mapping[str, Value]]:
    weights_and_state: tuple[Value, Mapping[str, Value]] = optimizer.rule(
        given.weights, clip(given.gradients), dict(given.states), numbers
    )
    return weights_and_state


def _rule_by_parameter(
    optimizer: Any, segment: Segment, given: BeforeUpdate, clip: Clip, numbers: Mapping[str, Value]
) -> tuple[Value, Mapping[str, Value]]:
    new_weights = []
    new_states: dict[str, list[Value]] = {name: [] for name in given.states}
    graphs = RuleGraphs(optimizer, segment, numbers)
    for p in segment.parameters:
        state = {name: p.view(x) for name, x in given.states.items()}
        # Each parameter is clipped by itself, so that no kernel joins several of them.
        weights, g = p.view(given.weights), clip(p.view(given.gradients))
        if graphs.has_kinds and isinstance(g, Tensor):
            operands = [weights, g, *(state[name] for name in segment.states), *numbers.values()]
            w, *rows = spliced(graphs.of(p), operands)
            new_state = dict(zip(segment.states, rows, strict=True))
        else:
            w, new_state = optimizer.rule(weights, g, state, numbers, p.path)
        new_weights.append(op.reshape(w, (p.size,)))
        for name, of_all in new_states.items():
            of_all.append(op.reshape(new_state[name], (p.size,)))
    return _joined(new_weights), {name: _joined(rows) for name, rows in new_states.items()}


def _joined(rows: Sequence[Value]) -> Value:
    return rows[0] if len(rows) == 1 else op.concat(rows)
