"""Extents: how large the values of an elementwise graph can be, and how small.

Of each value is known the most that |x| can be, and of some the least that x can be. Both are found
with the very ops that the value is computed with, in the same dtype. These round to nearest, which
keeps order: what is found holds for every element, to the last bit. It is a scalar, so a graph over
millions of elements is followed in a few dozen instructions.

Where the most is finite, no element is infinite or NaN. Ops hand a most that is not finite on to
their results; where one does not, as 1 / inf does, its operand is noted as one to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.core.dtypes import is_float
from wengert.core.graph import Graph, Node
from wengert.core.op import Op
from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import ArrayType, Value


class NotFollowed(Exception):
    """Nothing is known of a value, and something that depends on it was asked for."""


class Extents:
    """The extents of a graph's values, from those of its inputs and of what else is known. What
    they rest on gathers in two lists: of scalars that have to be `finite`, and of scalars that are
    to be `not_negative`.
    """

    def __init__(
        self, graph: Graph, most: Mapping[int, Value], least: Mapping[int, Value | None]
    ) -> None:
        self._nodes = graph.nodes
        self.finite: list[Value] = []
        self.not_negative: list[Value] = []
        self.asked: set[int] = set()  # nodes whose least was needed
        self._least = {i: x for i, x in least.items() if x is not None}
        self._most = dict(most)
        for number, node in enumerate(graph.nodes):
            if number not in self._most and node.op in MOST and _is_float(node):
                try:
                    self._most[number] = MOST[node.op](self, node)
                except NotFollowed:
                    continue  # it may only decide a branch, both sides of which are known

    def most(self, number: int | None) -> Value:
        """What no element of a node is larger than, in absolute value."""
        if number not in self._most:
            raise NotFollowed
        return self._most[number]

    def least(self, number: int | None) -> Value:
        """What no element of a node is smaller than."""
        assert number is not None
        self.asked.add(number)
        if number not in self._least:
            node = self._nodes[number]
            if node.op not in LEAST or not _is_float(node):
                raise NotFollowed
            self._least[number] = LEAST[node.op](self, node)
        return self._least[number]

    def require_not_negative(self, x: Value) -> Value:
        """Note a scalar on which the rest depends; a constant is looked at now."""
        if not isinstance(x, Tensor):
            if not x >= 0:
                raise NotFollowed
        elif not any(x is other for other in self.not_negative):
            self.not_negative.append(x)
        return x


def _is_float(node: Node) -> bool:
    return isinstance(node.type, ArrayType) and is_float(node.type.dtype)


def _zero(node: Node) -> Any:
    assert isinstance(node.type, ArrayType)
    return np.zeros((), node.type.dtype)


def _is_zero(x: Value) -> bool:
    return not isinstance(x, Tensor) and bool(x == 0)


# The most.


def _constant_most(_: Extents, node: Node) -> Value:
    return np.max(np.abs(node.params["value"]), initial=0)


def _cast_most(extents: Extents, node: Node) -> Value:
    return op.astype(extents.most(node.operands[0]), node.params["dtype"])


def _root_most(extents: Extents, node: Node) -> Value:
    extents.require_not_negative(extents.least(node.operands[0]))
    return op.sqrt(extents.most(node.operands[0]))


def _quotient_most(extents: Extents, node: Node) -> Value:
    """Not finite where the divisor may be 0."""
    *above, divisor = node.operands
    numerator = extents.most(above[0]) if above else np.ones((), _zero(node).dtype)
    extents.finite.append(extents.most(divisor))
    least = extents.require_not_negative(extents.least(divisor))
    return op.abs(op.divide(numerator, least))  # it may be -0


def _sign_most(extents: Extents, node: Node) -> Value:
    extents.finite.append(extents.most(node.operands[0]))
    return np.ones((), _zero(node).dtype)


def _square_most(extents: Extents, node: Node) -> Value:
    most = extents.most(node.operands[0])
    return op.multiply(most, most)


def _by(f: Callable[..., Value]) -> Callable[[Extents, Node], Value]:
    return lambda extents, node: f(*map(extents.most, node.operands))


def _largest(extents: Extents, node: Node) -> Value:
    numbers = node.operands[1:] if node.op is op.where else node.operands
    return largest([extents.most(i) for i in numbers])


def largest(scalars: Sequence[Value]) -> Value:
    """The largest of some scalars; NaN where one is."""
    found = scalars[0]
    for x in scalars[1:]:
        found = op.maximum(found, x)
    return found


def smallest(scalars: Sequence[Value]) -> Value:
    """The smallest of some scalars; NaN where one is."""
    found = scalars[0]
    for x in scalars[1:]:
        found = op.minimum(found, x)
    return found


def _same_most(extents: Extents, node: Node) -> Value:
    return extents.most(node.operands[0])


MOST: dict[Op, Callable[[Extents, Node], Value]] = {
    op.constant: _constant_most,
    op.add: _by(op.add),
    op.subtract: _by(op.add),
    op.multiply: _by(op.multiply),
    op.square: _square_most,
    op.divide: _quotient_most,
    op.reciprocal: _quotient_most,
    op.sqrt: _root_most,
    op.sign: _sign_most,
    op.maximum: _largest,
    op.minimum: _largest,
    op.clip: _largest,
    op.where: _largest,
    op.astype: _cast_most,
    op.negative: _same_most,
    op.abs: _same_most,
    op.broadcast_to: _same_most,
    op.reshape: _same_most,
    op.stop_gradient: _same_most,
}


# The least. Where 0 is enough to know, it is 0: that costs nothing.


def _constant_least(_: Extents, node: Node) -> Value:
    return np.min(node.params["value"], initial=np.inf)


def _cast_least(extents: Extents, node: Node) -> Value:
    return op.astype(extents.least(node.operands[0]), node.params["dtype"])


def _sum_least(extents: Extents, node: Node) -> Value:
    x, y = map(extents.least, node.operands)
    return y if _is_zero(x) else x if _is_zero(y) else op.add(x, y)


def _product_least(extents: Extents, node: Node) -> Value:
    if node.operands[0] == node.operands[1]:
        return _zero(node)
    x, y = (extents.require_not_negative(extents.least(i)) for i in node.operands)
    return _zero(node) if _is_zero(x) or _is_zero(y) else op.multiply(x, y)


def _quotient_least(extents: Extents, node: Node) -> Value:
    for i in node.operands:
        extents.require_not_negative(extents.least(i))
    return _zero(node)


def _root_least(extents: Extents, node: Node) -> Value:
    x = extents.least(node.operands[0])
    return x if _is_zero(x) else op.sqrt(x)


def _smaller_least(extents: Extents, node: Node) -> Value:
    return op.minimum(*map(extents.least, node.operands[-2:]))


def _larger_least(extents: Extents, node: Node) -> Value:
    """One of both is enough."""
    found = []
    for i in node.operands:
        try:
            found.append(extents.least(i))
        except NotFollowed:
            continue
    if not found:
        raise NotFollowed
    return largest(found)


def _zero_least(_: Extents, node: Node) -> Value:
    return _zero(node)


def _same_least(extents: Extents, node: Node) -> Value:
    return extents.least(node.operands[0])


LEAST: dict[Op, Callable[[Extents, Node], Value]] = {
    op.constant: _constant_least,
    op.add: _sum_least,
    op.multiply: _product_least,
    op.square: _zero_least,
    op.abs: _zero_least,
    op.divide: _quotient_least,
    op.reciprocal: _quotient_least,
    op.sqrt: _root_least,
    op.maximum: _larger_least,
    op.minimum: _smaller_least,
    op.where: _smaller_least,
    op.astype: _cast_least,
    op.broadcast_to: _same_least,
    op.reshape: _same_least,
    op.stop_gradient: _same_least,
}
