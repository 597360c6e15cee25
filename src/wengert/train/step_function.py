"""The whole step as one traced function: loss, gradients, clipping and update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.api.trace import Dims
from wengert.core import tree
from wengert.core.dtypes import DType, float64, is_float
from wengert.core.source import Line, in_phase
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.warn import warn_user
from wengert.errors import DropoutWarning, MissingGradient
from wengert.functions.dropout import noting_idle_dropout
from wengert.interpret.derive import vjp_flat
from wengert.ops.random import Generator
from wengert.train.batch import AVERAGED, GENERATOR, Parameters
from wengert.train.finite_proof import Bounds, largest_element
from wengert.train.norm_rules import Clip, Given
from wengert.train.norms import clip_by_norm, global_norm
from wengert.train.optimizer_groups import Group
from wengert.train.step_results import read_results
from wengert.train.storage import Parameter, Segment, Storage

LOSS, NORM = 0, 1  # places in the report
CALLS, UPDATES, PHASE = 0, 1, 2  # places in the counts; the phase is calls since the last update
REPORT, AUX = 2, 3  # places in what a step returns


@dataclass
class Plan:
    """What a step consists of, before it is traced."""

    loss: Callable[..., Any]
    groups: Sequence[Group]
    storage: Storage
    carried: tree.Structure | None  # the form of the state that is carried, if there is one
    parameters: Parameters  # of the loss
    has_aux: bool
    strict: bool
    accumulate: int
    cast: DType | None  # the dtype floating batch arguments are cast to
    dims: Dims | None = None  # sizes of batch arguments that are left open beside axis 0
    proves: bool = False  # whether updates are proved to be finite where they can be
    columns: Mapping[tuple[int, str], int] = field(default_factory=dict)  # of a group's scalars
    limits: Mapping[str, int] = field(default_factory=dict)  # columns of clip_norm, clip_value
    unreached: list[str] = field(default_factory=list)  # paths that no gradient reaches

    @property
    def states(self) -> list[tuple[Segment, str]]:
        """All states of the optimizers, in the order in which the program has them."""
        return [(segment, name) for segment in self.storage.trained for name in segment.states]

    @property
    def bounded(self) -> list[tuple[Segment, str]]:
        """The states whose extents are kept."""
        return self.states if self.proves else []


@dataclass
class Live:
    """The arrays that a step updates, by what they are."""

    weights: Sequence[Value]
    states: Sequence[Mapping[str, Value]]
    carried: Sequence[Value]
    counts: Value  # calls, which are the position of randomness; updates; the phase
    extents: Sequence[Value]  # of states: one array, or none
    gradients: Sequence[Value]

    def committed(self, plan: Plan) -> tuple[Value, ...]:
        """What is written when nothing has failed. Gradients that accumulate are."""
        states = [x for each in self.states for x in each.values()]
        gradients = self.gradients if plan.accumulate > 1 else ()
        return (*self.weights, *states, *self.carried, self.counts, *self.extents, *gradients)

    def early(self, plan: Plan) -> tuple[Value, ...]:
        """What is written whatever happens."""
        return () if plan.accumulate > 1 else tuple(self.gradients)


def read_live(plan: Plan, committed: Sequence[Value], early: Sequence[Value]) -> Live:
    """The same from the sequences that a program takes and returns."""
    rest = iter(committed)
    trained = plan.storage.trained
    weights = [next(rest) for _ in trained]
    states = [{name: next(rest) for name in segment.states} for segment in trained]
    carried = [next(rest) for _ in range(plan.carried.count if plan.carried else 0)]
    counts = next(rest)
    extents = [next(rest)] if plan.bounded else []
    return Live(weights, states, carried, counts, extents, [*rest, *early])


def whole_step(plan: Plan, update: bool) -> Callable[..., Any]:
    """The function (live, early, fixed, scalars, *batch) -> (live, early, report, aux): one call.

    `live` is written when nothing has failed, `early` in any case. `fixed` holds frozen segments,
    data, a key, and whether only the step has seen the states of the optimizers. The report is
    (loss, norm of the gradients) in float64. Without `update` the call only adds to the gradients.
    """

    def step(live: Any, early: Any, fixed: Any, scalars: Any, *batch: Any) -> Any:
        before = read_live(plan, live, early)
        loss, carried, aux, found = _differentiated(plan, before, fixed, batch)
        gradients = _flat_gradients(plan, found)
        if plan.accumulate > 1:
            gradients = _accumulated(plan, gradients, before.gradients, before.counts)
        norm = global_norm(gradients)
        weights, states, extents = before.weights, before.states, before.extents
        if update:
            with in_phase("update"):  # behind the boundary: written in place, if nothing failed
                numbers = _numbers(plan, scalars)
                clip = _clipping(plan, gradients, norm, scalars)
                safe, extents = _proved(plan, before, gradients, norm, clip, numbers, fixed[3])
                held = [op.boundary(g, known) for g, known in zip(gradients, safe, strict=True)]
                weights, states = _updated(plan, before, held, clip, numbers)
        after = Live(weights, states, carried, _counted(plan, before, update), extents, gradients)
        report = op.stack([op.astype(loss, float64), norm])
        return after.committed(plan), after.early(plan), report, aux

    return step


def _counted(plan: Plan, before: Live, update: bool) -> Value:
    """The counts after a call. They are committed with all else, so that whoever looks sees counts
    and arrays that belong together.
    """
    phase = 1 - plan.accumulate if update else 1
    return op.add(before.counts, np.array([1, int(update), phase]))


def leaves_of(storage: Storage, weights: Sequence[Value], fixed: Any) -> list[Value]:
    """The distinct leaves of the model, as parts of their segments."""
    frozen, data = fixed[0], fixed[1]
    leaves: list[Value] = [None] * len(storage.leaves)
    for segments, flats in ((storage.trained, weights), (storage.frozen, frozen)):
        for segment, flat in zip(segments, flats, strict=True):
            for parameter in segment.parameters:
                leaves[parameter.place] = parameter.view(flat)
    for place, x in zip(storage.data, data, strict=True):
        leaves[place] = x
    return leaves


def averages_of(
    storage: Storage, weights: Sequence[Value], states: Sequence[Mapping[str, Value]]
) -> list[Value]:
    """The averaged weights of the trained segments, as far as an optimizer keeps them; else the
    weights.
    """
    return [
        x if segment.average is None else kept[segment.average]
        for segment, x, kept in zip(storage.trained, weights, states, strict=True)
    ]


def _differentiated(
    plan: Plan, live: Live, fixed: Any, batch: Sequence[Any]
) -> tuple[Value, list[Value], Any, list[Value | None]]:
    """Loss, carried state, aux, and the gradients of the trained parameters."""
    leaves = leaves_of(plan.storage, live.weights, fixed)
    wanted = [p for segment in plan.storage.trained for p in segment.parameters]
    batch = [cast_floats(plan.cast, x) for x in batch]
    aux_structure: list[tree.Structure] = []

    def flat(*values: Value) -> Sequence[Value]:
        full = list(leaves)
        for parameter, x in zip(wanted, values, strict=True):
            full[parameter.place] = x
        returned = call_loss(plan, plan.storage.tree(full), live, fixed, batch)
        loss, carried, aux = read_results(returned, plan.carried, live.carried, plan.has_aux)
        aux_leaves, structure = tree.flatten(tree.arrays(aux))
        aux_structure.append(structure)
        return [loss, *carried, *aux_leaves]

    outputs, pullback = vjp_flat(flat, [leaves[p.place] for p in wanted])
    seeds: list[Value | None] = [None] * len(outputs)
    seeds[0] = np.ones((), outputs[0].dtype)
    found = pullback(seeds)
    _note_unreached(plan, wanted, found)
    count = 1 + len(live.carried)
    aux = tree.unflatten(aux_structure[-1], outputs[count:])
    return outputs[0], outputs[1:count], aux, found


def call_loss(plan: Plan, model: Any, live: Live, fixed: Any, batch: Sequence[Any]) -> Any:
    state = () if plan.carried is None else (tree.unflatten(plan.carried, live.carried),)
    given: dict[str, Any] = {}
    if plan.parameters.wants_rng:
        given[GENERATOR] = Generator(op.fold_in(fixed[2], _count(live.counts, CALLS)))
    if plan.parameters.wants_averaged:
        averages = averages_of(plan.storage, live.weights, live.states)
        given[AVERAGED] = plan.storage.tree(leaves_of(plan.storage, averages, fixed))
    with noting_idle_dropout() as idle:
        returned = plan.parameters.call(plan.loss, [model, *state, *batch], given)
    if idle and (GENERATOR not in given or not given[GENERATOR].used):
        _warn_of_idle_dropout(idle, plan.parameters.wants_rng)
    return returned


def _warn_of_idle_dropout(lines: Sequence[Line | None], wants_rng: bool) -> None:
    repair = "Pass the loss's rng on" if wants_rng else "Give the loss an argument rng, pass it on"
    for line in dict.fromkeys(lines):
        warn_user(
            "dropout: given no rng in the loss of a TrainStep; without one it drops nothing. "
            f"{repair}, or leave the dropout out.",
            DropoutWarning,
            line,
        )


def cast_floats(dtype: DType | None, x: Any) -> Any:
    """A batch argument with its floats in the model's dtype."""
    if dtype is None:
        return x
    return tree.map(lambda v: op.astype(v, dtype) if _is_other_float(v, dtype) else v, x)


