"""Where in the user's program a call was made."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_foreign: dict[CodeType, bool] = {}


class Line(NamedTuple):
    """A line of a file, and what nodes that belong to it are for. Prints as ``model.py:12``."""

    file: str
    number: int
    phase: str = "forward"  # or "backward", or "update": of parameters by an optimizer
    of: str = ""  # the op whose backward step it is part of
    inside: str = ""  # the composite whose body it is part of

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.number}"


def is_foreign(file: str) -> bool:
    """Whether a file belongs neither to Wengert nor to NumPy or SciPy."""
    theirs = any(f"{os.sep}{name}{os.sep}" in file for name in ("numpy", "scipy"))
    return not (theirs or file.startswith((_PACKAGE, "<__array_function__")))


class _Attributed(threading.local):
    line: Line | None = None
    phase: str = "forward"
    inside: str = ""


_attributed = _Attributed()


def attribute(line: Line | None) -> Line | None:
    """Let nodes made from now on belong to this line (None: to the line of the call); return the
    one before.

    A backward step belongs to the line of the forward call it differentiates.
    """
    before = _attributed.line
    _attributed.line = line
    return before


def attributed() -> Line | None:
    """The line that nodes belong to now, where `attribute` said so."""
    return _attributed.line


def begin_phase(name: str) -> str:
    """Let lines found from now on belong to this phase; return the one before."""
    before = _attributed.phase
    _attributed.phase = name
    return before


@contextmanager
def in_phase(name: str) -> Iterator[None]:
    """What is recorded meanwhile belongs to this phase."""
    before = begin_phase(name)
    try:
        yield
    finally:
        begin_phase(before)


def begin_body(name: str) -> str:
    """Let nodes made from now on be part of the body of this composite (an outer one goes first);
    return the one before.
    """
    before = _attributed.inside
    _attributed.inside = before or name
    return before


def end_body(before: str) -> None:
    _attributed.inside = before


def user_line() -> Line | None:
    """The line a node belongs to: the innermost one outside Wengert, NumPy and SciPy."""
    line = _attributed.line or _caller()
    if line is None or not _attributed.inside or line.inside or line.of:
        return line
    return line._replace(inside=_attributed.inside)


def _caller() -> Line | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if _is_users(frame.f_code):
            return Line(frame.f_code.co_filename, frame.f_lineno, _attributed.phase)
        frame = frame.f_back
    return None


def is_compared_by_user() -> bool:
    """Whether it is the user's code that calls the `__eq__` which asks this, and not ours: itself,
    or through the `__eq__` that Python writes for a dataclass.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name == "__eq__":
        frame = frame.f_back
    return frame is not None and _is_users(frame.f_code)


def _is_users(code: CodeType) -> bool:
    known = _foreign.get(code)
    if known is None:
        known = _foreign[code] = is_foreign(code.co_filename)
    return known
