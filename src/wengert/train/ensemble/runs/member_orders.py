"""Orders: which rows of the data each member is given, and in which order, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.api.compiling.compile import compile
from wengert.core.dims import Dim
from wengert.core.table import op
from wengert.core.words.arguments import worded
from wengert.ops.random import fold_in, key, permutation, randint
from wengert.runtime.bound import bound_to
from wengert.runtime.crews.crew import CrewProgram
from wengert.runtime.entries import objects
from wengert.runtime.executable import Executable
from wengert.train.option_checks import whole
from wengert.train.storage import Array

NONE = -1  # the epoch of an order that was not made
_RESAMPLED = 2**32 - 1  # folded into a key: the rows of a bootstrap are apart from all orders


@worded
def bootstrap_rows(rows: int, seed: int) -> Array:
    """The rows that a member with this bootstrap seed is trained on: as many as there are, drawn
    with replacement. A TrainStep that runs on `x[bootstrap_rows(len(x), seed)]` is given the same.

    >>> wg.train.bootstrap_rows(6, seed=1)
    array([4, 1, 5, 3, 3, 4])
    """
    count = whole(rows)
    if count is None or count < 1:
        raise ValueError(
            f"bootstrap_rows: rows={rows!r} was given; it is the number of rows of the data, at "
            "least 1. Pass len(x)."
        )
    drawn: Array = _resample(key(seed), np.empty(count, np.bool_))
    return drawn


# Native code, made when it is first called, for any number of rows.
_resample = compile(
    lambda key, rows: randint(fold_in(key, _RESAMPLED), (rows.shape[0],), 0, rows.shape[0]),
    dims={"rows": {0: Dim("rows")}},
    threads=1,
)
_order = compile(
    lambda key, epoch, rows: op.take(rows, permutation(fold_in(key, epoch), rows.shape[0]), axis=0),
    dims={"rows": {0: Dim("rows")}},
    threads=1,
)


class MemberOrders:
    """An order of rows for each member, made by Python or in the loop of a run. The rows are those
    of the data, or of each member's bootstrap.
    """

    def __init__(
        self, rows: int, shuffle: Sequence[int] | None, resample: Sequence[int] | None, members: int
    ) -> None:
        own = np.arange(rows)
        self._rows = (
            [own] * members
            if resample is None
            else [bootstrap_rows(rows, seed) for seed in resample]
        )
        self.shuffles = shuffle is not None
        self.orders = np.stack(self._rows)  # (members, rows)
        if shuffle is None:
            return
        self._keys = np.stack([key(seed) for seed in shuffle])
        self.epochs = np.full(members, NONE, np.int64)
        first = self._keys[0], self.epochs[0, ...], self._rows[0]
        executable: Executable = _order.executable(*first)
        bound = bound_to(executable, first)
        assert bound is not None  # the rows are a Dim
        slots = [*bound.slots_of(first), executable.output_slots[0]]
        self.program = CrewProgram(executable, bound.sizes, slots)

    def addresses(self, member: int) -> list[int]:
        """For the slots of `program`."""
        arrays = (
            self._keys[member],
            self.epochs[member, ...],
            self._rows[member],
            self.orders[member],
        )
        return [objects.data(x) for x in arrays]

    def of(self, member: int, epoch: int) -> Array:
        """That of a member in an epoch. It is valid until the next one is asked for."""
        if self.shuffles and self.epochs[member] != epoch:
            self.epochs[member] = NONE  # until all of it is there
            self.orders[member] = _order(self._keys[member], np.array(epoch), self._rows[member])
            self.epochs[member] = epoch
        order: Array = self.orders[member]
        return order
