"""Products of matrices that stand for a product of each row: `P[u] @ Q[i].T - r` has a number for
each pair of rows, of which a loss then takes the mean. `sum(P[u] * Q[i], axis=1) - r` is meant.

A product of two tables of different data, of the model, for all pairs of rows is known to be a
mistake where it meets one number of each row, of yet other data, and all that becomes of it is one
number. Whoever means pairs tells them apart: by labels of pairs or a diagonal, a softmax or a
reduction along one axis, `[:, None]` and `[None, :]`, or by products of each row beside those of
all pairs, which are the negatives. Products of one thing with itself (Gram matrices), and numbers
of the rows or columns of the product (squared lengths, how often an item is drawn) do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from wengert.api.pairs.recorded_pairs import (
    COLUMN,
    REDUCTIONS,
    ROW,
    ROWS,
    SQUARE,
    RecordedLoss,
    operands,
)
from wengert.core.graph import Node
from wengert.core.table import op

Sources = frozenset[int]


def rows_of_products(loss: RecordedLoss) -> Iterable[Node]:
    """The nodes at which products of all pairs of rows meet a number of each row, the first one of
    each line.
    """
    if not any(_is_product(loss, number) for number, _ in loss.forward()):
        return ()
    met = reversed([*enumerate(_Products(loss).met())])
    return [*reversed({node.line or i: node for i, node in met}.values())]


def _is_product(loss: RecordedLoss, number: int) -> bool:
    node = loss.node(number)
    factors = [loss.kinds[i] for i in operands(node)]
    of_pairs = loss.kinds[number] == SQUARE and SQUARE not in factors
    return node.op.kind == "bilinear" and of_pairs


class _Products:
    """The products of a loss for all pairs of rows, and what is computed of them."""

    def __init__(self, loss: RecordedLoss) -> None:
        self._loss = loss
        self._factors = [
            tuple(operands(node)) for number, node in loss.forward() if _is_product(loss, number)
        ]

    def met(self) -> Iterator[Node]:
        if self._are_of_two_tables() and not self._are_told_apart() and not self._are_negatives():
            for number, node in self._loss.forward():
                if number in self._of_products and self._meets_data(node):
                    yield node

    @cached_property
    def _sources(self) -> list[Sources]:
        """The arrays of data, with a number or more for each row, that each node is computed of."""
        loss, sources = self._loss, list[Sources]()
        for number, node in enumerate(loss.graph.nodes):
            given = operands(node)
            if not given and number not in loss.of_model and loss.kinds[number][:1] == ROW:
                sources.append(frozenset((number,)))
            else:
                sources.append(frozenset().union(*(sources[i] for i in given)))
        return sources

    def _are_of_two_tables(self) -> bool:
        """Whether the factors of each product are of different data, and one is of the model."""
        for left, right in self._factors:
            of_data = self._sources[left], self._sources[right]
            if not all(of_data) or not of_data[0].isdisjoint(of_data[1]):
                return False
            if left not in self._loss.of_model and right not in self._loss.of_model:
                return False
        return True

    @cached_property
    def _of_products(self) -> set[int]:
        """Products, and what is computed of them one by one, with numbers of rows; and of their
        sums along one axis.
        """
        loss, computed = self._loss, set[int]()
        for number, node in loss.forward():
            follows = not computed.isdisjoint(operands(node))
            if _is_product(loss, number) or (follows and self._is_kept_by(number, node, computed)):
                computed.add(number)
        return computed

    def _is_kept_by(self, number: int, node: Node, computed: Collection[int]) -> bool:
        """Whether what reads products has them, or their sums, one by one."""
        loss, kind = self._loss, self._loss.kinds[number]
        if node.op.kind == "elementwise":
            others = {loss.kinds[i] for i in operands(node) if i not in computed}
            return kind in (SQUARE, ROW) and others <= {(), ROW}
        if kind == SQUARE:
            return node.op in (op.reshape, op.permute_dims)
        return kind == ROW and self._sums_products(node)

    def _sums_products(self, node: Node) -> bool:
        """Whether products are summed along one axis that nothing was done to before."""
        return node.op is op.sum and _is_product(self._loss, self._loss.root(operands(node)[0]))

    def _are_told_apart(self) -> bool:
        """Whether the loss has other numbers of pairs, or does more with those of products than to
        compute with them one by one and to reduce them.
        """
        loss, computed = self._loss, self._of_products
        for number, node in loss.forward():
            if loss.kinds[number] == SQUARE and number not in computed:
                return True
            if computed.isdisjoint(operands(node)) or number in computed:
                continue
            if loss.kinds[number] or node.op.name not in REDUCTIONS:
                return True
        return False

    def _are_negatives(self) -> bool:
        """Whether the factors meet row by row as well: these products are of the right pairs."""
        loss = self._loss
        for left, right in self._factors:
            of_data = {self._sources[left], self._sources[right]}
            for number, node in loss.forward():
                tables = [i for i in operands(node) if len(loss.kinds[i]) == 2]
                rows = [i for i in tables if loss.kinds[i][0] == ROWS and loss.kinds[i] != COLUMN]
                if not _is_product(loss, number) and {self._sources[i] for i in rows} == of_data:
                    return True
        return False

    def _meets_data(self, node: Node) -> bool:
        """Whether one number of each row meets products here, of data that these are not of."""
        loss = self._loss
        if node.op.kind != "elementwise":
            return False
        known = frozenset().union(*(self._sources[i] for pair in self._factors for i in pair))
        return any(
            loss.kinds[i] == ROW
            and i not in loss.of_model
            and self._sources[i]
            and self._sources[i].isdisjoint(known)
            for i in operands(node)
        )
