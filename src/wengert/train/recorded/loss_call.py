"""How a step calls its loss: on a tree of its live arrays, and with what the loss asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wengert.core import tree
from wengert.core.dtypes import DType, is_float
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value
from wengert.core.words.source import Line
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning
from wengert.functions.batch_statistics import (
    BatchStatistics,
    noting_batch_statistics,
    noting_kept_statistics,
)
from wengert.functions.dropout import noting_dropout, noting_idle_dropout
from wengert.interpret.mistakes.called_again import in_loss
from wengert.interpret.mistakes.used_values import used_as_floats
from wengert.interpret.trace import Trace, recorded_program
from wengert.ops.drawing.generator import Generator
from wengert.train.batch import AVERAGED, GENERATOR
from wengert.train.recorded.first_statistics import warn_of_first_statistics
from wengert.train.recorded.idle_dropouts import warn_of_idle_dropouts
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
        _warn_of_shared_statistics(normalizing)
        _warn_of_dropped_statistics(normalizing, returned, plan.carried is not None)
    if kept and recorded_program() is not None:
        numbers = zip(map(id, live.carried), begun, strict=False)
        warn_of_first_statistics(kept, normalizing, dict(numbers))
    if idle:
        warn_of_idle_dropouts(idle, dropping, model, batch, returned, given.get(GENERATOR))
    _warn_of_integers(plan.storage, fixed)
    return returned


def dropped_statistics(
    normalizing: Sequence[BatchStatistics], returned: Any
) -> Iterator[Line | None]:
    """Where layers make running statistics that nothing that was returned is computed from."""
    for line, running, _, _ in normalizing:
        while isinstance(running, Tensor) and not isinstance(running.level, Trace):
            running = running._value  # it depends on the model: the statistics before it are there
        level = getattr(running, "level", None)
        if isinstance(level, Trace) and running.handle not in _read_for(level, returned):
            yield line


def _warn_of_dropped_statistics(
    normalizing: Sequence[BatchStatistics], returned: Any, carries: bool
) -> None:
    """Warn of running statistics that the loss drops: who predicts by them has those of the
    beginning.
    """
    for line in dropped_statistics(normalizing, returned):
        repair = (
            "Return it: return value, new_state"
            if carries
            else "Carry it: TrainStep(…, state=norm.initial_state()), "
            "def loss(model, state, x, y): …; return value, new_state"
        )
        warn_user(
            "BatchNorm: the new state of a layer with training=True is not what the loss of a "
            "TrainStep returns; its running mean and variance stay what they are, and predictions "
            f"with training=False will be wrong. {repair}.",
            BatchNormWarning,
            line,
        )


def _warn_of_shared_statistics(normalizing: Sequence[BatchStatistics]) -> None:
    """Warn of a layer that goes on from the running statistics of another one."""
    for i, each in enumerate(normalizing):
        if any(each.before is x.running and each.layer is not x.layer for x in normalizing[:i]):
            warn_user(
                "BatchNorm: given the new state of another layer as its own; one running mean and "
                "variance for both is that of neither, and predictions with training=False will be "
                'wrong. Keep a state for each: state={"first": first.initial_state(), "second": '
                "second.initial_state()}.",
                BatchNormWarning,
                each.line,
            )
            return


def _read_for(level: Trace, returned: Any) -> set[int]:
    """The numbers of all nodes that what was returned is computed from."""
    leaves = [x for x in tree.leaves(returned) if isinstance(x, Tensor)]
    for i, x in enumerate(leaves):
        while isinstance(x._value, Tensor) and x.level is not level:
            x = x._value
        leaves[i] = x
    needed = {x.handle for x in leaves if x.level is level}
    for number in range(len(level.graph.nodes) - 1, -1, -1):
        if number in needed:
            needed.update(i for i in level.graph.nodes[number].operands if i is not None)
    return needed


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
