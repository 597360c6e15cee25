"""Dropped statistics: a BatchNorm makes new running statistics of each batch, and the loss returns
them to be carried on. Where it does not, or two layers share them, predictions will be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.core import tree
from wengert.core.tensor import Tensor
from wengert.core.words.warn import warn_user
from wengert.errors import BatchNormWarning
from wengert.functions.batch_statistics import BatchStatistics
from wengert.interpret.trace import Trace
from wengert.train.recorded.layers.parameter_flow import ParameterFlow, slot_on, tape_of


def dropped_statistics(
    normalizing: Sequence[BatchStatistics], returned: Any
) -> list[BatchStatistics]:
    """Where layers make running statistics that nothing that was returned is computed from."""
    dropped = []
    for each in normalizing:
        running = each.running
        while isinstance(running, Tensor) and not isinstance(running.level, Trace):
            running = running._value  # it depends on the model: the statistics before it are there
        level = getattr(running, "level", None)
        if isinstance(level, Trace) and running.handle not in _read_for(level, returned):
            dropped.append(each)
    return dropped


def warn_of_lost_statistics(
    normalizing: Sequence[BatchStatistics], model: Any, returned: Any, carries: bool
) -> None:
    """Warn of running statistics that the loss drops, or mixes: who predicts by them has those of
    the beginning, or of another layer.
    """
    dropped = dropped_statistics(normalizing, returned)
    _warn_of_shared_statistics(normalizing, dropped)
    for each in _without_others(dropped, normalizing, model) if dropped else ():
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
            each.line,
        )


def _without_others(
    dropped: Sequence[BatchStatistics], normalizing: Sequence[BatchStatistics], model: Any
) -> list[BatchStatistics]:
    """Those of layers that are trained here, and whose statistics no other pass keeps. An attack or
    a penalty leaves them alone, and a network of another step, or the average, has its own.
    """
    tape = tape_of(model)
    if tape is None:
        return list(dropped)
    flow = ParameterFlow(tape)

    def parameters(each: BatchStatistics) -> set[int]:
        slot = slot_on(tape, each.layer)
        return set() if slot is None else flow.varied(slot) & tape.watched

    kept = [each for each in normalizing if not any(each is other for other in dropped)]
    carried = {slot for each in kept for slot in parameters(each)}
    return [each for each in dropped if parameters(each) - carried]


def _warn_of_shared_statistics(
    normalizing: Sequence[BatchStatistics], dropped: Sequence[BatchStatistics]
) -> None:
    """Warn of a layer that goes on from the running statistics of another one."""
    for i, each in enumerate(normalizing):
        if any(each is other for other in dropped):  # nobody has them
            continue
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
