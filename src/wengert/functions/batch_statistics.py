"""Batch statistics: where a layer normalizes by the mean and variance of the batch it is given, and
where by those that it has kept, or begins with.
"""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from wengert.core.process.meanwhile import Meanwhile
from wengert.core.types import Value
from wengert.core.words.noticed.watched_arrays import note_reads, watched_arrays
from wengert.core.words.source import Line, user_line

Array: TypeAlias = np.ndarray[Any, Any]


class BatchStatistics(NamedTuple):
    """Where a layer uses the statistics of its batch, and the running mean that it makes of them
    for later predictions.
    """

    line: Line | None
    running: Value
    before: Value  # the running mean that it was given
    before_var: Value  # and the running variance
    layer: Value  # an array of the layer, which tells it from others


class KeptStatistics(NamedTuple):
    """Where a layer uses the running mean and variance that it is given, and leaves them as they
    are.
    """

    line: Line | None
    mean: Value
    var: Value
    layer: Value  # as above


_noted = Meanwhile[list[BatchStatistics]]()  # while they are being noted
_noted_kept = Meanwhile[list[KeptStatistics]]()
_dividing = Meanwhile[Array]()
_begun_with: dict[int, weakref.ref[Array]] = {}  # by id, for as long as it exists


def noting_batch_statistics() -> AbstractContextManager[list[BatchStatistics]]:
    """Where layers use the statistics of their batches while this is open."""
    return _noted.said([])


def note_batch_statistics(running: Value, before: Value, before_var: Value, layer: Value) -> None:
    """Note that a layer uses them here."""
    if _noted.value is not None:
        _noted.value.append(BatchStatistics(user_line(), running, before, before_var, layer))


def noting_kept_statistics() -> AbstractContextManager[list[KeptStatistics]]:
    """Where layers use statistics that they have kept while this is open."""
    return _noted_kept.said([])


def note_kept_statistics(mean: Value, var: Value, layer: Value) -> None:
    """Note that a layer uses them here."""
    if _noted_kept.value is not None:
        _noted_kept.value.append(KeptStatistics(user_line(), mean, var, layer))
    if watched_arrays and type(mean) is type(layer) is np.ndarray:
        with _dividing.said(layer):
            note_reads([mean])


def is_first(mean: Any, var: Any) -> bool:
    """Whether these are arrays with the statistics that a layer begins with."""
    return _is_all(mean, 0) and _is_all(var, 1)


def _is_all(x: Any, number: int) -> bool:
    return isinstance(x, np.ndarray) and bool((x == number).all())


def note_begun_with(mean: Array) -> Array:
    """Note that a layer has made this for its beginning, and return it."""
    number = id(mean)
    _begun_with[number] = weakref.ref(mean, lambda _: _begun_with.pop(number, None))
    return mean


def forget_begun_with(mean: Array) -> None:
    """Let it be an array as any other: a step was given it, and looks at it by itself."""
    if is_begun_with(mean):
        _begun_with.pop(id(mean), None)


def is_begun_with(mean: Array) -> bool:
    """Whether a layer has made this very array for its beginning."""
    known = _begun_with.get(id(mean))
    return known is not None and known() is mean


def dividing_layer() -> Array | None:
    """An array of the layer that reads what it has kept, while those who watch it hear of it."""
    return _dividing.value
