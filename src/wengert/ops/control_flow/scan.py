"""A loop over time with a recorded body, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import at_line, located, recording_level
from wengert.core.define import primitive
from wengert.core.dims import Dim, Size, solve, substitute
from wengert.core.dtypes import DType, int64
from wengert.core.graph import Graph
from wengert.core.lowering import Bodies
from wengert.core.table import op
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.words.source import user_line
from wengert.errors import ShapeError, TraceError
from wengert.interpret.bodies.body import (
    close,
    derive,
    filled,
    float_wanted,
    floats,
    require_given,
    scatter,
    split,
    spread,
    zeros,
)
from wengert.interpret.bodies.body_state import Repairs
from wengert.interpret.bodies.carry import (
    looked_after,
    require_carry,
    require_structure,
    settled,
    stacked,
)
from wengert.interpret.bodies.loops import IndexNeeded, Loop
from wengert.interpret.bodies.stepwise import run_steps
from wengert.interpret.eagerness import is_eager
from wengert.interpret.printing import at_step
from wengert.interpret.replay import apart, replay
from wengert.ops.control_flow.batched_loops import scan_of_each
from wengert.ops.control_flow.loop_steps import LoopParts, adjoint_step, tangent_step


def _scan_type(
    *operands: Any, body: Graph, consts: Any, carry: Any, length: Any, reverse: Any, save: Any
) -> tuple[ArrayType, ...]:
    inputs = body.input_types()
    counts = (consts, carry, len(inputs) - consts - carry)
    numbers = all(type(each) is int and each >= 0 for each in counts)
    steps = type(length) is Dim or (type(length) is int and length >= 0)
    if not numbers or not steps or type(reverse) is not bool or type(save) is not bool:
        raise ShapeError(
            f"scan: given consts={consts}, carry={carry}, length={length}, reverse={reverse} and "
            f"save={save} for a body of {len(inputs)} inputs; these are two counts of inputs, a "
            "size and two truths. Call wg.scan with a function."
        )
    whole, rows = inputs[: consts + carry], inputs[consts + carry :]
    taken = [ArrayType((), int64)] if len(operands) > len(inputs) else []
    require_given("scan", operands, [*whole, *stacked(length, rows), *taken])
    return _output_types(body=body, consts=consts, carry=carry, length=length, save=save)


def _output_types(**params: Any) -> tuple[ArrayType, ...]:
    body, count, length = params["body"], params["carry"], params["length"]
    outputs = body.output_types()
    carried = body.input_types()[params["consts"] : params["consts"] + count]
    require_carry("scan", carried, outputs[:count])
    saved = stacked(length, outputs[:count]) if params["save"] else []
    return (*outputs[:count], *stacked(length, outputs[count:]), *saved)


def _scan_numpy(*operands: Any, **params: Any) -> tuple[Any, ...]:
    body, consts, count = params["body"], params["consts"], params["carry"]
    given, taken = _counted(body, operands)
    length = params["length"]
    steps = min(max(int(taken[0]), 0), length) if taken else length
    fixed, xs = given[:consts], given[consts + count :]
    carry: Sequence[Any] = given[consts : consts + count]
    sizes = _sizes(body, [*fixed, *carry, *xs], consts + count)
    types = _output_types(**params)[count:]
    stacks = [np.zeros(substitute(t.shape, sizes), t.dtype) for t in types]
    ys, saved = stacks[: len(body.returns) - count], stacks[len(body.returns) - count :]
    for t in reversed(range(steps)) if params["reverse"] else range(steps):
        for stack, x in zip(saved, carry, strict=False):
            stack[t] = x
        with at_step(t):
            out = replay(body, [*fixed, *carry, *(x[t] for x in xs)])
        carry = out[:count]
        for stack, y in zip(ys, out[count:], strict=True):
            stack[t] = y
    return (*apart(map(np.asarray, carry), operands), *stacks)


def _counted(body: Graph, values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """The operands that bodies take, and the number of steps that are taken: an operand behind the
    others, where it is known at run time only. It is at most the length.
    """
    return values[: len(body.inputs)], values[len(body.inputs) :]


def _sizes(body: Graph, operands: Sequence[Any], whole: int) -> dict[str, Size]:
    """The numbers behind the Dims of a body, from its operands: xs come with an axis in front."""
    sizes: dict[str, Size] = {}
    if body.has_dims:
        for i, (t, x) in enumerate(zip(body.input_types(), operands, strict=True)):
            solve(t.shape, x.shape if i < whole else x.shape[1:], sizes)
    return sizes


def _narrow(params: dict[str, Any], read: Sequence[bool]) -> tuple[dict[str, Any], list[int]]:
    """The loop without the ys and saved carries that nobody reads; the carry goes round anyway."""
    body, count = params["body"], params["carry"]
    outputs = len(body.returns)
    kept = [i for i in range(outputs) if i < count or read[i]]
    shorter = Graph([*body.nodes], [*body.inputs], [body.returns[i] for i in kept])
    save = any(read[outputs:])
    saved = range(outputs, len(read)) if save else ()
    return params | {"body": shorter, "save": save}, [*kept, *saved]


class _Parts(LoopParts):
    """Operands, outputs and types of a scan, by role."""

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.length = params["length"]

    def outputs(self, values: Sequence[Value]) -> tuple[Any, Any, Any]:
        """(last carry, ys, saved carries)"""
        end = self.carry + len(self.y_types)
        return values[: self.carry], values[self.carry : end], values[end:]


def _scan_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: dict[str, Any], wanted: Sequence[bool]
) -> Sequence[Value]:
    """The adjoint loop runs the other way: it carries the cotangents of the carry and of the
    constants.
    """
    p = _Parts(params)
    consts, _init, xs = p.operands(operands)
    _last, _ys, saved = p.outputs(out)
    g_last, g_ys, g_saved = p.outputs(g)
    want = float_wanted(p.const_types, wanted[: p.consts])
    used = any(g is not None for g in g_saved)  # mostly not: only rules of this op read them
    body = derive(p.body, ("scan_vjp", want, used), lambda: adjoint_step(p, want, used))
    g_carry = filled(g_last, p.carry_types)
    g_consts = [zeros(t) for t, w in zip(p.const_types, want, strict=True) if w]
    per_step = [*saved, *xs, *filled(g_ys, stacked(p.length, p.y_types))]
    per_step += filled(g_saved, stacked(p.length, p.carry_types)) if used else []
    gradients = scan.rebind(
        [*consts, *g_carry, *g_consts, *per_step, *_counted(p.body, operands)[1]],
        {
            "body": body,
            "consts": p.consts,
            "carry": len(g_carry) + len(g_consts),
            "length": p.length,
            "reverse": not params["reverse"],
            "save": False,
        },
    )
    end = len(g_carry) + len(g_consts)
    gx = spread(gradients[end:], p.x_types)
    return [
        *scatter(gradients[len(g_carry) : end], want),
        *spread(gradients[: len(g_carry)], p.carry_types),
        *gx,
        *(None for _ in _counted(p.body, operands)[1]),
    ]


def _scan_jvp(
    tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: dict[str, Any]
) -> Sequence[Value]:
    """One loop carries primals and tangents."""
    p = _Parts(params)
    consts, init, xs = p.operands(operands)
    d_consts, d_init, d_xs = p.operands(tangents)
    d_carry = filled(d_init, p.carry_types)
    body = derive(p.body, ("scan_jvp", params["save"]), lambda: tangent_step(p, params["save"]))
    results = scan.rebind(
        [
            *[*consts, *filled(d_consts, p.const_types)],
            *[*init, *d_carry],
            *[*xs, *filled(d_xs, stacked(p.length, p.x_types))],
            *_counted(p.body, operands)[1],
        ],
        params
        | {
            "body": body,
            "consts": p.consts + len(floats(p.const_types)),
            "carry": p.carry + len(d_carry),
            "save": False,
        },
    )
    end = p.carry + len(d_carry)
    d_y, d_saved = split(
        results[end:], [floats(p.y_types), results[end + len(floats(p.y_types)) :]]
    )
    return [
        *spread(results[p.carry : end], p.carry_types),
        *spread(d_y, p.y_types),
        *(spread(d_saved, p.carry_types) if params["save"] else []),
    ]


def _front_scan(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """`function(carry, x) -> (carry, y)` along the first axis of `xs`; returns (last carry, stacked
    ys).
    """
    return looked_after(
        "scan", (function,), lambda: _looped(function, init, xs, length, reverse), _REPAIRS
    )


_REPAIRS = Repairs(
    "Draw from wg.random with a key among xs, or draw before the loop and pass the array as xs",
    "Make it part of the carry, or pass it as xs",
    "Make an array of the items and pass it as xs",
)


def _looped(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
) -> tuple[Any, Any]:
    loop, xs = Loop(steps_of=function), _stepped(xs)
    try:
        return _scanned(loop.body(function, indexed=False), init, xs, length, reverse)
    except IndexNeeded as needed:
        if needed.loop is not loop:
            raise
    pairs = (xs, op.arange(_scan_length(tree.leaves(xs), length)))
    return _scanned(loop.body(function, indexed=True), init, pairs, length, reverse)


def _scanned(
    function: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
) -> tuple[Any, Any]:
    rows, x_structure = tree.flatten(xs)
    steps = _scan_length(rows, length)
    x_types = [ArrayType(tuple(x.shape[1:]), type_of(x).dtype) for x in rows]
    weak = tree.weak(init)
    carry, structure = tree.flatten(tree.arrays(init))
    both = tree.flatten((tree.arrays(init), tree.unflatten(x_structure, x_types)))[1]
    step = _step_of(function, structure)
    if is_eager() and recording_level() is None and steps:
        assert isinstance(steps, int)
        around = [*(x for x, w in zip(carry, weak, strict=True) if not w), *x_types]

        def settle(returned: Sequence[DType]) -> list[DType]:
            triples = zip(carry, returned, weak, strict=True)
            return [settled(x, dtype, around) if w else x.dtype for x, dtype, w in triples]

        times = range(steps)[::-1] if reverse else range(steps)
        last, ys = run_steps(
            step, tree.arrays(init), xs, times, settle, partial(require_carry, "scan")
        )
        return tree.unflatten(structure, apart(tree.leaves(last), [*carry, *rows])), ys
    for _ in range(4):  # a Python number takes its dtype from what it meets
        types = [type_of(x) for x in carry]
        known = [None if w else x for x, w in zip(carry, weak, strict=True)]
        body, returned, captured = close(
            "scan", step, both, [*types, *x_types], given=[*known, *rows]
        )
        others = [*(x for x, w in zip(carry, weak, strict=True) if not w), *x_types, *captured]
        wanted = [
            settled(x, t.dtype, others) if w else x.dtype
            for x, t, w in zip(carry, body.output_types(), weak, strict=False)
        ]
        if wanted == [x.dtype for x in carry]:
            break
        carry = [x if x.dtype == d else op.astype(x, d) for x, d in zip(carry, wanted, strict=True)]
    results = scan.rebind(
        [*captured, *carry, *rows],
        {
            "body": body,
            "consts": len(captured),
            "carry": len(carry),
            "length": steps,
            "reverse": bool(reverse),
            "save": False,
        },
    )
    # The user's own tree: (carry, outputs).
    return tree.unflatten(returned, results[: len(body.returns)])  # type: ignore[no-any-return]


def _stepped(xs: Any) -> Any:
    """What a loop goes along. Python numbers beside arrays, as in stacked layers, are the same in
    every step; by themselves they are refused, as arrays without an axis.
    """
    return xs if any(x.shape for x in tree.leaves(xs)) else tree.arrays(xs)


def _step_of(function: Callable[..., Any], structure: tree.Structure) -> Callable[..., Any]:
    def step(carry: Any, x: Any) -> Any:
        result = function(carry, x)
        if not isinstance(result, tuple) or len(result) != 2:
            error = TraceError(
                f"scan: the function returned {type(result).__name__}; it must return (carry, y). "
                "Return y=None if there is nothing to collect."
            )
            raise at_line(error, user_line())
        require_structure("scan", structure, result[0])
        return result

    return step


def _scan_length(rows: Sequence[Value], length: int | None) -> Size:
    sizes = {x.shape[0] if x.shape else None for x in rows} | (
        {length} if length is not None else set()
    )
    if len(sizes) != 1 or None in sizes:
        given = [tuple(x.shape) for x in rows]
        repair = "Pass xs of one length, or length= without xs"
        if rows and not any(given):
            repair = "Make one array of numbers: np.array(xs)"
        error = ShapeError(
            f"scan: xs have shapes {given} and length is {length}; all must agree on one number "
            f"of steps, the size of axis 0. {repair}."
        )
        raise located(error, rows)
    (size,) = sizes
    if isinstance(size, int) and size < 0:
        raise ShapeError(
            f"scan: length={size} was given; it is the number of steps, 0 or more. Pass that."
        )
    # None was refused above, which mypy does not see in a set.
    return size if isinstance(size, Dim) else int(size)  # type: ignore[arg-type]


@primitive(
    numpy=_scan_numpy,
    type=_scan_type,
    front=_front_scan,
    vjp_flat=_scan_vjp,
    jvp_flat=_scan_jvp,
    narrow=_narrow,
    saving=lambda params: params | {"save": True},
    asked=lambda params: len(params["body"].returns),
    sized=True,
    lower=Bodies("scan", ("body",)),
    batch=scan_of_each,
)
def scan(
    *operands: Any, body: Graph, consts: int, carry: int, length: Size, reverse: bool, save: bool
) -> None:
    """A loop over time with a recorded body: `scan(f, init, xs)` where `f(carry, x) -> (carry, y)`.

    >>> last, partial_sums = scan(lambda total, x: (total + x, total + x), 0.0, np.arange(4.0))
    >>> partial_sums
    array([0., 1., 3., 6.])
    """
