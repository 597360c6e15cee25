"""A loop that runs as long as a condition holds, with recorded bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.bind import at_line, is_in_batch, located, recording_level
from wengert.core.define import primitive
from wengert.core.dtypes import DType, bool_, int64
from wengert.core.graph import Graph
from wengert.core.lowering import Bodies, Failure
from wengert.core.table import op
from wengert.core.types import ArrayType, Value, type_of
from wengert.core.words.source import attributed, user_line
from wengert.errors import DTypeError, LoopError, NotDifferentiable, ShapeError, WengertError
from wengert.interpret.bodies.body import (
    close,
    derive,
    filled,
    float_wanted,
    floats,
    record,
    require_given,
    scatter,
    split,
    spread,
    with_captured,
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
from wengert.interpret.bodies.stepwise import run_while
from wengert.interpret.eagerness import is_eager
from wengert.interpret.printing import at_step, quiet
from wengert.interpret.replay import replay
from wengert.ops.control_flow.batched_loops import while_of_each
from wengert.ops.control_flow.loop_steps import LoopParts, adjoint_step, tangent_step

_STILL = "still holds"
_MORE = (
    "Pass a larger max_steps, or see why it does not end: in wg.odeint, the equation may be stiff"
)


def _while_type(
    *operands: Any, test: Graph, body: Graph, consts: Any, carry: Any, max_steps: Any, save: Any
) -> tuple[ArrayType, ...]:
    numbers = [type(each) is int and each >= 0 for each in (consts, carry)]
    bound = max_steps is None or (type(max_steps) is int and max_steps >= 0)
    fits = all(numbers) and len(body.inputs) == consts + carry
    if not fits or not bound or type(save) is not bool or (save and max_steps is None):
        raise ShapeError(
            f"while_loop: given consts={consts}, carry={carry}, max_steps={max_steps} and "
            f"save={save} for a body of {len(body.inputs)} inputs; these are two counts of its "
            "inputs, a bound and a truth. Call wg.while_loop with functions."
        )
    for each in (test, body):
        require_given("while_loop", operands, each.input_types())
    if test.output_types() != [ArrayType((), bool_)]:
        raise ShapeError(
            f"while_loop: its condition is {test.output_types()}; it must be one bool. Return that."
        )
    carried = body.output_types()
    require_carry("while_loop", body.input_types()[consts:], carried)
    saved = [ArrayType((), int64), *stacked(max_steps, carried)] if save else []
    return (*carried, *saved)


def _while_numpy(*operands: Any, **params: Any) -> tuple[Any, ...]:
    fixed: Sequence[Any] = operands[: params["consts"]]
    carry: Sequence[Any] = operands[params["consts"] :]
    limit = params["max_steps"]
    stacks = [np.zeros((limit, *x.shape), x.dtype) for x in carry if params["save"]]
    steps = 0
    while True:
        with at_step(steps):
            (held,) = replay(params["test"], [*fixed, *carry])
            if not held:
                break
            require_below(steps, limit)
            for stack, x in zip(stacks, carry, strict=False):
                stack[steps] = x
            carry = replay(params["body"], [*fixed, *carry])
        steps += 1
    last = map(np.array, carry)  # copies: a carry may be an operand still
    return (*last, np.asarray(steps, int64), *stacks) if params["save"] else tuple(last)


def require_below(steps: int, limit: int | None) -> None:
    """Refuse a step beyond the bound."""
    if steps == limit:
        raise LoopError(
            f"while_loop: took max_steps={limit} steps, and its condition {_STILL}; it must end "
            f"before. {_MORE}."
        )


def _narrow(params: dict[str, Any], read: Sequence[bool]) -> tuple[dict[str, Any], list[int]]:
    """The loop without saved carries where nobody reads them; the carry goes round anyway."""
    count = params["carry"]
    save = any(read[count:])
    return params | {"save": save}, list(range(len(read) if save else count))


def _while_vjp(
    g: Any, out: Any, operands: Sequence[Value], params: dict[str, Any], wanted: Sequence[bool]
) -> Sequence[Value]:
    """A scan over the carries that were saved, from the last step taken to the first."""
    if not params["save"]:
        error = NotDifferentiable(
            "while_loop: was differentiated in reverse without max_steps; the way back reads the "
            "carry of every step, and needs to know for how many there must be room. Pass "
            "max_steps=, or differentiate forwards with wg.jvp or wg.jacfwd."
        )
        raise at_line(error, attributed())
    p = LoopParts(params)
    consts, _init, _ = p.operands(operands)
    steps, saved = out[p.carry], out[p.carry + 1 :]
    g_saved = g[p.carry + 1 :]
    want = float_wanted(p.const_types, wanted[: p.consts])
    used = any(each is not None for each in g_saved)
    body = derive(p.body, ("while_vjp", p.consts, want, used), lambda: adjoint_step(p, want, used))
    g_carry = filled(g[: p.carry], p.carry_types)
    g_consts = [zeros(t) for t, w in zip(p.const_types, want, strict=True) if w]
    limit = params["max_steps"]
    per_step = [*saved, *(filled(g_saved, stacked(limit, p.carry_types)) if used else [])]
    gradients = op.scan.rebind(
        [*consts, *g_carry, *g_consts, *per_step, steps],
        {
            "body": body,
            "consts": p.consts,
            "carry": len(g_carry) + len(g_consts),
            "length": limit,
            "reverse": True,
            "save": False,
        },
    )
    to_carry, to_consts = gradients[: len(g_carry)], gradients[len(g_carry) :]
    return [*scatter(to_consts, want), *spread(to_carry, p.carry_types)]


def _while_jvp(
    tangents: Sequence[Value], out: Any, operands: Sequence[Value], params: dict[str, Any]
) -> Sequence[Value]:
    """One loop carries primals and tangents; the primals say how long."""
    p = LoopParts(params)
    consts, init, _ = p.operands(operands)
    d_consts, d_init, _ = p.operands(tangents)
    d_carry = filled(d_init, p.carry_types)
    groups = [p.const_types, floats(p.const_types), p.carry_types, floats(p.carry_types)]
    test = params["test"]
    results = while_loop.rebind(
        [*consts, *filled(d_consts, p.const_types), *init, *d_carry],
        params
        | {
            "test": derive(test, ("while_jvp", p.consts), lambda: _primal_test(test, groups)),
            "body": derive(p.body, ("while_jvp", p.consts), lambda: tangent_step(p)),
            "consts": p.consts + len(floats(p.const_types)),
            "carry": p.carry + len(d_carry),
        },
    )
    d_last = spread(results[p.carry : p.carry + len(d_carry)], p.carry_types)
    if not params["save"]:
        return d_last
    begin = p.carry + len(d_carry) + 1 + p.carry
    return [*d_last, None, *spread(results[begin:], p.carry_types)]


def _primal_test(test: Graph, groups: Sequence[Sequence[ArrayType]]) -> Graph:
    asked = quiet(test)

    def run(*values: Value) -> Sequence[Value]:
        consts, _d_consts, carry, _d_carry = split(values, groups)
        return replay(asked, [*consts, *carry])

    return record(run, groups)


# How users call it.


def _front_while_loop(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_steps: int | None = None,
) -> Any:
    """`carry = body(carry)` as long as `cond(carry)` holds, from `init` on; returns the last carry.

    `max_steps` bounds the number of steps, and is an error where the condition still holds then.
    Reverse mode needs it.
    """
    for name, given in (("cond", cond), ("body", body)):
        if not callable(given):
            raise DTypeError(
                f"while_loop: given {type(given).__name__} as {name}; cond and body are functions "
                "of the carry. Call wg.while_loop(cond, body, init)."
            )
    limit = _bound(max_steps)
    return looked_after(
        "while_loop", (cond, body), lambda: _looped(cond, body, init, limit), _REPAIRS
    )


_REPAIRS = Repairs(
    "Draw from wg.random with a key in the carry, or draw before the loop",
    "Make it part of the carry",
    "Make an array of the items, and carry a count i: wg.asarray(items)[i]",
)


def _bound(max_steps: Any) -> int | None:
    if max_steps is None:
        return None
    whole = isinstance(max_steps, int | np.integer) and not isinstance(max_steps, bool)
    if not whole or max_steps < 0:
        raise ShapeError(
            f"while_loop: max_steps={max_steps!r} was given; it is the largest number of steps, an "
            "int of 0 or more. Pass that, or leave it out."
        )
    return int(max_steps)


def _looped(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, limit: int | None
) -> Any:
    asking, stepping = Loop(), Loop()  # what one draws differs from what the other does
    try:
        return _repeated(
            asking.body(lambda carry, _: cond(carry), indexed=False),
            stepping.body(lambda carry, _: body(carry), indexed=False),
            init,
            limit,
        )
    except IndexNeeded as needed:
        if needed.loop not in (asking, stepping):
            raise
    ask = asking.body(lambda carry, _: cond(carry), indexed=True)
    go = stepping.body(lambda carry, _: body(carry), indexed=True)
    last = _repeated(
        lambda pair, _: ask(pair[0], (None, pair[1])),
        lambda pair, _: (go(pair[0], (None, pair[1])), pair[1] + 1),
        (init, np.asarray(0)),
        limit,
    )
    stepping.leave_behind()
    return last[0]


def _repeated(
    cond: Callable[[Any, Any], Any],
    body: Callable[[Any, Any], Any],
    init: Any,
    limit: int | None,
) -> Any:
    weak = tree.weak(init)
    carry, structure = tree.flatten(tree.arrays(init))
    if not carry:
        raise ShapeError(
            f"while_loop: given {init!r} as init, which holds no array; a condition on nothing "
            "never changes. Pass a tree of arrays that the body changes."
        )
    test, step = _test_of(cond), _step_of(body, structure)
    steps = is_eager() and recording_level() is None and not is_in_batch()
    if steps and test(tree.arrays(init)):

        def settle(returned: Sequence[DType]) -> list[DType]:
            around = [x for x, w in zip(carry, weak, strict=True) if not w]
            triples = zip(carry, returned, weak, strict=True)
            return [settled(x, dtype, around) if w else x.dtype for x, dtype, w in triples]

        def require(before: Sequence[ArrayType], after: Sequence[ArrayType]) -> None:
            require_carry("while_loop", before, after)

        return run_while(
            test, step, tree.arrays(init), settle, require, lambda n: require_below(n, limit)
        )
    both = tree.flatten((tree.arrays(init),))[1]
    for _ in range(4):  # a Python number takes its dtype from what it meets
        types = [type_of(x) for x in carry]
        # The condition first, as when it runs.
        asked, _, used_too = close("while_loop", test, both, types, whole=True)
        recorded, _, used = close("while_loop", step, both, types, whole=True)
        others = [*(x for x, w in zip(carry, weak, strict=True) if not w), *used]
        wanted = [
            settled(x, t.dtype, others) if w else x.dtype
            for x, t, w in zip(carry, recorded.output_types(), weak, strict=True)
        ]
        if wanted == [x.dtype for x in carry]:
            break
        carry = [x if x.dtype == d else op.astype(x, d) for x, d in zip(carry, wanted, strict=True)]
    try:
        require_carry("while_loop", types, recorded.output_types())
    except ShapeError as error:
        raise at_line(error, user_line()) from None
    captured = list({id(x): x for x in (*used_too, *used)}.values())
    results = while_loop.rebind(
        [*captured, *carry],
        {
            "test": with_captured(asked, used_too, captured),
            "body": with_captured(recorded, used, captured),
            "consts": len(captured),
            "carry": len(carry),
            "max_steps": limit,
            "save": False,
        },
    )
    return tree.unflatten(structure, results)


def _test_of(cond: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def test(carry: Any) -> Any:
        held = cond(carry, None)
        if np.shape(held) != ():
            error: WengertError = ShapeError(
                f"while_loop: the condition has shape {np.shape(held)}; it must be one bool. "
                "Reduce it with wg.any or wg.all."
            )
            raise located(error, [held])
        if not _is_bool(held):
            given = getattr(held, "dtype", type(held).__name__)
            error = DTypeError(
                f"while_loop: the condition returned {given}; it must be one bool, and comes "
                "before the body. Compare: x > 0; and call wg.while_loop(cond, body, init)."
            )
            raise located(error, [held])
        return op.astype(held, bool)

    return test


def _is_bool(held: Any) -> bool:
    dtype = getattr(held, "dtype", None)
    return isinstance(held, bool) if dtype is None else dtype.kind == "b"


def _step_of(body: Callable[[Any, Any], Any], structure: tree.Structure) -> Callable[[Any], Any]:
    def step(carry: Any) -> Any:
        result = body(carry, None)
        require_structure("while_loop", structure, result)
        return result

    return step


@primitive(
    numpy=_while_numpy,
    type=_while_type,
    front=_front_while_loop,
    vjp_flat=_while_vjp,
    jvp_flat=_while_jvp,
    narrow=_narrow,
    saving=lambda params: params if params["max_steps"] is None else params | {"save": True},
    asked=lambda params: params["carry"],
    lower=Bodies(
        "while",
        ("test", "body"),
        Failure(
            LoopError,
            f"took max_steps steps, and its condition {_STILL}; NumPy, which rounds otherwise, "
            "needed fewer",
            _MORE,
        ),
    ),
    batch=while_of_each,
)
def while_loop(
    *operands: Any,
    test: Graph,
    body: Graph,
    consts: int,
    carry: int,
    max_steps: int | None,
    save: bool,
) -> None:
    """A loop as long as a condition holds, `while_loop(cond, body, init)`.

    `cond(carry)` is a bool, and `body(carry)` the next carry.
    `max_steps` bounds the steps: it is an error where the condition still holds after so many. The
    way back (`wg.grad`) needs it, and keeps that many carries; forward mode does not. Condition and
    body are recorded once, and values of outside that they read are differentiated, too.

    >>> while_loop(lambda x: x < 100, lambda x: 2 * x, np.array(3))
    array(192)
    """
