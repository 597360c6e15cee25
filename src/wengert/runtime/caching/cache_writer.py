"""A thread that writes entries of the cache while the program they belong to is already running.

It ends when nothing is left to write; Python waits for it when it exits.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

from wengert.runtime.caching.cache_store import log

Job = Callable[[], None]


class _CacheWriter:
    """Jobs that wait, and the thread that does them one after the other."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all jobs: after a fork there is no such thread, and they are the parent's."""
        self.lock = threading.Lock()
        self.jobs: deque[Job] = deque()
        self.thread: threading.Thread | None = None

    def add(self, job: Job) -> None:
        # Python waits for the writer when it exits. It does not wait for daemon threads, so it must
        # not wait for what one of them wants written.
        if threading.current_thread().daemon and not threading.main_thread().is_alive():
            log.info("not kept: Python is about to exit")
            return
        with self.lock:
            self.jobs.append(job)
            if self.thread is not None:
                return
            self.thread = threading.Thread(target=self.work, name="wengert-cache", daemon=False)
            try:
                self.thread.start()
            except RuntimeError as error:  # no more threads, or Python is about to exit
                log.info("not kept: %s", error)
                self.thread = None
                self.jobs.clear()

    def work(self) -> None:
        while True:
            with self.lock:
                if not self.jobs:
                    self.thread = None
                    return
                job = self.jobs.popleft()
            try:
                job()
            except Exception as error:  # a cache that fails is no cache, and nothing worse
                log.info("not kept: %s: %s", type(error).__name__, error)


_writer = _CacheWriter()


def later(job: Job) -> None:
    """Do a job soon, in another thread."""
    _writer.add(job)


def settle() -> None:
    """Wait until all jobs are done."""
    thread = _writer.thread
    if thread is not None:
        thread.join()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_writer.reset)