def _is_other_float(x: Any, dtype: DType) -> bool:
    return is_float(x.dtype) and x.dtype != dtype


def _note_unreached(plan: Plan, wanted: Sequence[Parameter], found: Sequence[Value | None]) -> None:
    plan.unreached[:] = [p.path for p, g in zip(wanted, found, strict=True) if g is None]
    if len(plan.unreached) == len(wanted):
        raise MissingGradient(
            "TrainStep: no gradient reaches any trained parameter, so that nothing would be "
            "trained; the loss must depend on the model that it receives. Use that argument in the "
            "loss, not a variable from outside, and no argmax, comparison, conversion to integers "
            "or wg.stop_gradient around all of it."
        )
    if plan.strict and plan.unreached:
        raise MissingGradient(
            f"TrainStep: no gradient reaches {', '.join(map(repr, plan.unreached))}; strict=True "
            "asks that each parameter has one. Use them in the loss, freeze them with None, or "
            "leave strict out."
        )


def _flat_gradients(plan: Plan, found: Sequence[Value | None]) -> list[Value]:
    """One vector per segment; zeros where no gradient came."""
    rest = iter(found)
    flat = []
    for segment in plan.storage.trained:
        rows = []
        for parameter in segment.parameters:
            g = next(rest)
            if g is None:
                g = op.full(parameter.shape, 0, dtype=segment.dtype)
            elif g.dtype != segment.dtype:
                g = op.astype(g, segment.dtype)
            rows.append(op.reshape(g, (parameter.size,)))
        flat.append(rows[0] if len(rows) == 1 else op.concat(rows))
    return flat


