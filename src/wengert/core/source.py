"""Where in the user's program a call was made."""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_foreign: dict[CodeType, bool] = {}


class Line(NamedTuple):
    """A line of a file. Prints as ``model.py:12``."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.number}"


def _is_foreign(code: CodeType) -> bool:
    file = code.co_filename
    return not (
        file.startswith((_PACKAGE, "<__array_function__")) or f"{os.sep}numpy{os.sep}" in file
    )


class _Attributed(threading.local):
    line: Line | None = None


_attributed = _Attributed()


def attribute(line: Line | None) -> Line | None:
    """Let nodes made from now on belong to this line (None: to the line of the call); return the
    one before.

    A backward step belongs to the line of the forward call it differentiates.
    """
    before = _attributed.line
    _attributed.line = line
    return before


def user_line() -> Line | None:
    """The line a node belongs to: the innermost one outside Wengert and NumPy."""
    if _attributed.line is not None:
        return _attributed.line
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        foreign = _foreign.get(code)
        if foreign is None:
            foreign = _foreign[code] = _is_foreign(code)
        if foreign:
            return Line(code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None
