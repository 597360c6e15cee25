"""Rows of what the model gives that are taken by numbers of columns: `wg.log_softmax(model(s))[a]`
with the actions of all rows, where one number of each row is meant.

Rows are taken on purpose, too: neighbours in a graph, partners, prototypes. So the numbers of the
first call must all be such of columns, and there be at least twice as many rows, of which most are
then taken by nobody. What is taken must go into the loss as it is, without meeting other rows of
the same, or being written to places or multiplied by matrices; and it must be all that is read, or
be probabilities, which an entropy may read as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from wengert.core.graph import Node
from wengert.core.lowering import Elementwise, Fold, View
from wengert.core.table import op
from wengert.core.types import ArrayType
from wengert.core.words.warn import warn_user
from wengert.errors import ScannedRowsWarning
from wengert.train.batch import ROWS
from wengert.train.recorded.rows.forward_pass import ForwardPass, operands_of

_FEWEST_ROWS = 8  # of few rows, many may have such numbers by chance
_AS_THEY_ARE = ("astype", "reshape", "stop_gradient")


def warn_of_rows_by_columns(forward: ForwardPass, arrays: Mapping[str, Any]) -> None:
    """Warn, once, where the loss of a single call takes rows of what the model gives by numbers of
    columns. `arrays` are the arguments of the call by name.
    """
    for node, columns in _Gathers(forward, arrays).mistaken():
        warn_user(
            f"getitem: x[index] was given x of shape ({ROWS}, {columns}) that the model gives for "
            f"the rows of the batch, and an index of shape ({ROWS},) whose numbers are all below "
            f"{columns}, as those of columns; it takes whole rows of the batch by these numbers. "
            "For one number of each row write wg.take_along_axis(x, index[:, None], axis=1)[:, 0].",
            ScannedRowsWarning,
            node.line,
        )
        return


class _Gathers:
    """The rows of a table that a loss takes by an argument."""

    def __init__(self, forward: ForwardPass, arrays: Mapping[str, Any]) -> None:
        self._pass, self._arrays = forward, arrays

    def mistaken(self) -> Iterator[tuple[Node, int]]:
        """Nodes that take rows by numbers of columns, and how many columns there are."""
        for number, node in self._pass.nodes.items():
            operands = operands_of(node)
            if node.op not in (op.gather, op.take) or node.params["axis"] != 0:
                continue
            if len(operands) == 2 and self._is_by_columns(*operands):
                table, index = operands
                probable = self._probabilities(table)
                alone = probable is not None or self._is_only_taken(table, index)
                if alone and self._goes_into_loss(number, table, probable):
                    yield node, int(self._pass.shape(table)[1])

    def _is_by_columns(self, table: int, index: int) -> bool:
        """Whether a table of the model with the rows of the batch is read at numbers of columns."""
        shape, of = self._pass.shape(table), self._pass
        given = table in of.of_model and table in of.of_data and of.shape(index) == shape[:1]
        if not given or len(shape) != 2 or not str(shape[0]).startswith(ROWS):
            return False
        values, columns = self._values(index), shape[1]
        if values is None or not isinstance(columns, int):
            return False
        enough = values.size >= max(_FEWEST_ROWS, 2 * columns)
        return bool(enough and values.min() >= 0 and values.min() < values.max() < columns)

    def _values(self, index: int) -> Any:
        """The numbers of an index in this call, where an argument has them."""
        node = self._pass.nodes[index]
        while node.op.name in _AS_THEY_ARE:
            node = self._pass.nodes[operands_of(node)[0]]
        found = self._arrays.get(str(node.params.get("name"))) if node.op is op.input else None
        return None if found is None else np.asarray(found)

    def _probabilities(self, table: int) -> int | None:
        """The softmax of each row that a table is, or its logarithm, if any."""
        node = self._pass.nodes[table]
        while isinstance(node.op.lower, Elementwise):
            wide = [i for i in operands_of(node) if len(self._pass.shape(i)) == 2]
            if len(wide) != 1:
                return None
            (table,) = wide
            node = self._pass.nodes[table]
        of_rows = node.op in (op.softmax, op.log_softmax) and node.params["axis"] in (1, -1)
        return table if of_rows else None

    def _is_only_taken(self, table: int, index: int) -> bool:
        """Whether nothing but this index reads a table, however often that is computed."""
        forms = self._pass.forms
        for node in self._pass.nodes.values():
            read = [forms[i] for i in operands_of(node)]
            if forms[table] in read and forms[index] not in read:
                return False
        return True

    def _goes_into_loss(self, taken: int, table: int, probable: int | None) -> bool:
        """Whether what is taken is reduced without meeting other rows of the same."""
        roots = {table} if probable is None else {table, probable, *self._operands(probable)}
        same = self._depending_on({self._pass.forms[i] for i in roots})
        after = self._pass.after(taken)
        for number in after[1:]:
            others = [i for i in self._operands(number) if i not in after and self._has_rows(i)]
            if not self._is_plain(self._pass.nodes[number]) or not same.isdisjoint(others):
                return False
        return True

    def _operands(self, number: int) -> list[int]:
        return operands_of(self._pass.nodes[number])

    def _has_rows(self, number: int) -> bool:
        return any(str(size).startswith(ROWS) for size in self._pass.shape(number))

    def _depending_on(self, forms: set[int]) -> set[int]:
        """All that is one of these forms, or computed of one."""
        depending: set[int] = set()
        for number in self._pass.nodes:
            if self._pass.forms[number] in forms or not depending.isdisjoint(
                self._operands(number)
            ):
                depending.add(number)
        return depending

    def _is_plain(self, node: Node) -> bool:
        """Whether an op computes with elements, moves or reduces them; indices it does not take."""
        types = [self._pass.nodes[i].type for i in operands_of(node)]
        indexed = any(isinstance(t, ArrayType) and t.dtype.kind in "iu" for t in types)
        plain = isinstance(node.op.lower, Elementwise | View | Fold)
        return plain or (node.op.kind == "composite" and not indexed)
