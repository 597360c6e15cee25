"""Stacked batches and states: one for each member, given without `each`. Every member would be
trained on all batches as one, and carry all states, which most losses accept without a word.

A batch is taken for a stack of them where it has two arrays or more, which all begin with as many
entries as there are members, and go on with the same number of rows; one of them has a third axis,
as rows of features have; and the loss is as content with what one member would be given. Beside
arrays that all members have in common, or that each has of its own, one array may be a stack: it
begins with the number of members and then has the rows of the others, and the loss spreads what it
has of each row along the members to meet it. A state is taken for one where all its arrays begin
with as many entries, and the loss carries one of them on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.dims import Shape
from wengert.core.graph import Graph, Node
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.words.warn import warn_user
from wengert.errors import StackedWarning
from wengert.interpret.trace import trace_flat
from wengert.train.batch import FunctionParameters, leaf_names
from wengert.train.engine import Engine
from wengert.train.ensemble.each import Each, of_member
from wengert.train.recorded.loss_call import call_loss, leaves_of
from wengert.train.recorded.step_plan import StepPlan
from wengert.train.recorded.step_results import read_results


def warn_of_stacked(
    by: str, engine: Engine, arguments: Sequence[Any], members: int, plan: StepPlan | None = None
) -> None:
    """Warn where arguments for all members look like a stack of those for each; of the loss, or of
    a function in its place.
    """
    if members == 1 or all(isinstance(x, Each) for x in arguments):
        return
    given = _of_first_member(arguments, members)
    if not any(np.ndim(x) > 1 for x in tree.leaves(given) if isinstance(x, np.ndarray)):
        return
    own = _arrays(x for x, y in zip(given, arguments, strict=True) if isinstance(y, Each))
    arrays = _arrays(x for x, y in zip(given, arguments, strict=True) if not isinstance(y, Each))
    alike = not own and _are_alike(arrays, members) and any(np.ndim(x) > 2 for x in arrays)
    stacked = arrays if alike else _beside_others(arrays, own, members)
    ids = {id(x) for x in stacked}
    batch = tree.map(lambda x: x[0] if id(x) in ids else x, given)
    carried, what = engine.arrays.carried, "loss" if plan is None else "function"
    if not stacked or _recorded(engine, batch, carried, plan) is None:
        return
    if not alike and not _spreads(engine, given, stacked, plan):
        return
    all_names = (plan or engine.plan).parameters.names(len(given))
    names = leaf_names(all_names, given)
    leaves = zip(names, tree.leaves(given), strict=True)
    shown = " and ".join(f"{name!r} of shape {np.shape(x)}" for name, x in leaves if id(x) in ids)
    in_list = any(isinstance(x, list | tuple) for x in arguments)
    stack = "wg.train.each(np.stack(x))" if in_list else "wg.train.each(x)"
    warn_user(
        f"{by}: given {shown} for all {members} members; every member takes all of it as one "
        f"batch, though it has {members} entries in front, and the {what} could be given one "
        f"of them. Write {stack} to give x[i] to member i; if it is one batch, filter "
        "wg.errors.StackedWarning.",
        StackedWarning,
    )


def in_place_of_loss(engine: Engine, f: Callable[..., Any], has_state: bool) -> StepPlan:
    """The plan of a step with a function of the model, and of the state where it has one, in the
    place of its loss.
    """
    carried = engine.plan.carried if has_state else None
    parameters = FunctionParameters(f, has_state, engine.plan.storage.averages, True)
    return replace(engine.plan, loss=f, parameters=parameters, carried=carried)


def warn_of_stacked_state(by: str, engine: Engine, arguments: Sequence[Any], members: int) -> None:
    """Warn where a state that all members begin with looks like a stack of those for each."""
    carried = engine.arrays.carried
    if members == 1 or not carried or any(np.shape(x)[:1] != (members,) for x in carried):
        return
    batch = tree.with_numpy(of_member(arguments, 0))
    if _recorded(engine, batch, [x[0] for x in carried]) is None:
        return
    shown = " and ".join(str(np.shape(x)) for x in carried[:3])
    warn_user(
        f"{by}: given a state of shape {shown} for all {members} members; every member carries all "
        f"of it, though it has {members} entries in front, and the loss could carry one of them. "
        "Write state=wg.train.each(state) to give state[i] to member i; if all is meant for each, "
        "filter wg.errors.StackedWarning.",
        StackedWarning,
    )


def _of_first_member(arguments: Sequence[Any], members: int) -> tuple[Any, ...]:
    return tuple(
        tree.with_numpy(x.of(0) if isinstance(x, Each) else _as_array(x, members))
        for x in arguments
    )


def _arrays(given: Iterable[Any]) -> list[Any]:
    return [x for x in tree.leaves([*given]) if np.ndim(x) > 0]


def _as_array(x: Any, members: int) -> Any:
    """A list of an array for each member as the stack that NumPy makes of it in the loss."""
    if isinstance(x, list | tuple) and len(x) == members:
        shapes = {each.shape if isinstance(each, np.ndarray) else None for each in x}
        if len(shapes) == 1 and None not in shapes:
            return np.stack(x)
    return x


def _are_alike(arrays: Sequence[Any], members: int) -> bool:
    """Whether all have an axis of members in front, and then one of the same rows."""
    if len(arrays) < 2:
        return False
    begin, *others = {np.shape(x)[:2] for x in arrays}
    return not others and len(begin) == 2 and begin[0] == members and begin[1] > 1


def _beside_others(arrays: Sequence[Any], own: Sequence[Any], members: int) -> list[Any]:
    """Arrays that have an axis of members in front of the rows which all others begin with: those
    that all have in common, or, where each member has some of its own, these.
    """
    others = own or [x for x in arrays if np.shape(x)[0] != members]
    rows = {np.shape(x)[0] for x in others}
    stacked = [x for x in arrays if np.shape(x)[0] == members]
    if len(rows) != 1 or any(np.shape(x)[1:2] != (*rows,) for x in stacked):
        return []
    if rows <= {1, members}:  # as many rows as members: they may be rows themselves
        return []
    return stacked


def _spreads(
    engine: Engine, batch: tuple[Any, ...], stacked: Sequence[Any], plan: StepPlan | None
) -> bool:
    """Whether the loss computes with an array of a stack and with one of lower rank that has its
    rows, which meets every entry of the stack.
    """
    graph = _recorded(engine, batch, engine.arrays.carried, plan)
    if graph is None:
        return False
    ids, leaves = {id(x) for x in stacked}, tree.leaves(batch)
    inputs = graph.inputs[-len(leaves) :]  # behind what is captured
    of_stack = {n for n, x in zip(inputs, leaves, strict=True) if id(x) in ids}
    begins = {np.shape(x)[:2] for x in stacked}
    for number, node in enumerate(graph.nodes):
        operands = [i for i in node.operands if i is not None]
        shape = _shape(node)
        if of_stack.isdisjoint(operands) or shape[:2] not in begins:
            continue
        met = [_shape(graph.nodes[i]) for i in operands if i not in of_stack]
        of_stack.add(number)
        axes = shape[1:]
        if node.op.kind == "elementwise" and any(
            len(other) == len(axes) and other[0] == axes[0] for other in met
        ):
            return True
    return False


def _shape(node: Node) -> Shape:
    return node.type.shape if isinstance(node.type, ArrayType) else ()


def _recorded(
    engine: Engine,
    batch: tuple[Any, ...],
    carried: Sequence[Any],
    function: StepPlan | None = None,
) -> Graph | None:
    """The loss of this batch and this state, if it takes the batch, and carries the state on; or
    the function in its place.
    """
    leaves, structure = tree.flatten(batch)
    plan, fixed = function or engine.plan, engine.fixed
    live = replace(engine.arrays, carried=carried)
    model = leaves_of(plan.storage, live.weights, fixed)

    def loss(*values: Value) -> list[Value]:
        arguments = tree.unflatten(structure, values)
        returned = call_loss(plan, plan.storage.tree(list(model)), live, fixed, arguments)
        if function is not None:
            return tree.leaves(returned)
        return [read_results(returned, plan.carried, live.carried, plan.has_aux)[0]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            types = [type_of(x) for x in leaves]
            return trace_flat(loss, types, [f"x{i}" for i in range(len(leaves))])[0]
        except Exception:  # whatever the loss finds wrong with it
            return None
