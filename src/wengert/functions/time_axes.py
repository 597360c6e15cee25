"""Time axes: along which axis layers go that take (batch, time, size)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from wengert.core.dims import Size
from wengert.core.process.meanwhile import Meanwhile
from wengert.core.words.source import Line, user_line


class TimeAxis(NamedTuple):
    """Where a layer goes along so many times of an array with more axes in front."""

    layer: str
    shape: str
    time: Size
    line: Line | None


_noted = Meanwhile[list[TimeAxis]]()  # while they are being noted


def noting_time_axes() -> AbstractContextManager[list[TimeAxis]]:
    """The axes that layers go along while this is open."""
    return _noted.said([])


def note_time_axis(layer: str, x: Any) -> None:
    """Note that a layer goes along axis -2 of x here."""
    if _noted.value is not None and len(x.shape) > 2:
        _noted.value.append(TimeAxis(layer, str(tuple(x.shape)), x.shape[-2], user_line()))
