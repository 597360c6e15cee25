"""Loops for many examples at once: one loop, whose carry is that of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import int64
from wengert.core.graph import Graph
from wengert.core.op_parts.batching import BatchedCall, repeated
from wengert.core.table import op
from wengert.core.types import ArrayType, Value
from wengert.interpret.bodies.batched_bodies import (
    BatchedBody,
    Flags,
    batched_body,
    carried,
    chosen,
    marked,
    run_body,
    swapped,
    widened,
)
from wengert.interpret.bodies.body import record, split, zeros
from wengert.interpret.replay import replay


def _begun(call: BatchedCall, first: int, flags: Flags) -> list[Value]:
    """The operands of a loop from its first carry on, with examples where these flags say so."""
    pairs = zip(range(first, len(flags)), flags[first:], strict=True)
    return [call.front(i) if b else call.operands[i] for i, b in pairs]


def scan_of_each(call: BatchedCall) -> Any:
    """The examples lie along axis 1 of xs and ys, behind the steps."""
    body: Graph = call.params["body"]
    consts, count, inputs = call.params["consts"], call.params["carry"], len(body.inputs)
    if any(call.batched[inputs:]):
        return _scan_of_different_lengths(call)
    recorded, flags = carried(body, call, consts, count, call.batched[:inputs])
    begin = _begun(call, consts, flags)
    xs = zip(begin[count:], flags[consts + count :], strict=True)
    rows = [swapped(x) if b else x for x, b in xs]
    given = [*call.operands[:consts], *begin[:count], *rows, *call.operands[inputs:]]
    out = call.again(given, body=recorded.graph)
    return _scanned(out, count, recorded)


def _scanned(out: Sequence[Value], count: int, body: BatchedBody) -> tuple[Any, ...]:
    """The last carry, ys and saved carries of all examples."""
    saved = len(out) - len(body.batched)
    stacks = (*body.batched[count:], *body.batched[:saved])
    rest = [swapped(x) if b else x for x, b in zip(out[count:], stacks, strict=True)]
    return marked([*out[:count], *rest], (*body.batched[:count], *stacks))


def _scan_of_different_lengths(call: BatchedCall) -> Any:
    """As many steps as the longest example takes; the carry of one that takes fewer waits."""
    body: Graph = call.params["body"]
    consts, count, inputs = call.params["consts"], call.params["carry"], len(body.inputs)
    flags = (*call.batched[:consts], *[True] * count, *call.batched[consts + count : inputs])
    whole = batched_body(body, call.size, flags, (True,) * len(body.returns))
    types = whole.graph.input_types()
    number = ArrayType((), int64)
    groups = [
        [*types[:consts], widened(number, call.size)],
        types[consts : consts + count],
        [*types[consts + count :], number],
    ]

    def run(*values: Value) -> Sequence[Value]:
        (*fixed, lengths), carry, (*x, step) = split(values, groups)
        out = replay(whole.graph, [*fixed, *carry, *x])
        active = op.less(step, lengths)
        before = [*carry, *map(zeros, out[count:])]
        return [chosen(active, new, old) for new, old in zip(out, before, strict=True)]

    begin = _begun(call, consts, flags)
    rows = [
        swapped(x) if b else x for x, b in zip(begin[count:], flags[consts + count :], strict=True)
    ]
    lengths, length = call.operands[inputs], call.params["length"]
    numbers = np.arange(length) if isinstance(length, int) else op.arange(length)
    out = call.again(
        [*call.operands[:consts], lengths, *begin[:count], *rows, numbers, op.max(lengths)],
        body=record(run, groups),
        consts=consts + 1,
    )
    return _scanned(out, count, BatchedBody(whole.graph, (True,) * len(body.returns)))


def while_of_each(call: BatchedCall) -> Any:
    """One loop for all examples; where their conditions differ, it runs until the last is done."""
    test, body = call.params["test"], call.params["body"]
    consts, count = call.params["consts"], call.params["carry"]
    recorded, flags = carried(body, call, consts, count, call.batched)
    asked = batched_body(test, call.size, flags)
    if asked.batched[0]:
        return _while_any(call, (*flags[:consts], *[True] * count))
    begin = _begun(call, consts, flags)
    out = call.again([*call.operands[:consts], *begin], test=asked.graph, body=recorded.graph)
    stacks = [
        swapped(x) if b else x for x, b in zip(out[count + 1 :], recorded.batched, strict=False)
    ]
    steps = out[count : count + 1]
    batched = (*recorded.batched, *[False] * len(steps), *(recorded.batched if stacks else ()))
    return marked([*out[:count], *steps, *stacks], batched)


def _while_any(call: BatchedCall, flags: Flags) -> Any:
    """The carry has two more parts: which examples go on, and how many steps each has taken. One
    that has ended keeps its carry.
    """
    test, body = call.params["test"], call.params["body"]
    consts, count, size = call.params["consts"], call.params["carry"], call.size
    types = [widened(t, size) if b else t for t, b in zip(body.input_types(), flags, strict=True)]
    groups = [
        types[:consts],
        types[consts:],
        [ArrayType((size,), np.dtype(bool)), ArrayType((size,), int64)],
    ]

    def holds(fixed: Sequence[Value], carry: Sequence[Value]) -> Value:
        (held,), (differs,) = run_body(test, size, [*fixed, *carry], flags)
        return held if differs else repeated(held, size)

    def ask(*values: Value) -> Sequence[Value]:
        _fixed, _carry, (active, _steps) = split(values, groups)
        return [op.any(active)]

    def step(*values: Value) -> Sequence[Value]:
        fixed, carry, (active, steps) = split(values, groups)
        out, differ = run_body(body, size, [*fixed, *carry], flags)
        new = [x if b else repeated(x, size) for x, b in zip(out, differ, strict=True)]
        after = [chosen(active, x, old) for x, old in zip(new, carry, strict=True)]
        going_on = op.logical_and(active, holds(fixed, after))
        return [*after, going_on, steps + op.astype(active, int64)]

    fixed, begin = call.operands[:consts], _begun(call, consts, flags)
    with np.errstate(all="ignore"):  # what NumPy warns of may be of examples that have ended
        out = call.again(
            [*fixed, *begin, holds(fixed, begin), op.full((size,), 0, dtype=int64)],
            test=record(ask, groups),
            body=record(step, groups),
            carry=count + 2,
        )
    if not call.params["save"]:
        return tuple(out[:count])
    saved = out[count + 3 : 2 * count + 3]
    return (*out[:count], out[count + 1], *map(swapped, saved))
