"""Predictions for all times against one target for each row: (n, time, 1), (time, n, 1) or, pooled
over the rows instead of the times, (time, 1). Less (n,), they give a number for every pair.

As with (n, 1) and (n,), that is known where nobody has written the axis of one element on purpose,
where one of the two is of the model and the other is data, and where all numbers are reduced to
one. Where pairs are weighed against each other, as in a softmax, or something else with rows that
the model gives meets them, they are meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from wengert.core.dims import Size
from wengert.core.graph import Node
from wengert.core.lowering import Elementwise
from wengert.core.table import op
from wengert.core.words.warn import warn_user
from wengert.errors import PairedRowsWarning
from wengert.train.batch import ROWS
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of, shape_of

_REDUCTIONS = ("sum", "mean")
_POOLING = (*_REDUCTIONS, "max", "min")
_KEEPING = ("astype", "permute_dims", "stop_gradient")  # an axis of one element behind


def warn_of_pairs_with_times(forward: ForwardPass) -> None:
    """Warn, once, where the loss of a step pairs predictions for times with targets for rows."""
    for node, wide, rows in _Loss(forward).paired():
        given = ", ".join("n" if size == rows else str(size) for size in wide)
        start = (
            f"{node.op.name}: given shapes ({given}) and (n,) in the loss of a TrainStep, n the "
            "rows of the batch; "
        )
        if rows in wide:
            message = (
                "the result has a number for each pair of rows, and all of them are reduced. Pool "
                "the times first, as with hs[-1] of (time, n, hidden) or x.mean(axis=1) of (n, "
                "time, size), and give both one shape, as with prediction[:, 0]."
            )
        else:
            message = (
                "no row is left in the first, which was pooled over the rows, and each row meets "
                "all that is left. Pool the times: axis 0 of what GRU, LSTM and RNN give, (time, "
                "n, hidden), and axis 1 of (n, time, size)."
            )
        warn_user(start + message, PairedRowsWarning, node.line)
        return


class _Loss:
    def __init__(self, forward: ForwardPass) -> None:
        self._pass = forward
        self._nodes, self._of_model = self._pass.nodes, self._pass.of_model

    def paired(self) -> Iterator[tuple[Node, tuple[Size, ...], Size]]:
        """The nodes that pair times with rows, with the shape of what has times and the size of the
        rows.
        """
        for number, node in self._nodes.items():
            if node.op.kind != "elementwise" or len(node.operands) < 2:
                continue
            for wide in operands_of(node):
                for row in operands_of(node):
                    shape, rows = self._pass.shape(wide), self._pass.shape(row)
                    if len(rows) == 1 and _are_rows(rows[0]) and shape[-1:] == (1,):
                        pairs = self._pairs_rows(wide, row) or self._has_lost_rows(wide, row)
                        if pairs and rows[0] not in self._all_pairs and self._is_reduced(number):
                            yield node, shape, rows[0]

    def _pairs_rows(self, wide: int, row: int) -> bool:
        """Whether both have rows, one is of the model and the other is data."""
        shape, (rows,) = self._pass.shape(wide), self._pass.shape(row)
        ours, theirs = wide in self._of_model, row in self._of_model
        both = wide in self._pass.of_data and row in self._pass.of_data
        has_rows = len(shape) > 2 and shape.count(rows) == 1
        return has_rows and both and ours != theirs and wide in self._natural

    def _has_lost_rows(self, wide: int, row: int) -> bool:
        """Whether a table (times, 1) of the model was pooled over rows, which the other has."""
        shape, (rows,) = self._pass.shape(wide), self._pass.shape(row)
        if len(shape) != 2 or not isinstance(shape[0], int) or shape[0] < 2:
            return False
        if wide not in self._of_model or row in self._of_model or wide not in self._natural:
            return False
        pooled = list(self._where_rows_end(wide, rows))
        return bool(pooled) and all(
            node.op.name in _POOLING
            and shape[0] in shape_of(node)
            and len(self._pass.shape(operands_of(node)[0])) == 3
            for node in pooled
        )

    def _where_rows_end(self, number: int, rows: Size) -> Iterator[Node]:
        """The last nodes before one without rows that are given arrays with them."""
        seen, pending = {number}, [number]
        for number in pending:
            operands = operands_of(self._nodes[number])
            with_rows = [i for i in operands if rows in self._pass.shape(i)]
            if with_rows:
                yield self._nodes[number]
            more = [i for i in operands if i not in with_rows and i not in seen]
            seen.update(more)
            pending += more

    @cached_property
    def _natural(self) -> set[int]:
        """Values whose last axis, of one element, nobody has written to have pairs."""
        natural: set[int] = set()
        for number, node in self._nodes.items():
            if shape_of(node)[-1:] == (1,) and self._comes_naturally(node, natural):
                natural.add(number)
        return natural

    def _comes_naturally(self, node: Node, natural: set[int]) -> bool:
        operands, shape = operands_of(node), shape_of(node)
        if node.op.kind == "bilinear" or node.op.name == "input":
            return True
        if node.op is op.pick:
            return self._nodes[operands[0]].op is op.recurrent_loop
        if node.op.name in _KEEPING:
            return operands[0] in natural
        if isinstance(node.op.lower, Elementwise):
            alike = [i for i in operands if self._pass.shape(i) == shape]
            return bool(alike) and natural.issuperset(alike)
        given = self._pass.shape(operands[0]) if operands else ()
        keeps_axes = len(given) == len(shape) and given[-1:] != (1,)
        return keeps_axes and (node.op.name in _POOLING or node.op is op.slice_axes)

    @cached_property
    def _all_pairs(self) -> set[Size]:
        """The rows of which the loss has a product of matrices for all pairs: these are meant."""
        return {
            size
            for node in self._nodes.values()
            for size in shape_of(node)
            if node.op.kind == "bilinear" and _are_rows(size) and shape_of(node).count(size) > 1
        }

    def _is_reduced(self, number: int) -> bool:
        """Whether all that is computed of pairs is computed of each by itself, maybe with weights
        of data, and reduced to a number.
        """
        after = set(self._pass.after(number))
        for i in after - {number}:
            node = self._nodes[i]
            if not shape_of(node):
                continue
            shapes = {self._pass.shape(each) for each in operands_of(node) if each in after}
            others = [each for each in operands_of(node) if each not in after]
            if len(shapes - {()}) > 1 or any(map(self._is_of_rows_and_model, others)):
                return False
            if node.op.kind != "elementwise" and node.op.name not in (*_REDUCTIONS, "astype"):
                return False
        return any(not self._pass.shape(i) for i in after)

    def _is_of_rows_and_model(self, number: int) -> bool:
        return number in self._of_model and any(map(_are_rows, self._pass.shape(number)))


def _are_rows(size: Size) -> bool:
    return str(size).startswith(ROWS) and str(size).isidentifier()
