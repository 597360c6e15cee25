"""Masks of places that choose among rows, in a run that shuffles rows: the risk set of each row as
all rows before it, `wg.where(i[None, :] <= i[:, None], eta[None, :], -np.inf)` of `i =
wg.arange(n)`, or with `np.tri(n)` from outside.

Such a mask compares places by their order, or is triangular. It depends on that order what is
reduced of single rows that it has chosen. Values of pairs of rows may be taken once each by the
same mask, in whatever order rows come. A diagonal has no order, nor has a mask of the data, as
times are. What the loss has sorted has places of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from wengert.core.dims import Size
from wengert.core.graph import Node
from wengert.core.lowering import Formula
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of
from wengert.train.recorded.rows.weighed_rows import is_of_places, is_reordered, number_of_rows

_LEAST = 3  # rows of a constant; a smaller one may be anything
_ORDERS = ("__lt__", "__le__", "__gt__", "__ge__")  # Python's operators


def warn_of_ordered_masks(forward: ForwardPass) -> None:
    """Warn, once, where the loss of a run that shuffles its rows chooses among them by the order of
    their places.
    """
    for node in _Masks(forward).choosing():
        warn_user(
            f"{node.op.name}: chooses among rows of the batch by a mask of their places, such as "
            "i[None, :] <= i[:, None] of i = wg.arange(n), in a run that shuffles rows "
            "(shuffle_seed); each row then has any place. Compare what rows are ordered by, as "
            "t[None, :] >= t[:, None] of times; or leave out shuffle_seed, which wg.train.fit "
            "takes as shuffle_seed=None.",
            ScannedRowsWarning,
            node.line,
        )
        return


class _Masks:
    """The forward pass of a loss: what is known of places of rows alone, and has their order."""

    def __init__(self, forward: ForwardPass) -> None:
        self._pass, self._nodes = forward, forward.nodes
        self._rows = _rows(forward)
        self._counts: set[int] = set()  # computed of wg.arange alone
        self._masks: set[int] = set()
        self._constants: set[int] = set()  # masks from outside
        for number, node in self._nodes.items():
            if number not in forward.of_data and number not in forward.of_model:
                self._enter(number, node)

    def _enter(self, number: int, node: Node) -> None:
        operands = operands_of(node)
        counting = [i in self._counts for i in operands]
        of_pairs = self._axes_of_rows(number) == 2
        ordered = (node.op.infix in _ORDERS and all(counting)) or self._is_triangular(node)
        if of_pairs and (ordered or not self._masks.isdisjoint(operands)):
            self._masks.add(number)
            if node.op is op.constant or not self._constants.isdisjoint(operands):
                self._constants.add(number)
        elif isinstance(node.op.lower, Formula) or any(counting):
            self._counts.add(number)

    def _is_triangular(self, node: Node) -> bool:
        if node.op is not op.constant:
            return False
        values = node.params["value"]
        return values.ndim == 2 and len(values) >= _LEAST and is_of_places(values)

    def _axes_of_rows(self, number: int) -> int:
        return 0 if self._rows is None else self._pass.shape(number).count(self._rows)

    def choosing(self) -> Iterator[Node]:
        """Nodes that apply such a mask to single rows of the data, which are then reduced. Products
        of matrices from outside are `weighed_rows`.
        """
        for number, node in self._nodes.items():
            operands = operands_of(node)
            if self._masks.isdisjoint(operands):
                continue
            others = [i for i in operands if i in self._pass.of_data]
            single = bool(others) and all(self._axes_of_rows(i) == 1 for i in others)
            if not single or any(is_reordered(self._pass, i) for i in others):
                continue
            weighs = node.op is op.matmul and self._constants.isdisjoint(operands)
            if weighs or (node.op.kind == "elementwise" and self._is_reduced(number)):
                yield node

    def _is_reduced(self, number: int) -> bool:
        """Whether what was chosen is reduced, with nothing else of rows in between."""
        if self._axes_of_rows(number) != 2:
            return False
        for reader in self._pass.readers.get(number, ()):
            node = self._nodes[reader]
            others = [i for i in operands_of(node) if i != number]
            if node.op.kind == "elementwise" or node.op is op.astype:
                if not any(map(self._axes_of_rows, others)) and self._is_reduced(reader):
                    return True
                continue
            rearranges = node.op in (op.slice_axes, op.gather, op.reshape)
            if not rearranges and self._axes_of_rows(reader) < 2:
                return True
        return False


def _rows(forward: ForwardPass) -> Size | None:
    """How many rows all arguments have: an open size, or a number that nothing else has."""
    arguments = [i for i in forward.of_data if forward.nodes[i].op is op.input]
    sizes = {forward.shape(i)[:1] for i in arguments}
    first = sizes.pop() if len(sizes) == 1 else ()
    return number_of_rows(forward) if not first or isinstance(first[0], int) else first[0]
