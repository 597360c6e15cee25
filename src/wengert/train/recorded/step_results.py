"""What a loss returned: the loss itself, the state it carries on, and aux."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.api.one_float import require_one_float
from wengert.core import tree
from wengert.core.bind import located
from wengert.core.dims import Dim
from wengert.core.table import op
from wengert.core.types import Value
from wengert.errors import DTypeError, ShapeError, TraceError
from wengert.runtime.signature import LEAF_MARK


def read_results(
    returned: Any, carried: tree.Structure | None, before: Sequence[Value], has_aux: bool
) -> tuple[Value, list[Value], Any]:
    """(loss, leaves of the new state, aux), each checked."""
    names = ["loss", *["state"] * (carried is not None), *["aux"] * has_aux]
    if len(names) == 1:
        _require_no_tuple(returned)
        parts = [returned]
    elif isinstance(returned, tuple) and len(returned) == len(names):
        parts = list(returned)
    else:
        what = f"{len(returned)} values" if isinstance(returned, tuple) else _name(returned)
        raise located(
            TraceError(
                f"TrainStep: the loss returned {what}; with {_options(carried, has_aux)} it must "
                f"return ({', '.join(names)}). Return these, or leave the option out."
            ),
            tree.leaves(returned),
        )
    if carried is not None:
        _require_loss_first(names, parts, carried, before)
    state = [] if carried is None else _new_state(parts[1], carried, before)
    loss = require_one_float("TrainStep", "the loss", parts[0])
    return loss, state, with_sizes(parts[-1]) if has_aux else None


def with_sizes(returned: Any) -> Any:
    """The tree with its open sizes turned into numbers that the program computes."""
    leaves, structure = tree.flatten(returned)
    if not any(isinstance(x, Dim) for x in structure.static):
        return returned
    rest = iter(leaves)
    values = [
        next(rest) if x is LEAF_MARK else op.multiply(x, 1) if isinstance(x, Dim) else x
        for x in structure.static
    ]
    marks = tuple(
        LEAF_MARK if x is LEAF_MARK or isinstance(x, Dim) else x for x in structure.static
    )
    taken = [v for v, mark in zip(values, marks, strict=True) if mark is LEAF_MARK]
    return tree.unflatten(tree.Structure(structure.spec, marks), taken)


def _options(carried: tree.Structure | None, has_aux: bool) -> str:
    given = ["state=" * (carried is not None), "has_aux=True" * has_aux]
    return " and ".join(filter(None, given))


def _name(x: Any) -> str:
    return "one array" if tree.is_leaf(x) else type(x).__name__


def _require_no_tuple(returned: Any) -> None:
    if isinstance(returned, tuple):
        error = TraceError(
            f"TrainStep: the loss returned a tuple of {len(returned)}; it must return one scalar. "
            "Pass has_aux=True if it returns (loss, aux), and state= if it carries a state."
        )
        raise located(error, tree.leaves(returned))


def _require_loss_first(
    names: Sequence[str], parts: Sequence[Any], carried: tree.Structure, before: Sequence[Value]
) -> None:
    """Refuse (state, loss), where it can be seen that the two have changed places."""
    if tree.is_leaf(parts[0]) and tuple(parts[0].shape) == ():
        return
    first, second = (tree.flatten(tree.arrays(each)) for each in parts[:2])
    shapes = [tuple(x.shape) for x in before]
    is_state, is_other = (
        structure == carried and [tuple(x.shape) for x in leaves] == shapes
        for leaves, structure in (first, second)
    )
    if is_state and not is_other and tree.is_leaf(parts[1]) and tuple(parts[1].shape) == ():
        raise located(
            TraceError(
                "TrainStep: the loss returned the state first, and then one number; with state= "
                f"the loss comes first. Return ({', '.join(names)})."
            ),
            [parts[1]],
        )


def _new_state(returned: Any, carried: tree.Structure, before: Sequence[Value]) -> list[Value]:
    leaves, structure = tree.flatten(tree.arrays(returned))
    if structure != carried:
        raise located(
            TraceError(
                f"TrainStep: the state goes in as {carried} and comes out as {structure}; its "
                "structure must stay the same. Return a tree of the same form."
            ),
            leaves,
        )
    for path, x, old in zip(tree.paths(returned), leaves, before, strict=True):
        if tuple(x.shape) != tuple(old.shape) or x.dtype != old.dtype:
            where = f"leaf {path!r} of the state" if path else "the state"
            kind = DTypeError if tuple(x.shape) == tuple(old.shape) else ShapeError
            raise located(
                kind(
                    f"TrainStep: {where} goes in as {old.dtype}{tuple(old.shape)} and comes out "
                    f"as {x.dtype}{tuple(x.shape)}; its shapes and dtypes must stay the same. "
                    "Convert it with reshape or astype before returning it."
                ),
                [x],
            )
    return leaves
