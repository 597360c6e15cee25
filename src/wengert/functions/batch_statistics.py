"""Batch statistics: where a layer normalizes by the mean and variance of the batch it is given."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple

from wengert.core.process.meanwhile import Meanwhile
from wengert.core.types import Value
from wengert.core.words.source import Line, user_line


class BatchStatistics(NamedTuple):
    """Where a layer uses the statistics of its batch, and the running mean that it makes of them
    for later predictions.
    """

    line: Line | None
    running: Value
    before: Value  # the running mean that it was given
    layer: Value  # an array of the layer, which tells it from others


_noted = Meanwhile[list[BatchStatistics]]()  # while they are being noted


def noting_batch_statistics() -> AbstractContextManager[list[BatchStatistics]]:
    """Where layers use the statistics of their batches while this is open."""
    return _noted.said([])


def note_batch_statistics(running: Value, before: Value, layer: Value) -> None:
    """Note that a layer uses them here."""
    if _noted.value is not None:
        _noted.value.append(BatchStatistics(user_line(), running, before, layer))
