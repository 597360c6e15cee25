"""Orders: in which order the rows of the data come, epoch by epoch."""

from __future__ import annotations

import numpy as np

from wengert.api.compiling.compile import compile
from wengert.core.dims import Dim
from wengert.ops.random import fold_in, key, permutation
from wengert.runtime.bound import bound_to
from wengert.runtime.executable import Executable
from wengert.runtime.native_runs import Sorting
from wengert.train.storage import Array

KEPT = 2**16  # rows of orders that are kept from run to run, at most
NONE = -1  # no seed, or the epoch of an order that was not made


def shuffled(rows: int, seed: int | None, epoch: int) -> Array | None:
    """The order of the rows in an epoch, from seed and epoch alone; None for their own order."""
    return None if seed is None else _shuffled(rows, seed, epoch)


def _shuffled(rows: int, seed: int, epoch: int) -> Array:
    order: Array = _order(key(seed), np.array(epoch), np.empty(rows, np.bool_))
    return order


# Native code, made when it is first called, for any number of rows.
_order = compile(
    lambda key, epoch, rows: permutation(fold_in(key, epoch), rows.shape[0]),
    dims={"rows": {0: Dim("rows")}},
    threads=1,
)


class Orders:
    """The order of the rows in one epoch at a time, made by Python or in the loop of a run."""

    def __init__(self, rows: int) -> None:
        self.rows, self._seed = rows, 0
        self._key, self._epoch = key(0), np.array(NONE)
        self._order, size = np.empty(rows, np.int64), np.empty(rows, np.bool_)
        executable: Executable = _order.executable(self._key, self._epoch, size)
        bound = bound_to(executable, (self._key, self._epoch, size))
        assert bound is not None  # the rows are a Dim
        bound.keep({executable.output_slots[0]: self._order})
        self.sorting = Sorting(self._order, self._epoch, bound)  # as the loop makes it

    def begin(self, seed: int) -> None:
        """Make orders of this seed from now on."""
        if seed != self._seed:
            self._seed = NONE  # until all of it is there
            self._epoch[...] = NONE
            self._key[...] = key(seed)
            self._seed = seed

    def of(self, epoch: int) -> Array:
        """That of an epoch. It is valid until the next one is asked for."""
        if self._epoch != epoch:
            self._epoch[...] = NONE  # until all of it is there
            np.copyto(self._order, _shuffled(self.rows, self._seed, epoch))
            self._epoch[...] = epoch
        return self._order


def orders_of(rows: int, kept: list[Orders]) -> Orders:
    """Orders of so many rows: those that were kept, or new ones, which are kept unless they are
    large. One run at a time uses them.
    """
    if not (kept and kept[0].rows == rows):
        made = Orders(rows)
        if rows > KEPT:
            return made
        kept[:] = [made]
    return kept[0]
