"""Guard: one call at a time at the state of a step, from any thread and from handlers of signals.

A call *reads* the state (save, fingerprint, a bound function) or *changes* it (a step, a run, an
assignment). From another thread either waits. In the thread whose call is under way, in a handler
of a signal, a callback or the loss itself, reading is allowed, since the state is whole whenever
Python runs; changing is refused.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import cache
from threading import get_ident
from typing import Any, NoReturn, TypeVar

from wengert.runtime.entries.objects import slot_offset
from wengert.runtime.outside.live import recording_threads
from wengert.runtime.outside.watch import FIELD, SET_SIZE, Place

T = TypeVar("T")
UnderWay = tuple[int, str]  # a thread, and the call that it is in
Token = tuple[int, object]  # a thread, and one of the times that it waits
IDLE: UnderWay = (0, "")
_IDLE: dict[str, Any] = {"changing": IDLE, "reading": 0, "pending": None}
PATIENCE = 2.0  # seconds that a fork waits for calls of other threads
# How often, and for how many seconds each time, a thread waits for those that came before it.
TURNS, PAUSE = 200, 0.0005
_guards: weakref.WeakSet[Guard] = weakref.WeakSet()


class Guard:
    """The locks of one step, and what is under way.

    Locks are taken by `with` alone: then no signal can come between taking one and noting it.
    """

    # Machine code looks into its objects.
    __slots__ = (
        "__weakref__",
        "_held_for_fork",
        "_turn",
        "changing",
        "latest_change",
        "lock",
        "pending",
        "reading",
        "waiting",
    )

    def __init__(self) -> None:
        self.lock = threading.RLock()  # held while the state is read or written
        self._turn = threading.RLock()  # held over all parts of a change
        self.changing = IDLE
        self.latest_change = object()  # another object after each change that is no single step
        self.reading = 0  # the thread that holds the lock and reads, if one does
        self.pending: Callable[[], object] | None = None  # what `commit` has begun and not finished
        self.waiting: set[Token] = set()  # of those who wait for the lock
        self._held_for_fork = False
        _guards.add(self)

    def idle_places(self) -> list[Place]:
        """Where calls by machine code look whether nothing is under way: see `runtime/gate.py`."""
        return [
            *(self._place(name, x) for name, x in _IDLE.items()),
            Place(SET_SIZE, self.waiting, None, 0, "guard.waiting"),
            Place(SET_SIZE, recording_threads, None, 0, "recording_threads"),
        ]

    def unchanged_place(self) -> Place:
        """Where such calls look whether there has been no change since now, apart from steps."""
        return self._place("latest_change", self.latest_change)

    def note_change(self) -> None:
        """Let the next call be one by Python."""
        self.latest_change = object()

    def _place(self, name: str, value: Any) -> Place:
        return Place(FIELD, self, _offset(name), value, f"guard.{name}")

    def read(self, work: Callable[[], T]) -> T:
        """Do something that looks at the state, and get the result."""
        if get_ident() in (self.changing[0], self.reading):
            with self.lock:
                return self._read(work)
        token = _new_token()
        try:
            self._wait(token)
            with self.lock:
                self.waiting.discard(token)
                return self._read(work)
        finally:
            self.waiting.discard(token)

    def _read(self, work: Callable[[], T]) -> T:
        before, self.reading = self.reading, get_ident()
        try:
            if self.pending is not None and self.changing[0] == get_ident():
                self.pending()  # and once more when the call that this interrupts goes on
            else:
                self.settle()
            return work()
        finally:
            self.reading = before

    def change(self, by: str, work: Callable[[], T], replaces_all: bool = False) -> T:
        """Do something that changes the state, and get the result."""
        results: list[T] = []
        self.change_in_parts(by, lambda: results.append(work()), lambda: False, replaces_all)
        return results[0]

    def change_in_parts(
        self,
        by: str,
        first: Callable[[], object],
        following: Callable[[], bool],
        replaces_all: bool = False,
    ) -> None:
        """Call `first`, then `following` for as long as it answers True. Between these calls others
        may read the state, but not change it.
        """
        self._require_outside(by)
        token, mine = _new_token(), IDLE
        with self._turn:
            try:
                self._wait(token)
                with self.lock:
                    self.waiting.discard(token)
                    self._require_outside(by)
                    self.changing = mine = (get_ident(), by)
                    self.latest_change = mine
                    if not replaces_all:
                        self.settle()
                    first()
                    more = following()
                while more:
                    if self.waiting:
                        self._wait(token)
                    with self.lock:
                        self.waiting.discard(token)
                        more = following()
            finally:
                if self.changing is mine:  # before anything else: a signal can raise after any call
                    self.changing = IDLE
                self.waiting.discard(token)

    def _require_outside(self, by: str) -> None:
        if get_ident() in (self.changing[0], self.reading):
            self.refuse(by)

    def refuse(self, by: str) -> NoReturn:
        doing = self.changing[1] or "a call that reads the step"
        raise RuntimeError(
            f"{by}: called inside {doing}, in the same thread; a step is changed by one call at a "
            "time, and a handler of signals, a callback or the loss may only read it. Set a flag "
            "there, and look at it after the call."
        )

    def _wait(self, token: Token) -> None:
        """Let threads have the lock first that were waiting before this one: a lock by itself would
        go to the thread that held it last. A handler of a signal that interrupts this has its
        thread's place: it would wait for itself. Nobody waits for ever: a thread that came before
        may be held up by something else, such as its own handler.
        """
        before = set(self.waiting)
        self.waiting.add(token)
        if any(thread == token[0] for thread, _ in before):
            return
        for _ in range(TURNS):
            if not before & self.waiting:
                return
            time.sleep(PAUSE)

    # What is done whole.

    def commit(self, work: Callable[[], object]) -> None:
        """Call a function that gives the same result when it is called again. If something
        interrupts it, it is called again before anybody looks at the state.
        """
        self.pending = work
        self.settle()

    def settle(self) -> None:
        """Finish what was begun by `commit` and interrupted."""
        if self.pending is not None:
            self.pending()
            self.pending = None

    def settle_what_is_left(self) -> None:
        """The same, unless another thread is about to: what is left then belongs to a call that is
        over.
        """
        if self.pending is not None and self.changing[0] in (IDLE[0], get_ident()):
            self.read(lambda: None)

    # Forks: a new process has the locks as they were, and one thread.

    def before_fork(self) -> None:
        token = _new_token()
        self.waiting.add(token)
        self._held_for_fork = self.lock.acquire(timeout=PATIENCE)
        self.waiting.discard(token)

    def after_fork(self, in_child: bool) -> None:
        held, self._held_for_fork = self._held_for_fork, False
        if held:
            self.lock.release()
        if not in_child or self.changing[0] == get_ident():
            return
        self._turn, self.changing = threading.RLock(), IDLE
        self.waiting.clear()
        if not held:
            self.lock, self.reading = threading.RLock(), 0
            self.pending = _refuse_half


@cache
def _offset(name: str) -> int:
    return slot_offset(Guard, name)


def _new_token() -> Token:
    return get_ident(), object()


def _refuse_half() -> NoReturn:
    raise RuntimeError(
        "TrainStep: the process was forked while another thread was inside a call of this step; "
        "its arrays may be half of an update. Load a state into it, or make a new one."
    )


def _before_fork() -> None:
    for guard in list(_guards):
        guard.before_fork()


def _after_fork(in_child: bool) -> None:
    for guard in list(_guards):
        guard.after_fork(in_child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(in_child=False),
        after_in_child=lambda: _after_fork(in_child=True),
    )
