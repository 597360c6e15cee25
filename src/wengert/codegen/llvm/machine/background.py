"""Background: a computation in a thread of its own, while this one goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from wengert.core.process.fork_door import door

T = TypeVar("T")


def uninterrupted(compute: Callable[[], T]) -> T:
    """The result of a computation that no signal handler interrupts. Handlers run in the main
    thread, and may raise where llvmlite has taken its lock and not yet made sure that it is
    released, or has freed memory and not yet noted it.
    """
    if threading.current_thread() is not threading.main_thread():
        return compute()
    return Beside(compute).result()


class Beside(Generic[T]):
    """A computation that begins at once; `result` waits for it, and so does a fork. Where no thread
    can be started, `result` computes.

    >>> Beside(lambda: 6 * 7).result()
    42
    """

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._run)
        door.admit()
        try:
            self._thread.start()
        except RuntimeError:  # too many threads, or Python is about to exit
            self._thread = None
            door.dismiss()
        except BaseException:
            door.dismiss()
            raise

    def _run(self) -> None:
        door.belong()
        try:
            self._results.append(self._compute())
        except BaseException as error:
            self._error = error
        finally:
            door.dismiss()

    @property
    def failed(self) -> bool:
        """Whether `result` is known to raise."""
        return self._error is not None

    def result(self) -> T:
        """What was computed; raises what the computation raised."""
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error
        if not self._results:  # no thread, or this process was forked without it
            self._results.append(self._compute())
        return self._results[0]
