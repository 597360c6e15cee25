"""How a step calls its loss: on a tree of its live arrays, and with what the loss asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wengert.core import tree
from wengert.core.dtypes import DType, is_float
from wengert.core.table import op
from wengert.core.types import Value
from wengert.functions.batch_statistics import noting_batch_statistics, noting_kept_statistics
from wengert.functions.dropout import noting_dropout, noting_idle_dropout
from wengert.interpret.mistakes.called_again import in_loss
from wengert.interpret.mistakes.used_values import used_as_floats
from wengert.interpret.trace import recorded_program
from wengert.ops.drawing.generator import Generator
from wengert.train.batch import AVERAGED, GENERATOR
from wengert.train.recorded.layers.drawn_keys import warn_of_uncarried_keys
from wengert.train.recorded.layers.dropped_statistics import warn_of_lost_statistics
from wengert.train.recorded.layers.first_statistics import warn_of_first_statistics
from wengert.train.recorded.layers.idle_dropouts import warn_of_idle_dropouts
from wengert.train.recorded.layers.uncarried_state import warn_of_uncarried_state
from wengert.train.recorded.step_arrays import CALLS, FixedArrays, LiveArrays
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.storage import Storage


def leaves_of(storage: Storage, weights: Sequence[Value], fixed: FixedArrays) -> list[Value]:
    """The distinct leaves of the model, as parts of their segments."""
    leaves: list[Value] = [None] * len(storage.leaves)
    for segments, flats in ((storage.trained, weights), (storage.frozen, fixed.frozen)):
        for segment, flat in zip(segments, flats, strict=True):
            for parameter in segment.parameters:
                leaves[parameter.place] = parameter.view(flat)
    for place, x in zip(storage.data, fixed.data, strict=True):
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


def call_loss(
    plan: StepPlan,
    model: Any,
    live: LiveArrays[Value],
    fixed: FixedArrays,
    batch: Sequence[Any],
    begun: Sequence[Any] = (),
) -> Any:
    """What the loss returns for a model. `begun` are the numbers that the carried state has while
    the loss is recorded.
    """
    state = () if plan.carried is None else (tree.unflatten(plan.carried, live.carried),)
    given: dict[str, Any] = {}
    if plan.parameters.wants_rng:
        given[GENERATOR] = Generator(op.fold_in(fixed.key, count_at(live.counts, CALLS)))
    if plan.parameters.wants_averaged:
        averages = averages_of(plan.storage, live.weights, live.states)
        given[AVERAGED] = plan.storage.tree(leaves_of(plan.storage, averages, fixed))
    with (
        noting_idle_dropout() as idle,
        noting_dropout() as dropping,
        noting_batch_statistics() as normalizing,
        noting_kept_statistics() as kept,
        in_loss(),
    ):
        returned = plan.parameters.call(plan.loss, [model, *state, *batch], given)
    if normalizing:
        warn_of_lost_statistics(normalizing, model, returned, plan.carried is not None)
    if kept and recorded_program() is not None:
        numbers = zip(map(id, live.carried), begun, strict=False)
        warn_of_first_statistics(kept, normalizing, dict(numbers))
    if state and recorded_program() is not None:
        paths = tree.paths(state[0])
        warn_of_uncarried_state(paths, live.carried, returned, batch, normalizing)
        warn_of_uncarried_keys(paths, live.carried, returned)
    if idle:
        warn_of_idle_dropouts(idle, dropping, model, batch, returned, given.get(GENERATOR))
    _warn_of_integers(plan.storage, fixed)
    return returned


def _warn_of_integers(storage: Storage, fixed: FixedArrays) -> None:
    """Warn of integers in the model that the loss has just used as floats, without converting
    them on purpose.
    """
    for place, x in zip(storage.data, fixed.data, strict=True):
        used, line = used_as_floats(x)
        if used:
            storage.warn_of_integers(place, line)


def cast_floats(dtype: DType | None, x: Any) -> Any:
    """A batch argument with its floats in the model's dtype."""
    if dtype is None:
        return x
    return tree.map(lambda v: op.astype(v, dtype) if _is_other_float(v, dtype) else v, x)


def _is_other_float(x: Any, dtype: DType) -> bool:
    return is_float(x.dtype) and x.dtype != dtype


def count_at(counts: Value, place: int) -> Value:
    """One of the counts, as a scalar."""
    return op.reshape(counts[place : place + 1], ())
