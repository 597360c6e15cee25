"""Door: no process is forked while one of its threads makes machine code, or imports what makes it.

LLVM, llvmlite around it and Python's import have locks. A child has the locks of its parent and
none of the threads that would open them: it would wait for ever, or go on from something
half-written.
"""

from __future__ import annotations

import logging  # noqa: F401 (before a fork it takes its lock: after the door, as it comes first here)
import os
import threading
from types import TracebackType

PATIENCE = 60.0  # seconds that a fork waits: an interrupted thread may never leave


class _Here(threading.local):
    depth = 0  # how often this thread is inside
    closes = False  # whether it forks


class Door:
    """`with door:` surrounds what must not be cut in two by a fork, which waits for its end."""

    def __init__(self) -> None:
        self._here = _Here()
        self._inside = 0  # of all threads
        self._closed = False
        self._renew()

    def _renew(self) -> None:
        # Taken by itself, not through the condition: that is Python, where the handler of a signal
        # may raise when the lock is taken and nobody will release it.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)

    def __enter__(self) -> None:
        self.admit()
        self._here.depth += 1

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._here.depth -= 1
        self.dismiss()

    def admit(self) -> None:
        """Let something in, which `dismiss` ends, in whichever thread. What is done for a thread
        inside comes in at any time: that one waits for it.
        """
        with self._lock:
            self._changed.wait_for(self._may_enter)
            self._inside += 1

    def _may_enter(self) -> bool:
        # The thread that forks may have to do with LLVM meanwhile, where something is collected.
        return not self._closed or self._here.depth > 0 or self._here.closes

    def belong(self) -> None:
        """Count this thread, which was admitted by another, as inside until it ends."""
        self._here.depth += 1

    def dismiss(self) -> None:
        with self._lock:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let nothing in, and wait until nothing else is inside. Others close it after this."""
        with self._lock:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = self._here.closes = True
            # This thread may be inside itself, where the handler of a signal forks.
            self._changed.wait_for(lambda: self._inside <= self._here.depth, PATIENCE)

    def open(self) -> None:
        """Let threads in again."""
        with self._lock:
            self._closed = self._here.closes = False
            self._changed.notify_all()

    def open_in_child(self) -> None:
        """The same in a new process, whose only thread must wait for nobody."""
        self._renew()
        self.open()


door = Door()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=door.close, after_in_parent=door.open, after_in_child=door.open_in_child
    )
