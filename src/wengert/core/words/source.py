"""Where in the user's program a call was made."""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dis import opmap
from itertools import islice
from types import CodeType, FrameType
from typing import NamedTuple

from wengert.loading import PACKAGE

_PACKAGE = PACKAGE + os.sep
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_foreign: dict[CodeType, bool] = {}
known_code = _foreign.get  # whether code is the user's, if somebody has asked that before


class Line(NamedTuple):
    """A line of a file, and what nodes that belong to it are for. Prints as ``model.py:12``."""

    file: str
    number: int
    phase: str = "forward"  # "backward", "tangent", or "update": of parameters by an optimizer
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
    inner: FrameType | None = None  # of the standard library, which the user called
    known = _foreign.get  # asked right here: the stack of an optimizer's rule is deep
    while frame is not None:
        code = frame.f_code
        foreign = known(code)
        if is_users(code) if foreign is None else foreign:
            if not _is_pythons(code):
                return _line_of(frame)
            inner = inner or frame
        frame = frame.f_back
    return None if inner is None else _line_of(inner)


def user_expression() -> str:
    """The text of the call or the index in the user's program that is being computed; "" where it
    is not known.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (not is_users(frame.f_code) or _is_pythons(frame.f_code)):
        frame = frame.f_back
    if frame is None:
        return ""
    position = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    if position is None or None in position:
        return ""
    first, last, begin, end = position
    assert first is not None
    assert last is not None
    file = frame.f_code.co_filename
    lines = [linecache.getline(file, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]  # the end first: it may be the same line
    lines[0] = lines[0][begin:]
    return " ".join(line.decode(errors="ignore").strip() for line in lines)


def unpacked_names() -> int:
    """How many names the code that calls the `__iter__` which asks this has for its elements, as in
    `angle, speed = x`; 0 where it goes over them.
    """
    frame = sys._getframe(2)
    code, place = frame.f_code.co_code, frame.f_lasti
    if code[place] != opmap["UNPACK_SEQUENCE"]:
        return 0
    more = code[place - 1] if code[place - 2] == opmap["EXTENDED_ARG"] else 0  # beyond 255
    return 256 * more + code[place + 1]


def is_printed_by_user() -> bool:
    """Whether the user's code shows what asks this to a person, and does not go on with it."""
    return user_expression().startswith("print(")


def _line_of(frame: FrameType) -> Line:
    return Line(frame.f_code.co_filename, frame.f_lineno, _attributed.phase)


def _is_pythons(code: CodeType) -> bool:
    """Whether code is the standard library's, or what that writes for a dataclass."""
    file = code.co_filename
    if file.startswith("<"):
        return code.co_name in _SPECIAL or code.co_name == "__init__"
    return file.startswith(_LIBRARY) and "site-packages" not in file


_DEBUGGERS = frozenset(
    ("_pydevd_bundle", "_pytest", "bdb", "debugpy", "ipdb", "pdb", "pudb", "pydevd", "traceback")
)


def is_asked_by_user() -> bool:
    """Whether it is the user's code that calls the `__eq__`, `__hash__` or `__str__` which asks
    this: itself, or through those that Python writes for a dataclass. It is not where our code
    calls it, or a debugger, which looks and decides nothing.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _passes_on(frame.f_code):
        frame = frame.f_back
    if frame is None or not is_users(frame.f_code):
        return False
    if frame.f_code.co_filename.startswith("<") and frame.f_back is not None:
        return not (_is_debuggers(frame) or _is_debuggers(frame.f_back))  # typed at its prompt
    return not _is_debuggers(frame)


def _passes_on(code: CodeType) -> bool:
    """Whether a function asks its parts what it was asked: a special method, or `reprlib`'s
    wrapper of one.
    """
    wraps = code.co_name == "wrapper" and os.path.basename(code.co_filename) in _WRAPPERS
    return wraps or code.co_name in _SPECIAL


_SPECIAL = frozenset(("__eq__", "__ne__", "__hash__", "__repr__", "__str__", "__format__"))
_WRAPPERS = ("reprlib.py", "dataclasses.py")


def _is_debuggers(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _DEBUGGERS


def is_users_own(code: CodeType) -> bool:
    """Whether code is the user's, and no installed package's or Python's own."""
    return is_users(code) and not is_installed(code.co_filename) and not _is_pythons(code)


def is_installed(file: str) -> bool:
    """Whether a file is one of an installed package."""
    return "-packages" in file  # site-packages, and dist-packages


def is_users(code: CodeType) -> bool:
    """Whether code belongs neither to Wengert nor to NumPy or SciPy."""
    known = _foreign.get(code)
    if known is None:
        known = _foreign[code] = is_foreign(code.co_filename)
    return known