def _accumulated(
    plan: Plan, gradients: Sequence[Value], before: Sequence[Value], counts: Value
) -> list[Value]:
    """The mean over the calls of an accumulation, as far as they have come. The first call leaves
    nothing of what was there.
    """
    first = op.equal(_count(counts, PHASE), 0)
    shares = [g / plan.accumulate for g in gradients]
    return [op.where(first, g, old + g) for g, old in zip(shares, before, strict=True)]


def _count(counts: Value, place: int) -> Value:
    return op.reshape(counts[place : place + 1], ())


def _clipping(plan: Plan, gradients: Sequence[Value], norm: Value, scalars: Value) -> Clip:
    """How gradients, or parts of them, are clipped: each element between -clip_value and
    clip_value, then all of them to clip_norm.
    """
    clips: list[Clip] = []
    if "clip_value" in plan.limits:
        bound = scalars[plan.limits["clip_value"]]
        clips.append(lambda g: _within(g, op.astype(bound, g.dtype)))
        norm = global_norm([clips[0](g) for g in gradients])
    if "clip_norm" in plan.limits:
        limit = scalars[plan.limits["clip_norm"]]
        clips.append(lambda g: clip_by_norm([g], norm, limit)[0])

    def clip(g: Value) -> Value:
        for each in clips:
            g = each(g)
        return g

    return clip


