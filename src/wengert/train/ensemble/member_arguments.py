"""The arrays among the arguments of a call, as machine code finds them for each member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.core import tree
from wengert.core.trees.foreign import NUMBERS, foreign_arrays
from wengert.core.trees.row_labels import RowOrderLooks
from wengert.errors import TraceError
from wengert.runtime.entries import objects
from wengert.runtime.given_arrays import is_readable
from wengert.train.ensemble.each import Each
from wengert.train.runs.frames import require_columns_of_numbers
from wengert.train.storage import Array


class GivenArrays:
    """Arguments of a call: given to all members, or `each`."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.arguments = tuple(arguments)
        self._leaves: list[tuple[Any, bool]] = []  # each array, and whether it is one for each
        self._forms: list[Any] = []
        for x in arguments:
            if type(x) is np.ndarray:
                self._leaves.append((x, False))
                self._forms.append(None)
                continue
            is_each = isinstance(x, Each)
            leaves, structure = tree.flatten(x.tree if is_each else x)
            self._leaves += [(leaf, is_each) for leaf in leaves]
            self._forms.append((structure, len(leaves)))

    def kind(self) -> Any:
        """What arguments have in common that one crew serves; None where Python has to look."""
        if not self._leaves or any(form is not None and not form[1] for form in self._forms):
            return None
        kinds = []
        for x, is_each in self._leaves:
            if type(x) is not np.ndarray or not is_readable(x[0] if is_each else x):
                return None
            kinds.append((x.shape[is_each:], x.dtype, is_each))
        ids = [id(x) for x, _ in self._leaves]
        # An array at two places is one argument.
        return *kinds, *self._forms, tuple(map(ids.index, ids))

    def addresses(self, members: Array) -> Array:
        """Where the arrays of each member lie."""
        first = [objects.data(x) for x, _ in self._leaves]
        apart = [x.strides[0] if is_each else 0 for x, is_each in self._leaves]
        addresses: Array = np.array(first, np.int64) + members[:, None] * np.array(apart, np.int64)
        return addresses


def given_arrays(
    by: str,
    names: Sequence[str],
    arguments: Sequence[Any],
    look_at_columns: Callable[[str, Sequence[str], Sequence[Any]], None],
    row_order: RowOrderLooks,
) -> GivenArrays:
    """The arrays among arguments of these names, which may be frames."""
    try:
        return GivenArrays(arguments)
    except TraceError:  # of an array of another library, among others
        foreign = foreign_arrays(names, arguments)
        if not foreign:
            raise
    look_at_columns(by, names, arguments)
    row_order.look(by, names, arguments)
    leaves, structure = tree.flatten(tree.with_numpy(tuple(arguments)))
    for each in foreign:
        # One copy for all: machine code reads arrays whose rows lie one behind the other, and a
        # frame of pandas has its columns so.
        leaves[each.place] = np.asarray(leaves[each.place], order="C")
        if leaves[each.place].dtype.kind not in NUMBERS:
            require_columns_of_numbers(by, names, arguments)
    return GivenArrays(tree.unflatten(structure, leaves))
