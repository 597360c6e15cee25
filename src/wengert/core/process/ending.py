"""Ending: what the end of the process must not cut in two.

Python does not wait for daemon threads. From some moment on it ends each where it next wants the
interpreter's lock. In a function of a library in C++ or Rust that is an abort of the process; and
what LLVM works with is freed while it works. So before that moment the end waits until no thread is
inside such a function, and daemon threads that come to one then stay in front of it.

Such a function is decorated, and begins with a look at whether the end is near:

    @ending.whole
    def flatten(tree):
        if ending.near:
            ending.pass_or_stay()
        ...
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import optree

PATIENCE = 60.0  # seconds that the end waits: a function may call what never returns
PAUSE = 0.001  # seconds between two looks

Function = TypeVar("Function", bound=Callable[..., Any])


class Ending:
    """The end of this process."""

    def __init__(self) -> None:
        self.near = False
        self._whole: set[CodeType] = set()
        self._staying: set[int] = set()  # the threads that go no further
        self._abandoned: list[Any] = []

    def whole(self, function: Function) -> Function:
        """Say that the end waits for threads inside this function."""
        self._whole.add(function.__code__)
        return function

    def pass_or_stay(self) -> None:
        """For a thread that has come to such a function when the end is near: go on, or never."""
        # Python, or whoever started it, waits for threads that are not daemons; the main thread is
        # not one. What is called inside such a function belongs to it.
        if not threading.current_thread().daemon or self._is_inside(sys._getframe(2)):
            return
        self._staying.add(threading.get_ident())
        never = threading.Lock()
        never.acquire()
        never.acquire()

    def come(self) -> None:
        """Wait until no other thread is inside; no daemon comes in any more."""
        self.near = True
        until = time.monotonic() + PATIENCE
        while self._others_are_inside() and time.monotonic() < until:
            time.sleep(PAUSE)

    def _others_are_inside(self) -> bool:
        apart = {threading.get_ident(), *self._staying}
        frames = sys._current_frames().items()
        return any(self._is_inside(frame) for thread, frame in frames if thread not in apart)

    def _is_inside(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code in self._whole:
                return True
            frame = frame.f_back
        return False

    def abandon(self, thing: Any) -> None:
        """Keep something that must not be taken apart in order when the end is near."""
        self._abandoned.append(thing)

    def go_on(self) -> None:
        """In a new process, which has an end of its own."""
        self.near = False
        self._staying.clear()


ending = Ending()
# What is registered first is called last: this after what uses the package at the end, and after
# this libraries that forget then what they were told, as optree forgets dataclasses.
ENDING_LATER = (optree,)
atexit.register(ending.come)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ending.go_on)