def _within(g: Value, limit: Value) -> Value:
    return op.minimum(op.maximum(g, -limit), limit)


def _numbers(plan: Plan, scalars: Value) -> list[dict[str, Value]]:
    """The numbers of the update by name, for each segment in its dtype."""
    rounded = {s.dtype: op.astype(scalars, s.dtype) for s in plan.storage.trained}
    return [
        {
            name: rounded[segment.dtype][column]
            for (group, name), column in plan.columns.items()
            if group == segment.group
        }
        for segment in plan.storage.trained
    ]


def _proved(
    plan: Plan,
    live: Live,
    gradients: Sequence[Value],
    norm: Value,
    clip: Clip,
    numbers: Sequence[Mapping[str, Value]],
    unseen: Value,
) -> tuple[list[Value], Sequence[Value]]:
    """Which segments' updates are certain to stay finite, and the extents of states after them."""
    trained = plan.storage.trained
    if not plan.proves or not isinstance(norm, Tensor):  # op by op everything is looked at
        return [False] * len(trained), live.extents
    bounds = Bounds(live.extents[0] if live.extents else None, unseen)
    safe = []
    for i, segment in enumerate(trained):
        most = clip(largest_element(norm, segment.dtype))  # larger elements stay larger
        optimizer = plan.groups[segment.group].trainer
        given = live.weights[i], gradients[i], live.states[i]
        safe.append(bounds.prove(optimizer, segment, most, numbers[i], given, clip))
    return safe, bounds.extents()


def _updated(
    plan: Plan,
    live: Live,
    gradients: Sequence[Value],
    clip: Clip,
    numbers: Sequence[Mapping[str, Value]],
) -> tuple[list[Value], list[Mapping[str, Value]]]:
    """New weights and states, segment by segment."""
    weights: list[Value] = []
    states: list[Mapping[str, Value]] = []
    for i, segment in enumerate(plan.storage.trained):
        optimizer = plan.groups[segment.group].trainer
        given = live.weights[i], gradients[i], live.states[i]
        rule = _flat_rule if optimizer.flat else _rule_by_parameter
        found, state = rule(optimizer, segment, given, clip, numbers[i])
        weights.append(found)
        states.append({name: state[name] for name in segment.states})
    return weights, states


def _flat_rule(
    optimizer: Any, _segment: Segment, given: Given, clip: Clip, numbers: Mapping[str, Value]
) -> tuple[Value, Mapping[str, Value]]:
    weights, gradients, states = given
    found: tuple[Value, Mapping[str, Value]] = optimizer.rule(
        weights, clip(gradients), dict(states), numbers
    )
    return found


def _rule_by_parameter(
    optimizer: Any, segment: Segment, given: Given, clip: Clip, numbers: Mapping[str, Value]
) -> tuple[Value, Mapping[str, Value]]:
    weights, gradients, states = given
    new_weights = []
    new_states: dict[str, list[Value]] = {name: [] for name in states}
    for p in segment.parameters:
        state = {name: p.view(x) for name, x in states.items()}
        g = clip(p.view(gradients))  # each by itself, so that parameters have nothing in common
        w, found = optimizer.rule(p.view(weights), g, state, numbers, p.path)
        new_weights.append(op.reshape(w, (p.size,)))
        for name, rows in new_states.items():
            rows.append(op.reshape(found[name], (p.size,)))
    return _joined(new_weights), {name: _joined(rows) for name, rows in new_states.items()}


def _joined(rows: Sequence[Value]) -> Value:
    return rows[0] if len(rows) == 1 else op.concat(rows)
