"""Live arrays: memory that Wengert itself writes to from call to call.

What is read of them while a function is recorded would be a constant of its program. Where they,
or what else a training step counts, are given out, that is asked for and refused.
"""

from __future__ import annotations

import signal
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, TypeAlias

import numpy as np

from wengert.core.bind import at_line
from wengert.core.words.source import user_line
from wengert.errors import TraceError

Array: TypeAlias = np.ndarray[Any, Any]
_Blocks: TypeAlias = weakref.WeakValueDictionary[int, Array]
_of_steps: _Blocks = weakref.WeakValueDictionary()
_of_networks: _Blocks = weakref.WeakValueDictionary()
recording_threads: set[int] = set()  # in which a function is being recorded that will be compiled


def mark_live(block: Array) -> None:
    """Let this array of a training step and all its views be live."""
    _of_steps[id(block)] = block


def mark_rewritten(block: Array) -> None:
    """Note an array that calls of a network write to, or that is made to be written to."""
    _of_networks[id(block)] = block


def is_live(x: Any) -> bool:
    """Whether an array is a view of the live arrays of a training step."""
    return _is_in(_of_steps, x)


def is_rewritten(x: Any) -> bool:
    """Whether an array is a view of live arrays of a training step, or of arrays that a network
    writes to.
    """
    return _is_in(_of_steps, x) or _is_in(_of_networks, x)


def _is_in(blocks: _Blocks, x: Any) -> bool:
    while isinstance(x, np.ndarray) and isinstance(x.base, np.ndarray):
        x = x.base
    return blocks.get(id(x)) is x


@contextmanager
def recording_program() -> Iterator[None]:
    """Note that this thread records a function meanwhile: what the function reads becomes part of a
    program.
    """
    thread = get_ident()
    inside = thread in recording_threads
    recording_threads.add(thread)
    try:
        yield
    finally:
        if not inside:
            recording_threads.discard(thread)


def refuse_reading(what: str) -> None:
    """Refuse to give out what training changes while this thread records a function. Called only
    while some thread does.
    """
    _refuse(
        f"{what}: read while a function was recorded that will be compiled; it would be a constant "
        "of the program, whatever training does. A loss is given its own model. Pass it as an "
        "argument."
    )


def refuse_calling(what: str, plain: str) -> None:
    """Refuse a call that works on live arrays; `plain` is what can be called instead."""
    _refuse(
        f"{what}: called while a function was recorded that will be compiled; what it returns "
        f"would be a constant of the program, whatever training does. {plain}"
    )


def _refuse(text: str) -> None:
    if get_ident() in recording_threads and not _is_in_handler():
        raise at_line(TraceError(text), user_line())


def _is_in_handler() -> bool:
    """Whether a handler of a signal is running: it interrupts a recording, and is no part of it."""
    codes = set(map(_code_of, map(signal.getsignal, signal.valid_signals()))) - {None}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


def _code_of(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None
