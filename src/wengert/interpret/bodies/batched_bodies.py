"""Bodies for many examples: the graphs inside loops, branches and regions, with the examples along
axis 0 of what differs between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from wengert.core.bind import opened
from wengert.core.dims import Size
from wengert.core.graph import Graph
from wengert.core.op_parts.batching import BatchedCall, Same, raised, repeated
from wengert.core.table import op
from wengert.core.types import ArrayType, Value
from wengert.interpret.batched import Batched
from wengert.interpret.replay import replay
from wengert.interpret.trace import trace_flat

Flags: TypeAlias = tuple[bool, ...]  # which values differ between examples


class BatchedBody(NamedTuple):
    """A body for all examples, and which of its outputs have them along axis 0."""

    graph: Graph
    batched: Flags


_known: WeakKeyDictionary[Graph, dict[Any, BatchedBody]] = WeakKeyDictionary()


def run_body(
    body: Graph, size: Size, operands: Sequence[Value], batched: Sequence[bool]
) -> tuple[list[Value], Flags]:
    """The outputs of a body for all examples, and which of them differ."""
    level = Batched(size)
    with opened(level):
        given = zip(operands, batched, strict=True)
        out = replay(body, [level.tensor(x) if b else x for x, b in given])
        flags = tuple(map(level.owns, out))
        return [y._value if b else y for y, b in zip(out, flags, strict=True)], flags


def batched_body(
    body: Graph, size: Size, batched: Flags, wanted: Flags | None = None
) -> BatchedBody:
    """The body for examples that differ in these inputs. Outputs that are `wanted` have the
    examples along axis 0 even where they are the same for all.
    """
    known = _known.setdefault(body, {})
    key = (size, batched, wanted)
    if key not in known:
        known[key] = _recorded(body, size, batched, wanted or (False,) * len(body.returns))
    return known[key]


def _recorded(body: Graph, size: Size, batched: Flags, wanted: Flags) -> BatchedBody:
    returned: list[Flags] = []

    def run(*values: Value) -> Sequence[Value]:
        out, flags = run_body(body, size, values, batched)
        returned.append(tuple(b or w for b, w in zip(flags, wanted, strict=True)))
        return [
            repeated(y, size) if w and not b else y
            for y, b, w in zip(out, flags, wanted, strict=True)
        ]

    types = [widened(t, size) if b else t for t, b in zip(body.input_types(), batched, strict=True)]
    graph, _ = trace_flat(run, types, [f"x{i}" for i in range(len(types))])
    return BatchedBody(graph, returned[-1])


def widened(t: ArrayType, size: Size) -> ArrayType:
    """The type of all examples, from that of one."""
    return ArrayType((size, *t.shape), t.dtype)


def chosen(condition: Value, then: Value, otherwise: Value) -> Value:
    """For each example one of two values, which have the examples along axis 0."""
    return op.where(raised(condition, len(then.shape) - 1), then, otherwise)


def swapped(x: Value) -> Value:
    """The examples and the steps of a loop, exchanged: the first two axes."""
    return op.permute_dims(x, (1, 0, *range(2, len(x.shape))))


def marked(values: Sequence[Value], batched: Sequence[bool]) -> tuple[Value, ...]:
    """Results of a rule: those that are the same for all examples are marked."""
    return tuple(x if b else Same(x) for x, b in zip(values, batched, strict=True))


def carried(
    body: Graph, call: BatchedCall, first: int, count: int, batched: Sequence[bool]
) -> tuple[BatchedBody, Flags]:
    """The body of a loop for all examples, and which of its inputs differ: a carry that is computed
    from what differs does, too, whatever it begins with. The carry is `count` inputs, from `first`
    on.
    """
    flags = tuple(batched)
    while True:
        differs = flags[first : first + count]
        wanted = (*differs, *[False] * (len(body.returns) - count))
        recorded = batched_body(body, call.size, flags, wanted)
        again = recorded.batched[:count]
        if again == differs:
            return recorded, flags
        flags = (*flags[:first], *again, *flags[first + count :])
