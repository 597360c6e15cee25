"""Gate: no process is forked while LLVM works in one of its threads.

LLVM, and llvmlite around it, have locks. A child has the locks of its parent and none of the
threads that would open them: it would wait for ever, or go on from something half-written.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from types import TracebackType


class Gate:
    """`with gate:` surrounds what must not be cut in two by a fork, which waits for its end."""

    def __init__(self) -> None:
        self._inside = Counter[int]()  # how often each thread entered
        self._closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: not self._closed or me in self._inside)
            self._inside[me] += 1

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with self._changed:
            self._inside[threading.get_ident()] -= 1
            self._inside += Counter()  # drops threads that are outside
            self._changed.notify_all()

    def close(self) -> None:
        """Let no thread in, and wait until no other one is inside. Others close it after this."""
        me = threading.get_ident()  # inside too, where a signal's handler forks
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = True
            self._changed.wait_for(lambda: self._inside.keys() <= {me})

    def open(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._closed = False
            self._changed.notify_all()

    def open_in_child(self) -> None:
        """The same in a new process, whose only thread must wait for nobody."""
        self._changed = threading.Condition()
        self.open()


gate = Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=gate.close, after_in_parent=gate.open, after_in_child=gate.open_in_child
    )
