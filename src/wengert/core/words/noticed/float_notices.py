"""NumPy's notices of overflows, divisions by zero and the like: at the line of the user's program
whose call it is, and not at the line of ours that called NumPy.

Inside transformations NumPy calls us for every notice. A plain call of an op could not afford to
ask for that: there, a notice at a line of ours is raised, and the call made again to tell it.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from types import CodeType, FrameType
from typing import Literal, ParamSpec, TypeVar

import numpy as np

from wengert.core.words.source import user_expression, user_line
from wengert.core.words.warn import warn_user

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CALLERS: set[CodeType] = set()  # of functions that call NumPy for the op in their variable `op`


class _Told(threading.local):
    here: bool = False


_told = _Told()


def calls_numpy(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Mark a function that calls NumPy for the op in its variable `op`; notices name that op."""
    _CALLERS.add(function.__code__)
    return function


def noticed_at_users_lines(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """While the function runs, what NumPy would warn of is warned of at the user's line."""

    @wraps(function)
    def noticing(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if _told.here:
            return function(*args, **kwargs)
        modes: dict[str, Literal["call"]] = {
            name: "call" for name, mode in np.geterr().items() if mode == "warn"
        }
        _told.here = True
        try:
            with np.errstate(call=_tell, **modes):
                return function(*args, **kwargs)
        finally:
            _told.here = False

    return noticing


def raise_notices_at(modules: str) -> None:
    """Let what NumPy would warn of at lines of these modules, a pattern, be raised there. Who calls
    them catches it, and calls `told_again`.
    """
    warnings.filterwarnings("error", category=RuntimeWarning, module=modules)


def told_again(function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What the function returns that has raised a notice, which is caught where this is called; it
    is told at the user's line. (A lambda in the place of the arguments would make every call of who
    calls this slower.)
    """
    if _told.here:  # it was told, and a filter of the user's has made an error of it
        raise  # noqa: PLE0704 (what was caught)
    return noticed_at_users_lines(function)(*args, **kwargs)


def _tell(what: str, _flag: int) -> None:
    line, name = user_line(), _op_at_work() or user_expression()
    warn_user(f"{what} encountered{f' in {name}' if name else ''}", RuntimeWarning, line)


def _op_at_work() -> str:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code not in _CALLERS:
        frame = frame.f_back
    return "" if frame is None else str(frame.f_locals["op"].name)
