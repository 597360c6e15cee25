"""The whole step as one function that is recorded: loss, gradients, clipping and update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dtypes import float64
from wengert.core.table import op
from wengert.core.types import Value
from wengert.core.words.source import in_phase
from wengert.errors import MissingGradient
from wengert.functions.clipping import joint_length
from wengert.interpret.derive import Flat, vjp_flat
from wengert.interpret.mistakes.used_values import used_by
from wengert.interpret.trace import recorded_program
from wengert.train.batch import leaf_names
from wengert.train.mistakes.copied.stale_arguments import StaleArguments
from wengert.train.mistakes.repeated_keys import RepeatedKeys
from wengert.train.recorded.layers.outside_uses import (
    OutsideUse,
    argument_flow,
    loss_flow,
    outside_uses,
)
from wengert.train.recorded.layers.part_uses import PartUse, part_uses
from wengert.train.recorded.layers.trained_masks import warn_of_trained_mask
from wengert.train.recorded.layers.unreached import paths_used_by, warn_of_no_grad
from wengert.train.recorded.loss_call import call_loss, cast_floats, count_at, leaves_of
from wengert.train.recorded.scalars import Columns
from wengert.train.recorded.step_arrays import PHASE, FixedArrays, LiveArrays
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.recorded.step_results import read_results
from wengert.train.recorded.step_update import updated

_MODEL_FIRST = (
    "A Tensor was called, as a model is. A step calls loss(model, x, y): the first parameter of "
    "the loss is the model, and batches come behind it."
)


@dataclass(frozen=True)
class Differentiated:
    """What a loss returned, and its gradients."""

    loss: Value
    carried: Sequence[Value]
    aux: Any
    gradients: Sequence[Value] = ()  # of each trained segment


@dataclass(frozen=True)
class StepFunction:
    """One call of a step: `flat` is what is compiled, and `step` what it means."""

    plan: StepPlan
    arrays: LiveArrays[Any]  # the live arrays themselves, for their form
    columns: Columns  # where the numbers of an update stand
    updates: bool  # whether the call ends with an update, or only adds to the gradients
    # Is told the paths that no gradient reaches, and those of them, and of what is frozen, that the
    # loss computes with.
    note_unreached: Callable[[list[str], list[str], list[str]], object]
    # Is told what becomes of arrays from outside.
    note_outside: Callable[[list[OutsideUse]], object]
    # Is told what the loss applies parameters to.
    note_part_uses: Callable[[dict[str, PartUse]], object]
    stale_arguments: StaleArguments  # is told what becomes of networks that are arguments
    note_unread: Callable[[list[str]], object]  # is told which batch arguments nothing reads
    repeated_keys: RepeatedKeys  # is told which keys among the arguments are drawn under

    def flat(
        self,
        live: Sequence[Value],
        early: Sequence[Value],
        fixed: FixedArrays,
        scalars: Value,
        *batch: Any,
    ) -> tuple[Any, Any, Value, Any]:
        """(live, early, report, aux) in the order of `step_arrays`."""
        after, report, aux = self.step(self.arrays.named(live, early), fixed, scalars, batch)
        return *after.divided(self.plan.accumulate > 1), report, aux

    def step(
        self, before: LiveArrays[Value], fixed: FixedArrays, scalars: Value, batch: Sequence[Any]
    ) -> tuple[LiveArrays[Value], Value, Any]:
        """The live arrays after a call, its report, which is (loss, norm of the gradients) in
        float64, and aux.
        """
        differentiated = self.differentiated(before, fixed, batch)
        return self.finished(before, differentiated, fixed, scalars)

    def differentiated(
        self,
        before: LiveArrays[Value],
        fixed: FixedArrays,
        batch: Sequence[Any],
        weight: Value | None = None,
    ) -> Differentiated:
        """What the loss returns for a batch, and its gradients, one vector per segment; times a
        weight, if one is given.
        """
        plan = self.plan
        leaves = leaves_of(plan.storage, before.weights, fixed)
        begun = self.arrays.carried
        outputs, gradients = _differentiated(plan, before, leaves, fixed, batch, weight, begun)
        pairs = zip(plan.trained, gradients, strict=True)
        unreached = [parameter for parameter, g in pairs if g is None]
        paths = [parameter.path for parameter in unreached]
        frozen = [parameter for segment in plan.storage.frozen for parameter in segment.parameters]
        used, used_frozen = (
            paths_used_by([outputs.loss], leaves, parameters) for parameters in (unreached, frozen)
        )
        self.note_unreached(paths, used, used_frozen)
        _require_reached(plan, paths)
        if recorded_program() is not None:
            self._look(outputs.loss, leaves, batch)
            self._look_at_reads([outputs.loss, *outputs.carried, *tree.leaves(outputs.aux)], batch)
        return replace(outputs, gradients=_flat_gradients(plan, gradients))

    def _look(self, loss: Value, leaves: Sequence[Value], batch: Sequence[Any]) -> None:
        """Look at what the loss does with arrays from outside, with those of the model, and with
        the networks of other steps.
        """
        storage, trained = self.plan.storage, [p.place for p in self.plan.trained]
        weights = [leaves[place] for place in trained]
        for place, x in enumerate(batch):
            if place in self.stale_arguments.places:
                uses = argument_flow(loss, weights, leaves, tree.leaves(x))
                self.stale_arguments.note_flow(place, *uses)
        self.repeated_keys.note_draws(batch)
        flow = loss_flow(loss, weights, leaves)
        if flow is not None:
            warn_of_no_grad(flow.goes_through(flow.level.under_no_grad))
            self.note_outside(outside_uses(flow))
            self.note_part_uses(part_uses(flow, [path[0] for path in storage.paths], leaves))
            for i in trained:
                if warn_of_trained_mask(flow, storage.paths[i][0], storage.leaves[i], leaves[i]):
                    break

    def _look_at_reads(self, results: Sequence[Value], batch: Sequence[Any]) -> None:
        """Look at which leaves of a batch nothing that the loss returns is computed from."""
        names = leaf_names(self.plan.parameters.names(len(batch)), batch)
        read = used_by(results, tree.leaves(tuple(batch)))
        self.note_unread([name for name, is_read in zip(names, read, strict=True) if not is_read])

    def finished(
        self,
        before: LiveArrays[Value],
        differentiated: Differentiated,
        fixed: FixedArrays,
        scalars: Value,
    ) -> tuple[LiveArrays[Value], Value, Any]:
        """What `step` returns, from what was differentiated."""
        plan, gradients = self.plan, differentiated.gradients
        if plan.accumulate > 1:
            gradients = _accumulated(plan, gradients, before)
        norm = joint_length(gradients)
        after = replace(before, carried=differentiated.carried, gradients=gradients)
        if self.updates:
            with in_phase("update"):  # behind the boundary: written in place, if nothing failed
                after = updated(plan, self.columns, after, norm, fixed.unseen, scalars)
        after = replace(after, counts=_counted(plan, before.counts, self.updates))
        return after, op.stack([op.astype(differentiated.loss, float64), norm]), differentiated.aux


def _counted(plan: StepPlan, counts: Value, updates: bool) -> Value:
    """The counts after a call. They are committed with all else, so that whoever looks sees counts
    and arrays that belong together.
    """
    phase = 1 - plan.accumulate if updates else 1
    return op.add(counts, np.array([1, int(updates), phase]))


def flat_loss(
    plan: StepPlan,
    live: LiveArrays[Value],
    leaves: Sequence[Value],
    fixed: FixedArrays,
    batch: Sequence[Any],
    begun: Sequence[Any] = (),
) -> tuple[Flat, list[tree.Structure]]:
    """The loss as a function of the trained parameters, of all these leaves: it returns the loss,
    what is carried and the leaves of aux, whose form it adds to the list.
    """
    batch = [cast_floats(plan.cast, x) for x in batch]
    aux_structure: list[tree.Structure] = []

    def flat(*values: Value) -> Sequence[Value]:
        full = list(leaves)
        for parameter, x in zip(plan.trained, values, strict=True):
            full[parameter.place] = x
        model = plan.storage.tree(full)
        try:
            returned = call_loss(plan, model, live, fixed, batch, begun)
            plan.storage.require_unwritten("TrainStep", "model", full, model, returned)
            loss, carried, aux = read_results(returned, plan.carried, live.carried, plan.has_aux)
        except Exception as error:
            if plan.parameters.note:
                error.add_note(plan.parameters.note)
            if isinstance(error, TypeError) and str(error) == "'Tensor' object is not callable":
                error.add_note(_MODEL_FIRST)
            raise
        aux_leaves, structure = tree.flatten(tree.arrays(aux))
        aux_structure.append(structure)
        return [loss, *carried, *aux_leaves]

    return flat, aux_structure


def _differentiated(
    plan: StepPlan,
    live: LiveArrays[Value],
    leaves: Sequence[Value],
    fixed: FixedArrays,
    batch: Sequence[Any],
    weight: Value | None,
    begun: Sequence[Any],
) -> tuple[Differentiated, list[Value | None]]:
    """What a loss returns, and its gradients by the trained parameters, None where one has none."""
    flat, aux_structure = flat_loss(plan, live, leaves, fixed, batch, begun)
    outputs, pullback = vjp_flat(flat, [leaves[p.place] for p in plan.trained])
    dtype = outputs[0].dtype
    of_loss = np.ones((), dtype) if weight is None else op.astype(weight, dtype)
    gradients = pullback([of_loss, *[None] * (len(outputs) - 1)])
    count = 1 + len(live.carried)
    aux = tree.unflatten(aux_structure[-1], outputs[count:])
    return Differentiated(outputs[0], outputs[1:count], aux), gradients


def _require_reached(plan: StepPlan, unreached: Sequence[str]) -> None:
    """Refuse that gradients reach no trained parameter, or, under `strict`, not all of them."""
    if len(unreached) == len(plan.trained):
        order = "" if plan.carried is None else "Return (loss, state), the loss first. "
        raise MissingGradient(
            "TrainStep: no gradient reaches any trained parameter, so that nothing would be "
            f"trained; the loss must depend on the model that it receives. {order}Use that "
            "argument in the loss, not a variable from outside, and no argmax, comparison, "
            "conversion to integers or wg.stop_gradient around all of it."
        )
    if plan.strict and unreached:
        raise MissingGradient(
            f"TrainStep: no gradient reaches {', '.join(map(repr, unreached))}; strict=True "
            "asks that each parameter has one. Use them in the loss, freeze them with None, or "
            "leave strict out."
        )


def _flat_gradients(plan: StepPlan, gradients: Sequence[Value | None]) -> list[Value]:
    """One vector per segment; zeros where no gradient came."""
    rest = iter(gradients)
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
    plan: StepPlan, gradients: Sequence[Value], before: LiveArrays[Value]
) -> list[Value]:
    """The mean of gradients over the calls of an accumulation, as far as it has come. The first
    call overwrites what was there.
    """
    first = op.equal(count_at(before.counts, PHASE), 0)
    shares = [g / plan.accumulate for g in gradients]
    return [op.where(first, g, old + g) for g, old in zip(shares, before.gradients, strict=True)]
