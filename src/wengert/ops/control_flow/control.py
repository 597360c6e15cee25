"""Branches and recomputed regions: ops whose parameters are graphs.

Bodies are recorded once. Outer values a body uses become operands, so every derivative of these ops
is again one of these ops with the derivative of the body inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import located, recording_level
from wengert.core.define import primitive
from wengert.core.dtypes import bool_
from wengert.core.graph import Graph
from wengert.core.lowering import Bodies
from wengert.core.op_parts.batching import BatchedCall, repeated
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.values.number import plain_operand
from wengert.errors import DTypeError, ShapeError
from wengert.interpret.bodies.batched_bodies import batched_body, chosen, marked, run_body
from wengert.interpret.bodies.body import (
    close,
    filled,
    float_wanted,
    gradient_of,
    require_given,
    scatter,
    spread,
    tangent_of,
    with_captured,
)
from wengert.interpret.eagerness import is_eager
from wengert.interpret.replay import apart, replay


def _narrow(params: dict[str, Any], read: Sequence[bool]) -> tuple[dict[str, Any], list[int]]:
    """Bodies that return only what is read."""
    kept = [i for i, each in enumerate(read) if each]
    bodies = {
        name: Graph([*body.nodes], [*body.inputs], [body.returns[i] for i in kept])
        for name, body in params.items()
    }
    return bodies, kept


# A region: a body that is run as it is, and run again instead of kept when it is differentiated.


def _region_type(*operands: Any, body: Graph) -> tuple[ArrayType, ...]:
    require_given("region", operands, body.input_types())
    return tuple(body.output_types())


def _region_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: dict[str, Any], wanted: Sequence[bool]
) -> Sequence[Value]:
    body: Graph = params["body"]
    want = float_wanted(body.input_types(), wanted)
    gradient = gradient_of(body, want)
    gs = filled(g, body.output_types())
    return scatter(region.rebind([*operands, *gs], {"body": gradient}), want)


def _region_jvp(
    tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: dict[str, Any]
) -> Sequence[Value]:
    body: Graph = params["body"]
    tangent = tangent_of(body)
    ds = filled(tangents, body.input_types())
    return spread(region.rebind([*operands, *ds], {"body": tangent}), body.output_types())


def _region_of_each(call: BatchedCall) -> Any:
    body = batched_body(call.params["body"], call.size, tuple(call.batched))
    return marked(call.again(call.operands, body=body.graph), body.batched)


def _front_region(function: Callable[..., Any], *args: Any) -> Any:
    """Run `function` as a region: nothing inside it is kept for the backward pass. In eager mode it
    is just called, so that it sees values.
    """
    if is_eager() and recording_level() is None:
        return tree.arrays(function(*args))
    leaves, places = tree.distinct_leaves(args)
    structure, types = tree.flatten(args)[1], [type_of(x) for x in leaves]
    body, returned, captured = close(
        "checkpoint", function, structure, types, places=places, given=leaves
    )
    return tree.unflatten(returned, region.rebind([*captured, *leaves], {"body": body}))


@primitive(
    numpy=lambda *operands, body: tuple(apart(replay(body, operands), operands)),
    type=_region_type,
    front=_front_region,
    vjp_flat=_region_vjp,
    jvp_flat=_region_jvp,
    narrow=_narrow,
    space="hidden",
    batch=_region_of_each,
)
def region(*operands: Any, body: Graph) -> None:
    """A part of the program whose values are recomputed, not kept, for its backward pass."""


# A branch: one of two bodies with the same operands and outputs of the same types.


def _cond_numpy(condition: Any, *operands: Any, then: Graph, orelse: Graph) -> Any:
    return tuple(apart(replay(then if bool(condition) else orelse, operands), operands))


def _cond_type(condition: Any, *operands: Any, then: Graph, orelse: Graph) -> tuple[ArrayType, ...]:
    for body in (then, orelse):
        wanted = [ArrayType((), bool_), *body.input_types()]
        require_given("cond", (condition, *operands), wanted)
    ours, theirs = then.output_types(), orelse.output_types()
    if ours != theirs:
        raise ShapeError(
            f"cond: the branches return {ours} and {theirs}; both must return the same types. "
            "Convert one with reshape or astype."
        )
    return tuple(ours)


def _cond_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: dict[str, Any], wanted: Sequence[bool]
) -> Sequence[Value]:
    then = params["then"]
    want = float_wanted(then.input_types(), wanted[1:])
    bodies = {name: gradient_of(body, want) for name, body in params.items()}
    gs = filled(g, then.output_types())
    return [None, *scatter(cond.rebind([*operands, *gs], bodies), want)]


def _cond_jvp(
    tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: dict[str, Any]
) -> Sequence[Value]:
    bodies = {name: tangent_of(body) for name, body in params.items()}
    ds = filled(tangents[1:], params["then"].input_types())
    return spread(cond.rebind([*operands, *ds], bodies), params["then"].output_types())


def _branch_of_each(call: BatchedCall) -> Any:
    """Where the condition differs between examples, both branches are computed for all of them."""
    (condition, *operands), flags = call.operands, tuple(call.batched[1:])
    bodies = [call.params[name] for name in ("then", "orelse")]
    if call.batched[0]:
        with np.errstate(all="ignore"):  # what NumPy warns of may be in the branch not taken
            results = [run_body(body, call.size, operands, flags) for body in bodies]
        return tuple(
            chosen(condition, *(x if b else repeated(x, call.size) for x, b in pair))
            for pair in zip(*(zip(*each, strict=True) for each in results), strict=True)
        )
    differs = [batched_body(body, call.size, flags).batched for body in bodies]
    wanted = tuple(a or b for a, b in zip(*differs, strict=True))
    then, orelse = (batched_body(body, call.size, flags, wanted).graph for body in bodies)
    return marked(call.again(call.operands, then=then, orelse=orelse), wanted)


def _front_cond(
    condition: Any, then: Callable[..., Any], orelse: Callable[..., Any], *args: Any
) -> Any:
    """Branch on a 0-d condition: `then(*args)` where it holds, else `orelse(*args)`."""
    if np.shape(condition) != ():
        error = ShapeError(
            f"cond: the condition has shape {np.shape(condition)}; it must be one bool. "
            "Use wg.where to choose element by element."
        )
        raise located(error, [condition])
    for name, given in (("then", then), ("orelse", orelse)):
        if not callable(given):
            raise DTypeError(
                f"cond: given {type(given).__name__} as {name}; then and orelse are functions of "
                "the arguments behind them. Write wg.cond(a > 0, lambda a: a, lambda a: -a, a), or "
                "wg.where(a > 0, a, -a) of two values."
            )
    condition = plain_operand(condition)
    if not isinstance(condition, Tensor):
        return (then if bool(condition) else orelse)(*args)
    leaves, places = tree.distinct_leaves(args)
    structure, types = tree.flatten(args)[1], [type_of(x) for x in leaves]
    (first, ours, used), (second, theirs, used_too) = (
        close("cond", function, structure, types, whole=True, places=places, given=leaves)
        for function in (then, orelse)
    )
    if ours != theirs or first.output_types() != second.output_types():
        error = ShapeError(
            f"cond: the branches return {_types(ours, first)} and {_types(theirs, second)}; both "
            "must return the same tree of the same types. Convert one with reshape or astype."
        )
        raise located(error, [condition])
    captured = list({id(x): x for x in (*used, *used_too)}.values())
    bodies = {
        "then": with_captured(first, used, captured),
        "orelse": with_captured(second, used_too, captured),
    }
    return tree.unflatten(
        ours, cond.rebind([op.astype(condition, bool), *captured, *leaves], bodies)
    )


def _types(structure: tree.Structure, graph: Graph) -> Any:
    return tree.unflatten(structure, graph.output_types())


@primitive(
    numpy=_cond_numpy,
    type=_cond_type,
    front=_front_cond,
    vjp_flat=_cond_vjp,
    jvp_flat=_cond_jvp,
    narrow=_narrow,
    lower=Bodies("cond", ("then", "orelse")),
    batch=_branch_of_each,
)
def cond(*operands: Any, then: Graph, orelse: Graph) -> None:
    """One of two functions of the same arguments, chosen by a condition at run time.

    >>> cond(np.bool_(True), lambda x: x + 1, lambda x: x - 1, 2.0)
    3.0
    """
