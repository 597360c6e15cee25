"""Data for a run: trees of arrays whose rows are gathered into batches."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Any, NoReturn

import numpy as np

from wengert.core import tree
from wengert.core.trees.foreign import NUMBERS
from wengert.errors import DTypeError, ShapeError
from wengert.optim.model_forms import ModelForm
from wengert.runtime.aligned_memory import aligned_array
from wengert.runtime.given_arrays import is_readable
from wengert.runtime.native_runs import DataRows
from wengert.runtime.outside.live import is_live
from wengert.runtime.refusals import require_plain
from wengert.train.batch import has_numbers, leaf_names, require_no_list
from wengert.train.runs.frames import (
    look_at_frames,
    note_missing,
    repair_of_dtype,
    require_columns_of_numbers,
)
from wengert.train.runs.loaders import refuse_loader
from wengert.train.runs.model_among_data import advice_of_network, advice_of_whole, refuse_model
from wengert.train.runs.read_frames import ReadFrames
from wengert.train.storage import Array

SEEN = 64  # rows of an array that its checksum is made of, about
MOST_BYTES = 2**31  # that a checksum of all rows is made of, about
MOST_ALIKE = 3  # arrays of one argument and as many rows, that messages list
AT_ONCE = 2**24  # bytes of which a copy is made, where an array is not contiguous


def checksum_of_rows(arrays: Sequence[Array]) -> int:
    """A number that tells arrays, as long as each other, from others; of all their rows or, where
    these are more than MOST_BYTES, of rows in equal distances.
    """
    apart = -(-sum(x.nbytes for x in arrays) // MOST_BYTES) or 1
    checksum = 0
    for x in arrays:
        some = x[::apart]
        size = max(AT_ONCE // max(some[:1].nbytes, 1), 1)
        for begin in range(0, len(some), size):
            part = np.ascontiguousarray(some[begin : begin + size])
            checksum = zlib.crc32(part.reshape(-1).view(np.uint8).data, checksum)
    return checksum


def _listed(rows: Iterable[tuple[str, int]]) -> str:
    """Paths of arrays with their rows; of many alike in one argument, as in a list, the first."""
    shown: list[str] = []
    alike = Counter[tuple[str, int]]()
    for path, count in rows:
        kind = path.partition(".")[0], count
        alike[kind] += 1
        if alike[kind] <= MOST_ALIKE:
            shown.append(f"{path}: {count}")
        elif alike[kind] == MOST_ALIKE + 1:
            shown.append("…")
    return ", ".join(shown)


class Data:
    """The arguments of a run. Their arrays have one row per sample; those without axes, live arrays
    of another training step, other weights of the model's form, and copies of the state that are
    evaluated are passed on whole.
    """

    def __init__(
        self,
        by: str,
        names: Sequence[str],
        arguments: Sequence[Any],
        size: Any,
        may_be_short: bool = False,  # whether the only batch may have fewer rows
        model: ModelForm | None = None,
    ) -> None:
        given, self._names = tuple(arguments), names
        self._paths = partial(leaf_names, names, given)  # asked for where something is refused
        self.leaves: list[Array]
        self.frames: ReadFrames | None = None  # where there may be some
        if all(type(x) is np.ndarray for x in given):
            self.leaves, self._structure = list(given), _structure_of_arrays(len(given))
        else:
            look_at_frames(by, names, given)
            given = tree.with_numpy(given)
            refuse_loader(by, names, given)
            leaves, self._structure = tree.flatten(given)
            if has_numbers(leaves, self._structure):
                _require_no_lists(by, names, given)
            self._paths = partial(leaf_names, names, given)
            require_plain(self._paths(), leaves, by)
            self.leaves = [np.asarray(x) for x in leaves]
            self.frames = ReadFrames(names, arguments, self.leaves)
        self._given = tuple(arguments)  # frames and series as they are
        # Whether each is the same in all batches.
        self.whole = [x.ndim == 0 or is_live(x) for x in self.leaves]
        if model is not None and not all(type(x) is np.ndarray for x in arguments):
            self._pass_weights_whole(model)
        for k, x in enumerate(self.leaves):
            if x.dtype.kind not in NUMBERS:
                require_columns_of_numbers(by, names, arguments)
                _refuse_dtype(by, self._paths()[k], x)
        self.rows = self._count_rows(by)
        self.size = _batch_size(by, size, self.rows, may_be_short, self._joined)
        pairs = zip(self.leaves, self.whole, strict=True)
        self.kind = (
            self._structure,
            tuple(  # of full batches
                (x.dtype.newbyteorder("="), x.shape if whole else (self.size, *x.shape[1:]))
                for x, whole in pairs
            ),
        )

    def whole_arguments(self) -> list[bool]:
        """Whether each argument is the same in all batches."""
        counts = [len(tree.leaves(x)) for x in self._batch(self.leaves)]
        ends = itertools.accumulate(counts)
        return [all(self.whole[end - n : end]) for n, end in zip(counts, ends, strict=True)]

    def note_missing(self, error: Exception) -> None:
        """Add to what a function of these data raises which columns have missing numbers."""
        note_missing(error, self._names, self._given)

    def _pass_weights_whole(self, model: ModelForm) -> None:
        """Let arguments that have the tree and the shapes of the model be no rows."""
        begin = 0
        for x in self._batch(self.leaves):
            end = begin + len(tree.leaves(x))
            if model.is_form_of(x) or (
                model.is_form_of_state(x) and self._has_other_rows(begin, end)
            ):
                self.whole[begin:end] = [True] * (end - begin)
            begin = end

    def _has_other_rows(self, begin: int, end: int) -> bool:
        """Whether some of these arrays have other rows than those around them."""
        others = [*self.leaves[:begin], *self.leaves[end:]]
        rows = {len(x) for x in others if x.ndim and not is_live(x)}
        return any(not x.ndim or len(x) not in rows for x in self.leaves[begin:end])

    @cached_property
    def _places(self) -> list[Array | None]:
        """Where rows are gathered, for each array; None where it is passed on whole."""
        return [
            None if whole else _place(self.size, x)
            for x, whole in zip(self.leaves, self.whole, strict=True)
        ]

    @cached_property
    def full(self) -> tuple[Any, ...]:
        """A batch of gathered rows."""
        return self._batch([x if place is None else place for x, place in self._pairs()])

    def named_arrays(self) -> list[tuple[str, Array]]:
        """All arrays, with the names of their arguments."""
        return list(zip(self._paths(), self.leaves, strict=True))

    def checksum(self) -> int:
        """A number that tells these data from others of as many rows: of some rows of each array,
        which the data have in any process.
        """
        checksum = 0
        for x, whole in zip(self.leaves, self.whole, strict=True):
            if not whole:
                some = x[:: max(self.rows // SEEN, 1)]
                checksum = zlib.crc32(some.tobytes(), checksum)
        return checksum

    def full_checksum(self) -> int:
        """The same of all rows; of very many bytes, of rows in equal distances."""
        rows = [x for x, whole in zip(self.leaves, self.whole, strict=True) if not whole]
        return checksum_of_rows(rows)

    def _pairs(self) -> Iterator[tuple[Array, Array | None]]:
        return zip(self.leaves, self._places, strict=True)

    def _batch(self, leaves: Sequence[Array]) -> tuple[Any, ...]:
        batch: tuple[Any, ...] = tree.unflatten(self._structure, leaves)
        return batch

    def _joined(self) -> str:
        """What to do with an argument that is a list of rows; nothing where there is none."""
        for name, x in zip(self._names, self._batch(self.leaves), strict=True):
            many = isinstance(x, list) and len(x) > 1 and all(type(y) is np.ndarray for y in x)
            if many and len({y.shape for y in x}) == 1:
                return f"{name!r} is a list of {len(x)} arrays; if they are rows, np.stack them."
        return ""

    def _count_rows(self, by: str) -> int:
        pairs = zip(self.leaves, self.whole, strict=True)
        counts = {x.shape[0] for x, whole in pairs if not whole}
        if not counts:
            raise ShapeError(
                f"{by}: given no arrays with rows; data are arrays with one row per sample. Pass "
                "at least one."
            )
        if len(counts) > 1:
            refuse_model(by, self._names, self._batch(self.leaves), self.whole)
            known = zip(self._paths(), self.leaves, self.whole, strict=True)
            given = _listed((path, len(x)) for path, x, whole in known if not whole)
            batch = self._batch(self.leaves)
            repair = (
                self._joined()
                or advice_of_network(self._names, batch)
                or advice_of_whole(self._names, batch, self.whole)
            )
            raise ShapeError(
                f"{by}: the arrays have different numbers of rows ({given}); each sample is one "
                f"row of every array. {repair or 'Cut them to one length.'}"
            )
        rows: int = counts.pop()
        if not rows:
            raise ShapeError(f"{by}: the data are empty; at least one row is needed. Pass some.")
        return rows

    def batches(self, order: Array | None, drop_last: bool) -> Iterator[tuple[int, Any]]:
        """(rows, batch) one after the other. The arrays of a batch are valid until the next."""
        for number in range(self.steps(drop_last)):
            rows = min(self.size, self.rows - number * self.size)
            yield rows, self.batch(number, order)

    def batch(
        self,
        number: int,
        order: Array | None,
        part: Callable[[int], tuple[int, int]] | None = None,
    ) -> Any:
        """One batch, whose arrays are valid until the next; the last one may be smaller. `part`
        says which of so many rows are wanted, where these are not all of them.
        """
        begin = number * self.size
        end = min(begin + self.size, self.rows)
        if part is not None:
            first, last = part(end - begin)
            begin, end = begin + first, begin + last
        if order is None:
            return self._slices(begin, end)
        return self._gathered(order[begin:end])

    def spreads(self) -> Iterator[Callable[[int, int], Any]]:
        """Functions that give the rows from one to before another of batches that have rows from
        all over the data, at least two of them. Those of the second batch lie between those of the
        first, and its halves have every other one: what the two halves of one batch have in common
        by chance, those of the other hardly have.
        """
        size = max(self.size, 2)
        yield partial(self._rows_at, np.linspace(0, self.rows - 1, size).astype(np.intp))
        between = np.linspace(0, self.rows - 1, 2 * size)[1::2].astype(np.intp)
        yield partial(self._rows_at, np.concatenate([between[::2], between[1::2]]))

    def _rows_at(self, places: Array, begin: int, end: int) -> Any:
        chosen, pairs = places[begin:end], zip(self.leaves, self.whole, strict=True)
        return self._batch([x if whole else np.take(x, chosen, axis=0) for x, whole in pairs])

    def windows(self) -> Iterator[Callable[[int, int], Any]]:
        """Functions that give the rows from one to before another of those that follow each other,
        amid the data and at their beginning.
        """
        for start in ((self.rows - self.size) // 2, 0):
            yield partial(self._rows_from, start)

    def _rows_from(self, start: int, begin: int, end: int) -> Any:
        return self._slices(start + begin, start + end)

    def first(self, rows: int) -> Any:
        """A batch of the first rows, this many."""
        return self._slices(0, rows)

    def row_arrays(self, shuffled: bool) -> list[DataRows] | None:
        """The arrays whose rows machine code can read by itself: where they lie, or gathered into
        `full`. None where one of them has rows that it cannot read.
        """
        arrays = []
        for k, (x, whole) in enumerate(zip(self.leaves, self.whole, strict=True)):
            if not whole:
                if not (x.dtype.isnative and (x.flags.c_contiguous or x[:1].flags.c_contiguous)):
                    return None
                gathers = shuffled or not is_readable(x)
                arrays.append(DataRows(x, self._places[k] if gathers else None))
        return arrays

    def rest(self, drop_last: bool) -> int:
        """How many rows the last batch has, where these are fewer; else 0."""
        return 0 if drop_last else self.rows % self.size

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


@cache
def _structure_of_arrays(count: int) -> tree.Structure:
    """That of as many arguments, each one array."""
    return tree.flatten((np.empty(0),) * count)[1]


def _require_no_lists(by: str, names: Sequence[str], arguments: Sequence[Any]) -> None:
    for name, x in zip(names, arguments, strict=True):
        require_no_list(f"{by}: argument", name, x)


def _refuse_dtype(by: str, path: str, x: Array) -> NoReturn:
    ragged = x.dtype.kind == "O" and any(isinstance(each, np.ndarray) for each in x.flat[:1])
    stacked = "Make its rows of one shape and np.stack them"
    raise DTypeError(
        f"{by}: argument {path!r} has dtype {x.dtype}; it must hold bools, integers or floats. "
        f"{stacked if ragged else repair_of_dtype(path, x)}."
    )


def _place(size: int, x: Array) -> Array:
    """An array that this many rows of another one fit into."""
    return aligned_array((size, *x.shape[1:]), x.dtype.newbyteorder("="))


def _batch_size(
    by: str, size: Any, rows: int, may_be_short: bool, joined: Callable[[], str]
) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(
            f"{by}: batch_size={size!r} was given; it is a whole number of rows, at least 1. "
            "Choose one."
        )
    if size > rows and not may_be_short:
        raise ShapeError(
            f"{by}: batch_size={size} was given for {rows} rows; a batch must fit into the data. "
            + (joined() or f"Choose {rows} or less, as in batch_size=min({size}, len(x)).")
        )
    return int(min(size, rows))
