"""What code does, counted: tests must not depend on how fast or busy the machine is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, Python's and those written in C."""
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def others_run_during(call: Callable[[], object], times: int = 1000) -> bool:
    """Whether the interpreter's lock is free during a call, so that another thread can take it in
    one of so many. Meanwhile it goes over to others only where it is released.
    """
    interval, wake, ran = sys.getswitchinterval(), threading.Lock(), list[bool]()

    def wait() -> None:
        with wake:
            ran.append(True)

    with wake:
        thread = threading.Thread(target=wait)
        thread.start()
        sys.setswitchinterval(1000.0)
    try:
        return any(call() is not NotImplemented and bool(ran) for _ in range(times))
    finally:
        sys.setswitchinterval(interval)
        thread.join()
