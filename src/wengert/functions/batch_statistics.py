"""Batch statistics: where a layer normalizes by the mean and variance of the batch it is given."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from wengert.core.words.source import Line, user_line


class _Watch(threading.local):
    lines: list[Line | None] | None = None  # while somebody asks


_watch = _Watch()


@contextmanager
def noting_batch_statistics() -> Iterator[list[Line | None]]:
    """The lines where a layer uses the statistics of its batch, meanwhile."""
    before, _watch.lines = _watch.lines, []
    try:
        yield _watch.lines
    finally:
        _watch.lines = before


def note_batch_statistics() -> None:
    """Say that a layer uses them here."""
    if _watch.lines is not None:
        _watch.lines.append(user_line())
