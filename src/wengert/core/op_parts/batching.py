"""How a call is made for many examples at once: what the field `batch` of an op is given, and the
rules that many ops share.

The examples of a batch lie along axis 0 of a value. A rule gets values with that axis, says how the
op is called for all of them, and returns values with that axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.dims import Shape, Size, product
from wengert.core.table import op as table
from wengert.core.types import Value

if TYPE_CHECKING:
    from wengert.core.op import Op


class Same(NamedTuple):
    """A result that is the same for all examples, and has no axis for them."""

    value: Value


class BatchedCall(NamedTuple):
    """A call of an op for many examples. Operands that differ between them have these along axis 0;
    one at least does.
    """

    op: Op
    size: Size  # how many examples there are
    operands: Sequence[Value]
    batched: Sequence[bool]  # which operands differ
    params: dict[str, Any]  # of one example

    def shape(self, i: int) -> Shape:
        """The shape that an operand has in one example."""
        shape: Shape = tuple(self.operands[i].shape)
        return shape[1:] if self.batched[i] else shape

    def rank(self, i: int) -> int:
        return len(self.shape(i))

    def front(self, i: int) -> Value:
        """An operand with the examples along axis 0, repeated where it is the same for all."""
        x = self.operands[i]
        return x if self.batched[i] or x is None else repeated(x, self.size)

    def fronts(self) -> list[Value]:
        return [self.front(i) for i in range(len(self.operands))]

    def raised(self, i: int, rank: int) -> Value:
        """An operand that broadcasts against others as it does in one example of `rank` axes."""
        x = self.operands[i]
        return raised(x, rank) if self.batched[i] else x

    def again(self, operands: Sequence[Value], **params: Any) -> Value:
        """The op called with these operands, and with some parameters changed."""
        return self.op.rebind(operands, self.params | params)


Batch: TypeAlias = Callable[[BatchedCall], Value]


def repeated(x: Value, size: Size) -> Value:
    """A value with an axis in front, along which it is repeated."""
    x = x if hasattr(x, "shape") else np.asarray(x)
    return table.broadcast_to(x, (size, *x.shape))


def raised(x: Value, rank: int) -> Value:
    """A batched value whose examples get axes of size 1 in front, until they have `rank` axes."""
    missing = rank + 1 - len(x.shape)
    if missing <= 0:
        return x
    return table.reshape(x, (x.shape[0], *[1] * missing, *x.shape[1:]))


def in_front(x: Value, axis: int) -> Value:
    """An array with this axis as its first."""
    if axis == 0:
        return x
    others = [each for each in range(len(x.shape)) if each != axis]
    return table.permute_dims(x, (axis, *others))


def positions(size: Size, rank: int) -> Value:
    """The numbers of the examples, along the first of `rank` axes: an index by which every example
    reads its own part.
    """
    numbers = np.arange(size) if isinstance(size, int) else table.arange(size)
    return table.reshape(numbers, (size, *[1] * (rank - 1)))


def element_by_element(call: BatchedCall) -> Value:
    """Of elementwise ops: they broadcast."""
    ranks = [call.rank(i) if hasattr(x, "shape") else 0 for i, x in enumerate(call.operands)]
    return call.again([call.raised(i, max(ranks)) for i in range(len(ranks))])


def with_leading_axes(call: BatchedCall) -> Value:
    """Of ops that treat all axes in front alike: the examples are one more of these."""
    return call.again(call.fronts())


def along(name: str) -> Batch:
    """Of ops along the axis, or axes, that a parameter names."""

    def rule(call: BatchedCall) -> Value:
        axis = call.params[name]
        moved = tuple(each + 1 for each in axis) if isinstance(axis, tuple) else axis + 1
        return call.again(call.fronts(), **{name: moved})

    return rule


def with_shape(name: str) -> Batch:
    """Of ops with one operand whose result has the shape that a parameter names."""
    return lambda call: call.again(call.fronts(), **{name: (call.size, *call.params[name])})


def with_rows(x: Value) -> Value:
    """A batched value whose examples are vectors, read row by row."""
    return table.reshape(x, (x.shape[0], product(tuple(x.shape[1:]))))
