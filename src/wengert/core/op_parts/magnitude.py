"""Magnitudes: how large the results of an op can be, and how small, from those of its operands.

The field `magnitude` of an op has two rules. `most(known, node)` is what no element is larger than,
in absolute value; `least(known, node)` is what no element is smaller than. Both are computed with
the op itself, in the same dtype. It rounds to nearest, which keeps order: what is found holds for
every element, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from wengert.core.table import op
from wengert.core.tensor import Tensor
from wengert.core.types import Value


class NotFollowed(Exception):
    """Nothing is known of a value, and something that depends on it was asked for."""


class Known(Protocol):
    """What is known of the nodes before this one."""

    finite: list[Value]  # scalars on whose finiteness the rest depends

    def most(self, number: int | None) -> Value:
        """What no element of a node is larger than, in absolute value. Raises NotFollowed."""

    def least(self, number: int | None) -> Value:
        """What no element of a node is smaller than. Raises NotFollowed."""

    def require_not_negative(self, x: Value) -> Value:
        """Note a scalar on which the rest depends."""


MagnitudeRule: TypeAlias = Callable[[Known, Any], Value]  # of the node


class Magnitude(NamedTuple):
    """The two rules; where an op has no rule for the least, its least is not known."""

    most: MagnitudeRule
    least: MagnitudeRule | None = None


def largest(scalars: Sequence[Value]) -> Value:
    """The largest of some scalars; NaN where one is."""
    high = scalars[0]
    for x in scalars[1:]:
        high = op.maximum(high, x)
    return high


def smallest(scalars: Sequence[Value]) -> Value:
    """The smallest of some scalars; NaN where one is."""
    low = scalars[0]
    for x in scalars[1:]:
        low = op.minimum(low, x)
    return low


def _zero(node: Any) -> Any:
    return np.zeros((), node.type.dtype)


def _is_zero(x: Value) -> bool:
    return not isinstance(x, Tensor) and bool(x == 0)


# The most.


def _most_of_all(known: Known, node: Any) -> Value:
    """The largest bound of all operands."""
    return largest([known.most(i) for i in node.operands])


def _most_of_chosen(known: Known, node: Any) -> Value:
    return largest([known.most(i) for i in node.operands[1:]])


def _most_of_sum(known: Known, node: Any) -> Value:
    return op.add(*map(known.most, node.operands))


def _most_of_product(known: Known, node: Any) -> Value:
    return op.multiply(*map(known.most, node.operands))


def _most_of_square(known: Known, node: Any) -> Value:
    most = known.most(node.operands[0])
    return op.multiply(most, most)


def _most_of_quotient(known: Known, node: Any) -> Value:
    """Not finite where the divisor may be 0."""
    *above, divisor = node.operands
    numerator = known.most(above[0]) if above else np.ones((), node.type.dtype)
    known.finite.append(known.most(divisor))
    least = known.require_not_negative(known.least(divisor))
    return op.abs(op.divide(numerator, least))  # it may be -0


def _most_of_root(known: Known, node: Any) -> Value:
    known.require_not_negative(known.least(node.operands[0]))
    return op.sqrt(known.most(node.operands[0]))


def _most_of_sign(known: Known, node: Any) -> Value:
    known.finite.append(known.most(node.operands[0]))
    return np.ones((), node.type.dtype)


def _most_of_same(known: Known, node: Any) -> Value:
    return known.most(node.operands[0])


# The least. Where 0 is enough to know, it is 0: that costs nothing.


def _least_of_sum(known: Known, node: Any) -> Value:
    x, y = map(known.least, node.operands)
    return y if _is_zero(x) else x if _is_zero(y) else op.add(x, y)


def _least_of_product(known: Known, node: Any) -> Value:
    if node.operands[0] == node.operands[1]:
        return _zero(node)
    x, y = (known.require_not_negative(known.least(i)) for i in node.operands)
    return _zero(node) if _is_zero(x) or _is_zero(y) else op.multiply(x, y)


def _least_of_quotient(known: Known, node: Any) -> Value:
    for i in node.operands:
        known.require_not_negative(known.least(i))
    return _zero(node)


def _least_of_root(known: Known, node: Any) -> Value:
    x = known.least(node.operands[0])
    return x if _is_zero(x) else op.sqrt(x)


def _least_of_smaller(known: Known, node: Any) -> Value:
    return op.minimum(*map(known.least, node.operands[-2:]))


def _least_of_larger(known: Known, node: Any) -> Value:
    """A bound of either operand is enough."""
    bounds = []
    for i in node.operands:
        try:
            bounds.append(known.least(i))
        except NotFollowed:
            continue
    if not bounds:
        raise NotFollowed
    return largest(bounds)


def _least_is_zero(_: Known, node: Any) -> Value:
    return _zero(node)


def _least_of_same(known: Known, node: Any) -> Value:
    return known.least(node.operands[0])


# What ops name in their definitions.

SAME = Magnitude(_most_of_same, _least_of_same)
NEGATED = Magnitude(_most_of_same)
ABSOLUTE = Magnitude(_most_of_same, _least_is_zero)
SUM = Magnitude(_most_of_sum, _least_of_sum)
DIFFERENCE = Magnitude(_most_of_sum)
PRODUCT = Magnitude(_most_of_product, _least_of_product)
SQUARE = Magnitude(_most_of_square, _least_is_zero)
QUOTIENT = Magnitude(_most_of_quotient, _least_of_quotient)
ROOT = Magnitude(_most_of_root, _least_of_root)
SIGN = Magnitude(_most_of_sign)
LARGER = Magnitude(_most_of_all, _least_of_larger)
SMALLER = Magnitude(_most_of_all, _least_of_smaller)
BETWEEN = Magnitude(_most_of_all)
CHOSEN = Magnitude(_most_of_chosen, _least_of_smaller)
CAST = Magnitude(
    lambda known, node: op.astype(known.most(node.operands[0]), node.params["dtype"]),
    lambda known, node: op.astype(known.least(node.operands[0]), node.params["dtype"]),
)
CONSTANT = Magnitude(
    lambda _, node: np.max(np.abs(node.params["value"]), initial=0),
    lambda _, node: np.min(node.params["value"], initial=np.inf),
)
