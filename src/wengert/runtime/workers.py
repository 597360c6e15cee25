"""Workers: the threads that compiled programs are divided between. A process has one pool of them,
made when the first program asks for it, made anew after a fork, and stopped at exit.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import time
import weakref
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from wengert.codegen.llvm.machine.native import Native
from wengert.codegen.targets.cpu.pool import BEGIN, CLAIM, END, SHARE, STOP, WAIT, pool_text
from wengert.codegen.targets.cpu.pool_code import (
    BEGIN_AT,
    BUSY,
    END_AT,
    SHARE_AT,
    SIZE,
    SPINS,
    TICKET,
    pool_words,
)
from wengert.runtime.caching.cache import begin_object, cached_object

LIMIT = 256  # threads, whatever is asked for
TURNS = 1000  # of a loop that a worker waits in before it sleeps: 25 to 50 µs
PATIENCE = 2.0  # seconds to wait for calls and workers to end


def available() -> int:
    """How many threads this process can run at once: CPUs it may use, and its share of them."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, quota))


def _quota() -> int | None:
    """Whole CPUs that a container may use, where it says so."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return None if limit == "max" else max(1, int(limit) // int(period))
    except (OSError, ValueError):
        pass
    try:
        folder = Path("/sys/fs/cgroup/cpu")
        limit, period = (
            (folder / name).read_text() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        )
        return None if int(limit) <= 0 else max(1, int(limit) // int(period))
    except (OSError, ValueError):
        return None


def default_threads() -> int:
    """How many threads a program uses that was compiled without `threads=`: `WENGERT_NUM_THREADS`,
    or as many as can run at once.
    """
    asked = os.environ.get("WENGERT_NUM_THREADS")
    if not asked:
        return min(available(), LIMIT)
    if not asked.isdigit() or int(asked) < 1:
        raise ValueError(
            f"compile: the environment has WENGERT_NUM_THREADS={asked}; it must be a whole number "
            "of at least 1. Set one, or unset it."
        )
    return min(int(asked), LIMIT)


class Uses(Protocol):
    """Something that runs programs in the pool."""

    def after_fork(self) -> None:
        """Ask for workers again before the next call: there are none in this process."""


class WorkerPool:
    """The threads, and the words through which machine code reaches them."""

    def __init__(self) -> None:
        names = BEGIN, SHARE, END, WAIT, CLAIM, STOP
        self._native = Native((cached_object(pool_text()),), names)
        count = pool_words(LIMIT)
        self._words = np.zeros(count + 16, np.int64)
        skipped = -self._words.ctypes.data % 128 // 8
        self.words = self._words[skipped : skipped + count]
        self.address: int = self.words.ctypes.data
        self._wait = self._native.function(WAIT, ctypes.c_void_p, ctypes.c_int64)
        self._take = self._native.function(CLAIM, ctypes.c_void_p, ctypes.c_void_p)
        self._stop = self._native.function(STOP, ctypes.c_void_p)
        self._lock = threading.Lock()
        self.threads: list[threading.Thread] = []
        self._users: weakref.WeakSet[Uses] = weakref.WeakSet()
        self._reset()

    def _reset(self) -> None:
        """A pool without threads."""
        self.words[:] = 0
        self.words[BEGIN_AT] = self._native.address(BEGIN)
        self.words[SHARE_AT] = self._native.address(SHARE)
        self.words[END_AT] = self._native.address(END)
        self.threads = []

    def serve(self, user: Uses, threads: int) -> None:
        """Start workers for programs that this many threads run, the caller being one of them."""
        self._users.add(user)
        if len(self.threads) + 1 >= threads:
            return
        with self._lock:
            if not self._claim():
                return
            try:
                for number in range(len(self.threads) + 1, threads):
                    self._start(number)
            except RuntimeError:  # the system has no more threads, or the interpreter is at its end
                pass
            finally:
                enough = len(self.threads) + 1 <= available()
                self.words[SPINS] = TURNS if enough else 0
                self.words[SIZE] = len(self.threads)
                self.words[BUSY] = 0

    def _claim(self) -> bool:
        """Take the pool as soon as no call has it. False where that did not happen in time."""
        answer = ctypes.c_int64()
        until = time.monotonic() + PATIENCE
        while True:
            self._take(self.address, ctypes.addressof(answer))
            if answer.value or time.monotonic() > until:
                return bool(answer.value)
            time.sleep(0.0005)

    def _start(self, number: int) -> None:
        thread = threading.Thread(
            target=self._work, args=(number,), name=f"wengert-{number}", daemon=True
        )
        thread.start()
        self.threads.append(thread)

    def _work(self, number: int) -> None:
        """What a thread does. While it runs, it keeps the pool's words and machine code alive:
        where a call did not end in time, that is longer than Python itself lives.
        """
        self._wait(self.address, number)

    def after_fork(self) -> None:
        """In a new process: threads are not copied by a fork, so there are none."""
        self._lock = threading.Lock()
        self._reset()
        for user in list(self._users):
            user.after_fork()

    def stop(self) -> None:
        """Let all threads return."""
        with self._lock:
            if not self.threads or not self._claim():
                return
            self.words[SIZE] = 0
            self._stop(self.address)
            for thread in self.threads:
                thread.join(PATIENCE)
            if not any(thread.is_alive() for thread in self.threads):
                self.words[TICKET] = 0  # others may be started
            self.threads = []
            self.words[BUSY] = 0


@cache
def pool() -> WorkerPool:
    """The pool of this process."""
    made = WorkerPool()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=made.after_fork)
    atexit.register(made.stop)
    return made


def begin_pool() -> None:
    """Begin to make the pool's machine code in another thread, if there is no pool yet."""
    if not pool.cache_info().currsize:
        begin_object(pool_text())
