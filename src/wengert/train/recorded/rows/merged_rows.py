"""Rows and times that are laid out in one axis in different orders: `logits.reshape(-1, classes)`
of (time, batch, classes) beside `y.reshape(-1)` of (batch, time). Both have as many numbers, and
each prediction meets the target of another row and time.

The order of such an axis is how many entries come before the rows in it: 1 where the batch comes
first, as many as there are times where these do. It is known for what was computed of the data, as
long as one axis of a result has that size. Entries that are sorted or looked up have no such order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from wengert.core.dims import Dim, Size
from wengert.core.graph import Node
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.train.batch import ROWS
from wengert.train.recorded.rows.followed_rows import REORDERING
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of, shape_of


class Merged(NamedTuple):
    """Axes that were laid out in one."""

    size: Size  # of that one
    before: Size  # how many entries come before the rows
    shape: tuple[str, ...]  # of the axes, in words


def warn_of_merged_rows(forward: ForwardPass) -> None:
    """Warn, once, where rows and times in one axis meet others in another order, in the loss of a
    step.
    """
    for node, one, other in _Orders(forward).met():
        name = "getitem" if node.op is op.gather else node.op.name
        first, second = ("(" + ", ".join(each.shape) + ")" for each in (one, other))
        warn_user(
            f"{name}: given what was reshaped to one axis from {first} and from {second} "
            "in the loss of a TrainStep, n the rows of the batch; the orders differ, so that each "
            "number meets that of another row. Swap the axes of one before it is reshaped, as in "
            "y.T.reshape(-1).",
            PairedRowsWarning,
            node.line,
        )
        return


class _Orders:
    """The forward pass of a loss: the orders of axes that are rows and others."""

    def __init__(self, forward: ForwardPass) -> None:
        self._pass, self._nodes = forward, forward.nodes
        self._merged: dict[int, Merged] = {}

    def met(self) -> Iterator[tuple[Node, Merged, Merged]]:
        """Nodes that have entries of one order meet those of another."""
        for number, node in self._nodes.items():
            operands = operands_of(node)
            if number not in self._pass.of_data or self._is_sorted(node, operands):
                continue
            if node.op is op.gather:
                operands = self._looked_up(node, operands)
            elif node.op.kind == "elementwise":
                operands = [i for i in operands if self._is_along(i, node)]
            orders = [self._merged[i] for i in operands if i in self._merged]
            others = [x for x in orders if (x.size, x.before) != orders[0][:2]]
            if others and others[0].size == orders[0].size and self._is_side_by_side(node):
                yield node, orders[0], others[0]
            if not others:
                self._follow(number, node, orders)

    def _is_sorted(self, node: Node, operands: list[int]) -> bool:
        merged = self._merged.get(operands[0]) if operands else None
        if merged is None or node.op is op.gather or node.op.name not in REORDERING:
            return False
        axis = node.params.get("axis")
        return axis is None or self._pass.shape(operands[0])[axis] == merged.size

    def _is_side_by_side(self, node: Node) -> bool:
        """Whether entries of operands belong together; in an attention they need not."""
        names = node.op.kind == "elementwise", node.op in (op.gather, op.concat)
        return any(names) or "reduction" in node.params

    def _looked_up(self, node: Node, operands: list[int]) -> list[int]:
        """`x[wg.arange(n), index]` looks up one number of each entry of x, and `x[index]` gives the
        order of the index to what it looks up, as one along another axis keeps that of x.
        """
        if len(operands) > 2:
            table, first, *others = operands
            counts = first not in self._pass.of_data and first not in self._pass.of_model
            return [table, *others] if counts and node.params["axis"] == 0 else [first, *others]
        return operands[1:] if node.params["axis"] == 0 else operands[:1]

    def _is_along(self, number: int, node: Node) -> bool:
        """Whether the entries of an operand lie along the axis that they have in the result."""
        merged = self._merged.get(number)
        if merged is None:
            return False
        shape, result = self._pass.shape(number), shape_of(node)
        return result.count(merged.size) == 1 and (
            shape.index(merged.size) - len(shape) == result.index(merged.size) - len(result)
        )

    def _follow(self, number: int, node: Node, orders: list[Merged]) -> None:
        shape = shape_of(node)
        for each in orders:
            if shape.count(each.size) == 1:
                self._merged[number] = each
                return
        if node.op is op.reshape:
            merged = self._laid_out(self._pass.shape(operands_of(node)[0]), shape)
            if merged is not None:
                self._merged[number] = merged

    def _laid_out(self, given: tuple[Size, ...], shape: tuple[Size, ...]) -> Merged | None:
        """What a reshape makes of an axis of rows and others beside it."""
        for axis, size in enumerate(given):
            if not _are_rows(size):
                continue
            for first in range(axis + 1):
                for last in range(axis + 1, len(given) + 1):
                    axes = [x for x in given[first:last] if x != 1]
                    whole = _product(axes)
                    if (
                        len(axes) > 1
                        and sum(map(_has_rows, axes)) == 1
                        and shape.count(whole) == 1
                        and _product(shape[: shape.index(whole)]) == _product(given[:first])
                    ):
                        before = _product(given[first:axis])
                        words = tuple("n" if _are_rows(x) else str(x) for x in axes)
                        return Merged(whole, before, words)
        return None


def _product(sizes: Collection[Size]) -> Size:
    product: Size = 1
    for size in sizes:
        product = product * size
    return product


def _has_rows(size: Size) -> bool:
    return isinstance(size, Dim) and any(name.startswith(ROWS) for name in size.names)


def _are_rows(size: Size) -> bool:
    return _has_rows(size) and str(size).isidentifier()
