"""NumPy's notices of overflows, divisions by zero and the like: at the line of the user's program
whose call it is, and not at the line of ours that called NumPy.
"""

from __future__ import annotations

import sys
import threading
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


def _tell(what: str, _flag: int) -> None:
    line, name = user_line(), _op_at_work() or user_expression()
    warn_user(f"{what} encountered{f' in {name}' if name else ''}", RuntimeWarning, line)


def _op_at_work() -> str:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code not in _CALLERS:
        frame = frame.f_back
    return "" if frame is None else str(frame.f_locals["op"].name)
