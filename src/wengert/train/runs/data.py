"""Data for a run: trees of arrays whose rows are gathered into batches."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.api.compiling.compile import compile
from wengert.core import tree
from wengert.core.dims import Dim
from wengert.errors import DTypeError, ShapeError
from wengert.ops.random import fold_in, key, permutation
from wengert.runtime.aligned_memory import aligned_array
from wengert.runtime.given_arrays import is_readable
from wengert.runtime.native_runs import DataRows
from wengert.runtime.outside.live import is_live
from wengert.runtime.refusals import require_plain
from wengert.train.batch import leaf_names, require_no_list
from wengert.train.storage import Array

SEEN = 64  # rows of an array that its checksum is made of, about


class Data:
    """The arguments of a run. Their arrays have one row per sample; those without axes, and live
    arrays of another training step, are passed on whole.
    """

    def __init__(
        self,
        by: str,
        names: Sequence[str],
        arguments: Sequence[Any],
        size: Any,
        may_be_short: bool = False,  # whether the only batch may have fewer rows
    ) -> None:
        self._names = names
        arguments = [tree.with_numpy(x) for x in arguments]
        for name, x in zip(names, arguments, strict=True):
            if not tree.leaves(x):
                require_no_list(f"{by}: argument", name, x)
        leaves, self._structure = tree.flatten(tuple(arguments))
        require_plain(leaf_names(names, arguments), leaves, by)
        self.leaves = [np.asarray(x) for x in leaves]
        # Whether each is the same in all batches.
        self.whole = [np.ndim(x) == 0 or is_live(x) for x in leaves]
        paths = leaf_names(names, arguments)
        for path, x in zip(paths, self.leaves, strict=True):
            _require_numbers(by, path, x)
        self.rows = self._count_rows(by, paths)
        self.size = _batch_size(by, size, self.rows, may_be_short)
        self._places = [
            None if whole else _place(self.size, x)
            for x, whole in zip(self.leaves, self.whole, strict=True)
        ]
        arrays = [x if p is None else p for x, p in self._pairs()]
        self.full = self._batch(arrays)
        self.kind = self._structure, tuple((x.dtype, x.shape) for x in arrays)  # of full batches

    def checksum(self) -> int:
        """A number that tells these data from others of as many rows: of some rows of each array,
        which the data have in any process.
        """
        found = 0
        for x, whole in zip(self.leaves, self.whole, strict=True):
            if not whole:
                some = x[:: max(self.rows // SEEN, 1)]
                found = zlib.crc32(np.ascontiguousarray(some).tobytes(), found)
        return found

    def _pairs(self) -> Iterator[tuple[Array, Array | None]]:
        return zip(self.leaves, self._places, strict=True)

    def _batch(self, leaves: Sequence[Array]) -> tuple[Any, ...]:
        found: tuple[Any, ...] = tree.unflatten(self._structure, leaves)
        return found

    def _count_rows(self, by: str, paths: Sequence[str]) -> int:
        counts = {
            path: x.shape[0]
            for path, x, whole in zip(paths, self.leaves, self.whole, strict=True)
            if not whole
        }
        if not counts:
            raise ShapeError(
                f"{by}: given no arrays with rows; data are arrays with one row per sample. Pass "
                "at least one."
            )
        if len(set(counts.values())) > 1:
            given = ", ".join(f"{path}: {n}" for path, n in counts.items())
            raise ShapeError(
                f"{by}: the arrays have different numbers of rows ({given}); each sample is one "
                "row of every array. Cut them to one length."
            )
        rows: int = next(iter(counts.values()))
        if not rows:
            raise ShapeError(f"{by}: the data are empty; at least one row is needed. Pass some.")
        return rows

    def batches(self, order: Array | None, drop_last: bool) -> Iterator[tuple[int, Any]]:
        """(rows, batch) one after the other. The arrays of a batch are valid until the next."""
        for number in range(self.steps(drop_last)):
            rows = min(self.size, self.rows - number * self.size)
            yield rows, self.batch(number, order)

    def batch(self, number: int, order: Array | None) -> Any:
        """One batch, whose arrays are valid until the next; the last one may be smaller."""
        begin = number * self.size
        end = min(begin + self.size, self.rows)
        if order is None:
            return self._slices(begin, end)
        return self._gathered(order[begin:end])

    def first(self, rows: int) -> Any:
        """A batch of the first rows, this many."""
        return self._slices(0, rows)

    def row_arrays(self, shuffled: bool) -> list[DataRows] | None:
        """The arrays whose rows machine code can read by itself: where they lie, or gathered into
        `full`. None where one of them has rows that it cannot read.
        """
        found = []
        for x, place in self._pairs():
            if place is not None:
                if not (x.dtype.isnative and x[:1].flags.c_contiguous):
                    return None
                found.append(DataRows(x, place if shuffled or not is_readable(x) else None))
        return found

    def steps(self, drop_last: bool) -> int:
        """How many batches there are."""
        return self.rows // self.size if drop_last else -(-self.rows // self.size)

    def _slices(self, begin: int, end: int) -> tuple[Any, ...]:
        parts = []
        for x, place in self._pairs():
            part = x if place is None else x[begin:end]
            if place is not None and not is_readable(x):  # programs read plain arrays only
                part = place[: end - begin]
                part[...] = x[begin:end]
            parts.append(part)
        return self._batch(parts)

    def _gathered(self, rows: Array) -> tuple[Any, ...]:
        parts = []
        for x, place in self._pairs():
            if place is not None:
                part = place[: len(rows)]
                np.take(x, rows, axis=0, out=part, mode="clip")  # in range: "raise" would copy
                parts.append(part)
            else:
                parts.append(x)
        return self.full if len(rows) == self.size else self._batch(parts)


def _require_numbers(by: str, path: str, x: Array) -> None:
    if x.dtype.kind not in "biuf":
        ragged = x.dtype.kind == "O" and any(isinstance(each, np.ndarray) for each in x.flat[:1])
        repair = "Make its rows of one shape and np.stack them" if ragged else "Convert it"
        raise DTypeError(
            f"{by}: argument {path!r} has dtype {x.dtype}; it must hold bools, integers or floats. "
            f"{repair}{'' if ragged else ' with astype'}."
        )


def _place(size: int, x: Array) -> Array:
    """An array that this many rows of another one fit into."""
    return aligned_array((size, *x.shape[1:]), x.dtype.newbyteorder("="))


def shuffled(rows: int, seed: int | None, epoch: int) -> Array | None:
    """The order of the rows in an epoch, from seed and epoch alone; None for their own order."""
    if seed is None:
        return None
    found: Array = _order(fold_in(key(seed), epoch), np.empty(rows, np.bool_))
    return found


# Native code, made when it is first called, for any number of rows.
_order = compile(
    lambda key, rows: permutation(key, rows.shape[0]),
    dims={"rows": {0: Dim("rows")}},
    threads=1,
)


def _batch_size(by: str, size: Any, rows: int, may_be_short: bool) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(
            f"{by}: batch_size={size!r} was given; it is a whole number of rows, at least 1. "
            "Choose one."
        )
    if size > rows and not may_be_short:
        raise ShapeError(
            f"{by}: batch_size={size} was given for {rows} rows; a batch must fit into the data. "
            f"Choose {rows} or less, as in batch_size=min({size}, len(x))."
        )
    return int(min(size, rows))
