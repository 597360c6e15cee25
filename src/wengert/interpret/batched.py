"""Batched: the level on which a value is one of many examples, and calls are made for all of them
at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.core.bind import Level, bind, is_worded, located, opened
from wengert.core.dims import Size
from wengert.core.graph import Graph
from wengert.core.op import Call, Op
from wengert.core.op_parts.batching import BatchedCall, Same, element_by_element, repeated
from wengert.core.table import op as table
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Type, Value, type_of
from wengert.core.words.source import begin_body, end_body
from wengert.errors import WengertError
from wengert.interpret.trace import node_type, trace_flat

REMEMBERED = 256  # bodies of calls that are made one by one
_bodies: dict[Any, Graph] = {}  # the oldest goes when there are too many


class Batched(Level):
    """A Tensor has the shape of one example, and as its value all of them along axis 0."""

    batched = True

    def __init__(self, size: Size) -> None:
        self.size = size

    def tensor(self, value: Value) -> Tensor:
        """A Tensor for a value that has the examples along axis 0."""
        return Tensor(self, None, value, _of_example(value))

    def process(self, op: Op, operands: Sequence[Value], params: dict[str, Any]) -> Value:
        if op.batch is None and op.body is not None and op.vjp is None:
            outer = begin_body(op.name)
            try:
                return op.body(*operands, **params)
            finally:
                end_body(outer)
        mine = [self.owns(x) for x in operands]
        values = [x._value if m else x for x, m in zip(operands, mine, strict=True)]
        call = BatchedCall(op, self.size, values, mine, params)
        try:
            return self._wrapped(_rule_of(op)(call))
        except (WengertError, ValueError, TypeError, IndexError) as error:
            _explain(call, operands, error)
            raise

    def owns(self, x: Value) -> bool:
        return type(x) is Tensor and x.level is self

    def _wrapped(self, result: Value) -> Value:
        if type(result) is Same:
            return result.value
        if isinstance(result, tuple | list):
            return tuple(map(self._wrapped, result))
        return self.tensor(result)

    def front(self, x: Value) -> Value:
        """A result of a function on this level, with the examples along axis 0."""
        return x._value if self.owns(x) else repeated(x, self.size)


def _of_example(x: Value) -> ArrayType:
    return ArrayType(tuple(x.shape[1:]), x.dtype)


def _rule_of(op: Op) -> Callable[[BatchedCall], Value]:
    if op.batch is not None:
        return op.batch
    if op.kind == "elementwise":
        return element_by_element
    return _with_own_derivative if op.body is not None else one_by_one


def _explain(call: BatchedCall, operands: Sequence[Value], error: Exception) -> None:
    """Raise what the op says of one example: the call for all of them had other shapes."""
    try:
        node_type(call.op, _types_of(call), call.params)
    except WengertError as refused:
        raise located(refused, operands) from error
    if not isinstance(call.size, int) or any(isinstance(x, Tensor) for x in call.operands):
        return
    pairs = list(zip(call.operands, call.batched, strict=True))
    for number in range(call.size):
        try:
            bind(call.op, [x[number] if b else x for x, b in pairs], call.params)
        except type(error) as refused:
            if is_worded(refused):
                raise type(refused)(f"{refused} This is example {number}.") from None
            return


# Calls without a rule: one after the other, in a loop without a carry.


def one_by_one(call: BatchedCall) -> Value:
    """The op called for each example in turn."""
    given = [(x, b) for x, b in zip(call.operands, call.batched, strict=True) if x is not None]
    fixed = [_array(x) for x, b in given if not b]
    rows = [x for x, b in given if b]
    body = _body_of(call, [*map(type_of, fixed), *map(_of_example, rows)])
    results = table.scan.rebind(
        [*fixed, *rows],
        {
            "body": body,
            "consts": len(fixed),
            "carry": 0,
            "length": call.size,
            "reverse": False,
            "save": False,
        },
    )
    several = isinstance(node_type(call.op, _types_of(call), call.params), tuple)
    return tuple(results) if several else results[0]


def _array(x: Value) -> Value:
    return x if hasattr(x, "shape") else np.asarray(x)


def _types_of(call: BatchedCall) -> list[ArrayType | None]:
    """The types of the operands of one example."""
    return [
        None if x is None else _of_example(x) if b else type_of(_array(x))
        for x, b in zip(call.operands, call.batched, strict=True)
    ]


def _body_of(call: BatchedCall, types: Sequence[ArrayType]) -> Graph:
    """One example, as a graph of what is the same for all and of what differs."""
    op, params = call.op, call.params
    places = [None if x is None else b for x, b in zip(call.operands, call.batched, strict=True)]
    key: Any
    try:
        key = (op, tuple(types), tuple(places), tuple(sorted(params.items())))
        if key in _bodies:
            return _bodies[key]
    except TypeError:
        key = None  # a parameter without a hash

    def run(*values: Value) -> Sequence[Value]:
        count = places.count(False)
        fixed, rows = iter(values[:count]), iter(values[count:])
        operands = [None if b is None else next(rows) if b else next(fixed) for b in places]
        out = bind(op, operands, params)
        return out if isinstance(out, tuple) else (out,)

    body, _ = trace_flat(run, types, [f"x{i}" for i in range(len(types))])
    if key is not None:
        if len(_bodies) >= REMEMBERED:
            del _bodies[next(iter(_bodies))]
        _bodies[key] = body
    return body


# Composites with a derivative of their own, which holds for each example.


def _with_own_derivative(call: BatchedCall) -> Value:
    """The body for all examples, as a composite whose rules are those of one, for all examples."""
    return _batched_composite(call.op, call.size).rebind(call.fronts(), call.params)


def _batched_composite(op: Op, size: Size) -> Op:
    assert op.body is not None
    body = op.body

    def run(*operands: Value, **params: Any) -> Value:
        return over_examples(lambda *xs: body(*xs, **params), size, operands)

    def find_type(*operands: Any, **params: Any) -> Type:
        t = node_type(op, [None if x is None else _of_example(x) for x in operands], params)
        if isinstance(t, ArrayType):
            return ArrayType((size, *t.shape), t.dtype)
        return tuple(ArrayType((size, *each.shape), each.dtype) for each in t)

    def vjp(
        g: Value, out: Value, operands: Sequence[Value], params: dict[str, Any], wanted: Any
    ) -> Value:
        assert op.vjp is not None
        rule = op.vjp
        return over_examples(
            lambda g, out, *xs: tuple(rule(g, out, xs, params, wanted)), size, (g, out, *operands)
        )

    def jvp(
        tangents: Sequence[Value], out: Value, operands: Sequence[Value], params: dict[str, Any]
    ) -> Value:
        assert op.jvp is not None
        rule = op.jvp
        return over_examples(
            lambda ds, out, *xs: rule(ds, out, xs, params), size, (tuple(tangents), out, *operands)
        )

    anything = Call(op.call.operands, op.call.optional, True, op.call.params)
    return replace(
        op,
        name=f"{op.name}_of_each",  # in texts of graphs it is no op of the table
        call=anything,
        numpy=run,
        body=run,
        type=find_type,
        dtypes=None,
        vjp=vjp,
        jvp=None if op.jvp is None else jvp,
        remember=None,
        canonical=None,
        settled=None,
        front=None,
        samples=(),
    )


def over_examples(function: Callable[..., Value], size: Size, arguments: Sequence[Value]) -> Value:
    """What a function of one example returns for all of them: arguments and results have these
    along axis 0. Types stand for values that are not read; None stays.
    """
    level = Batched(size)

    def example(x: Value) -> Value:
        if isinstance(x, tuple | list):
            return tuple(map(example, x))
        if x is None:
            return None
        return _of_example(x) if isinstance(x, ArrayType) else level.tensor(x)

    def all_of(x: Value) -> Value:
        if isinstance(x, tuple | list):
            return tuple(map(all_of, x))
        return None if x is None else level.front(x)

    with opened(level):
        result = function(*map(example, arguments))
        return all_of(result)
